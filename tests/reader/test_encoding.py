"""Texts in UTF-16 whose encoding changes."""

from __future__ import annotations

import codecs

import pytest

from tuimon.reader.encoding import UTF8Stream, utf8

LINES = "".join(f"step {step} loss 0.{step}5 é 损失\n" for step in range(1, 8))
ADDED = "".join(f"step {step} loss 0.{step}5\n" for step in range(8, 14))


@pytest.mark.parametrize(("mark", "encoding"), [(codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")])
def test_utf8_behind_utf16_is_read_wherever_it_is_cut(mark: bytes, encoding: str) -> None:
    data = mark + LINES.encode(encoding) + ADDED.encode()
    for cut in range(len(data)):
        stream = UTF8Stream()
        assert (stream.feed(data[:cut]) + stream.feed(data[cut:])).decode() == LINES + ADDED


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("first", ["", "╔"])
@pytest.mark.parametrize("repeated", ["═", "─", "步"])
def test_line_of_one_character_in_utf16_is_no_change_to_utf8(encoding: str, first: str, repeated: str) -> None:
    mark = codecs.BOM_UTF16_LE if encoding.endswith("le") else codecs.BOM_UTF16_BE
    text = f"{LINES}{first}{repeated * 60}\n{LINES}"
    data = mark + text.encode(encoding) + ADDED.encode()
    for cut in range(0, len(data), 7):
        stream = UTF8Stream()
        assert (stream.feed(data[:cut]) + stream.feed(data[cut:])).decode() == text + ADDED


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_alone_is_read_to_its_end(encoding: str) -> None:
    mark = codecs.BOM_UTF16_LE if encoding.endswith("le") else codecs.BOM_UTF16_BE
    assert utf8(mark + LINES.encode(encoding)).decode() == LINES
