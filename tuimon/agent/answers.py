"""Answers to questions about runs, as short texts. Numbers and sentences are those of the commands.

Each is at most LONGEST characters. Text that a log or a model has written stands between <data> and </data>.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from msgspec.structs import replace

from tuimon.errors import UsageError
from tuimon.exports import alerts as alert_lines
from tuimon.exports import around, compare, summary_text
from tuimon.exports.sample_lines import paths_of
from tuimon.store import Run, Snapshot
from tuimon.text import clean, first_names

LONGEST = 20_000
"""Maximum number of characters of an answer."""
_WIDTH = 160
"""Width of tables in characters."""
_MOST_POINTS = 200
_MOST_LINES = 200
_MOST_SAMPLES = 8


class Answers:
    """Answers about the runs of a monitor, at the time of the question.

    Each public method is a tool; its signature and docstring are what an agent reads about it.
    """

    def __init__(self, snapshot: Callable[[], Snapshot], console_patterns: Sequence[str] = ()) -> None:
        self._snapshot, self._console_patterns = snapshot, console_patterns

    def runs(self) -> str:
        """List the runs: state, step, level of the most important metrics, and alerts."""
        snapshot = self._snapshot()
        found = ", ".join(f"{clean(run.name)} ({clean(run.path)})" for run in snapshot.runs)
        return _cut_lines([*summary_text.as_text(snapshot, time.time(), width=_WIDTH), f"names and paths: {found}"])

    def summary(self, run: str = "") -> str:
        """State with its evidence, pace, ETA, settings, and last, best, mean and level of every metric of a run."""
        snapshot = self._snapshot()
        chosen = replace(snapshot, runs=(_run(snapshot, run),))
        return _cut_lines(summary_text.as_text(chosen, time.time(), width=_WIDTH))

    def values(
        self,
        metrics: list[str],
        run: str = "",
        first_step: int | None = None,
        last_step: int | None = None,
        points: int = 50,
    ) -> str:
        """Logged points of metrics (names as in `summary`) as CSV; if there are more, evenly spread ones."""
        chosen = _run(self._snapshot(), run)
        lines = ["metric,step,value"]
        for name in metrics:
            if name not in chosen.metrics:
                raise UsageError(f"no metric {clean(name)} in {clean(chosen.name)}", _names("metrics", chosen.metrics))
            curve = chosen.curve(name)
            begin = 0 if first_step is None else int(np.searchsorted(curve.steps, first_step))
            end = len(curve) if last_step is None else int(np.searchsorted(curve.steps, last_step, "right"))
            count = max(1, min(points, _MOST_POINTS, end - begin))
            rows = np.unique(np.linspace(begin, end - 1, count).astype(int)) if end > begin else np.empty(0, int)
            lines += [f"{clean(name)},{curve.steps[row]},{float(curve.values[row])!r}" for row in rows.tolist()]
            lines.append(f"# {len(rows)} of {end - begin} points of {clean(name)}")
        return _cut_lines(lines)

    def around(self, step: int, run: str = "") -> str:
        """Every metric at a step with the values beside it: which are unusual there, and which alerts were active."""
        snapshot = self._snapshot()
        chosen = _run(snapshot, run)
        part = around.run_around(chosen, step)
        return _cut_lines(around.as_text(chosen, part, step, (*snapshot.alerts, *snapshot.resolved), _WIDTH))

    def compare(self, runs: list[str] | None = None, metrics: list[str] | None = None) -> str:
        """Which run, or group of seeds, is better beyond noise, and which settings differ. Without runs: all."""
        from tuimon.panels.lists.comparison import compare as compared

        snapshot = self._snapshot()
        chosen = [_run(snapshot, name) for name in runs or ()] or list(snapshot.runs)
        if len(chosen) < 2:
            raise UsageError("a comparison needs at least two runs", _names("runs", (r.name for r in snapshot.runs)))
        names = dict.fromkeys(name for run in chosen for name in run.metrics)
        if unknown := next((name for name in metrics or () if name not in names), None):
            raise UsageError(f"no metric {clean(unknown)} in these runs", _names("metrics", names))
        comparison = compared(chosen, set(metrics or ()) or None, alerts=snapshot.alerts)
        return _cut_lines(compare.as_text(comparison, time.time(), _WIDTH))

    def alerts(self, since_id: str = "", past: bool = False) -> str:
        """Active alerts with advice and ids, with `past` also those that are over; only later ones than `since_id`."""
        snapshot = self._snapshot()
        if since_id:
            snapshot = alert_lines.since(snapshot, since_id)
        document = alert_lines.check_document(snapshot, "info", time.time())
        ids = (f"{alert.id}  {alert.rule} of run {alert.run}" for alert in (*document.alerts, *document.past))
        return _cut_lines([*alert_lines.as_text(snapshot, "info", past), "ids, active ones first:", *ids])

    def samples(self, run: str = "", step: int | None = None, count: int = 2, worst: bool = True) -> str:
        """Generated texts with the lowest (or highest) rewards at or before a step, at most 8."""
        from tuimon.samples.export import as_markdown
        from tuimon.samples.extremes import extremes

        chosen = _run(self._snapshot(), run)
        found = extremes(paths_of(chosen), step, min(count, _MOST_SAMPLES))
        if found is None:
            raise UsageError(f"no generated texts of {clean(chosen.name)}", "`tuimon doctor` says what was searched.")
        samples = found.worst if worst else found.best
        return _cut_lines([f"step {found.step}: {found.count} texts", *_data(map(as_markdown, samples))])

    def log(self, run: str = "", step: int | None = None, lines: int = 40, search: str = "") -> str:
        """Lines of the console log: around a step, around the last line with a text, or the last ones (at most 200)."""
        from tuimon.reader.log_text import LogText, text_files

        chosen = _run(self._snapshot(), run)
        consoles = [view for view in chosen.streams if view.info.format == "console"]
        known = [view.info.path for view in sorted(consoles, key=lambda view: -view.point_count)]
        files = text_files(chosen.directory, known)
        if not files:
            raise UsageError(f"no console log of {clean(chosen.name)}", "")
        text, count = LogText(files[0], self._console_patterns), max(1, min(lines, _MOST_LINES))
        text.refresh()
        offset = None if step is None else text.offset_of(step)
        if search:
            found = text.search(search, text.size, backwards=True).line
            if found is None:
                raise UsageError(f"no line of {clean(files[0])} has {clean(search)}", "")
            offset = found.offset
        if offset is None:
            shown = text.before(text.size, count)
        else:
            shown = [*text.before(offset, count // 2), *text.lines(offset, count - count // 2)]
        return _cut_lines([clean(files[0]), *_data(clean(line.text) for line in shown)])


def _run(snapshot: Snapshot, name: str) -> Run:
    """Return the run with a name or path; the only one for "". Raises UsageError if there is no such run."""
    if not name and len(snapshot.runs) == 1:
        return snapshot.runs[0]
    for run in snapshot.runs:
        if name in (run.name, run.path):
            return run
    raise UsageError(f"no run {clean(name)!r}", _names("runs", (run.name for run in snapshot.runs)))


def _names(kind: str, names: Iterable[str]) -> str:
    return f"{kind}: {first_names([clean(name) for name in names], 30)}"


def _data(texts: Iterable[str]) -> Iterator[str]:
    """Yield texts of a log or a model, marked as data that is no instruction."""
    yield "<data>"
    for text in texts:
        yield text.replace("</data", "<\\/data")
    yield "</data>"


def _cut_lines(lines: Iterable[str]) -> str:
    """Return lines as one text of at most LONGEST characters, whose end says what was left out."""
    kept: list[str] = []
    room = LONGEST - 100
    is_data = False
    for line in lines:
        if len(line) >= room:
            kept += [line[: max(0, room)], *(["</data>"] if is_data else []), "(cut: ask for less)"]
            break
        kept.append(line)
        is_data = line == "<data>" or (is_data and line != "</data>")
        room -= len(line) + 1
    return "\n".join(kept)
