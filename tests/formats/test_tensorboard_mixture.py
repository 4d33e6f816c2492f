"""Event files with everything at once (scalars, rows, events of many values, tensors, texts, images, restarts), split
and damaged anywhere, and read with hops over large records: exactly the whole records yield their points, under their
names and in order."""

from __future__ import annotations

import random
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.event_points import WALL, event, image, records, scalar, tensor, text
from tensorboard.compat.proto.event_pb2 import SessionLog
from tensorboard.compat.proto.tensor_pb2 import TensorProto

from tuimon.formats.tensorboard import _records
from tuimon.formats.tensorboard import event_file as tensorboard
from tuimon.formats.tensorboard._records import LARGE
from tuimon.model.points import Damage, Fact, Item, Points, SegmentStart

Point = tuple[str, int, float, float]
"""Tag, step, value, wall time."""


class Mixture:
    """Events as a training might write them, and the points of each."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.step = 0
        self.messages: list[bytes] = []
        self.points: list[list[Point]] = []
        kinds = [self.one, self.rows, self.wide, self.tensors, self.picture, self.note]
        self.kinds = chance.choice([kinds, [self.one, self.picture, self.note]])
        self.tags = [f"t{'x' * chance.randrange(40)}{number}" for number in range(chance.choice([2, 5, 30, 200]))]

    def write(self) -> None:
        """Write some events of one kind."""
        self.step += self.chance.choice([0, 1, 1, 100])
        self.chance.choice(self.kinds)()

    def add(self, values: list[tuple[str, float]], *made: object) -> None:
        wall = WALL + self.chance.randrange(1000)
        self.messages.append(event(self.step, *made, wall=wall))
        self.points.append([(tag, self.step, value, wall) for tag, value in values])

    def value(self) -> float:
        """A value that a 4-byte float represents exactly."""
        return float(struct.unpack("<f", struct.pack("<f", self.chance.uniform(-9, 9)))[0])

    def some(self, most: int) -> list[str]:
        return self.chance.sample(self.tags, self.chance.randint(1, min(most, len(self.tags))))

    def one(self) -> None:
        tag, value = self.chance.choice(self.tags), self.value()
        self.add([(tag, value)], scalar(tag, value))

    def rows(self) -> None:
        row = self.some(200)
        for _ in range(self.chance.choice([1, 2, 5, 30])):
            self.step += 1
            for tag in row:
                value = self.value()
                self.add([(tag, value)], scalar(tag, value))

    def wide(self) -> None:
        row = self.some(20)
        for _ in range(self.chance.choice([1, 2, 30])):
            self.step += 1
            values = [(tag, self.value()) for tag in row]
            self.add(values, *(scalar(*value) for value in values))

    def tensors(self) -> None:
        tag = self.chance.choice(self.tags) + "/tensor"
        for _ in range(self.chance.choice([1, 2, 40])):
            self.step += 1
            value = self.value()
            content = (
                {"float_val": [value]} if self.chance.random() < 0.5 else {"tensor_content": struct.pack("<f", value)}
            )
            self.add([(tag, value)], tensor(tag, TensorProto(dtype=1, **content)))

    def picture(self) -> None:
        tag, value = self.chance.choice(self.tags) + "/beside", self.value()
        size = self.chance.choice([100, 70_000])
        if self.chance.random() < 0.5:
            self.add([(tag, value)], image("picture", size), scalar(tag, value), image("another", size))
        elif self.chance.random() < 0.5:
            self.add([], image("picture alone", size))
        else:
            self.add([], tensor("pictures", TensorProto(dtype=7, string_val=[b"p" * size]), "images"))

    def note(self) -> None:
        """Write a text or a restart; it is in `points` by its kind, and its step alone."""
        if self.chance.random() < 0.5:
            self.add([("a text", 0.0)], text("words", "said"))
        else:
            self.messages.append(event(self.step, session_log=SessionLog(status=SessionLog.START)))
            self.points.append([("a restart", self.step, 0.0, WALL)])


def read(data: bytes, cuts: list[int], hops: bool) -> list[Item]:
    """Decode the data in pieces that end at the cuts, but for what may be skipped if `hops` is set."""
    decoder = tensorboard.EventFileDecoder()
    items: list[Item] = []
    position = 0
    for end in [*sorted(cuts), len(data)]:
        if position < end:
            items += decoder.feed(data[position:end])
            position = end
        if hops:
            count = min(decoder.skippable, len(data) - position)
            decoder.advance(count)
            position += count
    return [*items, *decoder.flush()]


def points_of(items: list[Item]) -> list[Point]:
    """Return the points, and texts and restarts as such, in order."""
    points: list[Point] = []
    for item in items:
        if isinstance(item, Points):
            columns = item.metric, item.steps, item.values, item.wall_times
            points += [(item.names[metric], *point) for metric, *point in zip(*map(list, columns), strict=True)]
        elif isinstance(item, Fact):
            points.append(("a text", item.step or 0, 0.0, item.wall_time or 0.0))
        elif isinstance(item, SegmentStart):
            points.append(("a restart", item.step or 0, 0.0, WALL))
    return points


@given(st.randoms(use_true_random=False))
def test_whole_records_yield_their_points_whatever_surrounds_them(chance: random.Random) -> None:
    mixture, few = Mixture(chance), chance.choice([3, 20, 100, 500])
    while len(mixture.messages) < few:
        mixture.write()
    damaged, likely = list[tuple[int, int]](), chance.choice([0, 0.02, 0.2, 0.6])
    wanted: list[Point] = []
    data = bytearray()
    for message, record, points in zip(mixture.messages, records(mixture.messages), mixture.points, strict=True):
        if len(message) < LARGE and chance.random() < likely:
            position = chance.randrange(12, len(record))
            damaged.append((len(data), len(record)))
            data += record[:position] + bytes([record[position] ^ 1 << chance.randrange(8)]) + record[position + 1 :]
        else:
            wanted += points
            data += record
    cuts = [chance.randrange(len(data)) for _ in range(chance.choice([0, 1, 5, 50]))]
    with pytest.MonkeyPatch.context() as patch:  # small files take the code paths of large ones
        patch.setattr(tensorboard, "_SEAM", chance.choice([10, 1000, 1 << 16]))
        patch.setattr(_records, "_ONE_BY_ONE", chance.choice([4, 64]))
        patch.setattr(_records, "_FIRST_WINDOW", chance.choice([200, 8 << 10]))
        items = read(bytes(data), cuts, chance.random() < 0.5)
    assert points_of(items) == wanted
    assert [(item.offset, item.length) for item in items if isinstance(item, Damage)] == damaged
