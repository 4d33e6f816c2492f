"""ASCII in place of drawing characters, of the same width. The dots of curves are not mapped."""

from __future__ import annotations

from tuimon.model.views import Row, Rows

_REPLACED = {
    ">": "▌▶▸→≥",
    "<": "◀←≤",
    "-": "─━═╌╸╺⋯–—▄",
    "^": "▴↑▲",
    "v": "▾↓▼✓",
    "#": "█▉▊▋▓▀■",
    "|": "▐▍▎▏│┃",
    ":": "▒┆┊▃",
    ".": "░·•▂",
    "_": "▁",
    "=": "▅",
    "+": "┼┬┴└┘┌┐╭╮╰╯┤├▆",
    "x": "✗×",
    "*": "◆★▇",
    "o": "●",
    "O": "○",
    "@": "□",
    "!": "⚑≠",
    "c": "◇",
    "e": "△",
    "~": "…±≈",
    "0": "∅",
    "'": "°",
    ";": "╎",
    "u": "µ",
}
"""ASCII character: the characters that it replaces."""
_GLYPHS = str.maketrans({glyph: char for char, glyphs in _REPLACED.items() for glyph in glyphs})


def ascii_text(text: str) -> str:
    """Return a text with ASCII in place of drawing characters. Letters of other scripts stay."""
    return text if text.isascii() else text.replace("± ", "+-").translate(_GLYPHS)


def ascii_row(row: Row) -> Row:
    """Return a row with ASCII in place of drawing characters."""
    return tuple((ascii_text(text), role) for text, role in row)


def ascii_rows(rows: Rows) -> Rows:
    """Return rows with ASCII in place of drawing characters."""
    return tuple(map(ascii_row, rows))
