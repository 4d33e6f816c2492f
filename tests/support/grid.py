"""Terminal emulator for tests: the cells that a terminal would show."""

from __future__ import annotations

import re

from tuimon.text import cell_width

_CONTROL = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|\x1b\][^\x07]*\x07|\x1b[PX^_].*?\x1b\\|\x1b[=>()][0-9A-B]?|[\r\n]")
_UNFINISHED = re.compile(r"\x1b[^A-Za-z]{0,30}\Z")


class Grid:
    """Cells of a terminal. Supports what Textual sends: cursor moves, colours, text, clearing."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.text = [[" "] * width for _ in range(height)]
        self.looks = [[""] * width for _ in range(height)]
        """The colours of each cell, as the sequence that set them."""
        self._x = self._y = 0
        self._look = ""
        self._rest = b""

    def feed(self, data: bytes) -> None:
        data = self._rest + data
        whole = len(data)
        while whole and len(data) - whole < 4 and (data[whole - 1] & 0xC0) == 0x80:
            whole -= 1
        if whole and data[whole - 1] >= 0xC0:
            whole -= 1
        if len(data[whole:].decode("utf-8", "ignore")):  # the last character was whole after all
            whole = len(data)
        text, self._rest = data[:whole].decode("utf-8", "replace"), data[whole:]
        cut = _UNFINISHED.search(text)
        if cut:
            self._rest, text = text[cut.start() :].encode() + self._rest, text[: cut.start()]
        start = 0
        for control in _CONTROL.finditer(text):
            self._write(text[start : control.start()])
            self._obey(control)
            start = control.end()
        self._write(text[start:])

    def _write(self, text: str) -> None:
        for character in text:
            for part in range(1 if character.isascii() else cell_width(character)):  # the rest of a wide one: ""
                if self._x < self.width and self._y < self.height:
                    self.text[self._y][self._x] = "" if part else character
                    self.looks[self._y][self._x] = self._look
                self._x += 1

    def _obey(self, control: re.Match[str]) -> None:
        whole, numbers, name = control.group(0), control.group(1) or "", control.group(2)
        if whole == "\r":
            self._x = 0
        elif whole == "\n":
            self._x, self._y = 0, self._y + 1
        elif name in ("H", "f"):
            row, _, column = numbers.partition(";")
            self._y, self._x = int(row or 1) - 1, int(column or 1) - 1
        elif name == "J":
            self.text = [[" "] * self.width for _ in range(self.height)]
        elif name == "m":
            self._look = numbers

    def __str__(self) -> str:
        return "\n".join("".join(row) for row in self.text)

    def find(self, text: str) -> tuple[int, int] | None:
        """Return (row, column) of a text, or None."""
        for y, row in enumerate(self.text):
            x = "".join(row).find(text)
            if x >= 0:
                return y, x
        return None

    def cells(self) -> list[list[tuple[str, str]]]:
        """Return the text and the colours of each cell; of a blank cell the colours only if it has a background."""
        return [
            [(text, look if text != " " or ";48;" in look else "") for text, look in zip(texts, looks, strict=True)]
            for texts, looks in zip(self.text, self.looks, strict=True)
        ]

    @property
    def braille(self) -> int:
        """Number of cells that curves cover."""
        return sum("\u2800" < character <= "\u28ff" for row in self.text for character in row)
