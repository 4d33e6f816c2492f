"""Lines of results without a step, in a log where no line names one.

    2020-04-09 00:57:11,227 - precision: 0.7643, recall: 0.6286, fscore: 0.6898 ||
    2020-04-09 01:38:57,228 - precision: 0.7782, recall: 0.6188, fscore: 0.6894 ||
    loss = 0.5231

The lines of equal names are counted from 1. A line counts if it consists of names and numbers, one name is a result of
training and one number has a fraction; three lines of the same names are needed, as programs print a summary once.

All lines are held back until the log has been read to its end. If a later line gives a row of its own, the log is read
again.
"""

from __future__ import annotations

import re

from tuimon.formats.console.families import Family, Line, LineReader, Pair, Sink
from tuimon.formats.console.families._pairs import FRACTION, metric_pairs, names_a_metric

_NAME = r"[A-Za-z][\w@./()-]{0,40}(?: [A-Za-z(][\w@./()-]{0,40}){0,3}"
_NUMBER = r"[+-]?(?:\d{1,18}\.?\d{0,25}(?:[eE][+-]?\d{1,3})?|nan|inf)\s?(?:%|ms|s)?"
_ROW = re.compile(rf"\W{{0,8}}(?:{_NAME}\s?[:=]\s{{0,8}}{_NUMBER}(?:\W{{1,8}}|$)){{1,40}}", re.IGNORECASE | re.ASCII)
_REPEATED = re.compile(
    r"\b(?:best|final|average over|previous|resum\w*|load\w*|max|min|target|threshold)\b", re.IGNORECASE
)
_MIN_ROWS = 3
_MAX_HELD = 100_000
_MAX_LENGTH = 1000
_MAX_SHAPES = 100


class UncountedReader(LineReader):
    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._rows: dict[tuple[str, ...], list[tuple[list[Pair], float]]] = {}
        """Rows and wall times of the lines of equal names."""
        self._released: dict[tuple[str, ...], int] = {}
        """Number of rows that were given."""

    def read(self, line: Line) -> bool:
        text = line.message
        if self.sink.row_count:
            self._rows.clear()
            self.sink.disproved = self.sink.disproved or bool(self._released)
            return False
        if len(text) > _MAX_LENGTH or not _ROW.fullmatch(text) or not FRACTION.search(text) or _REPEATED.search(text):
            return False
        row = metric_pairs(text)
        names = tuple(name for name, _ in row)
        if names_a_metric(row) and (names in self._rows or len(self._rows) < _MAX_SHAPES):
            rows = self._rows.setdefault(names, [])
            if len(rows) < _MAX_HELD:
                rows.append((row, line.time))
        return False

    def flush(self) -> None:
        if self.sink.row_count:
            return
        for names, rows in self._rows.items():
            if len(rows) < _MIN_ROWS:
                continue
            given = self._released.get(names, 0)
            for step, (row, time) in enumerate(rows[given:], given + 1):
                self.sink.add_fallback(row, step, time)
            self.sink.numbered_count += len(rows) - given
            self._released[names] = len(rows)


FAMILY = Family(
    "uncounted",
    (
        *(
            name + end
            for name in ("oss", "ccuracy", "acc", "ecall", "F1", "f1", "eward")
            for end in (":", "=", " =", " :")
        ),
        *("mIoU:", "mAP:", "PSNR:", "psnr:", "bleu:", "BLEU:", "WER:", "wer:"),
    ),
    UncountedReader,
    order=99,
)
