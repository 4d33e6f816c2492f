"""Texts in UTF-16."""

from __future__ import annotations

import codecs

import pytest

from tuimon.reader.encoding import UTF8Stream, utf8

LINES = "".join(f"step {step} loss 0.{step}5 é 损失\n" for step in range(1, 8))


@pytest.mark.parametrize(("mark", "encoding"), [(codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")])
def test_utf16_is_read_wherever_it_is_cut(mark: bytes, encoding: str) -> None:
    data = mark + LINES.encode(encoding)
    assert utf8(data).decode() == LINES
    for cut in range(len(data)):
        stream = UTF8Stream()
        assert (stream.feed(data[:cut]) + stream.feed(data[cut:])).decode() == LINES
