"""Texts with everything that is read of them, for all text formats: cases/*.toml, a file for each format.

A case says what a decoder gives for a text, however its bytes are split and whenever it is read while it grows:

- `text`, and `path`: a path with which it is recognised as this format
- `format`: id of the format, by default the name of the file of cases
- `points`: metric -> [[step, value], ...]; no other metric is read, unless `others = true`
- `times`: metric -> wall times
- `facts`: topic -> values, in the order of the log; topics that are not named may have any, and a state any evidence
- `damage`: [[offset, length, reason], ...]; `restarts`: number of restarts; by default there are none
- `remark`, `unread`: what the decoder says of text that it does not read
- `ended`: the log has ended, as far as its decoder knows. Its last line may be cut
- `parts_look_whole`: a part of a line looks like a row, and is taken for one if the log is read while it ends there

Cases of a text and its points alone are [text, points] or [name, text, points] in the array `rows`.

`recognised.toml` has [format, path, text] of files with the format that takes them, "" if none does. Tables without
`case` and `rows` belong to other tests.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support.json_points import damage, facts, feed, rows, series

from tuimon.formats import DocumentDecoder, StreamDecoder, all_formats, recognise
from tuimon.model.points import Item, SegmentStart
from tuimon.testing.given import fed

FOLDER = Path(__file__).parent / "cases"
FORMATS = {known.id: known for known in all_formats()}


class Case(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A row of a table of cases."""

    name: str = ""
    format: str
    path: str = ""
    text: str
    points: dict[str, list[tuple[int, float]]]
    others: bool = False
    times: dict[str, list[float]] = {}
    facts: dict[str, list[Any]] = {}
    damage: list[tuple[int, int, str]] = []
    restarts: int = 0
    remark: str | None = None
    unread: str | None = None
    ended: bool = False
    parts_look_whole: bool = False


def cases() -> dict[str, Case]:
    """Return the cases by "csv-3 sparse rows share a step"."""
    found = {}
    for path in sorted(FOLDER.glob("*.toml")):
        table = tomllib.loads(path.read_text("utf-8"))
        short = [dict(zip(("points", "text", "name"), reversed(row), strict=False)) for row in table.get("rows", [])]
        for number, row in enumerate([*short, *table.get("case", [])], 1):
            case = msgspec.convert({"format": path.stem, **row}, Case)
            found[f"{path.stem}-{number} {case.name}"] = case
    return found


CASES = cases()


def read(case: Case, cuts: range) -> tuple[Any, list[Item]]:
    """Return a decoder and all that it gives for the text in pieces that end at the cuts."""
    decoder = FORMATS[case.format].decoder()
    data = case.text.encode()
    if isinstance(decoder, DocumentDecoder):
        return decoder, decoder.load(data)
    return decoder, [*feed(decoder, data, cuts), *(decoder.end() if case.ended else ())]


@pytest.mark.parametrize("name", CASES)
def test_the_text_gives_what_its_case_says(name: str) -> None:
    case = CASES[name]
    data = case.text.encode()
    if case.path:
        assert recognise(case.path, data[:4096]) is FORMATS[case.format]
    wanted = {metric: [(step, repr(value)) for step, value in points] for metric, points in case.points.items()}
    for piece in (len(data) + 1, 7, 1):
        decoder, items = read(case, range(0, len(data), piece))
        points = series(items)
        assert {metric: points.get(metric) for metric in (wanted if case.others else points)} == wanted
        for metric, times in case.times.items():
            assert [time for name, _, _, time in rows(items) if name == metric] == list(map(repr, times))
        for topic, values in case.facts.items():
            found = facts(items, topic)
            if topic == "state":
                found = [{"state": value["state"]} for value in found]
            assert json.dumps(found, sort_keys=True) == json.dumps(values, sort_keys=True)
        assert damage(items) == case.damage
        assert sum(isinstance(item, SegmentStart) for item in items) == case.restarts
        assert case.remark in (None, getattr(decoder, "remark", None))
        assert case.unread in (None, getattr(decoder, "unread", None))
    if isinstance(decoder, StreamDecoder):
        assert_same_while_it_grows(case)


def assert_same_while_it_grows(case: Case) -> None:
    """Read the log each time that it has grown to one of many places, as `tuimon.reader.follow` does."""
    log_format, data = FORMATS[case.format], case.text.encode()
    ends = [index + 1 for index, byte in enumerate(data) if byte in (b"\n" if case.parts_look_whole else b"\n]}")]
    anywhere = [] if case.parts_look_whole else range(1, len(data))
    expected = fed(log_format, data)
    for cuts in (ends, anywhere):
        assert fed(log_format, data, cuts, flush_at_cuts=True).bits == expected.bits


RECOGNISED: list[list[str]] = tomllib.loads((FOLDER / "recognised.toml").read_text("utf-8"))["files"]


@pytest.mark.parametrize(("expected", "path", "text"), RECOGNISED)
def test_the_format_of_a_file(expected: str, path: str, text: str) -> None:
    log_format = recognise(path, text.encode()[:4096])
    assert (log_format.id if log_format else "") == expected
