"""Texts of all formats in other encodings and with other line ends give the same points."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from support.damage import placed, read, samples_of
from support.samples import kind

from tuimon.formats import all_formats
from tuimon.formats.console._decoder import ConsoleDecoder
from tuimon.formats.json import lines
from tuimon.formats.tables._decoder import TableDecoder
from tuimon.model.points import Points
from tuimon.text import decoded

TEXTS = {
    str(sample): sample
    for known in all_formats()
    if kind(known) in ("stream", "document") and not known.describes_run and known.rank >= 10
    for sample in samples_of(known.id)
    if sample.is_text and b"\r" not in sample.data
}


def mixed_ends(data: bytes) -> bytes:
    """Return the text with LF, CR LF and CR in turn."""
    ends = (b"\n", b"\r\n", b"\r")
    return b"".join(line + ends[index % 3] for index, line in enumerate(data.removesuffix(b"\n").split(b"\n")))


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "UTF-16 LE": lambda data: b"\xff\xfe" + data.decode().encode("utf-16-le"),
    "UTF-16 BE": lambda data: b"\xfe\xff" + data.decode().encode("utf-16-be"),
    "CR LF": lambda data: data.replace(b"\n", b"\r\n"),
    "CR": lambda data: data.replace(b"\n", b"\r"),
    "mixed": mixed_ends,
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_in_another_form_gives_the_same_points(name: str, tmp_path: Path) -> None:
    sample = TEXTS[name]
    expected = read(placed(tmp_path / "as it was", sample, sample.data))
    for change, changed in CHANGES.items():
        actual = read(placed(tmp_path / change, sample, changed(sample.data)))
        assert actual.points == expected.points, change
        assert not actual.reported or expected.reported, change


@pytest.mark.parametrize(
    ("decoder", "text"),
    [
        (lines.decoder, '{"step": 1, "précision": 0.5}\n'),
        (TableDecoder, "step,précision\n1,0.5\n"),
        (ConsoleDecoder, "{'loss': 0.25, 'précision': 0.5, 'step': 1}\n"),
    ],
)
def test_names_in_latin_1_are_read(decoder: Callable[[], ConsoleDecoder], text: str) -> None:
    names = set[str]()
    for data in (text.encode(), text.encode("latin-1")):
        [points] = [item for item in decoder().feed(data) if isinstance(item, Points)]
        names |= {re.sub("é", "e", name) for name in points.names if name.startswith("pr")}
        assert 0.5 in points.values
    assert names <= {"precision"}


def test_bytes_of_no_encoding_are_replaced() -> None:
    assert decoded(b"caf\xe9 \x93x\x94") == "café “x”"
    assert decoded("é".encode() + b"\xff") == "é\ufffd"
    assert decoded(b"\x81") == "\ufffd"
