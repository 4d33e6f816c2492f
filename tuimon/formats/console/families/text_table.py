"""Tables of text: a header of names, then rows of numbers.

    epoch     train_loss  valid_loss  accuracy  time          fastai: a row for each epoch
    0         1.234567    0.987654    0.712000  00:12
    | Epoch | Train Loss | Val Acc |                          Markdown, PrettyTable, tabulate, rich
    |-------|------------|---------|
    |     1 |     0.5000 |   90.0% |
    epoch  iteration  main/loss  validation/main/loss         Chainer, with blank cells
    1      100        0.5
    E    #       LOSS TOK2VEC  LOSS NER  SCORE                spaCy: the epoch and the step
              Training |  Validation                          AllenNLP, and reports of scikit-learn: rows with a name
    accuracy |   0.512 |       0.601                          at the step of the lines above

- The first column has the name of a step; a better one may follow. Otherwise a row of numbers follows at once.
- Rows may be interrupted by other lines, but not by many; rows with a name by few.
- Names between single blanks ("epoch loss acc", "# epoch loss") are a header if a row of numbers follows at once.
- A name that occurs twice has its number: "Fitness", "Fitness/2".

Source: fastai/callback/progress.py (ProgressCallback), allennlp/training/callbacks/console_logger.py, and logs of
public repositories.
"""

from __future__ import annotations

from typing import TypeAlias

from tuimon import lazy_re as re
from tuimon.formats.console.families import Family, Line, LineReader, Sink, number
from tuimon.formats.console.shapes.labels import EPOCH, GLOBAL, MARKS, METRIC, stage_word, step_rank
from tuimon.formats.console.shapes.values import distinct

_STEP = re.compile(
    r"(?:global[_ ]?)?(?:epoch|step|iter(?:ation)?|episode|round|gen(?:eration)?|it|ep)s?#?", re.IGNORECASE
)
_NAME = re.compile(r"[^\W\d][^|]{0,60}")
_WORDS = re.compile(rf"(?:{_STEP.pattern})(?: [A-Za-z][\w./()%-]{{0,60}}){{1,40}}", re.IGNORECASE)
_BARS = "|│┃║"
_CELL = re.compile(rf"[^\s{_BARS}]+(?: [^\s{_BARS}]+)*")
_COMMENT = re.compile(r"\s{0,8}[#%](?=\s)")
_UNIT = re.compile(r"(?<=\d)(?:%|ms|s)$")
_MISSING = frozenset(("N/A", "n/a", "-", "—"))
_AWAITED = 200
"""Lines between two rows: progress bars and messages."""
_AWAITED_NAMED = 3
"""Lines between two rows with names: rules of a box."""
_MAX_LENGTH = 4000
_Cell: TypeAlias = tuple[int, int, str]
"""(start, end, text) of a cell."""


class TextTableReader(LineReader):
    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._columns: list[_Cell] = []
        self._step, self._step_unit = 0, "step"
        """Number of the column that counts the steps."""
        self._next: list[_Cell] = []
        """Header of the line before, if a row of numbers must follow at once."""
        self._heads: list[str] = []
        """Header of rows with names."""

    def interrupt(self) -> None:
        super().interrupt()
        self._heads = []

    def read(self, line: Line) -> bool:
        text = line.text
        if not text or len(text) > _MAX_LENGTH:
            return False
        if ("=" in text or "%|" in text) and not (self._columns or self._next or self._heads):
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
            self._open(columns)
        if [name for _, _, name in cells[:2]] == ["E", "#"]:
            cells = [(*cells[0][:2], "epoch"), (*cells[1][:2], "step"), *cells[2:]]
        if len(cells) == 1 and _WORDS.fullmatch(cells[0][2]):
            self._next, self.lines_awaited = _words(text), max(2, self.lines_awaited)
            return False
        if len(cells) > 1 and _STEP.fullmatch(cells[0][2]) and all(_NAME.fullmatch(name) for _, _, name in cells):
            self._open(cells)
            return False
        message = line.message
        if ":" not in message and "=" not in message and self._begin_named(message):
            return False
        if self._heads:
            return self._read_named(line)
        row = self._row(text, cells) if self._columns else {}
        step = row.pop(self._step, "").partition("/")[0]
        if not step.isdecimal():
            return False
        values = ((self._columns[column][2], number(_UNIT.sub("", cell))) for column, cell in row.items())
        pairs = [(name, value) for name, value in values if value is not None]
        self.lines_awaited = _AWAITED
        return bool(pairs) and self.sink.add_row(pairs, int(step[:18]), line, unit=self._step_unit)

    def _open(self, cells: list[_Cell]) -> None:
        """Begin a table with the columns of a header line."""
        names = distinct([name for _, _, name in cells])
        ranks = list(map(step_rank, names))
        self._columns = [(start, end, name) for (start, end, _), name in zip(cells, names, strict=True)]
        self._step, self._heads = ranks.index(max(ranks)), []
        self._step_unit = "epoch" if max(ranks) == EPOCH else "step"
        self.lines_awaited = _AWAITED

    def _begin_named(self, text: str) -> bool:
        """Return whether a line is the header of rows with names, or of a row of numbers with a step among them."""
        cells = _cells(text)
        names = [name for _, _, name in cells]
        if len(cells) < 2 or not all(map(_NAME.fullmatch, names)):
            return False
        if any(number(word) is not None for name in names for word in name.split()):
            return False
        if not any(METRIC.search(name) or _is_stage(name) for name in names):
            return False
        if max(map(step_rank, names)) == GLOBAL:
            self._next, self.lines_awaited = cells, max(2, self.lines_awaited)
        else:
            self._heads, self.lines_awaited = names, _AWAITED_NAMED
        return True

    def _read_named(self, line: Line) -> bool:
        """Read a row of a name and numbers: "accuracy | 0.512 | 0.601"."""
        if self.lines_awaited <= 0:
            self._heads = []
            return False
        name, *printed = [cell for _, _, cell in _cells(line.message)] or [""]
        place = self.sink.place
        more = len(self._heads) - len(printed)
        if not _NAME.fullmatch(name) or more not in (0, 1) or not printed or place is None:
            return False
        if more and not _is_stage(name) and not all(map(_is_stage, self._heads[1:])):
            return False  # the line before was no header, but a row of a name and a text
        values = [
            (head, number(_UNIT.sub("", cell)), cell)
            for head, cell in zip(self._heads[-len(printed) :], printed, strict=True)
        ]
        if any(value is None and cell not in _MISSING for _, value, cell in values):
            return False
        self.lines_awaited = _AWAITED_NAMED
        row = [
            (f"{head}/{name}" if _is_stage(head) else f"{name}/{head}", value)
            for head, value, _ in values
            if value is not None
        ]
        return self.sink.add_below(row, place, line)

    def _row(self, text: str, cells: list[_Cell]) -> dict[int, str]:
        """Return the cells of a line by column: in their order, or by their place if some are blank."""
        if len(cells) != len(self._columns):
            cells = _words(text)
        if len(cells) == len(self._columns):
            return {index: cell for index, (_, _, cell) in enumerate(cells)}
        if len(cells) > len(self._columns) or not all(cell[:1].isdecimal() for _, _, cell in cells[:1]):
            return {}
        row = {}
        for start, end, cell in cells:
            gaps = [min(abs(start - begin), abs(end - stop)) for begin, stop, _ in self._columns]
            row[gaps.index(min(gaps))] = cell
        return row if len(row) == len(cells) else {}


def _is_stage(name: str) -> bool:
    return stage_word(name) == name


def _cells(text: str) -> list[_Cell]:
    return [(*cell.span(), cell[0]) for cell in _CELL.finditer(text)]


def _words(text: str) -> list[_Cell]:
    return [(*word.span(), word[0]) for word in re.finditer(rf"[^\s{_BARS}]+", text)]


FAMILY = Family("text-table", (*MARKS, " LOSS ", "gen\t"), TextTableReader, order=40)
