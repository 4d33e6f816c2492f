"""tuimon.testing accepts formats that conform and names what is wrong with others."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tuimon import testing
from tuimon.errors import FormatError, Unfinished
from tuimon.formats import DocumentDecoder, Format, StreamDecoder
from tuimon.model.points import Item, PointsBuilder

LINES = b"#count 1\n" + b"".join(b"%d %d\n" % (step, step * 7) for step in range(60))
DOCUMENT = json.dumps({"loss": [[step, step / 8] for step in range(40)]}).encode()


class Counts(StreamDecoder):
    """Decodes lines `<step> <value>`, as it should be done."""

    longest = 100

    def __init__(self) -> None:
        self.points = PointsBuilder()
        self.rest = b""
        self.is_long = False

    def feed(self, data: bytes) -> list[Item]:
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            if not self.is_long:
                self.read(line)
            self.is_long = False
        if len(self.rest) > self.longest:
            self.rest, self.is_long = b"", True
        return list(self.points.take())

    def read(self, line: bytes) -> None:
        words = line.split(b" ")
        if len(words) == 2 and len(line) <= 100 and all(word.isdigit() and len(word) < 18 for word in words):
            self.points.add("count", int(words[0]), float(words[1]))

    def flush(self) -> list[Item]:
        return []


class Splits(Counts):
    """Forgets the beginning of a line."""

    def feed(self, data: bytes) -> list[Item]:
        self.rest = b""
        return super().feed(data)


class Raises(Counts):
    """Takes every line for a point."""

    def read(self, line: bytes) -> None:
        if not line.startswith(b"#"):
            step, value = line.split(b" ")
            self.points.add("count", int(step), float(value))


class Hoards(Counts):
    """Keeps a line of any length."""

    longest = 1 << 40


class Repeats(Counts):
    """Returns an incomplete line at a flush, and the whole line again."""

    def flush(self) -> list[Item]:
        self.read(self.rest)
        return list(self.points.take())


class Document(DocumentDecoder):
    """Decodes {"metric": [[step, value], …]} and returns what is new."""

    def __init__(self) -> None:
        self.known = 0

    def load(self, data: bytes) -> list[Item]:
        try:
            document = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise Unfinished(str(error)) from error
        points = PointsBuilder()
        try:
            rows = [(int(step), float(value)) for step, value in document["loss"]]
            for step, value in rows[self.known :]:
                points.add("loss", step, value)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise FormatError(str(error)) from error
        self.known = max(self.known, len(rows))
        return list(points.take())


class Again(Document):
    """Returns all points at each load."""

    def load(self, data: bytes) -> list[Item]:
        self.known = 0
        return super().load(data)


def stream(decoder: Callable[[], Any], id: str = "count") -> Format:
    return Format(id, "counts", "none", 30, lambda name, head: head.startswith(b"#count 1\n"), decoder)


def document(decoder: Callable[[], Any]) -> Format:
    return Format("rows", "rows", "none", 30, lambda name, head: head.startswith(b'{"loss"'), decoder)


def test_formats_that_conform_pass() -> None:
    testing.check_format(stream(Counts), "run.count", LINES)
    testing.check_format(document(Document), "run.json", DOCUMENT)
    assert testing.points_of(stream(Counts), LINES)["count"][:3] == [(0, 0.0), (1, 7.0), (2, 14.0)]
    assert testing.points_of(document(Document), DOCUMENT)["loss"][1] == (1, 0.125)


@pytest.mark.parametrize(
    ("decoder", "reason"),
    [
        (Splits, "depend on how the log is split"),
        (Hoards, "take|keeps|stay"),
        (Repeats, "a flush at byte|cut off"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_what_is_wrong_with_a_stream_is_named(decoder: Callable[[], StreamDecoder], reason: str) -> None:
    with pytest.raises(AssertionError, match=reason):
        testing.check_format(stream(decoder), "run.count", LINES)


def test_a_decoder_that_raises_fails() -> None:
    with pytest.raises(ValueError, match=r"unpack|invalid|convert"):
        testing.check_format(stream(Raises), "run.count", LINES)


def test_what_is_wrong_with_a_document_is_named() -> None:
    with pytest.raises(AssertionError, match=r"again|other points"):
        testing.check_format(document(Again), "run.json", DOCUMENT)


def test_a_bad_description_and_a_foreign_log_are_named() -> None:
    with pytest.raises(AssertionError, match="id 'Count'"):
        testing.check_format(stream(Counts, "Count"), "run.count", LINES)
    with pytest.raises(AssertionError, match=r"matches\(\) is False"):
        testing.check_format(stream(Counts), "run.count", b"step,loss\n")
    with pytest.raises(AssertionError, match="less than two points"):
        testing.check_format(stream(Counts), "run.count", b"#count 1\n0 1\n")
