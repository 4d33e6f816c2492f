"""Stable-Baselines3's boxed table: stdout and log.txt.

    -----------------------------------------
    | rollout/                |             |
    |    ep_rew_mean          | 30          |
    | time/                   |             |
    |    total_timesteps      | 128         |
    -----------------------------------------

The step is time/total_timesteps of the same table, which also stays a metric as it does in its CSV; a table without it
belongs to the step before. Names of more than 36 characters are cut with "..." and so are no names: passed over.
Source: stable_baselines3/common/logger.py (HumanOutputFormat).
"""

from __future__ import annotations

import re

from tuimon.formats._console import Family, LineReader, Sink
from tuimon.formats._console._line import Line
from tuimon.formats._console._values import number

_BORDER = re.compile(r"-{8,400}")
_ROW = re.compile(r"\|( {1,8})(\S[^|]{0,80})\|([^|]{0,80})\|")
_STEPS = ("time/total_timesteps", "total_timesteps", "time/total timesteps")
_CUT = "..."
_MAX_ROWS = 1000


class SB3TableReader(LineReader):
    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._rows: dict[str, float] | None = None
        """None: not in a table."""
        self._section = ""

    def read(self, line: Line) -> bool:
        text = line.text
        if _BORDER.fullmatch(text):
            used = self._end(line)
            self._rows, self._section = (None if used else {}), ""
            return used
        found = _ROW.fullmatch(text) if self._rows is not None else None
        if found is None or self._rows is None or len(self._rows) >= _MAX_ROWS:
            self._rows = None
            return False
        key, printed = found[2].strip(), found[3].strip()
        if key.endswith("/") and not printed:
            self._section = key
        elif _CUT not in key:
            value = number(printed)
            if value is not None:
                self._rows[(self._section if len(found[1]) > 1 else "") + key] = value
        return True

    def _end(self, line: Line) -> bool:
        rows = self._rows
        if not rows:
            return False
        told = next((rows[key] for key in _STEPS if key in rows), None)
        step = self.sink.step or 0
        if told is not None and told.is_integer() and abs(told) < 2**62:
            step = int(told)
        return self.sink.row(rows.items(), step, line)


FAMILY = Family("sb3-table", ("| ", "--------"), SB3TableReader, order=38)
