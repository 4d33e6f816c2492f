"""Texts in UTF-16 whose encoding changes."""

from __future__ import annotations

import codecs

import pytest

from tuimon.reader.encoding import UTF8Stream, utf8

LINES = "".join(f"step {step} loss 0.{step}5 é 损失\n" for step in range(1, 8))
ADDED = "".join(f"step {step} loss 0.{step}5\n" for step in range(8, 14))


@pytest.fixture(params=["utf-16-le", "utf-16-be"])
def encoding(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def marked(text: str, encoding: str) -> bytes:
    return (codecs.BOM_UTF16_LE if encoding.endswith("le") else codecs.BOM_UTF16_BE) + text.encode(encoding)


def test_utf8_behind_utf16_is_read_wherever_it_is_cut(encoding: str) -> None:
    data = marked(LINES, encoding) + ADDED.encode()
    for cut in range(len(data)):
        stream = UTF8Stream()
        assert (stream.feed(data[:cut]) + stream.feed(data[cut:])).decode() == LINES + ADDED
    assert utf8(marked(LINES, encoding)).decode() == LINES, "it may end without a change"


@pytest.mark.parametrize("first", ["", "╔"])
@pytest.mark.parametrize("repeated", ["═", "─", "步"])
def test_line_of_one_character_in_utf16_is_no_change_to_utf8(encoding: str, first: str, repeated: str) -> None:
    text = f"{LINES}{first}{repeated * 60}\n{LINES}"
    data = marked(text, encoding) + ADDED.encode()
    for cut in range(0, len(data), 7):
        stream = UTF8Stream()
        assert (stream.feed(data[:cut]) + stream.feed(data[cut:])).decode() == text + ADDED
