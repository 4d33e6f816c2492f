"""`.wandb` files with everything at once (rows whose keys change, summaries, system metrics, console text, records over
several blocks), split and damaged anywhere: exactly the whole records yield their points."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.json_points import rows
from support.log_writer import WANDB, append, damage, decode, field, history

from tuimon.formats._shared import log_blocks as _log_blocks
from tuimon.formats.wandb import _history as _wandb_history
from tuimon.formats.wandb.run_file import WandbDecoder

Point = tuple[str, int, str, str]
"""Metric, step, value, wall time; floats by repr, so that NaN equals NaN."""
Key = str | tuple[str, ...]

KEYS: list[Key] = ["loss", "_step", "_timestamp", ("actor", "pg", "loss"), ("actor", "kl"), "naïve/准确率", "\x82\x01"]
KEYS += ["k" * 122, "k" * 127, "k" * 128, *(f"critic/score/m{number}" for number in range(40))]
ODD = [
    *("NaN", "Infinity", "-Infinity", "null", "true", '"NaN"', '"Infinity"', '{"a": 1, "b": {"c": NaN}}', "[1, 2]"),
    *("{}", "1e400", "-0.0", "18446744073709551616", " 5", "5 ", "0." + "1" * 125, "0." + "1" * 126),
    *('"' + "x" * 40_000 + '"', "01", "1,2", "", "-", "2.5.1", '"\x82\x01"'),
]
STEPS = [0, -3, 127, 128, 130, 16_640, 2**40, 2**63 - 1, -(2**63)]
FIRST_SECOND = 1_790_000_000


def numbers(name: str, text: str) -> Iterator[tuple[str, float]]:
    try:
        waiting = [(name, json.loads(text, parse_int=float, strict=False))]
    except ValueError:
        return
    for name, value in waiting:
        if isinstance(value, dict):
            waiting += [(f"{name}.{key}", inner) for key, inner in value.items()]
        elif isinstance(value, float):
            yield name, value


class Mixture:
    """Records as wandb might write them, and the points of each."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.records: list[bytes] = []
        self.points: list[list[Point]] = []
        self.odd = chance.choice([0, 0.001, 0.02, 0.3])
        self.keys = chance.sample(KEYS, chance.randint(1, len(KEYS)))
        self.first_number = chance.choice([0, 100, 2**14, 2**48])
        self.shuffles = chance.random() < 0.3
        self.stepped = chance.choice([0, 0.5, 1])

    def write(self) -> None:
        kinds = [self.row, self.row, self.row, self.summary, self.stats, self.console]
        self.chance.choice(kinds)(self.first_number + len(self.records))

    def add(self, record: bytes, points: list[Point]) -> None:
        self.records.append(record)
        self.points.append(points)

    def items(self) -> dict[Key, str]:
        if self.chance.random() < self.odd:
            self.keys = self.chance.sample(KEYS, self.chance.randint(1, len(KEYS)))
        if self.shuffles:
            self.chance.shuffle(self.keys)
        items = {key: repr(self.chance.uniform(-9, 9)) for key in self.keys}
        items |= {key: self.chance.choice(ODD) for key in items if self.chance.random() < self.odd}
        own = {"_step": str(len(self.records)), "_timestamp": str(FIRST_SECOND + len(self.records) / 2)}
        return items | {key: text for key, text in own.items() if key in items and self.chance.random() >= self.odd}

    def row(self, number: int) -> None:
        items = self.items()
        expected = [
            leaf
            for key, text in items.items()
            for leaf in numbers(key if isinstance(key, str) else ".".join(key), text)
        ]
        own = dict(reversed(expected))
        step = number if self.chance.random() < self.stepped else None
        if step is not None and self.chance.random() < self.odd:
            step = self.chance.choice(STEPS)
        logged = own.get("_step", 0.0)
        position = step if step is not None else int(logged) if abs(logged) < 2**63 else 0
        record = history(number, items, step) + (field(200, b"") if self.chance.random() < self.odd else b"")
        self.add(
            record, [(name, position, repr(value), repr(own.get("_timestamp", math.nan))) for name, value in expected]
        )

    def summary(self, number: int) -> None:
        update = b"".join(field(1, field(1, str(key)) + field(16, text)) for key, text in self.items().items())
        self.add(field(1, number) + field(3, update), [])

    def stats(self, number: int) -> None:
        """Write system metrics, all with the same second, so that their clock may begin at any of them."""
        value = repr(self.chance.uniform(-9, 9))
        body = field(2, field(1, FIRST_SECOND)) + field(3, field(1, "cpu") + field(16, value))
        self.add(field(1, number) + field(7, body), [("system/cpu", 0, value, repr(float(FIRST_SECOND)))])

    def console(self, number: int) -> None:
        text = "text\n" * self.chance.choice([1, 20, 10_000])
        self.add(field(1, number) + field(13, field(1, 1) + field(3, text)), [])


@settings(max_examples=50)
@given(st.randoms(use_true_random=True))
def test_whole_records_yield_their_points_whatever_surrounds_them(chance: random.Random) -> None:
    mixture, few = Mixture(chance), chance.choice([3, 40, 150])
    while len(mixture.records) < few:
        mixture.write()
    damaged, likely = 0, chance.choice([0, 0, 0.02, 0.3])
    wanted: list[Point] = []
    data = bytearray(WANDB)
    for record, points in zip(mixture.records, mixture.points, strict=True):
        append(data, record)
        if chance.random() < likely:
            data[-1 - chance.randrange(len(record))] ^= 1 << chance.randrange(8)
            damaged += 1
        else:
            wanted += points
    with pytest.MonkeyPatch.context() as patch:  # small files take the code paths of large ones
        patch.setattr(_wandb_history, "_AT_ONCE", chance.choice([1, 5, 64]))
        patch.setattr(_wandb_history, "_KNOWN_HEADS", chance.choice([5, 1 << 16]))
        patch.setattr(_log_blocks, "_SEARCH_AGAIN", chance.choice([10, 4096]))
        cuts = [chance.randrange(len(data)) for _ in range(chance.choice([0, 1, 5, 50]))]
        items = decode(WandbDecoder(), bytes(data), cuts)
    assert rows(items) == wanted
    assert bool(damage(items)) == bool(damaged)
