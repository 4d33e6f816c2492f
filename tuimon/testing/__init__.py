"""Conformance tests of log formats, for packages that add one.

    import tuimon.testing

    def test_the_format_conforms() -> None:
        tuimon.testing.check_format(FORMAT, "run.tally", LOG)

`check_format` applies the tests that all formats of tuimon pass to a small log as its writer leaves it: whatever the
bytes are split, cut off, damaged or mixed with, nothing may be raised, repeated or invented, and memory must be
bounded. It works with any test runner: what fails is an AssertionError that says where. `points_of` is for tests of the
values.
"""

from __future__ import annotations

import random
import re

from tuimon.formats import DocumentDecoder, Format, StreamDecoder
from tuimon.testing import documents, streams
from tuimon.testing.given import expect, fed, given

__all__ = ["check_format", "points_of"]


def check_format(log_format: Format, name: str, log: bytes, checksums: bool = False) -> None:
    """Raise AssertionError unless a format conforms, as far as one log can show.

    name: file name, with which the format is recognised. log: content of a file with at least two points, best below
    20 kB. checksums: records have checksums, so that nothing of a damaged record may be returned.
    """
    describes_itself(log_format)
    expect(log_format.wants_path or log_format.wants_name(name), f"wants_name({name!r}) is False")
    expect(log_format.matches(name, log[:4096]), "matches() is False for the log")
    decoder = log_format.decoder()
    if isinstance(decoder, StreamDecoder):
        expect(fed(log_format, log).count > 1, "the log has less than two points")
        streams.check(log_format, log, checksums, random.Random(1))
    else:
        expect(isinstance(decoder, DocumentDecoder), f"{type(decoder).__name__}: not a stream or document")
        documents.check(log_format, log, random.Random(1))


def describes_itself(log_format: Format) -> None:
    """Expect a usable id, rank and title."""
    expect(re.fullmatch(r"[a-z][a-z0-9_-]*", log_format.id), f"id {log_format.id!r}: lower case, digits, _ and - only")
    expect(1 <= log_format.rank <= 50, f"rank {log_format.rank} is not in 1 … 50")
    expect(log_format.title, "there is no title")


def points_of(log_format: Format, log: bytes) -> dict[str, list[tuple[int, float]]]:
    """Return (step, value) of all points of a log, by metric."""
    decoder = log_format.decoder()
    loaded = given(decoder.load(log)) if isinstance(decoder, DocumentDecoder) else fed(log_format, log)
    return {name: [(step, float(value)) for step, value, _ in points] for name, points in loaded.series.items()}
