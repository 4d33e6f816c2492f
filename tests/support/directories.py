"""Tables of directories of logs that change, and of what is read of them: tests/reader/directories.

["a text is of no run until it has a point"]
files = { "a/metrics.jsonl" = ['{"step": 0, "loss": 0.5}'], "train.log" = ["loading"] }
runs = ["a"]
then = [{ append = { "train.log" = ["step 7 loss 0.5"] }, runs = ["root", "a"], each.last = { root = 7, a = 0 } }]

The directory is called root. What is changed before a look, see `Directory.change`:

- `remove`, `move`, `copies`, `files`, `append`: names; new name -> old one; name -> path below tests/data; name ->
  content, see `text_of`; a name of `files` may be several, see `expanded`
- `sql`: name of a database -> statements
- `age`: seconds since everything was changed; otherwise it was changed now

- `open`: names of what is opened now, by default the root before the first look
- `looks`: how often is looked, by default once

`nothing` is a part of the message if nothing is found. The other keys are fields: those of `Look`, those of `RunFields`
for the only run, and those in `each` as run -> value. "has FIELD": parts of it, or of its items.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.event_points import event, records, scalar, version
from support.view_cases import expanded, points_of
from tuimon.analysis.attempts import attempts_of, lost_at_restarts
from tuimon.analysis.log_files import damage_of, reading_remark
from tuimon.errors import NothingFound
from tuimon.exports.summary_text import as_text
from tuimon.model.points import Points
from tuimon.monitor.local import LocalMonitor
from tuimon.reader import Collector
from tuimon.store import Run

DATA = Path(__file__).parent.parent / "data"
_HOW = {"remove", "move", "copies", "files", "append", "sql", "age", "open", "looks", "then", "each", "nothing"}
_PLACE = re.compile("<([svwetij]):?([^>]*)>")
Exact = list[tuple[int, str]]
"""(step, repr of the value, so that NaN equals NaN)."""


def text_of(content: Any, name: str, places: Mapping[str, float]) -> bytes:
    """Return the bytes of a file.

    A text stands for itself. A list is one thing after the other; a text in it is a line. A table is a row for each
    point: { row = "step <s> loss <v:.4f>", of = "1..20: 1 / s" }, of: see `points_of`, by default the step itself is
    the value. <w>: another value at these steps, given by `and`; <e>: the wall time, which is `at` at step 0, with
    `every` seconds between two steps; <t>: the time that many seconds after 10:00:00. In an event file, `row` is a tag.
    """
    if isinstance(content, list):
        return b"".join(text_of(f"{part}\n" if isinstance(part, str) else part, name, places) for part in content)
    if isinstance(content, str):
        return content.encode()
    of = content["of"] if ":" in content["of"] else f"{content['of']}: s"
    points = list(zip(*points_of(of, places), strict=True))
    wall, every = content.get("at", 0), content.get("every", 1)
    if "tfevents" in name:
        rows = (event(step, scalar(content["row"], value), wall=wall + every * step) for step, value in points)
        return b"".join(records([*([] if content.get("more") else [version()]), *rows]))

    steps = content["of"].partition(":")[0]
    others = points_of(f"{steps}: {content['and']}", places)[1] if "and" in content else [0.0] * len(points)

    def line(step: int, value: float, other: float) -> str:
        clock = f"{10 + step // 3600:02}:{step // 60 % 60:02}:{step % 60:02}"
        known = {"s": step, "v": value, "w": other, "e": wall + every * step, "t": clock, **places}
        return _PLACE.sub(lambda found: format(known[found[1]], found[2]), content["row"])

    return "".join(f"{line(*point, other)}\n" for point, other in zip(points, others, strict=True)).encode()


def exact(metrics: Mapping[str, Any]) -> dict[str, Exact]:
    """Return points in a form that can be compared."""
    return {
        name: [(s, repr(float(v))) for s, v in zip(*points_of(of, {}), strict=True)] for name, of in metrics.items()
    }


class Directory:
    """A directory of logs, and a reader that follows it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.monitor: LocalMonitor | None = None
        root.mkdir()

    def compare(self, case: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
        """Return what is found and what is expected at each look."""
        for look in (case, *case.get("then", ())):
            self.change(look)
            if "nothing" in look:
                with pytest.raises(NothingFound, match=re.escape(look["nothing"])):
                    self.look(look).collector.require_something()
                continue
            found = Look(self.look(look), self.root)
            for name, wanted in look.items():
                if name not in _HOW:
                    yield found.field(name, wanted)
            for name, by_run in look.get("each", {}).items():
                for run, wanted in by_run.items():
                    yield found.field(name, wanted, run)

    def change(self, how: Mapping[str, Any]) -> None:
        for name in how.get("remove", ()):
            (self.root / name).unlink()
        for new, old in how.get("move", {}).items():
            (self.root / old).rename(self.root / new)
        for name, source in how.get("copies", {}).items():
            if (DATA / source).is_dir():
                shutil.copytree(DATA / source, self.root / name)
                continue
            self._write(name, (DATA / source).read_bytes(), source.endswith(".gz"))
        for pattern, content in how.get("files", {}).items():
            for name, places in expanded(pattern):
                self._write(name, text_of(content, name, places))
        for name, content in how.get("append", {}).items():
            with (self.root / name).open("ab") as file:
                file.write(text_of(content, name, {}))
        for name, statements in how.get("sql", {}).items():
            with closing(sqlite3.connect(self.root / name)) as connection, connection:
                for statement in statements:
                    connection.execute(statement)
        if "age" in how:
            for path in self.root.rglob("*"):
                os.utime(path, (time.time() - how["age"],) * 2)

    def _write(self, name: str, data: bytes, packed: bool = False) -> None:
        """Write a file. packed: the data are compressed, and the file is not."""
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        data = gzip.decompress(data) if packed else gzip.compress(data) if name.endswith(".gz") else data
        (self.root / name).write_bytes(data)

    def look(self, how: Mapping[str, Any]) -> LocalMonitor:
        if self.monitor is None or "open" in how:
            self.monitor = LocalMonitor([self.root / name for name in how.get("open", [""])])
        before = self._files()
        for _ in range(how.get("looks", 1)):
            self.monitor.update()
        assert self._files() == before, "nothing below a run is changed"
        return self.monitor

    def _files(self) -> dict[Path, tuple[int, bytes]]:
        files = (path for path in self.root.rglob("*") if path.is_file())
        return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


class Look:
    """What a reader knows of a directory."""

    def __init__(self, monitor: LocalMonitor, root: Path) -> None:
        self._collector, self._root = monitor.collector, root
        self.snapshot = monitor.snapshot()

    def field(self, name: str, wanted: Any, run: str = "") -> tuple[Any, Any]:
        """Return a field as it is, and as it should be."""
        verb, _, part = name.rpartition(" ")
        if hasattr(Look, part) and not run:
            found = getattr(self, part)
        else:
            runs = [own for own in self.snapshot.runs if own.name == run or not run]
            assert len(runs) == 1, (run, [own.name for own in self.snapshot.runs])
            found = getattr(RunFields(runs[0], self._root), part)(wanted)
        if verb == "has":
            return [some for some in wanted if some in found or any(some in item for item in found)], wanted
        if part == "times":
            return found, {name: np.round(points_of(of, {})[1], 3).tolist() for name, of in wanted.items()}
        return found, exact(wanted) if part == "points" else wanted

    @property
    def runs(self) -> list[str]:
        return [run.name for run in self.snapshot.runs]

    @property
    def paths(self) -> list[str]:
        return [os.path.relpath(run.path, self._root) for run in self.snapshot.runs]

    @property
    def skipped(self) -> dict[str, str]:
        """File -> why it is not read."""
        return {os.path.relpath(path, self._root): reason for path, reason in self._collector.skipped}

    @property
    def reasons(self) -> list[str]:
        """Why files are not read."""
        return sorted({reason.replace(f"{self._root}/", "") for reason in self.skipped.values()})

    @property
    def unreadable(self) -> bool:
        return self._collector.partly_unreadable

    @property
    def notices(self) -> list[str]:
        return [notice.message.replace(f"{self._root}/", "") for notice in self.snapshot.notices]

    @property
    def exported(self) -> dict[str, list[int]]:
        """ "source::metric" -> steps, in the order in which an export by source has them."""
        steps: dict[str, list[int]] = {}
        collector = Collector(self._collector.roots)
        list(collector.find())
        for source, item in collector.in_file_order():
            if isinstance(item, Points):
                for metric, step in zip(item.metric.tolist(), item.steps.tolist(), strict=True):
                    steps.setdefault(f"{source}::{item.names[metric]}", []).append(step)
        return steps

    @property
    def levels(self) -> list[str]:
        """The level of each notice."""
        return [notice.level for notice in self.snapshot.notices]

    @property
    def text(self) -> list[str]:
        """The lines of the summary, with one blank where they have several."""
        return [" ".join(line.split()) for line in as_text(self.snapshot, 0.0)]

    @property
    def alerts(self) -> list[str]:
        """The rules of the alerts that are no mere information."""
        return sorted(alert.rule for alert in self.snapshot.alerts if alert.severity != "info")

    @property
    def hints(self) -> list[str]:
        """The advice of each alert."""
        return [alert.hint for alert in self.snapshot.alerts]

    @property
    def files_of_runs(self) -> list[list[str]]:
        """The files of each run that are still read, sorted."""
        return sorted(RunFields(run, self._root).logs(None) for run in self.snapshot.runs)


class RunFields:
    """Fields of a run. Those by metric, by file or by topic have the keys of the expected value."""

    def __init__(self, run: Run, root: Path) -> None:
        self._run, self._root = run, root
        self._status = {os.path.relpath(view.info.path, root): view.status for view in run.streams if view.status}

    def points(self, wanted: Mapping[str, Any]) -> dict[str, Exact]:
        """Also compare what an export has with the curves."""
        for name, steps, values, _ in self._run.points():
            curve = self._run.curve(name)
            assert np.array_equal([steps, values], [curve.steps, curve.values], equal_nan=True), name
        curves = {name: self._run.curve(name) for name in wanted}
        return {
            name: list(zip(c.steps.tolist(), map(repr, c.values.tolist()), strict=True)) for name, c in curves.items()
        }

    def steps(self, wanted: Mapping[str, Any]) -> dict[str, list[int]]:
        return {name: self._run.curve(name).steps.tolist() for name in wanted}

    def times(self, wanted: Mapping[str, Any]) -> dict[str, list[float]]:
        """Wall times to milliseconds."""
        return {name: np.round(self._run.curve(name).wall_times, 3).tolist() for name in wanted}

    def counts(self, wanted: Mapping[str, Any]) -> dict[str, int]:
        return {name: len(self._run.curve(name)) for name in wanted}

    def superseded(self, wanted: Mapping[str, Any]) -> dict[str, int]:
        return {name: self._run.curve(name).superseded for name in wanted}

    def sources(self, wanted: Mapping[str, Any]) -> dict[str, list[str]]:
        return {name: list(self._run.curve(name).sources) for name in wanted}

    def id(self, _: Any) -> int:
        return self._run.id

    def metrics(self, _: Any) -> list[str]:
        return sorted(self._run.metrics)

    def point_count(self, _: Any) -> int:
        return self._run.point_count

    def last(self, _: Any) -> int | None:
        return self._run.last_step

    def config(self, _: Any) -> Mapping[str, Any]:
        return self._run.config

    def facts(self, wanted: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
        """Topic -> the wanted parts of what all facts about it say together."""
        said = {topic: {k: v for fact in self._run.facts(topic) for k, v in fact.value.items()} for topic in wanted}
        return {topic: {key: said[topic].get(key) for key in parts} for topic, parts in wanted.items()}

    def console(self, _: Any) -> list[str]:
        return sorted(line for fact in self._run.facts("console") for line in fact.value["lines"])

    def logs(self, _: Any) -> list[str]:
        """The files that are read, and not replaced by others."""
        return sorted(path for path, status in self._status.items() if status.state != "superseded")

    def evidence(self, parts: Sequence[str]) -> list[str]:
        """The parts that are in the reasons for which runs were joined."""
        return [part for part in parts if any(part in line for line in self._run.join_evidence)]

    def formats(self, _: Any) -> list[str]:
        return [view.info.format for view in self._run.streams]

    def states(self, wanted: Mapping[str, Any]) -> dict[str, str]:
        return {name: self._status[name].state for name in wanted}

    def messages(self, wanted: Mapping[str, Any]) -> dict[str, str]:
        return {name: self._status[name].message for name in wanted}

    def damage(self, _: Any) -> str:
        return damage_of(self._run)

    def remark(self, _: Any) -> str:
        return reading_remark(self._run)

    def attempts(self, _: Any) -> list[list[Any]]:
        """Name, first and last step, and superseded points of each."""
        return [[own.name, own.first_step, own.last_step, own.superseded] for own in attempts_of(self._run)]

    def resumed(self, _: Any) -> list[int | str]:
        """The step from which each attempt goes on, "" where it is not known."""
        return ["" if own.resumed_from is None else own.resumed_from for own in attempts_of(self._run)]

    def lost(self, _: Any) -> list[list[Any]]:
        """Last step, checkpoint and steps that were lost at each restart, "" where it is not known."""
        found = ((own.last_step, own.checkpoint, own.steps) for own in lost_at_restarts(self._run))
        return [["" if value is None else value for value in own] for own in found]

    def disagrees(self, _: Any) -> list[str]:
        """The metrics of which two sources have different values."""
        return [name for name in self._run.metrics if self._run.disagreements(name)]

    def restart(self, _: Any) -> str:
        """What is said of earlier failures of ranks."""
        return self._run.ranks.restart if self._run.ranks else ""

    def problems(self, parts: Sequence[str]) -> list[str]:
        """The part of each problem of the ranks that is named, or all of it."""
        messages = [problem.message for problem in self._run.ranks.problems] if self._run.ranks else []
        return [next((part for part in parts if part in message), message) for message in messages]
