"""Tables between bars, of stdout and log.txt: Stable-Baselines3, OpenAI Baselines, Spinning Up.

    -----------------------------------------
    | rollout/                |             |
    |    ep_rew_mean          | 30          |
    | time/                   |             |
    |    total_timesteps      | 128         |
    -----------------------------------------

The step is time/total_timesteps of the same table, which is also a metric, as in its CSV, or what takes its place in
the older libraries: "total/steps", "TimestepsSoFar", "TotalEnvInteracts", otherwise the number of the epoch or
iteration, which then is no metric. A table without it belongs to the step before. Names of more than 36 characters are
cut with "..." and left out.
Sources: stable_baselines3/common/logger.py (HumanOutputFormat), baselines/logger.py, spinup/utils/logx.py.
"""

from __future__ import annotations

from tuimon import lazy_re as re
from tuimon.formats.console.families import Family, Line, LineReader, number

_BORDER = re.compile(r"-{8,400}")
_ROW = re.compile(r"\|( {1,40})(\S[^|]{0,80})\|([^|]{0,80})\|")
_STEPS = (
    "time/total_timesteps", "total_timesteps", "time/total timesteps", "misc/total_timesteps", "total/steps",
    "TimestepsSoFar", "TotalEnvInteracts", "steps", "timesteps", "Timesteps", "total_num_steps", "total_steps", "step",
)  # fmt: skip
_COUNTS = ("epoch", "Epoch", "total/epochs", "iteration", "Iteration", "itr", "Itr", "nupdates", "misc/nupdates")
"""Names of the step in tables without the number of steps."""
_CUT = "..."
_MAX_ROWS = 1000


class SB3TableReader(LineReader):
    _rows: dict[str, float] | None = None
    """Rows of the open table; None outside a table."""
    _section = ""

    def read(self, line: Line) -> bool:
        text = line.text
        if not self.lines_awaited:  # there is another line in between
            self._rows = None
        self.lines_awaited = 0
        if _BORDER.fullmatch(text):
            used = self._end(line)
            self._rows, self._section = (None if used else {}), ""
            self.lines_awaited = 0 if used else 2
            return used
        row = _ROW.fullmatch(text) if self._rows is not None else None
        if row is None or self._rows is None or len(self._rows) >= _MAX_ROWS:
            self._rows = None
            return False
        self.lines_awaited = 2
        key, printed = row[2].strip(), row[3].strip()
        if key.endswith("/") and not printed:
            self._section = key
        elif _CUT not in key and (value := number(printed)) is not None:
            self._rows[(self._section if len(row[1]) > 1 else "") + key] = value
        return True

    def _end(self, line: Line) -> bool:
        if not self._rows:
            return False
        logged = next((self._rows[key] for key in _STEPS if key in self._rows), None)
        step = self.sink.step
        if logged is None and (key := next((key for key in _COUNTS if key in self._rows), None)):
            logged = self._rows.pop(key)
        if logged is not None and logged.is_integer() and abs(logged) < 2**62:
            step = int(logged)
        return self.sink.add_row(self._rows.items(), step, line)


FAMILY = Family("sb3-table", ("| ", "--------"), SB3TableReader, order=38)
