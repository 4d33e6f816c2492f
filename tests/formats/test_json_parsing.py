"""Tolerant JSON parsing: almost valid JSON, broken lines, hostile lines."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.json_points import damage, feed, series

from tuimon.errors import FormatError
from tuimon.formats._shared import lines as _lines
from tuimon.formats._shared.json import parse, whole_values
from tuimon.formats.json.lines import decoder
from tuimon.model.points import Item

GOOD = b'{"step": 1, "loss": 0.5}'


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b'{"a": NaN}', {"a": math.nan}),
        (b"[Infinity, -Infinity, 1]", [math.inf, -math.inf, 1]),
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
        (b'{"a\xff": 1}', {"aÿ": 1}),
        ("{'é".replace("'", '"').encode() + b'\xff": 1}', {"é\ufffd": 1}),
        (rb'{"\ud800": 1, "\ud83d\ude00": 2, "\\ud800": 3}', {"\ufffd": 1, "😀": 2, "\\ud800": 3}),
        (b'{"a": 1e999, "b": -1e999}', {"a": math.inf, "b": -math.inf}),
        (b'{"a": 123456789012345678901234567890}', {"a": 123456789012345678901234567890.0}),
        (b"[NaN, %d, %d]" % (2**63 - 1, -(2**63)), [math.nan, 2**63 - 1, -(2**63)]),
        (b"[NaN, -9999999999999999999]", [math.nan, -1e19]),
        (b'{"a": "\x01\t"}', {"a": "\x01\t"}),
        (b'{"a": 1, "a": 2}', {"a": 2}),
        (b' {"a": 1}\r', {"a": 1}),
        (b'{"a": "NaN, Infinity", "b": NaN}', {"a": "NaN, Infinity", "b": math.nan}),
        (b'{"NaN": NaN, "b": [-Infinity, {"c": Infinity}]}', {"NaN": math.nan, "b": [-math.inf, {"c": math.inf}]}),
        (rb'{"a": "\u0000?", "b": NaN}', {"a": "\0?", "b": math.nan}),
    ],
)
def test_nearly_json_is_read(text: bytes, value: object) -> None:
    assert repr(parse(text)) == repr(value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b'{"a": 1', "not JSON"),
        (b"", "not JSON"),
        (b'{"a": nan}', "not JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        ('{"a": 1}'.encode("utf-16"), "UTF-16, not UTF-8"),
        ('{"a": 1}'.encode("utf-16-le"), "UTF-16, not UTF-8"),
        ('{"a": 1}'.encode("utf-16-be"), "UTF-16, not UTF-8"),
    ],
)
def test_invalid_json_raises_with_a_reason(text: bytes, reason: str) -> None:
    with pytest.raises(FormatError, match=reason):
        parse(text)


def test_integer_of_a_million_digits_is_infinite_and_fast() -> None:
    assert parse(b'{"a": ' + b"9" * 1_000_000 + b"}") == {"a": math.inf}


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**17), 10**17) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON_VALUES)
def test_output_of_json_dumps_is_read(value: object) -> None:
    assert repr(parse(json.dumps(value).encode())) == repr(value)


_TOKENS = [
    *("NaN", "-Infinity", "Infinity", '"NaN"', '"a"', '"', "{", "}", "[", "]", ":", ",", "1", "-", " ", r"\u0000?"),
    "\\",
]


def _by_python(text: str) -> str:
    try:
        return repr(json.loads(text))
    except ValueError:
        return "not JSON"


@given(
    st.lists(st.sampled_from(_TOKENS), max_size=12).map("".join)
    | st.lists(st.sampled_from(_TOKENS)).map(lambda tokens: '{"b": NaN, "a": ' + "".join(tokens) + "}")
)
def test_bare_non_finite_numbers_are_read_as_python_does(text: str) -> None:
    try:
        value = repr(parse(text.encode()))
    except FormatError as error:
        value = error.message
    assert value == _by_python(text)


@given(st.binary(max_size=60))
def test_garbage_is_a_format_error_at_most(data: bytes) -> None:
    try:
        outcome = json.dumps(parse(data))
    except FormatError as error:
        outcome = error.message
    assert outcome


# Broken lines


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (b'{"step": 2, "loss": ', "not JSON"),
        (b"Traceback (most recent call last):", "not JSON"),
        (b"\x93NUMPY\x00\x01\xff", "NUL bytes within a line"),
        (b"[" * 100_000, "nested too deeply"),
        ('{"step": 2}'.encode("utf-16"), "UTF-16, not UTF-8"),
    ],
)
def test_bad_line_does_not_affect_other_lines(bad: bytes, reason: str) -> None:
    items = feed(decoder(), GOOD + b"\n" + bad + b'\n{"step": 3, "loss": 0.25}\n')
    assert series(items) == {"loss": [(1, "0.5"), (3, "0.25")]}
    lines = bad.count(b"\n") + 1
    assert [(offset, length) for offset, length, _ in damage(items)][:1] == [(len(GOOD) + 1, len(bad) + 1)] or lines > 1
    assert {reason} == {said for _, _, said in damage(items)}


def test_a_hostile_line_is_searched_in_linear_time() -> None:
    result, lost = whole_values(b'{"step":' * 200_000)
    assert (result, lost) == ([], True)


@pytest.mark.parametrize("piece", [7, 64, 1000, 10_000])
def test_too_long_line_is_skipped_in_bounded_memory(monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    monkeypatch.setattr(_lines, "MAX_LINE", 1000)
    monkeypatch.setattr(_lines, "_PIECE", 500)
    fits = b'{"step": 2, "loss": 2, "x": "' + b"x" * 100 + b'"}'
    long = b'{"step": 3, "loss": 3, "x": "' + b"x" * 3000 + b'"}'
    data = b"\n".join([GOOD, fits, long, b'{"step": 4, "loss": 4}', b""])
    reader = decoder()
    items: list[Item] = []
    for index in range(0, len(data), piece):
        items += reader.feed(data[index : index + piece])
        assert len(reader._lines.pending()) <= 1000
    assert series(items) == {"loss": [(1, "0.5"), (2, "2.0"), (4, "4.0")]}
    assert [d[:2] for d in damage(items)] == [(len(GOOD) + len(fits) + 2, len(long) + 1)]


def test_object_without_a_newline_is_emitted_once() -> None:
    reader = decoder()
    assert series(reader.feed(GOOD[:-1])) == {}
    assert series(reader.flush()) == {}
    assert series(reader.feed(b"}")) == {}
    assert series(reader.flush()) == {"loss": [(1, "0.5")]}
    assert list(reader.flush()) == []
    items = [*reader.feed(b'\n{"step": 2, "loss": 0.25}'), *reader.flush(), *reader.feed(b"\n")]
    assert series(items) == {"loss": [(2, "0.25")]}
    assert damage(items) == []


def test_offsets_include_flushed_bytes() -> None:
    reader = decoder()
    reader.feed(GOOD)
    reader.flush()
    assert damage(reader.feed(b"\nbad\n")) == [(len(GOOD) + 1, 4, "not JSON")]
