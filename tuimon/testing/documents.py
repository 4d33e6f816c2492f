"""Requirements on formats whose files are rewritten as a whole: half-written, loaded again, damaged.

Each function raises AssertionError if one is not met. `draw` gives the random positions.
"""

from __future__ import annotations

import json
import random

from tuimon.errors import FormatError, Unfinished
from tuimon.formats import DocumentDecoder, Format
from tuimon.model.points import Damage, Item, Points, Replaced
from tuimon.testing.given import HOSTILE, begins, expect, given, places


def check(log_format: Format, log: bytes, draw: random.Random) -> None:
    """Apply all tests to one document."""
    half_written_gives_nothing_wrong(log_format, log, draw)
    loaded_twice_yields_nothing_new(log_format, log)
    for _ in range(40):
        noise = draw.randbytes(draw.randrange(600))
        damage_raises_documented_errors(log_format, log, noise, draw.randrange(len(log)), draw.randrange(50))
    for line in HOSTILE[:10]:
        hostile_raises_documented_errors(log_format, log, line)
    is_made_of_plain_values(log_format, log)


def _decoder(log_format: Format) -> DocumentDecoder:
    decoder = log_format.decoder()
    assert isinstance(decoder, DocumentDecoder)
    return decoder


def half_written_gives_nothing_wrong(log_format: Format, log: bytes, draw: random.Random) -> None:
    """Each prefix is unfinished or yields the first points. The whole document yields the rest."""
    whole = given(_decoder(log_format).load(log))
    known = _decoder(log_format)
    known.load(log)
    for end in places(len(log), 60, draw.randrange):
        decoder = _decoder(log_format)
        items: list[Item] = []
        try:
            items += decoder.load(log[:end])
        except Unfinished as error:
            items += error.items
        except FormatError:
            items.clear()
        collected = given(items)
        expect(begins(collected.bits, whole.bits), f"cut off at byte {end}, points differ")
        expect(not [item for item in items if isinstance(item, Damage)], f"cut off at byte {end}, it counts as damaged")
        collected.add(decoder.load(log))
        expect(collected.bits == whole.bits, f"after its first {end} bytes the whole gives other points")
        if end < len(log) - 2 and log[:1] in b"{[":
            try:
                known.load(log[:end])
            except Unfinished as error:
                void = [item for item in error.items if isinstance(item, Points | Replaced)]
                expect(not void, f"its first {end} bytes give points again")
            else:
                raise AssertionError(f"its first {end} bytes are not reported as unfinished")


def loaded_twice_yields_nothing_new(log_format: Format, log: bytes) -> None:
    """Only what is new is returned."""
    decoder = _decoder(log_format)
    expect(list(decoder.load(log)), "the document gives nothing")
    expect(not list(decoder.load(log)), "the same document gives items again")
    again = [item for item in decoder.load(log + b"\n") if isinstance(item, Points)]
    expect(not again, "the document with a newline at its end gives points again")


def damage_raises_documented_errors(log_format: Format, log: bytes, noise: bytes, place: int, length: int) -> None:
    """A damaged document raises FormatError, if anything, and changes nothing then, unless it was salvaged."""
    bad = log[:place] + noise[:length] + log[place + length :]
    for data in (noise, log + noise, bad):
        _load_bad(log_format, log, data)


def hostile_raises_documented_errors(log_format: Format, log: bytes, line: bytes) -> None:
    """A document with content that crashes naive parsers raises FormatError, if anything."""
    for data in (line, b'{"log_history": [' + line + b"]}", b'{"train_history": [' + line + b'], "config": {}}'):
        _load_bad(log_format, log, data)


def _load_bad(log_format: Format, log: bytes, data: bytes) -> None:
    decoder = _decoder(log_format)
    collected = given(decoder.load(log))
    try:
        decoder.load(data)
    except FormatError as error:
        if salvaged := list(getattr(error, "items", ())):  # some damage looks like rows that a writer adds
            collected.add(salvaged)
            collected.add(decoder.load(log))
            whole = given(_decoder(log_format).load(log))
            expect(collected.bits == whole.bits, "the document does not replace what was salvaged")
        else:
            expect(not list(decoder.load(log)), "what could not be read has changed the state")


def is_made_of_plain_values(log_format: Format, log: bytes) -> None:
    """Facts can be sent through a pipe as JSON."""
    for fact in given(_decoder(log_format).load(log)).facts.values():
        json.dumps(fact)
