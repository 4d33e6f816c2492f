"""AReaL: the step, then a table of names and values, as tabulate's fancy_grid draws it.

    … [StatsLogger Rank 0] INFO: Epoch 1/1 Step 1/60 Train step 1/60 done.
    ╒═════════════════════════════╤═════════════╤══════════════════════════════════╤═════════════╕
    │ grpo_actor/task_reward/avg  │  1.9563e-01 │ grpo_actor/update/actor_loss/avg │ -8.9499e-04 │
    ╘═════════════════════════════╧═════════════╧══════════════════════════════════╧═════════════╛

Source: areal/utils/logging.py, areal/utils/stats_logger.py (tabulate_stats).
"""

from __future__ import annotations

from tuimon import lazy_re as re
from tuimon.formats.console.families import Family, Line, LineReader, number

_STEP = re.compile(r".{0,300}?\bTrain step (\d{1,18})/(\d{1,18}) done", re.ASCII)
_MAX_ROWS = 2000


class ArealTableReader(LineReader):
    _step = 0

    def read(self, line: Line) -> bool:
        text = line.text
        if match := _STEP.match(text):
            self._step, self.lines_awaited = int(match[1]), _MAX_ROWS
            self.sink.report_progress(self._step, int(match[2]))
            return True
        if not self.lines_awaited or not text.startswith("│") or not text.endswith("│"):
            return False
        cells = [cell.strip() for cell in text[1:-1].split("│")]
        if len(cells) % 2:
            return False
        values = [(name, number(printed)) for name, printed in zip(cells[::2], cells[1::2], strict=True) if name]
        row = [(name, value) for name, value in values if value is not None]
        return self.sink.add_row(row, self._step, line)


FAMILY = Family("areal-table", ("Train step ",), ArealTableReader, order=17)
