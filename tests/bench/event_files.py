"""Compare the reading of event files by tuimon, tbparse and EventAccumulator, in CPU time.

    python -m tests.bench.event_files [--events 200000] [--ours-only] [CORPUS …]

Corpora are serialised by TensorBoard's own protos into a temporary directory:

    tags50    50 tags a step, one record each
    tags600   583 tags a step, 17 more every 10th
    tensors   20 tags a step as TF2 writes them: tensor, metadata on every event
    multi     50 values in one event a step
    shuffled  50 tags a step in a new order every step: nothing repeats
    images    one record of 200 kB after every 10 scalars (its rate is in MB/s; tuimon seeks over the images)

"live" is the time of a feed of 1 or 50 records to a decoder that knows them, in ns an event.
"""

from __future__ import annotations

import argparse
import random
import resource
import statistics
import struct
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

from tuimon.formats._shared.crc32c import crc32c, masked
from tuimon.formats.tensorboard.event_file import EventFileDecoder
from tuimon.model.points import Points

warnings.simplefilter("ignore")
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # noqa: E402
from tensorboard.compat.proto.event_pb2 import Event  # noqa: E402
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata  # noqa: E402

BLOCK = 4 << 20
WALL = 1_795_226_051.25
EAGER = {"scalars": 0, "tensors": 0, "images": 1}


def plain(step: int, tag: str, value: float, wall: float) -> bytes:
    return Event(
        wall_time=wall, step=step, summary=Summary(value=[Summary.Value(tag=tag, simple_value=value)])
    ).SerializeToString()


def tensor(step: int, tag: str, value: float, wall: float) -> bytes:
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="scalars"))
    entry = Summary.Value(tag=tag, metadata=metadata)
    entry.tensor.dtype = 1
    entry.tensor.tensor_shape.SetInParent()
    entry.tensor.tensor_content = struct.pack("<f", value)
    return Event(wall_time=wall, step=step, summary=Summary(value=[entry])).SerializeToString()


def messages(corpus: str, events: int) -> Iterator[bytes]:
    """Serialised events, about `events` scalars in all."""
    chance = random.Random(7)
    tags = [f"section{i % 7}/some metric {i}/mean" for i in range(600)]
    yield Event(wall_time=WALL, file_version="brain.Event:2").SerializeToString()
    wall = WALL
    count = {"tags50": 50, "shuffled": 50, "tags600": 585, "tensors": 20, "multi": 50, "images": 10}[corpus]
    for step in range(events // count):
        wall += chance.random()
        if corpus == "multi":
            values = [Summary.Value(tag=tag, simple_value=chance.random()) for tag in tags[:50]]
            yield Event(wall_time=wall, step=step, summary=Summary(value=values)).SerializeToString()
            continue
        width = (600 if step % 10 == 0 else 583) if corpus == "tags600" else count
        names = tags[:width] if corpus != "shuffled" else chance.sample(tags[:50], 50)
        make = tensor if corpus == "tensors" else plain
        for tag in names:
            wall += 1e-5
            yield make(step, tag, chance.gauss(0, 1), wall)
        if corpus == "images":
            image = Summary.Value(tag="image", image=Summary.Image(encoded_image_string=bytes(200_000)))
            yield Event(wall_time=wall, step=step, summary=Summary(value=[image])).SerializeToString()


def framed(events: list[bytes]) -> bytes:
    out = []
    for event in events:
        length = struct.pack("<Q", len(event))
        out += (length, struct.pack("<I", masked(crc32c(length))), event, struct.pack("<I", masked(crc32c(event))))
    return b"".join(out)


def ours(path: Path) -> int:
    """Reads a file as the reader process does, hopping over what may be skipped."""
    decoder = EventFileDecoder()
    points = 0
    block = BLOCK
    with path.open("rb", buffering=0) as file:
        while data := file.read(block):
            points += sum(len(item) for item in decoder.feed(data) if isinstance(item, Points))
            # Where payloads are passed over more of them are to be expected: read little between them.
            block = min(BLOCK, block * 2)
            if decoder.skippable:
                block = 16 << 10
                count = decoder.skippable
                file.seek(count, 1)
                decoder.advance(count)
    return points + sum(len(item) for item in decoder.flush() if isinstance(item, Points))


def accumulator(path: Path) -> int:
    loaded = EventAccumulator(str(path), size_guidance=EAGER, purge_orphaned_data=False)
    loaded.Reload()
    tags = loaded.Tags()
    return sum(len(loaded.Scalars(tag)) for tag in tags["scalars"]) + sum(
        len(loaded.Tensors(tag)) for tag in tags["tensors"]
    )


def tbparse(path: Path) -> int:
    from tbparse import SummaryReader

    reader = SummaryReader(str(path), event_types={"scalars", "tensors"})
    return len(reader.scalars) + len(reader.tensors)


def cpu(read: Callable[[Path], int], path: Path, rounds: int) -> tuple[float, int]:
    """(median CPU seconds, points)."""
    times, points = [], 0
    for _ in range(rounds):
        began = time.process_time()
        points = read(path)
        times.append(time.process_time() - began)
    return statistics.median(times), points


def live(count: int) -> float:
    """ns an event of a feed of `count` known records."""
    tags = [f"section/metric {i}/mean" for i in range(count)]
    feeds = [framed([plain(step, tag, 0.5, WALL + step) for tag in tags]) for step in range(1000)]
    decoder = EventFileDecoder()
    for feed in feeds[:100]:
        decoder.feed(feed)
    began = time.process_time()
    for feed in feeds[100:]:
        decoder.feed(feed)
    return (time.process_time() - began) / (900 * count) * 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="*", metavar="CORPUS")
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--ours-only", action="store_true")
    options = parser.parse_args()
    for count in (1, 50):
        print(f"live    {count:3} records a feed   {live(count):8.0f} ns/event")
    with tempfile.TemporaryDirectory() as directory:
        for corpus in options.corpora or ("tags50", "tags600", "tensors", "multi", "shuffled", "images"):
            events = options.events if corpus != "images" else min(options.events, 2000)
            path = Path(directory) / f"events.out.tfevents.{corpus}"
            path.write_bytes(framed(list(messages(corpus, events))))
            size = path.stat().st_size
            took, points = cpu(ours, path, 5)
            line = (
                f"{corpus:9}{points:9} points {size / 1e6:6.1f} MB  {points / took / 1e6:6.2f} M/s {took * 1e3:7.0f} ms"
            )
            if not options.ours_only:
                for name, other in (("tbparse", tbparse), ("EventAccumulator", accumulator)):
                    theirs, counted = cpu(other, path, 1)
                    same = "" if counted == points else f" (it found {counted})"
                    line += f" | {name} {theirs:6.2f} s = {theirs / took:5.0f}x{same}"
            print(line, flush=True)
    print(f"peak resident {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB, corpora included")


if __name__ == "__main__":
    main()
