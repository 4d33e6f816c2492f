"""W&B rows that are read many at once say what each of them says by itself, and what Python's json says of it."""

from __future__ import annotations

import json
import math
import random
from collections import defaultdict

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from log_writer import WANDB, Series, damage, decode, field, framed, history, series, varint, wall_times

from tuimon.formats._protobuf import fields
from tuimon.formats._wandb_batch import Keys, read_rows
from tuimon.formats._wandb_plain import glance
from tuimon.formats.wandb import WandbDecoder

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
    """In any order of their keys, as Go's maps are; `part` of the values are odd ones."""
    chance = random.Random(seed)
    found = []
    for number in range(count):
        items = {key: repr(chance.uniform(-10, 10)) for key in KEYS if chance.random() < 0.9}
        items |= {key: chance.choice(ODD + NO_JSON) for key in items if key[0][0] != "_" and chance.random() < part}
        for key, text in ((("_step",), str(number)), (("_timestamp",), repr(1.79e9 + number))):
            if key in items:
                items[key] = text
        order = list(items)
        chance.shuffle(order)
        found.append({key: items[key] for key in order})
    return found


def leaves(name: str, value: object) -> list[tuple[str, float]]:
    if isinstance(value, dict):
        return [leaf for key, inner in value.items() for leaf in leaves(f"{name}.{key}", inner)]
    return [(name, float(value))] if isinstance(value, int | float) and not isinstance(value, bool) else []


def wanted(those: list[dict[tuple[str, ...], str]], steps: list[int | None]) -> tuple[Series, dict[str, list[float]]]:
    points: Series = defaultdict(list)
    times: dict[str, list[float]] = defaultdict(list)
    for items, step in zip(those, steps, strict=True):
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


@settings(max_examples=30, deadline=None)
@given(st.integers(), st.integers(1, 300), st.sampled_from((0.0, 0.001, 0.02, 0.3)))
def test_rows_say_what_json_says_of_them(seed: int, count: int, part: float) -> None:
    those = rows(seed, count, part)
    steps = [random.Random(seed + at).choice(STEPS) if part else at for at in range(count)]
    records = [
        history(at, {".".join(k) if len(k) == 1 else k: v for k, v in items.items()}, step)
        for at, (items, step) in enumerate(zip(those, steps, strict=True))
    ]
    data = framed(WANDB, records)
    points, times = wanted(those, steps)
    cuts, at = [], 0
    for record in records:
        at += len(record)
        cuts.append(at)
    for pieces in ((), cuts):
        items = decode(WandbDecoder(), data, pieces)
        assert series(items) == points
        assert {name: list(map(repr, known)) for name, known in wall_times(items).items()} == {
            name: list(map(repr, known)) for name, known in times.items()
        }
        assert not damage(items)


def test_a_damaged_row_among_many_is_named_and_the_others_are_read() -> None:
    records = [history(at, {"loss": repr(at * 0.5), "kl": repr(at * 0.25)}, at) for at in range(100)]
    broken = bytearray(records[60])
    broken[3] = 0x0A
    broken[4:6] = b"\xff\x7f"  # an item that would reach past the row
    records[60] = bytes(broken)
    items = decode(WandbDecoder(), framed(WANDB, records))
    assert series(items)["loss"] == [(at, repr(at * 0.5)) for at in range(100) if at != 60]
    assert [one.reason for one in damage(items)] == ["record not readable"]


def test_texts_that_are_json_only_together_cost_no_other_row() -> None:
    records = [history(at, {"loss": repr(at * 0.5), "kl": "2.5"}, at) for at in range(100)]
    records[60] = history(60, {"note": "1,[2", "other": "3]"}, 60)
    assert not series(decode(WandbDecoder(), framed(WANDB, records[60:61])))
    records[2:2] = [history(2, {"note": "0.5", "other": "0.25"}, 2)]  # the keys are known
    found = series(decode(WandbDecoder(), framed(WANDB, records)))
    assert found["loss"] == [(at, repr(at * 0.5)) for at in range(100) if at != 60]
    assert set(found) == {"loss", "kl", "note", "other"}
    assert found["note"] == [(2, "0.5")]


def test_keys_that_differ_anywhere_are_told_apart() -> None:
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


def test_a_step_that_looks_like_a_tag_keeps_no_row_from_the_others() -> None:
    steps = [129, 130, 131, 16_640, 16_767, 16_768, 2**14 * 130, 2**21 + 16_640, 2**63 - 1]
    assert sum(b"\x82\x01" in varint(step) for step in steps) == 4
    body = []
    for at, step in enumerate(steps):
        record = history(at, {"loss": repr(at * 0.5)}, step)
        body += [record[start:end] for number, _, start, end in fields(record, 0, len(record)) if number == 2]
    keys = Keys()
    keys.add({b"\x12\x04loss": 0, b"\x0a\x04loss": 1})
    batch = read_rows(body, keys, lambda key, text: math.nan)
    assert batch.good.all()
    assert batch.steps.tolist() == steps
    assert batch.values.tolist() == [at * 0.5 for at in range(len(steps))]
    assert not read_rows([body[1][-5:]] * 3, keys, lambda key, text: math.nan).good.any()


NUMBERS = st.sampled_from([0, 1, 127, 128, 16_383, 16_384, 2**21, 2**35, 2**42, 2**49, 2**63])


@settings(max_examples=60, deadline=None)
@given(st.integers(), st.lists(st.tuples(NUMBERS, st.integers(0, 3), st.integers(0, 300)), min_size=33, max_size=60))
def test_a_glance_tells_rows_and_summaries_by_their_bytes(seed: int, wanted: list[tuple[int, int, int]]) -> None:
    """Records that are a number and a body, and some in which a byte is another: what it says of a record is so."""
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
    found = glance(data, *(np.array(column) for column in zip(*records, strict=True)))
    for (number, kind, _), (start, end), told, body in zip(wanted, records, *found, strict=True):
        if told:
            first, second = fields(data, start, end)  # a number may be written in more bytes than it needs
            assert first[:2] == (1, 0)
            assert second == (told, 2, body, end)
        elif kind in (1, 2) and number < 1 << 49:
            assert end - start < 16  # too short to tell
