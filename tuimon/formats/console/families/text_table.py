"""Tables of text: a header of names, then a row of numbers for each epoch.

    epoch     train_loss  valid_loss  accuracy  time          fastai
    0         1.234567    0.987654    0.712000  00:12
    | Epoch | Train Loss | Val Acc |                          Markdown, PrettyTable, tabulate, rich
    |-------|------------|---------|
    |     1 |     0.5000 |   90.0% |
    epoch  iteration  main/loss  validation/main/loss         Chainer, with blank cells
    1      100        0.5
    E    #       LOSS TOK2VEC  LOSS NER  SCORE                spaCy: the epoch and the step

The first column has the name of a step; a better one may follow. Rows may be interrupted by other lines, but not by
many. Names between single blanks ("epoch loss acc", "# epoch loss") are a header if a row of numbers follows at once.
Source: fastai/callback/progress.py (ProgressCallback), and logs of public repositories.
"""

from __future__ import annotations

from typing import TypeAlias

from tuimon import lazy_re as re
from tuimon.formats.console.families import Family, Line, LineReader, Sink, number
from tuimon.formats.console.shapes.labels import step_rank

_STEP = re.compile(r"(?:global[_ ]?)?(?:epoch|step|iter(?:ation)?|episode|round|generation|it|ep)s?#?", re.IGNORECASE)
_NAME = re.compile(r"[^\W\d][^|]{0,60}")
_WORDS = re.compile(rf"(?:{_STEP.pattern})(?: [A-Za-z][\w./()%-]{{0,60}}){{1,40}}", re.IGNORECASE)
_BARS = "|│┃║"
_CELL = re.compile(rf"[^\s{_BARS}]+(?: [^\s{_BARS}]+)*")
_COMMENT = re.compile(r"\s{0,8}[#%](?=\s)")
_UNIT = re.compile(r"(?<=\d)(?:%|ms|s)$")
_AWAITED = 200
"""Lines between two rows: progress bars and messages."""
_MAX_LENGTH = 4000
_Cell: TypeAlias = tuple[int, int, str]
"""(start, end, text) of a cell."""


class TextTableReader(LineReader):
    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._columns: list[_Cell] = []
        self._step = 0
        """Number of the column that counts the steps."""
        self._next: list[_Cell] = []
        """Names between single blanks in the line before."""

    def read(self, line: Line) -> bool:
        text = line.text
        if not text or len(text) > _MAX_LENGTH:
            return False
        if comment := _COMMENT.match(text):
            text = " " * comment.end() + text[comment.end() :]
        cells = _cells(text)
        columns, self._next = self._next, []
        if (
            columns
            and len(words := _words(text)) == len(columns)
            and all(number(word) is not None for _, _, word in words)
        ):
            self._columns, self._step = columns, 0
        if [name for _, _, name in cells[:2]] == ["E", "#"]:
            cells = [(*cells[0][:2], "epoch"), (*cells[1][:2], "step"), *cells[2:]]
        if len(cells) == 1 and _WORDS.fullmatch(cells[0][2]):
            self._next, self.lines_awaited = _words(text), max(2, self.lines_awaited)
            return False
        if len(cells) > 1 and _STEP.fullmatch(cells[0][2]) and all(_NAME.fullmatch(name) for _, _, name in cells):
            ranks = [step_rank(name) for _, _, name in cells]
            self._columns, self._step = cells, ranks.index(max(ranks))
            self.lines_awaited = _AWAITED
            return False
        row = self._row(text, cells) if self._columns else {}
        step = row.pop(self._step, "").partition("/")[0]
        if not step.isdecimal():
            return False
        values = ((self._columns[column][2], number(_UNIT.sub("", cell))) for column, cell in row.items())
        pairs = [(name, value) for name, value in values if value is not None]
        self.lines_awaited = _AWAITED
        return bool(pairs) and self.sink.add_row(pairs, int(step[:18]), line)

    def _row(self, text: str, cells: list[_Cell]) -> dict[int, str]:
        """Return the cells of a line by column: in their order, or by their place if some are blank."""
        if len(cells) != len(self._columns):
            cells = _words(text)
        if len(cells) == len(self._columns):
            return {index: cell for index, (_, _, cell) in enumerate(cells)}
        if len(cells) > len(self._columns) or not all(cell[:1] in _STARTS for _, _, cell in cells[:1]):
            return {}
        row = {}
        for start, end, cell in cells:
            gaps = [min(abs(start - begin), abs(end - stop)) for begin, stop, _ in self._columns]
            row[gaps.index(min(gaps))] = cell
        return row if len(row) == len(cells) else {}


def _cells(text: str) -> list[_Cell]:
    return [(*cell.span(), cell[0]) for cell in _CELL.finditer(text)]


def _words(text: str) -> list[_Cell]:
    return [(*word.span(), word[0]) for word in re.finditer(rf"[^\s{_BARS}]+", text)]


_STARTS = frozenset("0123456789")
FAMILY = Family(
    "text-table",
    (
        *(
            "tep  ",
            "#  step",
            "poch ",
            "poch\t",
            "EPOCH ",
            "tep ",
            "tep\t",
            "teration ",
            "pisode ",
            "Iter  ",
            "iter  ",
            "Iter\t",
            " LOSS ",
        ),
        *("Iter |", "iter |", "Iter │", "iter │"),
    ),
    TextTableReader,
    order=40,
)
