"""Alibaba ROLL: its stdout tracker, and the driver log, which always carries the metrics.

    [2026-08-19 12:00:05] [tracking.py (158)] [INFO] [DRIVER 0 / 1][PID 4242] metrics_tag: {"step": 0, "metrics": {…}}
    […] pipeline step 0 start...          also "pipeline rollout global step 0 start..."
    […] {"actor/pg_loss@sum": 0.5, …}     of the step that was begun; a JSON list in its place is a prompt dump
    […] metrics: {'sft_train/loss': 0.5}  supervised training; "val metrics: {…}" too
    […] pipeline step 0 finished

JSON keys keep their reducers ("@sum"), which the trackers take off: they are taken off here as well, so that the log
and the tracker name one metric alike. A log that holds both shapes says everything twice; the second time is passed
over. Source: roll/utils/tracking.py, roll/utils/logging.py and roll/pipeline (8eb27cc).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tuimon.errors import FormatError
from tuimon.formats._console import Family, LineReader, Sink
from tuimon.formats._console._line import Line
from tuimon.formats._console._values import numbers, printed_dict
from tuimon.formats._json import parse
from tuimon.formats._rows import flatten, number, step_of

_TRACKER = "metrics_tag: "
_STEP = re.compile(r"pipeline (?:rollout )?(?:global )?step (\d{1,18}) (start|finished)", re.ASCII)
_ROW = re.compile(r"\[PID \d+\]\s*(?=\{)|\[PID \d+\] (?:val )?metrics: (?=\{)", re.ASCII)
_ROW_WITHIN = 300
_REDUCER = re.compile(r"@(?:mean|max|min|p50|p99|std|sum)$")
_STEP_KEYS = ("system/global_step", "system/step", "global_step", "step")


class RollReader(LineReader):
    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._begun: int | None = None
        self._given: dict[str, tuple[int, bool]] = {}
        """Metric -> (step it was last given for, by the tracker's line?)."""

    def read(self, line: Line) -> bool:
        text = line.text
        if found := _STEP.search(text):
            step = int(found[1])
            self._begun = step if found[2] == "start" else step + 1
            if found[2] == "start":
                self.sink.step = step
            return True
        if (at := text.find(_TRACKER)) >= 0:
            row = _json(text[at + len(_TRACKER) :])
            return row is not None and self._give(row, line, tracked=True)
        found = _ROW.search(text, 0, _ROW_WITHIN)
        if found is None:
            return False
        row = _json(text[found.end() :]) if found[0].endswith("]") or found[0][-1].isspace() else None
        if row is None:
            printed = printed_dict(text, found.end())
            row = dict(numbers(printed)) if printed is not None else None
        return row is not None and self._give(row, line, tracked=False)

    def _give(self, row: dict[str, Any], line: Line, tracked: bool) -> bool:
        step = self._step(row, tracked)
        if step is None:
            return False
        if tracked:
            row.pop("step", None)
        return self.sink.row(self._fresh(row, step, tracked), step, line) or bool(row)

    def _step(self, row: dict[str, Any], tracked: bool) -> int | None:
        if self._begun is not None and not tracked:
            return self._begun
        for key in ("step",) if tracked else _STEP_KEYS:
            found = step_of(row.get(key))
            if found is not None:
                return found[0]
        return None if tracked else 0

    def _fresh(self, row: dict[str, Any], step: int, tracked: bool) -> Iterator[tuple[str, float]]:
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


FAMILY = Family("roll", (_TRACKER, "pipeline step ", "global step ", "[PID "), RollReader, order=14, closes=True)
