"""W&B rows decoded many at once equal the same rows decoded singly, and Python's json."""

from __future__ import annotations

import json
import math
import random
from collections import defaultdict

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from support.log_writer import WANDB, Series, damage, decode, field, framed, history, series, varint, wall_times

from tuimon.formats._shared.protobuf import fields
from tuimon.formats.wandb._batch import Keys, read_rows
from tuimon.formats.wandb._record_kinds import record_kinds
from tuimon.formats.wandb.run_file import WandbDecoder

ODD = (
    *(
        "NaN",
        "Infinity",
        "-Infinity",
        "null",
        "true",
        '"text"',
        '"NaN"',
        '{"a": 1, "b": {"c": 2.5}}',
        "[1, 2]",
        "1e400",
    ),
    *("-0.0", "123456789012345678901234567890", '"' + "x" * 300 + '"', "0.1" + "1" * 120, "0.1" + "1" * 130, " 5"),
)
NO_JSON = ("01", "1,2", "1 2", "", "-", "2.5.1")
KEYS = [("loss",), ("actor", "pg", "loss"), ("_step",), ("_timestamp",), ("k" * 100,), ("k" * 140,), ("naïve/准确率",)]
KEYS += [(f"critic/score/m{number}",) for number in range(30)]
STEPS = (None, 0, 1, 127, 128, 130, 16384, 2**40, 2**62, -3)


def rows(seed: int, count: int, part: float) -> list[dict[tuple[str, ...], str]]:
    """Rows with keys in any order, as Go's maps have; the fraction `part` of the values are unusual."""
    chance = random.Random(seed)
    actual = []
    for number in range(count):
        items = {key: repr(chance.uniform(-10, 10)) for key in KEYS if chance.random() < 0.9}
        items |= {key: chance.choice(ODD + NO_JSON) for key in items if key[0][0] != "_" and chance.random() < part}
        for key, text in ((("_step",), str(number)), (("_timestamp",), repr(1.79e9 + number))):
            if key in items:
                items[key] = text
        order = list(items)
        chance.shuffle(order)
        actual.append({key: items[key] for key in order})
    return actual


def leaves(name: str, value: object) -> list[tuple[str, float]]:
    if isinstance(value, dict):
        return [leaf for key, inner in value.items() for leaf in leaves(f"{name}.{key}", inner)]
    return [(name, float(value))] if isinstance(value, int | float) and not isinstance(value, bool) else []


def wanted(
    batch_rows: list[dict[tuple[str, ...], str]], steps: list[int | None]
) -> tuple[Series, dict[str, list[float]]]:
    points: Series = defaultdict(list)
    times: dict[str, list[float]] = defaultdict(list)
    for items, step in zip(batch_rows, steps, strict=True):
        logged = json.loads(items.get(("_step",), "0")) if step is None else step
        time = json.loads(items.get(("_timestamp",), "NaN"))
        for key, text in items.items():
            try:
                value = json.loads(text)
            except ValueError:
                continue
            for name, number in leaves(".".join(key), value):
                points[name].append((logged, repr(number)))
                times[name].append(time)
    return dict(points), times


@settings(max_examples=15, deadline=None)
@given(st.integers(), st.integers(1, 300), st.sampled_from((0.0, 0.001, 0.02, 0.3)))
def test_rows_equal_what_json_parses(seed: int, count: int, part: float) -> None:
    batch_rows = rows(seed, count, part)
    steps = [random.Random(seed + index).choice(STEPS) if part else index for index in range(count)]
    records = [
        history(index, {".".join(k) if len(k) == 1 else k: v for k, v in items.items()}, step)
        for index, (items, step) in enumerate(zip(batch_rows, steps, strict=True))
    ]
    data = framed(WANDB, records)
    points, times = wanted(batch_rows, steps)
    cuts, index = [], 0
    for record in records:
        index += len(record)
        cuts.append(index)
    for pieces in ((), cuts):
        items = decode(WandbDecoder(), data, pieces)
        assert series(items) == points
        assert {name: list(map(repr, known)) for name, known in wall_times(items).items()} == {
            name: list(map(repr, known)) for name, known in times.items()
        }
        assert not damage(items)


def test_a_damaged_row_is_reported_and_the_others_are_read() -> None:
    records = [history(index, {"loss": repr(index * 0.5), "kl": repr(index * 0.25)}, index) for index in range(100)]
    broken = bytearray(records[60])
    broken[3] = 0x0A
    broken[4:6] = b"\xff\x7f"  # an item that would reach past the row
    records[60] = bytes(broken)
    items = decode(WandbDecoder(), framed(WANDB, records))
    assert series(items)["loss"] == [(index, repr(index * 0.5)) for index in range(100) if index != 60]
    assert [entry.reason for entry in damage(items)] == ["record not readable"]


def test_texts_that_are_json_only_when_joined_cost_no_other_row() -> None:
    records = [history(index, {"loss": repr(index * 0.5), "kl": "2.5"}, index) for index in range(100)]
    records[60] = history(60, {"note": "1,[2", "other": "3]"}, 60)
    assert not series(decode(WandbDecoder(), framed(WANDB, records[60:61])))
    records[2:2] = [history(2, {"note": "0.5", "other": "0.25"}, 2)]  # the keys are known
    actual = series(decode(WandbDecoder(), framed(WANDB, records)))
    assert actual["loss"] == [(index, repr(index * 0.5)) for index in range(100) if index != 60]
    assert set(actual) == {"loss", "kl", "note", "other"}
    assert actual["note"] == [(2, "0.5")]


def test_keys_that_differ_in_any_byte_are_distinguished() -> None:
    keys = Keys()
    names = [b"\x12" + bytes([size]) + bytes([letter]) + b"a" * (size - 1) for size in range(1, 60) for letter in b"bc"]
    names += [name[:-1] + b"z" for name in names]
    keys.add(dict.fromkeys(names[:150]))
    keys.add(dict.fromkeys(names[150:]))
    known = list(dict.fromkeys(names))
    assert len(keys) == len(known)
    body = [b"\x0a" + bytes([len(key) + 6]) + key + b"\x82\x01\x031.5" for key in [*known, b"\x12\x03new"]]
    batch = read_rows(body, keys, lambda key, text: math.nan)
    assert batch.keys.tolist() == list(range(len(known)))
    assert batch.good.tolist() == [True] * len(known) + [False]
    assert set(batch.values.tolist()) == {1.5}


def test_a_step_that_looks_like_a_tag_costs_no_row() -> None:
    steps = [129, 130, 131, 16_640, 16_767, 16_768, 2**14 * 130, 2**21 + 16_640, 2**63 - 1]
    assert sum(b"\x82\x01" in varint(step) for step in steps) == 4
    body = []
    for index, step in enumerate(steps):
        record = history(index, {"loss": repr(index * 0.5)}, step)
        body += [record[start:end] for number, _, start, end in fields(record, 0, len(record)) if number == 2]
    keys = Keys()
    keys.add({b"\x12\x04loss": 0, b"\x0a\x04loss": 1})
    batch = read_rows(body, keys, lambda key, text: math.nan)
    assert batch.good.all()
    assert batch.steps.tolist() == steps
    assert batch.values.tolist() == [index * 0.5 for index in range(len(steps))]
    assert not read_rows([body[1][-5:]] * 3, keys, lambda key, text: math.nan).good.any()


NUMBERS = st.sampled_from([0, 1, 127, 128, 16_383, 16_384, 2**21, 2**35, 2**42, 2**49, 2**63])


@settings(max_examples=60, deadline=None)
@given(st.integers(), st.lists(st.tuples(NUMBERS, st.integers(0, 3), st.integers(0, 300)), min_size=33, max_size=60))
def test_rows_and_summaries_are_identified_by_their_bytes(seed: int, wanted: list[tuple[int, int, int]]) -> None:
    """Records that are a number and a body, and some with one byte changed: no record is identified wrongly."""
    chance = random.Random(seed)
    data, records = b"before ", []
    for number, kind, size in wanted:
        record = field(1, number) + field(kind + 1, chance.randbytes(size))
        if kind == 3:
            spoilt = bytearray(field(1, number) + field(chance.choice([2, 3]), chance.randbytes(size)))
            spoilt[chance.randrange(min(14, len(spoilt)))] ^= 1 << chance.randrange(8)
            record = bytes(spoilt)
        records.append((len(data), len(data) + len(record)))
        data += record
    actual = record_kinds(data, *(np.array(column) for column in zip(*records, strict=True)))
    for (number, kind, _), (start, end), expected_kind, body in zip(wanted, records, *actual, strict=True):
        if expected_kind:
            first, second = fields(data, start, end)  # a number may be written in more bytes than it needs
            assert first[:2] == (1, 0)
            assert second == (expected_kind, 2, body, end)
        elif kind in (1, 2) and number < 1 << 49:
            assert end - start < 16  # too short to be identified
