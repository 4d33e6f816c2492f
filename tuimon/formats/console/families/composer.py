"""MosaicML Composer and LLM Foundry: the file logger, and blocks on the console.

    [metric][batch=31]: loss/train/total: 0.4210
    [epoch=1][batch=32/32]:
    <tab> Train time/batch: 31
    <tab> Train loss/train/total: 0.4210
    <tab> Eval metrics/eval/MulticlassAccuracy: 0.9688

The step is the number of batches done before, as in its other loggers: that of "[metric]" lines, in a block the metric
time/batch, or the batches of all epochs minus one. A file log repeats the console after "[stderr]: ", which is left
out. Sources: composer/loggers/file_logger.py, console_logger.py.
"""

from __future__ import annotations

from tuimon import lazy_re as re
from tuimon.formats.console.families import NUMBER, Family, Line, LineReader

_METRIC = re.compile(
    rf"\[metric\]\[batch=(\d{{1,18}})\]: ([^\s:][^:]{{0,200}}): ({NUMBER}) ?", re.IGNORECASE | re.ASCII
)
_BLOCK = re.compile(r"\[epoch=(\d{1,9})(?:/\d{1,9})?\]\[batch=(\d{1,18})/(\d{1,18})\]:", re.ASCII)
_ROW = re.compile(rf"\s{{1,4}}(Train|Eval) ([^\s:][^:]{{0,200}}): ({NUMBER})", re.IGNORECASE | re.ASCII)
_BATCH = "time/batch"
_MAX_ROWS = 1000


class ComposerReader(LineReader):
    _step = 0

    def read(self, line: Line) -> bool:
        if match := _METRIC.fullmatch(line.text):
            return self.sink.add_row([(match[2], float(match[3]))], int(match[1]), line)
        if match := _BLOCK.fullmatch(line.text):
            epoch, batch, size = map(int, match.groups())
            self._step, self.lines_awaited = (epoch - 1) * size + batch - 1, _MAX_ROWS
            return True
        row = _ROW.fullmatch(line.text) if self.lines_awaited else None
        if row is None:
            return False
        if row[2] == _BATCH and float(row[3]).is_integer():
            self._step = int(float(row[3]))
        return self.sink.add_row([(row[2], float(row[3]))], self._step, line)


FAMILY = Family("composer", ("[metric][batch=", "[epoch="), ComposerReader, order=19)
