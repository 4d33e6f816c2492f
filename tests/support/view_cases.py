"""Tables of made runs and of the views that panels have of them.

["a metric that is NaN now"]                     the run
metrics = { loss = [3, 2, nan] }                 see `MadeRuns` and `points_of`
views = [{ panel = "loss", value = "NaN now" }]  a view, see `MadeRuns.view`, and fields that it must have, see `Fields`
"""

from __future__ import annotations

import itertools
import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.made_run import START, feed, panel_of, text
from support.value_cases import near, plain
from tuimon import draw
from tuimon.draw.frames import GUTTER
from tuimon.draw.window import Window
from tuimon.model.alerts import Alert
from tuimon.model.events import FactFound, RunFound, SegmentStarted, StreamFound
from tuimon.model.points import Fact
from tuimon.model.views import Size, Symbols
from tuimon.panels import ChartOptions, arrange, header_panel, metric_panel, overlay_lines, together_panel
from tuimon.panels.phases import timers_of
from tuimon.run_notes import RunNote, StepNote
from tuimon.store import Run, Store
from tuimon.tui.arrangement import ordered

_CASE = {"metrics", "runs", "configs", "facts", "restarts", "sources", "seconds", "system",
         "views", "lists", "panels", "heights", "relevance", "last", "timers"}  # fmt: skip
"""Keys of a case: the first are those of `MadeRuns`, the others are compared."""
_PLACE = ("panel", "size", "now", "of", "options")
"""Keys of a view that say how it is made; the others are fields of it."""

_PARTIAL = ("details", "area", "points", "bar_roles")
"""Fields of which a table gives some keys only."""
_NO_PARTS = (
    "timing_s/step",
    "train_judge_time/mean_judge_time",
    "timing_s/generation_timing/topk_ratio",
    "scheduler/math/time/generate/mean",
    "time/run_execution/max",
)
"""Timers that are parts of nothing: the step itself, and statistics."""


def cases_of(path: Path) -> Iterator[Any]:
    """Return a parameter of pytest for each run of a table."""
    for name, case in tomllib.loads(path.read_text("utf-8")).items():
        assert case.keys() <= _CASE, (name, case.keys() - _CASE)
        yield pytest.param(case, id=name)


def compared(case: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Return what is found and what is expected for each view of a case, and for the order and rows of its panels."""
    if "timers" in case:
        yield from _compared_timers(case["timers"].splitlines())
    made = MadeRuns(case)
    if "panels" in case:
        yield [panel.id for panel in arrange(made.runs[0])], case["panels"]
    if "heights" in case:
        yield {panel.id: panel.rows for panel in arrange(made.runs[0]) if panel.id in case["heights"]}, case["heights"]
    if "relevance" in case:
        by_relevance = ordered(made.runs[0], "relevance")
        yield list(by_relevance[: len(case["relevance"])]), case["relevance"]
        yield by_relevance[-1], case.get("last", by_relevance[-1])
    for wanted in case.get("views", ()):
        expected = {name: value for name, value in wanted.items() if name not in _PLACE}
        fields = Fields(*made.view(wanted))
        yield {name: fields.like(name, value) for name, value in expected.items()}, near(expected)


def _compared_timers(lines: Sequence[str]) -> Iterator[tuple[Any, Any]]:
    """Compare the tree of timers with one of lines; the order of the timers and statistics beside them mean nothing."""
    parents: dict[str, str] = {}
    above = [""]
    for line in lines:
        depth = (len(line) - len(line.lstrip())) // 2
        above[depth + 1 :] = [line.strip()]
        parents[line.strip()] = above[depth]
    for names in (tuple(parents), tuple(reversed(parents)), (*parents, *_NO_PARTS)):
        yield {timer.metric: timer.parent for timer in timers_of(names)}, parents


class MadeRuns:
    """The runs of a case.

    metrics: of its only run; or runs: name -> metrics, with configs: name -> settings. facts: topic -> value.
    restarts: [{from: step that it resumed from, or none; metrics}]. sources: [{source, rank, metrics}],
    other logs of the run. seconds: between two steps, of all or name -> seconds. system: how the names of
    metrics of the machine begin.
    """

    def __init__(self, case: Mapping[str, Any]) -> None:
        store = Store()
        seconds = case.get("seconds", 1.0)
        for number, (name, metrics) in enumerate(case.get("runs", {"run": case.get("metrics", {})}).items()):
            store.apply(RunFound(number, name, f"/logs/{name}"))
            every = seconds.get(name, 1.0) if isinstance(seconds, dict) else seconds
            self._log(store, number, number, "events", 40, metrics, every)
            config = case.get("configs", {}).get(name)
            facts = case.get("facts", {}) | ({"config": config} if config else {})
            if "system" in case:
                begins = tuple(case["system"])
                names = [name for name in series_of(metrics) if name.startswith(begins)]
                facts |= {"metrics": {name: {"system": True} for name in names}}
            for topic, value in facts.items():
                store.apply(FactFound(number, Fact(topic, value)))
        for restart in case.get("restarts", ()):
            store.apply(SegmentStarted(0, restart.get("from"), False))
            feed(store, series_of(restart["metrics"]))
        for stream, other in enumerate(case.get("sources", ()), 100):
            self._log(store, stream, 0, other["source"], other["rank"], other["metrics"])
        self.runs = store.snapshot().runs
        self._of = {run.name: run for run in self.runs}

    def _log(
        self,
        store: Store,
        stream: int,
        run: int,
        source: str,
        rank: int,
        metrics: Mapping[str, Any],
        seconds: float = 1.0,
    ) -> None:
        store.apply(StreamFound(stream, run, source, f"/logs/run{run}/{source}", "tensorboard", rank, "", stream))
        feed(store, series_of(metrics), 0, seconds, stream)

    def view(self, wanted: Mapping[str, Any]) -> tuple[Any, Size, bool]:
        """Return a view, its size, and whether the run has the panel.

        panel: an id, that of an arrangement after "arranged:", a metric after "metric:", or several after "together:".
        """
        kind, _, names = wanted["panel"].partition(":")
        if kind == "header":
            panel: Any = header_panel()
        elif kind == "together":
            panel = together_panel(tuple(names.split()))
        elif kind == "arranged":
            panel = next(panel for panel in arrange(self.runs[0]) if panel.id == names)
        else:
            panel = metric_panel(names) if kind == "metric" else panel_of(kind)
        run, now = self._of[wanted["of"]] if "of" in wanted else self.runs[0], START + wanted.get("now", 0)
        options = self._options(run, **wanted.get("options", {}))
        size = Size(*wanted.get("size", (80, 12)))
        return panel.view(run, size, now, Symbols.BRAILLE, options), size, panel.relevant(run)

    def _options(self, run: Run, **given: Any) -> ChartOptions:
        """Return options. window: [span, end]; runs by their names; notes: {step: text}; alerts: {metric: step};
        critical: metrics with a critical alert."""
        chosen = [self._of[name] for name in given.pop("overlay", ())]
        failed = {self._of[name].id for name in given.pop("failed", ())}
        grouped, named = given.pop("grouped", False), given.pop("notes", {})
        severities = {"warning": given.pop("alerts", {}), "critical": dict.fromkeys(given.pop("critical", ()))}
        if "window" in given:
            given["window"] = Window(*given["window"])
        if "base" in given:
            given["base"] = self._of[given["base"]]
        if "seeds" in given:
            given["seeds"] = tuple(self._of[name] for name in given["seeds"])
        return ChartOptions(
            overlay=overlay_lines(chosen, self.runs, grouped, failed=failed) if chosen else (),
            note=RunNote(steps=tuple(StepNote(int(step), words) for step, words in named.items())),
            alerts=tuple(
                Alert("spike", severity, run.id, metric, step, "")
                for severity, steps in severities.items()
                for metric, step in steps.items()
            ),
            **given,
        )


def series_of(metrics: Mapping[str, Any]) -> dict[str, tuple[list[int], list[float]]]:
    """Return the points of metrics. A name may be several names, see `expanded`."""
    return {
        name: points_of(values, places) for pattern, values in metrics.items() for name, places in expanded(pattern)
    }


def expanded(pattern: str) -> Iterator[tuple[str, dict[str, float]]]:
    """Return the names that "x{a,b}" or "x{0..7}" stands for; i, j: which one of them each is."""
    parts = re.split(r"\{(.+?)\}", pattern)
    choices = [_choices(part) for part in parts[1::2]]
    for place in itertools.product(*(range(len(some)) for some in choices)):
        chosen = [some[at] for some, at in zip(choices, place, strict=True)]
        name = "".join(itertools.chain(*itertools.zip_longest(parts[::2], chosen, fillvalue="")))
        yield name, dict(zip("ij", map(float, place), strict=False))


def _choices(words: str) -> list[str]:
    first, dots, last = words.partition("..")
    return [str(number) for number in range(int(first), int(last) + 1)] if dots else words.split(",")


def points_of(values: Any, names: Mapping[str, float]) -> tuple[list[int], list[float]]:
    """Return (steps, values).

    - 0.5: at each of steps 1 to 30
    - [3, 2, nan]: at steps 0, 1 and 2
    - {10 = 0.5, 20 = 0.7}: at these steps
    - "0..99: 0.9 ** s; 100..190 by 10: nan": expressions of numpy over ranges that include their end; s: the steps
    """
    if isinstance(values, dict):
        return [int(step) for step in values], list(values.values())
    if isinstance(values, list):
        return list(range(len(values))), values
    if not isinstance(values, str):
        return list(range(1, 31)), [values] * 30
    steps: list[int] = []
    result: list[float] = []
    for piece in values.split(";"):
        where, _, expression = piece.partition(":")
        first, last, every = (int(number) for number in re.findall(r"\d+", f"{where} 1")[:3])
        some = np.arange(first, last + 1, every)
        known = {**vars(np), **names, "s": some.astype(float), "noise": np.random.default_rng(first).normal}
        steps += some.tolist()
        result += np.broadcast_to(eval(expression, {"__builtins__": {}}, known), len(some)).tolist()
    return steps, result


class Fields:
    """The fields of a view as a table names them: those of the view, and these; lines are those in front."""

    def __init__(self, view: Any, size: Size, relevant: bool) -> None:
        self.view = view
        self.size = size
        self.relevant = relevant

    def like(self, name: str, value: Any) -> Any:
        """Return a field; "has …" and "lacks …": those of the given parts that it has, or has not."""
        verb, _, rest = name.partition(" ")
        if verb in ("has", "lacks"):
            whole = self.like(rest, None)
            return [part for part in value if _has(whole, part) is (verb == "has")]
        found = plain(getattr(self if hasattr(self, name) else self.view, name))
        return _like(found, value) if name in _PARTIAL else found

    @property
    def _front(self) -> list[Any]:
        return [line for line in self.view.lines if not line.behind]

    @property
    def _behind(self) -> list[Any]:
        return [line for line in self.view.lines if line.behind]

    @property
    def value(self) -> str:
        """The first span of the headline."""
        return self.view.headline[0][0] if self.view.headline else ""

    @property
    def roles(self) -> list[str]:
        """Roles of the spans of the headline."""
        return [role for _, role in self.view.headline]

    @property
    def labels(self) -> list[str]:
        return [line.label for line in self._front]

    @property
    def metrics(self) -> list[str]:
        return [line.metric for line in self._front]

    @property
    def entries(self) -> list[str]:
        return [line.entry for line in self._front]

    @property
    def dotted(self) -> list[bool]:
        return [line.markers for line in self._front]

    @property
    def behind(self) -> list[str]:
        """Roles of the lines behind."""
        return [line.role for line in self._behind]

    @property
    def highs(self) -> list[float]:
        return [float(np.fmax.reduce(line.envelope.high, initial=np.nan)) for line in self._front]

    @property
    def lows(self) -> list[float]:
        return [float(np.fmin.reduce(line.envelope.low, initial=np.nan)) for line in self._front]

    @property
    def lasts(self) -> list[float]:
        """The value in the last column of each line that has one."""
        return [float(line.envelope.last[np.isfinite(line.envelope.last)][-1]) for line in self._front]

    @property
    def points(self) -> list[dict[str, float]]:
        """Of each line: place -> last value in the column of this place."""
        return [{at: float(line.envelope.last[column]) for at, column in self._columns(line)} for line in self._front]

    @property
    def area(self) -> dict[str, list[float]]:
        """Of the area behind: place -> lowest and highest value."""
        [line] = [line for line in self.view.lines if line.filled]
        low, high = line.envelope.low, line.envelope.high
        return {at: [float(low[column]), float(high[column])] for at, column in self._columns(line)}

    def _columns(self, line: Any) -> Iterator[tuple[str, int]]:
        low, high, count = self.view.x.low, self.view.x.high, self.view.columns
        for place in range(math.ceil(low), math.floor(high) + 1):
            column = min(int((place - low) / (high - low) * count), count - 1)
            if np.isfinite(line.envelope.high[column]):
                yield str(place), column

    @property
    def glyphs(self) -> list[str]:
        return [line.glyph for line in self._front]

    @property
    def marks(self) -> list[str]:
        """Kind, place and label of each mark: "nan 10", "alert 4: spike"."""
        marks = self.view.marks
        words = (f"{mark.kind} {round(mark.x)}" + (f": {mark.label}" if mark.label else "") for mark in marks)
        return list(dict.fromkeys(words))

    @property
    def scale(self) -> str:
        return str(self.view.y.scale)

    @property
    def y_label(self) -> str:
        return str(self.view.y.label)

    @property
    def x(self) -> list[float]:
        return [self.view.x.low, self.view.x.high]

    @property
    def y(self) -> list[float]:
        return [self.view.y.low, self.view.y.high]

    @property
    def table(self) -> list[list[str]]:
        """The cells of the table below a chart; two blanks divide them."""
        return [re.split(r"  +", text(row).strip()) for row in self.view.table]

    @property
    def span_roles(self) -> list[str]:
        """The roles in the rows of a text."""
        return sorted({role for row in self.view.rows for part, role in row if part.strip()})

    @property
    def first_role(self) -> str:
        """The role of the first span of a text."""
        return str(self.view.rows[0][0][1])

    @property
    def ticks(self) -> list[str]:
        """What is left of the vertical axis, from the top."""
        rows = (row[:GUTTER].strip(" │┤└") for row in draw.text_chart(self.view, self.size).splitlines()[1:])
        return [row for row in rows if row]

    @property
    def words(self) -> str:
        """The rows of a text."""
        return "\n".join(plain(self.view.rows))

    @property
    def drawn(self) -> str:
        """The picture, with one blank where it has several."""
        return re.sub(" +", " ", draw.text_chart(self.view, self.size))

    @property
    def head(self) -> str:
        """The first row of the picture."""
        return self.drawn.splitlines()[0].strip()

    @property
    def bars_at(self) -> list[int]:
        """The columns of the picture that have a vertical line."""
        rows = draw.text_chart(self.view, self.size).splitlines()
        return sorted({x for row in rows for x, cell in enumerate(row) if cell == "│"})

    @property
    def named(self) -> list[str]:
        """The second word of each row of the picture, of the rows that have one."""
        rows = (row.split() for row in draw.text_chart(self.view, self.size).splitlines())
        return [row[1] for row in rows if len(row) > 1]

    @property
    def parts(self) -> dict[str, float]:
        """The parts of a bar that have a length."""
        return {bar.label: bar.value for bar in self.view.bars if bar.value}

    @property
    def inner(self) -> list[str]:
        """The last word of the parts without a length, which lie inside of others or did not run."""
        return [bar.label.split()[-1] for bar in self.view.bars if not bar.value]

    @property
    def bar_roles(self) -> dict[str, str]:
        return {bar.label: bar.role for bar in self.view.bars}

    @property
    def line_roles(self) -> list[str]:
        return [line.role for line in self._front]

    @property
    def details(self) -> dict[str, list[str]]:
        return {bar.label: [part for part, _ in bar.detail] for bar in self.view.bars}

    @property
    def slower(self) -> list[str]:
        """The parts that have a warning."""
        return [bar.label for bar in self.view.bars if any(role == "warning" for _, role in bar.detail)]


def _has(whole: Any, part: Any) -> bool:
    """Return whether a text, an item or a text of any item contains a part."""
    if isinstance(whole, str):
        return part in whole
    return part in whole or (isinstance(part, str) and any(_has(item, part) for item in whole if item != part))


def _like(found: Any, value: Any) -> Any:
    """Return of dictionaries the keys that are expected."""
    if isinstance(value, dict):
        return {key: found.get(key) for key in value}
    if isinstance(value, list) and len(found) == len(value):
        return [_like(one, other) for one, other in zip(found, value, strict=True)]
    return found
