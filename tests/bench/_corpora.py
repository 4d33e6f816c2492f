"""Write the logs that are measured, as the libraries write them but faster.

Scalars in event files are TensorBoard's own protos: one logging step is serialised by them, and the steps after it are
the same bytes with other wall times, steps, values and checksums. `check_event_file` holds that against what
TensorBoard's own reader finds.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from tests.bench.event_files import framed, plain
from tuimon.formats._shared.crc32c import crc32c_many

WALL = 1_795_226_051.25
_CHUNK = 100_000
"""Records made at once."""
_HEAD = 12
"""Bytes before an event: its length and that length's checksum."""
_WALL = _HEAD + 1
_STEP = _WALL + 9
VERSION = b"\x09\x00\x00\x00\x80\x9b\xc0\xda\x41\x1a\x0dbrain.Event:2"

NINE = ("train/reward", "train/loss", "train/kl", "train/entropy", "train/grad_norm", "train/lr")
NINE = (*NINE, "train/value_loss", "train/response_length", "train/clip_fraction")


def tags(count: int) -> list[str]:
    """Names of `count` metrics, those of a dashboard's first panels among them."""
    return [*NINE[:count], *(f"section{i % 7}/some metric {i}/mean" for i in range(len(NINE), count))]


def write_events(path: Path, names: Sequence[str], steps: int, first: int = 1, pace: float = 0.5) -> int:
    """An event file of `steps` logging steps; returns its number of scalars. They end now, `pace` seconds apart."""
    with path.open("wb") as file:
        file.write(framed([VERSION]))
        for block in _blocks(names, first, steps, path.stat().st_mtime - steps * pace, pace):
            file.write(block)
    return len(names) * steps


def step_records(names: Sequence[str], step: int, wall: float) -> list[bytes]:
    """The records of one logging step."""
    return [framed([plain(step, name, float(np.sin(step * 0.1 + i)), wall)]) for i, name in enumerate(names)]


def _blocks(names: Sequence[str], first: int, steps: int, wall: float, pace: float) -> Iterator[bytes]:
    chance = np.random.default_rng(7)
    level = np.zeros(len(names))
    at, end = first, first + steps
    while at < end:
        digits = _varint_bytes(at)
        stop = min(end, 1 << 7 * digits, at + max(1, _CHUNK // len(names)))
        count = stop - at
        walk = level + np.cumsum(chance.normal(0, 0.1, (count, len(names))), axis=0)
        level = walk[-1]
        yield _block(names, np.arange(at, stop), wall + pace * np.arange(at, stop), walk)
        at = stop


def _block(names: Sequence[str], steps: np.ndarray, walls: np.ndarray, values: np.ndarray) -> bytes:
    """Steps whose numbers have equally many bytes."""
    one = [framed([plain(int(steps[0]), name, 0.5, WALL)]) for name in names]
    ends = np.cumsum([len(record) for record in one])
    starts = ends - [len(record) for record in one]
    block = np.tile(np.frombuffer(b"".join(one), np.uint8), (len(steps), 1))
    wall_bytes = walls.astype("<f8").view(np.uint8).reshape(-1, 8)
    digits = _varint_bytes(int(steps[0]))
    step_bytes = np.stack([steps >> 7 * i & 127 | (128 if i < digits - 1 else 0) for i in range(digits)], axis=1)
    value_bytes = values.astype("<f4").view(np.uint8).reshape(len(steps), -1, 4)
    for number, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        block[:, start + _WALL : start + _WALL + 8] = wall_bytes
        block[:, start + _STEP : start + _STEP + digits] = step_bytes
        block[:, end - 8 : end - 4] = value_bytes[:, number]
    padded = np.concatenate((np.zeros(3, np.uint8), block.ravel()))
    rows = np.arange(len(steps))[:, None] * block.shape[1]
    lengths = np.tile(ends - starts - _HEAD - 4, len(steps))
    crc = crc32c_many(padded, (rows + starts + _HEAD + 3).ravel(), lengths).astype(np.uint64)
    masked = ((crc >> 15 | crc << 17) + 0xA282EAD8 & 0xFFFFFFFF).astype("<u4").view(np.uint8).reshape(len(steps), -1, 4)
    for number, end in enumerate(ends.tolist()):
        block[:, end - 4 : end] = masked[:, number]
    return block.tobytes()


def _varint_bytes(value: int) -> int:
    return max(1, -(-value.bit_length() // 7))


def check_event_file(path: Path, scalars: int) -> None:
    """TensorBoard's own reader, checksums and all, finds that many scalars. AssertionError if not."""
    from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader

    count = sum(len(event.summary.value) for event in LegacyEventFileLoader(str(path)).Load())
    assert count == scalars, f"TensorBoard finds {count} of {scalars} scalars in {path}"


def write_images(path: Path, scalars: int, images: int, size: int) -> None:
    """Write scalars, ten at a time, and an image of `size` bytes after every `scalars / images` of them."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary

    value = Summary.Value(tag="image", image=Summary.Image(encoded_image_string=os.urandom(64) + bytes(size)))
    image = framed([Event(wall_time=WALL, step=1, summary=Summary(value=[value])).SerializeToString()])
    names = tags(10)
    every = max(1, scalars // len(names) // images)
    with path.open("wb") as file:
        file.write(framed([VERSION]))
        for step in range(1, scalars // len(names) + 1):
            file.write(framed([plain(step, name, step * 0.1, WALL + step) for name in names]))
            if step % every == 0:
                file.write(image)


def write_rows(path: Path, names: Sequence[str], rows: int, now: float, pace: float = 1.0) -> None:
    """JSON lines, the last one written `now`."""
    chance = np.random.default_rng(7)
    table = np.cumsum(chance.normal(0, 0.1, (rows, len(names))), axis=0).tolist()
    with path.open("w") as file:
        for step, values in enumerate(table):
            file.write(row(names, step, values, now - (rows - 1 - step) * pace))


def row(names: Sequence[str], step: int, values: Sequence[float], wall: float) -> str:
    """One JSON line."""
    return json.dumps({"step": step, "timestamp": wall, **dict(zip(names, values, strict=True))}) + "\n"


def write_document(path: Path, rows: int) -> None:
    """training_log.json with that many rows of 7 keys, about 180 bytes each."""
    chance = np.random.default_rng(7)
    values = chance.normal(size=(rows, 5)).tolist()
    history = [
        {"step": step, "epoch": step // 100, "loss": a, "lr": b, "grad_norm": c, "kl": d, "reward": e}
        for step, (a, b, c, d, e) in enumerate(values)
    ]
    validation = history[:: max(1, rows // 1000)]
    document = {"config": {"lr": 1e-5}, "train_history": history, "val_history": validation, "best_checkpoint": None}
    path.write_text(json.dumps(document, indent=2))


def write_run(directory: Path, names: Sequence[str], steps: int) -> Path:
    """A run's directory with one event file."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "events.out.tfevents.1795226051.host"
    write_events(path, names, steps)
    return path


def write_runs(directory: Path, count: int, names: Sequence[str], steps: int) -> None:
    """Write `count` runs that differ only in their names."""
    first = write_run(directory / "run0000", names, steps).read_bytes()
    for number in range(1, count):
        path = directory / f"run{number:04}" / "events.out.tfevents.1795226051.host"
        path.parent.mkdir()
        path.write_bytes(first)


def write_checkpoints(directory: Path, count: int, state: bool) -> None:
    """Checkpoint directories with weights. state: each with Hugging Face's trainer_state.json as well."""
    rows = [{"step": step, "loss": 1.0 / (step + 1), "epoch": step / 100} for step in range(20)]
    text = json.dumps({"global_step": 20, "log_history": rows})
    for number in range(1, count + 1):
        below = directory / f"checkpoint-{number}"
        below.mkdir(parents=True)
        (below / "model.safetensors").write_bytes(b"")
        (below / "optimizer.pt").write_bytes(b"")
        (below / "config.json").write_text("{}")
        if state:
            (below / "trainer_state.json").write_text(text)
