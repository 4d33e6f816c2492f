"""W&B rows whose values are parsed together equal what Python's json parses of each."""

from __future__ import annotations

import json
import random
from collections import defaultdict

from hypothesis import given, settings
from hypothesis import strategies as st
from support.log_writer import WANDB, Series, damage, decode, framed, history, series, varint, wall_times

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


def test_a_step_that_looks_like_a_tag_costs_no_row() -> None:
    steps = [129, 130, 131, 16_640, 16_767, 16_768, 2**14 * 130, 2**21 + 16_640, 2**63 - 1]
    assert sum(b"\x82\x01" in varint(step) for step in steps) == 4
    records = [history(index, {"loss": repr(index * 0.5)}, step) for index, step in enumerate(steps)]
    items = decode(WandbDecoder(), framed(WANDB, records))
    assert series(items) == {"loss": [(step, repr(index * 0.5)) for index, step in enumerate(steps)]}
    assert not damage(items)
