"""spaCy: the table of "spacy train", and the losses that people's own loops print.

    E    #       LOSS TOK2VEC  LOSS NER  ENTS_F  ENTS_P  ENTS_R  SCORE
    ---  ------  ------------  --------  ------  ------  ------  ------
      0     200        110.20    980.12   45.10   50.20   40.90    0.45
    Losses {'ner': 8.12}                              losses/ner, at the number of the line, from 0

The step is "#", the number of updates; E is the epoch. Source: spacy/training/loggers.py (console_logger).
"""

from __future__ import annotations

from tuimon import lazy_re as re
from tuimon.formats.console.families import Family, Line, LineReader, Sink, number, numbers, printed_dict

_HEAD = re.compile(r"E {2,6}# {2,10}\S.{0,2000}")
_LOSSES = re.compile(r"[Ll]oss(?:es)?:? (?=\{)")
_MAX_ROWS = 2


class SpacyReader(LineReader):
    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._names: list[str] = []
        self._count = 0

    def read(self, line: Line) -> bool:
        text = line.text.strip()
        if _HEAD.fullmatch(text):
            self._names = ["epoch", "#", *(name.strip() for name in re.split(r"\s{2,}", text)[2:])]
            self.lines_awaited = _MAX_ROWS
            return True
        if match := _LOSSES.match(line.message):
            row = printed_dict(line.message, match.end())
            values = [(f"losses/{name}", value) for name, value in numbers(row)] if row else []
            used = self.sink.add_row(values, self._count, line, counted=True)
            self._count += used
            return used
        if not self._names or not self.lines_awaited:
            return False
        cells = text.split()
        if len(cells) == len(self._names) and cells[1].isdecimal():
            columns = [(name, number(cell)) for name, cell in zip(self._names, cells, strict=True) if name != "#"]
            self.lines_awaited = _MAX_ROWS
            return self.sink.add_row(
                [(name, value) for name, value in columns if value is not None], int(cells[1]), line
            )
        if set(text) <= {"-", " "}:
            self.lines_awaited = _MAX_ROWS
            return True
        return False


FAMILY = Family("spacy", (" LOSS ", "osses {", "osses: {"), SpacyReader, order=29)
