"""Tables of completions that TRL prints with rich: a panel titled "Step N" around a table with boxes.

Source: trl 0.28, trl/trainer/utils.py (print_prompt_completions_sample). A cell is wrapped over many lines; where a
word or a line was broken cannot be recovered, so each wrapped line stays a line.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from tuimon import lazy_re as re
from tuimon.text import cell_width

BEGIN = "─ Step ".encode()
_TITLE = re.compile(r"╭─+ Step (\d+) ─+╮\s*$")
_MOST_LINES = 20_000


class RichTable:
    """A panel whose lines are read one by one."""

    def __init__(self, step: int) -> None:
        self.step = step
        self.ended = False
        self._lines = 0
        self._edges: list[int] = []
        """Cells at which the columns begin and end."""
        self._names: list[str] = []
        self._cells: list[list[str]] = []

    @classmethod
    def of_title(cls, line: str) -> RichTable | None:
        """Return the table that begins with a line, or None."""
        match = _TITLE.search(line)
        return cls(int(match[1])) if match else None

    def add(self, line: str) -> dict[str, Any] | None:
        """Add a line; return the row that ends with it, or None."""
        self._lines += 1
        line = line.strip()
        if not line.startswith("│") or self._lines > _MOST_LINES:
            self.ended = True
            return self._row()
        inner = line[1:-1].strip(" ")
        if inner.startswith("┃"):
            self._add_heads(inner)
        elif inner.startswith(("├", "└")):
            return self._row()
        elif inner.startswith("│") and self._names:
            self._cells.append(list(self._cut(inner)))
        return None

    def _add_heads(self, inner: str) -> None:
        if not self._edges:
            self._edges = [cell_width(inner[: match.start()]) for match in re.finditer("┃", inner)]
            self._names = [""] * (len(self._edges) - 1)
        self._names = [name + part.strip() for name, part in zip(self._names, self._cut(inner), strict=True)]

    def _cut(self, inner: str) -> Iterator[str]:
        """Yield the cells of a line: the text between the edges, of which each is one cell wide."""
        parts = [""] * (len(self._edges) - 1)
        at, column = 0, -1
        for character in inner:
            if column + 1 < len(self._edges) and at >= self._edges[column + 1]:
                column += 1
            elif 0 <= column < len(parts):
                parts[column] += character
            at += cell_width(character)
        yield from (part[1:].rstrip() for part in parts)

    def _row(self) -> dict[str, Any] | None:
        lines, self._cells = self._cells, []
        if not lines:
            return None
        row: dict[str, Any] = {"step": self.step}
        for name, parts in zip(self._names, zip(*lines, strict=True), strict=True):
            text = "\n".join(parts).rstrip("\n")
            row[name] = text
            if name not in ("Prompt", "Completion"):
                with suppress(ValueError):
                    row[name] = float(text.replace("\n", ""))
        return row
