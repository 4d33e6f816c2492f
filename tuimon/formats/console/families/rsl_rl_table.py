"""rsl_rl (legged robots): a block per iteration, names aligned at the colon.

    ################################################################################
                        Learning iteration 12/150

                                Total steps: 19968
                            Mean value loss: 0.9051
                                Mean reward: -5.32
                    Episode_Reward/track_pos: -0.1218
    --------------------------------------------------------------------------------
                             Iteration time: 0.06s
                                        ETA: 0:00:14

Older versions write "Computation: 48000 steps/s (collection: 0.9s, learning 0.1s)" and "Value function loss:". The step
is the iteration; names are kept as printed, without the words after a number. Clocks are left out.
Source: rsl_rl/utils/logger.py, rsl_rl/runners/on_policy_runner.py.
"""

from __future__ import annotations

from tuimon import lazy_re as re
from tuimon.formats.console.families import NUMBER, Family, Line, LineReader

_HEAD = re.compile(r"\s*Learning iteration (\d{1,12})/(\d{1,12})\s*", re.ASCII)
_ROW = re.compile(
    rf"\s{{0,80}}([A-Za-z][^:]{{0,80}}): {{1,8}}({NUMBER})(?:s|%| steps/s)?(?: \([^()]{{0,80}}\))?",
    re.IGNORECASE | re.ASCII,
)
_RULES = ("----", "####")
_MAX_ROWS = 400
_SKIPPED = ("ETA", "Time elapsed", "Run name")


class RslRlTableReader(LineReader):
    _step = 0

    def read(self, line: Line) -> bool:
        text = line.text
        if match := _HEAD.fullmatch(text):
            self._step, self.lines_awaited = int(match[1]), _MAX_ROWS
            self.sink.report_progress(self._step, int(match[2]))
            return True
        if not self.lines_awaited:
            return False
        row = _ROW.fullmatch(text)
        if row is not None:
            return row[1] in _SKIPPED or self.sink.add_row([(row[1], float(row[2]))], self._step, line)
        if text.lstrip().startswith("ETA:") or (text.strip() and ":" not in text and not text.startswith(_RULES)):
            self.lines_awaited = 1
        return False


FAMILY = Family("rsl-rl-table", ("Learning iteration ",), RslRlTableReader, order=44)
