"""Requirements on formats whose logs grow at their end: split, torn, damaged and flushed anywhere.

Each function raises AssertionError if one is not met. `draw` gives the random positions.
"""

from __future__ import annotations

import random
import re
import tracemalloc
from collections import Counter
from collections.abc import Sequence
from typing import Any

from tuimon.formats import Format, StreamDecoder
from tuimon.model.points import Points
from tuimon.testing.given import HOSTILE, Given, begins, expect, fed, lies_in, new_decoder, places

EVERY_BYTE = 20_000
"""Size (bytes) above which logs are not fed byte by byte."""
NOISES = {"random": b"", "zeros": b"\0", "letters": b"a", "newlines": b"\n", "braces": b'{"a": 1}', "digits": b"1,2 "}
_NOISE = 1 << 16
_CHUNK = 1 << 14
_HELD = 24 << 20
"""Bytes a decoder may hold beyond its input: a line of 16 MiB and its copy."""


def check(log_format: Format, log: bytes, checksums: bool, draw: random.Random) -> None:
    """Apply all tests to one log."""
    same_when_split(log_format, log[:EVERY_BYTE], range(min(len(log), EVERY_BYTE)))
    for piece in (7, 100, 1021, 4096):
        if len(log) // piece <= 2000:
            same_when_split(log_format, log, range(piece, len(log), piece))
    flushes_repeat_nothing(log_format, log, draw)
    truncation_keeps_the_first_points(log_format, log, draw)
    wrong_byte_invents_nothing(log_format, log, checksums, draw)
    for line in HOSTILE:
        hostile_line_costs_no_other(log_format, log, line)
    for _ in range(20):
        noise = draw.randbytes(draw.randrange(2000))
        noise_never_raises(log_format, log, noise, draw.randrange(len(log) + 1), draw.randrange(1, 2000))
    for name in NOISES:
        noise_is_bounded(log_format, log, name)
    endless_line_is_bounded(log_format)


# ---------------------------------------------------------------------- cutting


def same_when_split(log_format: Format, log: bytes, cuts: Sequence[int]) -> None:
    """The pieces in which a log arrives make no difference."""
    ours, whole = fed(log_format, log, cuts), fed(log_format, log)
    expect(ours.bits == whole.bits, "the points depend on how the log is split")
    expect(ours.segments == whole.segments, "the segments depend on how the log is split")
    expect(ours.lost == whole.lost, "the damage depends on how the log is split")
    console = whole.facts.get("console", [])
    expect(not console or ours.facts["console"][-len(console) :] == console, "the console text depends on the split")
    expect(_final_facts(ours) == _final_facts(whole), "the facts depend on how the log is split")


def _final_facts(given: Given) -> dict[str, Any]:
    """Return the facts but for the console text, of which only the last lines of one long piece are kept, and a state
    that was reported and withdrawn: a log that is read whole has passed the end of a part before anything is reported.
    """
    facts = {**given.facts, "console": 0}
    state = facts.get("state")
    if isinstance(state, dict) and state.get("state") == "running":
        del facts["state"]
    return facts


def flushes_repeat_nothing(log_format: Format, log: bytes, draw: random.Random) -> None:
    """A flush returns what looks complete; whatever follows, nothing is returned twice and nothing is lost."""
    whole = fed(log_format, log)
    ends = [match.end() for match in re.finditer(rb"[}\]\n]", log)]  # where a record looks whole
    anywhere = [draw.randrange(len(log)) for _ in range(10)]
    for place in (*draw.sample(ends, min(15, len(ends))), *anywhere):
        cut = fed(log_format, log, [place], flush_at_cuts=True)
        expect(cut.bits == whole.bits, f"a flush at byte {place} changes the points")
        expect(cut.segments == whole.segments, f"a flush at byte {place} changes the segments")
        expect(cut.lost == whole.lost, f"a flush at byte {place} changes the damage")
    often = fed(log_format, log, sorted(draw.randrange(len(log)) for _ in range(200)), flush_at_cuts=True)
    expect(often.bits == whole.bits, "frequent flushes change the points")
    decoder = new_decoder(log_format)
    decoder.feed(log)
    decoder.flush()
    expect(not decoder.flush(), "a second flush returns items again")
    expect(not [item for item in decoder.feed(b"") if isinstance(item, Points)], "an empty feed returns points")


# ---------------------------------------------------------------------- torn, damaged, noise


def truncation_keeps_the_first_points(log_format: Format, log: bytes, draw: random.Random) -> None:
    """A cut log gives the first points of each metric, and at most one damaged record."""
    whole = fed(log_format, log)
    ends = range(len(log)) if len(log) < 2000 else places(len(log), 40, draw.randrange)
    for end in ends:
        torn = fed(log_format, log[:end])
        if log_format.id == "console":
            _accept_guessed_steps(torn, whole)
        expect(begins(torn.bits, whole.bits), f"cut off at byte {end}, points differ from those of the whole log")
        expect(torn.lost <= whole.lost + 1, f"cut off at byte {end}, more than one record counts as damaged")


def _accept_guessed_steps(ours: Given, whole: Given) -> None:
    """Accept other steps of console rows. A row may get its step from a progress bar drawn after it: torn off before
    that bar, its step is a guess."""
    for metric, points in ours.bits.items():
        logged = whole.bits.get(metric, [])
        if [point[1:] for point in points] == [point[1:] for point in logged[: len(points)]]:
            ours.bits[metric] = logged[: len(points)]


def _reach(whole: Given) -> int:
    """Number of points that one name or number of a text may affect: a column below a header, or all with the same
    step."""
    rows = Counter(step for points in whole.bits.values() for step, _, _ in points)
    return max([*map(len, whole.bits.values()), *rows.values()], default=1)


def wrong_byte_invents_nothing(log_format: Format, log: bytes, checksums: bool, draw: random.Random) -> None:
    """One wrong byte costs the points that it may affect and adds none; with checksums it costs two records."""
    whole = fed(log_format, log)
    most = 2 * _reach(whole)
    for place in sorted(draw.randrange(len(log)) for _ in range(60)):
        bad = bytearray(log)
        bad[place] ^= draw.choice([0x01, 0x20, 0x80, 0xFF, draw.randrange(1, 256)])
        actual = fed(log_format, bytes(bad))
        if checksums:
            expect(lies_in(actual.bits, whole.bits), f"a wrong byte at {place} gives points that were not logged")
            expect(actual.lost <= 2, f"a wrong byte at {place} costs {actual.lost} records")
        else:
            invented = sum(len(actual.bits[name]) for name in actual.bits.keys() - whole.bits.keys())
            expect(invented <= most, f"a wrong byte at {place} invents {invented} points")
            expect(actual.count <= whole.count + most, f"a wrong byte at {place} adds many points")


def hostile_line_costs_no_other(log_format: Format, log: bytes, line: bytes) -> None:
    """A line that crashes naive parsers neither raises nor costs a good one."""
    whole, shown = fed(log_format, log), line[:20]
    if b"\0" not in log:
        middle = log.rfind(b"\n", 0, len(log) // 2) + 1
        actual = fed(log_format, log[:middle] + line + b"\n" + log[middle:])
        if log_format.id == "console" and b"\0" in line:  # lines are missing there, perhaps the end of a block
            expect(lies_in(actual.bits, whole.bits), f"a line {shown!r}… gives points that were not logged")
        else:
            expect(lies_in(whole.bits, actual.bits), f"a line {shown!r}… costs points of other lines")
    else:
        middle = len(log) // 2
        actual = fed(log_format, log[:middle] + line + log[middle:])
        expect(lies_in(actual.bits, whole.bits), f"bytes {shown!r}… give points that were not logged")
        expect(actual.count >= fed(log_format, log[:middle]).count, f"bytes {shown!r}… cost points before them")


def noise_never_raises(log_format: Format, log: bytes, noise: bytes, place: int, piece: int) -> None:
    """Random bytes, alone and within a log, raise nothing."""
    for data in (noise, log[:place] + noise, log[:place] + noise + log[place:]):
        fed(log_format, data, range(piece, len(data), piece))


def noise_is_bounded(log_format: Format, log: bytes, name: str) -> None:
    """64 KiB of noise take less than 24 MiB, and less than 40 times their length."""
    data = (NOISES[name] * _NOISE)[:_NOISE] or random.Random(5).randbytes(_NOISE)
    decoder = new_decoder(log_format)
    decoder.feed(log[: 64 << 10])
    count, held, peak = _memory_of(decoder, [data[at : at + _CHUNK] for at in range(0, _NOISE, _CHUNK)])
    expect(peak < min(_HELD, 40 * _NOISE), f"{_NOISE} bytes ({name}) take {peak} bytes of memory")
    expect(held < 16 * _NOISE, f"of {_NOISE} bytes ({name}), {held} bytes stay in memory")
    expect(count <= _NOISE, f"{_NOISE} bytes ({name}) give {count} items")


def endless_line_is_bounded(log_format: Format) -> None:
    """Of forty MiB without a newline, at most a line of 16 MiB is held. So it is for a record with such a length."""
    _, held, peak = _memory_of(new_decoder(log_format), [b"x" * (1 << 20)] * 40)
    expect(held < _HELD and peak < 3 * _HELD, f"a line of 40 MiB without end takes {peak} bytes and keeps {held}")


def _memory_of(decoder: StreamDecoder, pieces: Sequence[bytes]) -> tuple[int, int, int]:
    """Return how many items these pieces give, and the bytes that are held then, and at most."""
    tracemalloc.start()
    try:
        count = sum(len(list(decoder.feed(piece))) for piece in pieces)
        decoder.flush()
        return count, *tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
