"""Event files: points equal to those of TensorBoard's own reader, and the other items."""

from __future__ import annotations

import json
import math
import random
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.event_points import (
    DATA,
    WALL,
    accumulated,
    curves,
    decode,
    event,
    file_of,
    others,
    same,
    scalar,
    tensor,
    text,
)
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

from tuimon.formats import StreamDecoder, recognise
from tuimon.formats._shared.crc32c import crc32c
from tuimon.formats.tensorboard import _event_reader
from tuimon.formats.tensorboard._event_content import MAX_CHARACTERS
from tuimon.formats.tensorboard._event_message import read_event
from tuimon.formats.tensorboard.event_file import FORMAT, EventFileDecoder
from tuimon.model.points import Damage, Fact, Points, SegmentStart

# ---- the same points as other readers ------------------------------------------------------------------------------


def _layouts() -> dict[str, list[bytes]]:
    chance = random.Random(5)

    def value() -> float:
        return chance.gauss(0, 1)

    def many(step: int, count: int) -> bytes:
        return event(step, *(scalar(f"some/tag {i}", value()) for i in range(count)), wall=WALL + step)

    def numbers(step: int, dtype: int, **content: Any) -> bytes:
        return event(step, tensor(f"t{dtype}", TensorProto(dtype=dtype, **content)), wall=WALL + step / 7)

    return {
        "one tag": [many(step, 1) for step in range(3000)],
        "one event of 17 kB a step": [many(step, 800) for step in range(60)],
        "negative steps": [many(step, 2) for step in range(-900, 50)],
        "huge steps": [many((1 << 63) - 1 - step, 1) for step in range(900)],
        "mixed types": [
            message
            for step in range(400)
            for message in (
                numbers(step, 1, tensor_content=struct.pack("<f", value())),
                numbers(step, 2, double_val=[value()]),
                event(step, scalar("plain", value()), tensor("both", TensorProto(dtype=2, double_val=[value()]))),
            )
        ],
        "texts in between": [
            message for step in range(900) for message in (many(step, 1), event(step, text("t", "x")))
        ],
        "any order": [
            event(step, scalar(f"tag {tag}", value()))
            for step in range(120)
            for tag in chance.sample(range(20), chance.randrange(10, 20))
        ],
    }


LAYOUTS = _layouts()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_bulk_of_every_layout(layout: str, tmp_path: Path) -> None:
    data = file_of(*LAYOUTS[layout])
    path = tmp_path / "events.out.tfevents.1"
    path.write_bytes(data)
    whole = curves(decode(data))
    walked = curves(decode(data, range(1500, len(data), 1500)))
    assert same(whole, walked)
    assert same(whole, accumulated(path))


# ---- scalars of every kind -----------------------------------------------------------------------------------------

TENSORS = {
    "float content": (TensorProto(dtype=1, tensor_content=struct.pack("<f", 0.1)), float(np.float32(0.1))),
    "float list": (TensorProto(dtype=1, float_val=[0.1]), float(np.float32(0.1))),
    "double content": (TensorProto(dtype=2, tensor_content=struct.pack("<d", 0.1)), 0.1),
    "double list": (TensorProto(dtype=2, double_val=[0.1]), 0.1),
    "nan": (TensorProto(dtype=1, float_val=[math.nan]), math.nan),
    "infinity": (TensorProto(dtype=2, double_val=[-math.inf]), -math.inf),
}


def shaped(proto: Any, *sizes: int, unknown: bool = False) -> Any:
    copy = TensorProto()
    copy.CopyFrom(proto)
    copy.tensor_shape.unknown_rank = unknown
    for size in sizes:
        copy.tensor_shape.dim.add(size=size)
    return copy


@pytest.mark.parametrize("kind", TENSORS)
@pytest.mark.parametrize("sizes", [(), (1,), (1, 1)])
def test_a_tensor_of_one_number(kind: str, sizes: tuple[int, ...]) -> None:
    proto, value = TENSORS[kind]
    messages = [event(step, tensor("t", shaped(proto, *sizes)), wall=WALL + step) for step in range(3)]
    for actual in (decode(file_of(*messages)), decode(file_of(*messages), range(1, 200, 7))):
        assert same(curves(actual), {"t": [(step, value, WALL + step) for step in range(3)]})


@pytest.mark.parametrize(
    ("key", "dtype", "value"),
    [
        (b"\x2d\0\0\xc0\x3f", 1, 1.5),
        (b"\x31" + struct.pack("<d", 0.1), 2, 0.1),
    ],
)
def test_a_list_that_is_not_packed(key: bytes, dtype: int, value: float) -> None:
    content = bytes([8, dtype]) + key
    assert TensorProto.FromString(content).dtype == dtype
    summary = b"\x0a\x01t\x42" + bytes([len(content)]) + content
    message = event(4) + b"\x2a" + bytes([len(summary) + 2]) + b"\x0a" + bytes([len(summary)]) + summary
    assert curves(decode(file_of(message))) == {"t": [(4, value, WALL)]}


@pytest.mark.parametrize(
    "proto",
    [
        TensorProto(dtype=1, float_val=[1, 2]),
        TensorProto(dtype=1, tensor_content=bytes(8)),
        TensorProto(dtype=1, tensor_content=bytes(3)),
        TensorProto(dtype=1),
        TensorProto(dtype=7, string_val=[b"x"]),
        TensorProto(dtype=9, int64_val=[1]),
        TensorProto(dtype=8, scomplex_val=[1, 2]),
        shaped(TensorProto(dtype=1, float_val=[1]), 3),
        shaped(TensorProto(dtype=1, float_val=[1]), 0),
        shaped(TensorProto(dtype=1, float_val=[1]), -1),
        shaped(TensorProto(dtype=1, float_val=[1]), unknown=True),
    ],
)
def test_a_tensor_that_is_not_a_scalar(proto: Any) -> None:
    items = decode(file_of(event(1, tensor("t", proto)), event(2, scalar("s", 1.0))))
    assert curves(items) == {"s": [(2, 1.0, WALL)]}
    assert not [item for item in items if isinstance(item, Damage)]


def test_a_plugin_named_in_the_first_event_only() -> None:
    scalar_one = TensorProto(dtype=1, float_val=[1])
    data = file_of(
        *(event(step, tensor("curve", scalar_one, "pr_curves" if step == 0 else None)) for step in range(3)),
        *(event(step, tensor("loss", scalar_one, "scalars" if step == 0 else None)) for step in range(3)),
        *(event(step, tensor("without plugin", scalar_one, None)) for step in range(3)),
    )
    assert {name: len(points) for name, points in curves(decode(data)).items()} == {"loss": 3, "without plugin": 3}


@pytest.mark.parametrize("is_tensor", [False, True])
def test_only_the_first_events_of_a_kind_are_decoded_singly(is_tensor: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[int] = []

    def read_and_count(*arguments: Any) -> Any:
        decoded.append(0)
        return read_event(*arguments)

    monkeypatch.setattr(_event_reader, "read_event", read_and_count)
    data = file_of(
        *(
            event(step, tensor(tag, TensorProto(dtype=2, double_val=[step])) if is_tensor else scalar(tag, step))
            for step in range(1, 1000)
            for tag in ("loss", "lr")
        )
    )
    assert {name: len(points) for name, points in curves(decode(data)).items()} == {"loss": 999, "lr": 999}
    assert 0 < len(decoded) < 200


def test_metrics_whose_summaries_have_the_same_checksum_are_told_apart() -> None:
    """The tags differ by a multiple of the polynomial of CRC-32C."""
    first = b"abcdefghijk"
    other = bytes(a ^ b for a, b in zip(first, bytes(2) + 0x105EC76F1.to_bytes(5, "little") + bytes(4), strict=True))
    assert crc32c(first) == crc32c(other)
    messages = [event(step, scalar(first.decode(), step + half)) for step in range(300) for half in (0.0, 0.5)]
    data = file_of(*(m.replace(first, other) if number % 2 else m for number, m in enumerate(messages)))
    assert curves(decode(data)) == {
        tag.decode("utf-8", "replace"): [(step, step + half, WALL) for step in range(300)]
        for tag, half in ((first, 0.0), (other, 0.5))
    }


def test_records_within_the_payload_of_a_record_are_not_read() -> None:
    nested = file_of(*[event(7, scalar("nested", 1))] * 3)
    parts = [event(step, scalar("a", step)) for step in range(400)]
    parts[200:200] = [event(200, graph_def=nested)]
    assert curves(decode(file_of(*parts))) == {"a": [(step, float(step), WALL) for step in range(400)]}


STEPS = [0, 1, 127, 128, 16_384, 1 << 40, (1 << 63) - 1, -1, -(1 << 63)]
VALUES = [0.0, -0.0, 3e38, -1e-40, 1e-45, math.nan, math.inf, -math.inf, 0.1]
TAGS = ["", " a//b/ ", "x" * 127, "x" * 128, "y/" * 20_000, "Präzision 精度\n\x1b[31m", "\0"]


@pytest.mark.parametrize("tag", TAGS, ids=range(len(TAGS)))
def test_any_step_value_and_tag(tag: str) -> None:
    """A tag is kept as written."""
    data = file_of(*(event(step, scalar(tag, value)) for step in STEPS for value in VALUES))
    wanted = [(step, float(np.float32(value)), WALL) for step in STEPS for value in VALUES]
    assert same(curves(decode(data)), {tag: wanted})


def test_a_tag_that_is_not_utf_8_and_a_missing_wall_time() -> None:
    message = event(1, scalar("ab", 1)).replace(b"ab", b"a\xff")
    assert list(curves(decode(file_of(message, message)))) == ["a\ufffd"]
    data = file_of(*(Event(step=step, summary=Summary(value=[scalar("a", 1)])).SerializeToString() for step in (1, 2)))
    assert [math.isnan(wall) for _, _, wall in curves(decode(data))["a"]] == [True, True]


# ---- what is not a point -------------------------------------------------------------------------------------------


def test_a_restart() -> None:
    start = event(80, session_log=SessionLog(status=SessionLog.START))
    stop = event(90, session_log=SessionLog(status=SessionLog.STOP))
    items = decode(file_of(event(99, scalar("a", 1)), start, event(80, scalar("a", 2)), stop))
    before, segment, after = items
    assert segment == SegmentStart(80, purge=True)
    assert isinstance(before, Points)
    assert isinstance(after, Points)
    assert (before.steps.tolist(), after.steps.tolist()) == ([99], [80])


def test_hyper_parameters_text_and_writer() -> None:
    plugin = HParamsPluginData()
    parameters = plugin.session_start_info.hparams
    parameters["lr"].number_value = 0.5
    parameters["optimizer"].string_value = "adam"
    parameters["amp"].bool_value = True
    metadata = SummaryMetadata(
        plugin_data=SummaryMetadata.PluginData(plugin_name="hparams", content=plugin.SerializeToString())
    )
    data = file_of(
        event(0, Summary.Value(tag="_hparams_/session_start_info", metadata=metadata)),
        event(5, text("note/text_summary", "hello")),
        event(6, text("note/text_summary", "again", plugin=None)),
        event(0, source_metadata={"writer": "a.writer"}, file_version="brain.Event:2"),
    )
    (path,) = (DATA / "torch" / "hp_0").iterdir()
    (fact,) = [item for item in decode(path.read_bytes()) if isinstance(item, Fact) and item.topic == "hparams"]
    assert "lr" in fact.value
    assert decode(data) == [
        Fact("hparams", {"lr": 0.5, "optimizer": "adam", "amp": True}, 0, WALL),
        Fact("text", {"tag": "note/text_summary", "text": "hello"}, 5, WALL),
        Fact("text", {"tag": "note/text_summary", "text": "again"}, 6, WALL),
        Fact("writer", {"name": "a.writer", "version": "brain.Event:2"}, 0, WALL),
    ]


def test_settings_logged_as_text_are_the_config() -> None:
    """As transformers and TRL log their arguments, and the config of the model."""
    arguments = {f"option_{number}": number for number in range(800)} | {"learning_rate": 1e-05}
    written = json.dumps(arguments, indent=2)
    assert len(written) > MAX_CHARACTERS
    items = decode(
        file_of(
            event(0, text("args/text_summary", written)),
            event(0, text("model_config/text_summary", '{"hidden_size": 64}')),
            event(1, text("samples/text_summary", '{"answer": 42}')),
        )
    )
    facts = [item for item in items if isinstance(item, Fact)]
    assert [fact.value for fact in facts if fact.topic == "config"] == [
        arguments,
        {"model_config": {"hidden_size": 64}},
    ]
    texts = [fact.value["text"] for fact in facts if fact.topic == "text"]
    assert texts == [written[:MAX_CHARACTERS], '{"hidden_size": 64}', '{"answer": 42}']


def test_texts_are_bounded() -> None:
    data = file_of(*(event(step, text("note", "ä" * 9000)) for step in range(320)))
    texts = [item for item in decode(data) if isinstance(item, Fact)]
    assert len(texts) == 300
    assert max(len(item.value["text"]) for item in texts) == MAX_CHARACTERS


# ---- the format ----------------------------------------------------------------------------------------------------


def test_the_format() -> None:
    assert isinstance(EventFileDecoder(), StreamDecoder)
    assert (FORMAT.id, FORMAT.rank, FORMAT.directory_is_source) == ("tensorboard", 40, True)
    head = file_of(event(1, scalar("a", 1)))
    name = "events.out.tfevents.1795224526.vm.11792.5"
    assert recognise(name, head) is FORMAT
    assert recognise(name, b"") is FORMAT
    assert recognise(name, head[:7]) is FORMAT
    assert recognise(name, b"\xff" + head[1:]) is FORMAT
    assert recognise(name + ".profile-empty", head) is FORMAT
    assert not FORMAT.matches(name, b"\x1f\x8b" + random.Random(2).randbytes(4000))
    assert not FORMAT.wants_name("train.log")


def test_too_many_metrics_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuimon.formats.tensorboard._event_reader.MAX_METRICS", 10)
    items = decode(file_of(*(event(step, scalar(f"tag {i}", i)) for step in range(2) for i in range(15))))
    assert len(curves(items)) == 10
    assert all(len(points) == 2 for points in curves(items).values())
    assert [(item.reason, item.records) for item in others(items)] == [("too many metric names", 10)]
