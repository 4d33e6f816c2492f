"""OLMo and OLMo-core: the step, then indented lines of name and value.

    [step=100/1000,epoch=1,eta=0:10:00]
        optim/total grad norm=1.234
        train/CE loss=2.345
        throughput/device/TPS=12,345

Source: olmo_core/train/callbacks/console_logger.py, olmo/train.py (log_metrics_to_console).
"""

from __future__ import annotations

from tuimon import lazy_re as re
from tuimon.formats.console.families import NUMBER, Family, Line, LineReader

_HEAD = re.compile(r".{0,200}?\[step=(\d{1,18})(?:/(\d{1,18}))?(?:,[^\[\]]{0,80})?\]", re.ASCII)
_ROW = re.compile(
    rf"\s{{1,12}}(\S[^=]{{0,200}})=([+-]?\d{{1,3}}(?:,\d{{3}})++(?:\.\d++)?|{NUMBER})", re.IGNORECASE | re.ASCII
)
_MAX_ROWS = 1000


class OLMoReader(LineReader):
    _step = 0

    def read(self, line: Line) -> bool:
        if match := _HEAD.fullmatch(line.text):
            self._step, self.lines_awaited = int(match[1]), _MAX_ROWS
            if match[2]:
                self.sink.report_progress(self._step, int(match[2]))
            return True
        row = _ROW.fullmatch(line.text) if self.lines_awaited else None
        if row is not None:
            return self.sink.add_row([(row[1].strip(), float(row[2].replace(",", "")))], self._step, line)
        self.lines_awaited = min(self.lines_awaited, 1)
        return False


FAMILY = Family("olmo", ("[step=",), OLMoReader, order=28)
