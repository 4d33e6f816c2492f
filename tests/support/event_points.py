"""Event files for tests: written with TensorBoard's own protos and record writer, read by its own EventAccumulator."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.summary.writer.record_writer import RecordWriter
from tensorboard.util import tensor_util

from tuimon.formats.tensorboard.event_file import EventFileDecoder
from tuimon.model.points import Item, Points

DATA = Path(__file__).parent.parent / "data" / "tensorboard"
WALL = 1_795_226_051.25
Curves = dict[str, list[tuple[int, float, float]]]
"""Metric -> (step, value, wall time) in file order."""


def records(messages: Iterable[bytes]) -> list[bytes]:
    """Frame each message as TensorBoard does."""
    framed = []
    for message in messages:
        file = io.BytesIO()
        RecordWriter(file).write(message)
        framed.append(file.getvalue())
    return framed


def event(step: int = 0, *values: Any, wall: float = WALL, **other: Any) -> bytes:
    summary = {"summary": Summary(value=values)} if values else {}
    return Event(wall_time=wall, step=step, **summary, **other).SerializeToString()


def scalar(tag: str, value: float) -> Any:
    return Summary.Value(tag=tag, simple_value=value)


def version() -> bytes:
    return event(file_version="brain.Event:2")


def decode(data: bytes, cuts: Sequence[int] = ()) -> list[Item]:
    """Decode data that is fed in pieces ending at `cuts` and at its end."""
    decoder = EventFileDecoder()
    items: list[Item] = []
    for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
        items += decoder.feed(data[start:end])
    return items


def curves(items: Iterable[Item]) -> Curves:
    result: Curves = {}
    for item in items:
        if isinstance(item, Points):
            columns = (item.metric.tolist(), item.steps.tolist(), item.values.tolist(), item.wall_times.tolist())
            for metric, *point in zip(*columns, strict=True):
                result.setdefault(item.names[metric], []).append(tuple(point))
    return result


def others(items: Iterable[Item]) -> list[Item]:
    return [item for item in items if not isinstance(item, Points)]


def same(ours: Curves, theirs: Curves) -> bool:
    """Return whether the points are equal to the last bit, with NaN equal to NaN."""
    return repr(sorted(ours.items())) == repr(sorted(theirs.items()))


def accumulated(path: Path, purge: bool = False) -> Curves:
    """Return the points that EventAccumulator reads: scalars, and tensors of one number. purge: without orphans."""
    loaded = EventAccumulator(str(path), size_guidance={"scalars": 0, "tensors": 0}, purge_orphaned_data=purge)
    loaded.Reload()
    result: Curves = {}
    for tag in loaded.Tags()["scalars"]:
        result[tag] = [(e.step, e.value, e.wall_time) for e in loaded.Scalars(tag)]
    for tag in loaded.Tags()["tensors"]:
        for e in loaded.Tensors(tag):
            array = tensor_util.make_ndarray(e.tensor_proto)
            if array.size == 1 and array.dtype.kind == "f":
                result.setdefault(tag, []).append((e.step, float(array.reshape(())), e.wall_time))
    return result


def tensor(tag: str, proto: Any, plugin: str | None = "scalars", content: bytes = b"") -> Any:
    value = Summary.Value(tag=tag, tensor=proto)
    if plugin is not None:
        value.metadata.plugin_data.CopyFrom(SummaryMetadata.PluginData(plugin_name=plugin, content=content))
    return value


def text(tag: str, words: str, plugin: str | None = "text") -> Any:
    return tensor(tag, TensorProto(dtype=7, string_val=[words.encode()]), plugin)


def image(tag: str, size: int) -> Any:
    return Summary.Value(tag=tag, image=Summary.Image(height=1, width=1, encoded_image_string=b"\x15" * size))


def file_of(*messages: bytes) -> bytes:
    return b"".join(records([version(), *messages]))
