"""Alibaba ROLL: its stdout tracker, and the driver log, which always contains the metrics.

    [2026-08-19 12:00:05] [tracking.py (158)] [INFO] [DRIVER 0 / 1][PID 4242] metrics_tag: {"step": 0, "metrics": {…}}
    […] pipeline step 0 start...          also "pipeline rollout global step 0 start..."
    […] {"actor/pg_loss@sum": 0.5, …}     of the current step; a JSON list in its place is a dump of prompts
    […] metrics: {'sft_train/loss': 0.5}  supervised training; "val metrics: {…}" too
    […] pipeline step 0 finished

JSON keys carry their reducers ("@sum"), which ROLL's trackers remove; they are removed here too, so that a metric has
the same name in log and tracker. A log with both shapes contains every value twice; the second one is ignored.
Source: roll/utils/tracking.py, roll/utils/logging.py and roll/pipeline (8eb27cc).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tuimon import lazy_re as re
from tuimon.errors import FormatError
from tuimon.formats._shared.json import parse
from tuimon.formats._shared.rows import flatten, number, step_of
from tuimon.formats.console.families import Family, Line, LineReader, Pair, Sink, numbers, printed_dict

_TRACKER = "metrics_tag: "
_STEP = re.compile(r"pipeline (?:rollout )?(?:global )?step (\d{1,18}) (start|finished)", re.ASCII)
_ROW = re.compile(r"\[PID \d+\]\s*(?=\{)|\[PID \d+\] (?:val )?metrics: (?=\{)", re.ASCII)
_ROW_WITHIN = 300
_REDUCER = re.compile(r"@(?:mean|max|min|p50|p99|std|sum)$")
_STEP_KEYS = ("system/global_step", "system/step", "global_step", "step")


class RollReader(LineReader):
    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._current_step: int | None = None
        self._given: dict[str, tuple[int, bool]] = {}
        """Metric -> (step of its last value, whether that came from the tracker)."""

    def interrupt(self) -> None:
        super().interrupt()
        self._current_step = None

    def read(self, line: Line) -> bool:
        text = line.text
        if match := _STEP.search(text):
            step = int(match[1])
            self._current_step = step if match[2] == "start" else step + 1
            if match[2] == "start":
                self.sink.step = step
            return True
        if (position := text.find(_TRACKER)) >= 0:
            row = _json(text[position + len(_TRACKER) :])
            return row is not None and self._read_row(row, line, tracked=True)
        head = _ROW.search(text, 0, _ROW_WITHIN)
        if head is None:
            return False
        row = _json(text[head.end() :]) if head[0].endswith("]") or head[0][-1].isspace() else None
        if row is None:
            printed = printed_dict(text, head.end())
            row = dict(numbers(printed)) if printed is not None else None
        return row is not None and self._read_row(row, line, tracked=False)

    def _read_row(self, row: dict[str, Any], line: Line, tracked: bool) -> bool:
        step = self._step(row, tracked)
        if step is None:
            return False
        if tracked:
            row.pop("step", None)
        return self.sink.add_row(self._new_values(row, step, tracked), step, line) or bool(row)

    def _step(self, row: dict[str, Any], tracked: bool) -> int | None:
        if self._current_step is not None and not tracked:
            return self._current_step
        for key in ("step",) if tracked else _STEP_KEYS:
            step = step_of(row.get(key))
            if step is not None:
                return step[0]
        return None if tracked or self.sink.interrupted else 0

    def _new_values(self, row: dict[str, Any], step: int, tracked: bool) -> Iterator[Pair]:
        """Yield the numbers of a row that were not given for this step in the other shape."""
        for key, printed in row.items():
            value = number(printed, key)
            if value is None:
                continue
            name = _REDUCER.sub("", key)
            if self._given.get(name) != (step, not tracked):
                self._given[name] = (step, tracked)
                yield name, value


def _json(text: str) -> dict[str, Any] | None:
    try:
        row = parse(text.encode())
    except FormatError:
        return None
    return flatten(row) if isinstance(row, dict) else None


FAMILY = Family("roll", (_TRACKER, "pipeline step ", "global step ", "[PID "), RollReader, order=14, self_closing=True)
