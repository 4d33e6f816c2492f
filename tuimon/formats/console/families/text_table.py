"""Tables of text: a header of names, then a row of numbers for each epoch.

    epoch     train_loss  valid_loss  accuracy  time          fastai
    0         1.234567    0.987654    0.712000  00:12
    | Epoch | Train Loss | Val Acc |                          Markdown, PrettyTable, tabulate, rich
    |-------|------------|---------|
    |     1 |     0.5000 |   90.0% |

The first column is the step and has the name of one. Rows may be interrupted by other lines, but not by many. Names
between single blanks ("epoch loss acc", "# epoch loss") are a header if a row of numbers follows at once.
Source: fastai/callback/progress.py (ProgressCallback), and logs of public repositories.
"""

from __future__ import annotations

import re

from tuimon.formats.console.families import Family, Line, LineReader, Pair, Sink, number

_STEP = re.compile(r"(?:global[_ ]?)?(?:epoch|step|iter(?:ation)?|episode|round|generation|it|ep)s?#?", re.IGNORECASE)
_NAME = re.compile(r"[^\W\d][^|]{0,60}")
_WORDS = re.compile(rf"(?:{_STEP.pattern})(?: [A-Za-z][\w./()%-]{{0,60}}){{1,40}}", re.IGNORECASE)
_BARS = "|│┃║"
_GAP = re.compile(rf"\s{{0,80}}[{_BARS}]\s{{0,80}}|\s{{2,}}|\t")
_UNIT = re.compile(r"(?<=\d)(?:%|ms|s)$")
_REMARKS = re.compile(r"notes?|comments?|remarks?|status|best|saved", re.IGNORECASE)
"""Names of a last column that few rows have."""
_AWAITED = 200
"""Lines between two rows: progress bars and messages."""
_MAX_LENGTH = 4000


class TextTableReader(LineReader):
    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._names: list[str] = []
        self._next: list[str] = []
        """Names between single blanks in the line before."""

    def read(self, line: Line) -> bool:
        text = line.text.strip()
        if not text or len(text) > _MAX_LENGTH:
            return False
        cells = _cells(text)
        names, self._next = self._next, []
        if names and len(parts := text.split()) == len(names) and all(number(part) is not None for part in parts):
            self._names = names
        if len(cells) == 1 and _WORDS.fullmatch(header := text.lstrip("#% ")):
            self._next, self.lines_awaited = header.split(), max(2, self.lines_awaited)
            return False
        if len(cells) > 1 and _STEP.fullmatch(cells[0]) and all(map(_NAME.fullmatch, cells)):
            self._names = cells
            self.lines_awaited = _AWAITED
            return False
        if not self._names:
            return False
        if len(cells) != len(self._names):
            cells = text.split()
        if len(cells) == len(self._names) - 1 and _REMARKS.fullmatch(self._names[-1]):
            cells.append("")
        if len(cells) != len(self._names) or not cells[0].partition("/")[0].isdecimal():
            return False
        step = int(cells[0].partition("/")[0][:18])
        row: list[Pair] = []
        for name, cell in zip(self._names[1:], cells[1:], strict=True):
            value = number(_UNIT.sub("", cell))
            if value is not None:
                row.append((name, value))
        self.lines_awaited = _AWAITED
        return bool(row) and self.sink.add_row(row, step, line)


def _cells(text: str) -> list[str]:
    return [cell.strip() for cell in _GAP.split(text.strip(f"{_BARS} \t"))]


FAMILY = Family(
    "text-table",
    (
        *("poch ", "poch\t", "EPOCH ", "tep ", "tep\t", "teration ", "pisode ", "Iter  ", "iter  ", "Iter\t"),
        *("Iter |", "iter |", "Iter │", "iter │"),
    ),
    TextTableReader,
    order=40,
)
