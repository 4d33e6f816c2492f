"""torchtitan: the total of steps, which a line before the first step names.

    Trainer is initialized with local batch size 1, global batch size 8, …, total steps 1000 (warmup 200)
    Training starts at step 1, with local batch size 1, …, total steps 1000 (warmup 200).

Source: torchtitan/train.py.
"""

from __future__ import annotations

from tuimon import lazy_re as re
from tuimon.formats.console.families import Family, Line, LineReader

_MARK = ", total steps "
_START = re.compile(r"(?:Trainer is initialized|Training starts at step (\d{1,18})\b)", re.ASCII)
_TOTAL = re.compile(rf"{_MARK}(\d{{1,18}}) \(warmup", re.ASCII)


class TorchtitanStartReader(LineReader):
    def read(self, line: Line) -> bool:
        start, total = _START.match(line.message), _TOTAL.search(line.message)
        if start is None or total is None:
            return False
        self.sink.report_progress(self.sink.step or 0, int(total[1]))
        return True


FAMILY = Family("torchtitan-start", (_MARK,), TorchtitanStartReader, order=33)
