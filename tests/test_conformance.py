"""What every log format owes, tested over all there are: a new format file is under test as soon as it exists.

A format without a sample below tests/data fails. Here: what it says of itself, and streams, which may be cut, torn,
damaged and flushed anywhere. Nothing raises, nothing is told twice, and no number is made up.
"""

from __future__ import annotations

import importlib
import pkgutil
import random
import re
import tracemalloc
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given as examples
from hypothesis import settings
from hypothesis import strategies as st
from samples import HOSTILE, Given, Sample, begins, cases, fed, formats_of, kind, lies_in, places, samples, some

import tuimon.formats
from tuimon.formats import Format, StreamDecoder, all_formats, recognise
from tuimon.model.points import Points
from tuimon.sources.sqlite_copy import MAGIC

CHECKED = frozenset({"tensorboard", "wandb", "swanlab"})
"""Formats whose every record has a checksum: of a damaged one nothing may be believed."""
EVERY_BYTE = 20_000
"""Bytes. Longer samples are not fed byte by byte."""
NOISE = 1 << 17
CHUNK = 1 << 14
HELD = 24 << 20
"""Bytes a decoder may hold beyond a small multiple of its input: one line of 16 MiB and its copy."""


streams = pytest.mark.parametrize("sample", cases("stream", 4), ids=str)
small_streams = pytest.mark.parametrize("sample", cases("stream", 3, EVERY_BYTE), ids=str)
consoles = [sample for sample in samples()["console"] if len(sample.data) <= EVERY_BYTE]
flushed_streams = pytest.mark.parametrize(
    "sample", dict.fromkeys([*cases("stream", 3, EVERY_BYTE), *consoles]), ids=str
)
stream_formats = pytest.mark.parametrize("log_format", formats_of("stream"), ids=lambda f: f.id)


# ---------------------------------------------------------------------- what a format says of itself


@pytest.mark.parametrize("log_format", all_formats(), ids=lambda f: f.id)
def test_every_format_has_a_sample(log_format: Format) -> None:
    assert samples().get(log_format.id), f"no file below tests/data is recognised as {log_format.id}"
    if kind(log_format) == "stream":
        assert any(fed(log_format, s.data).count for s in some(log_format.id, 9))


def test_ids_and_titles_are_unique() -> None:
    formats = all_formats()
    assert len({f.id for f in formats}) == len({f.title for f in formats}) == len(formats)


@pytest.mark.parametrize("log_format", all_formats(), ids=lambda f: f.id)
def test_a_format_says_what_it_is(log_format: Format) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9_-]*", log_format.id)
    assert 1 <= log_format.rank <= 50
    assert log_format.title
    assert kind(log_format)


def modules() -> Iterator[str]:
    for module in pkgutil.iter_modules(tuimon.formats.__path__):
        if not module.name.startswith("_"):
            yield module.name


@pytest.mark.parametrize("name", modules())
def test_the_docstring_gives_the_layout_and_its_source(name: str) -> None:
    """Its own, or that of a part of it which it names; rows of any origin have no source."""
    words = importlib.import_module(f"tuimon.formats.{name}").__doc__
    assert words
    known = {module.name for module in pkgutil.iter_modules(tuimon.formats.__path__)}
    named = known.intersection(re.findall(r"\b_[a-z_]+\b", words))
    parts = [importlib.import_module(f"tuimon.formats.{part}") for part in named]
    parts += [
        importlib.import_module(inner.name)
        for part in parts
        for inner in pkgutil.iter_modules(getattr(part, "__path__", ()), f"{part.__name__}.")
    ]
    said = "\n".join([words, *(part.__doc__ or "" for part in parts)])
    assert re.search(r"\bSources?\b|any other origin", said)


@pytest.mark.parametrize("log_format", all_formats(), ids=lambda f: f.id)
def test_a_file_that_has_only_begun_is_not_taken_for_another(log_format: Format) -> None:
    """A file is recognised once, perhaps when little of it is there. One that reads the same from it will do."""
    for sample in samples()[log_format.id]:
        if sample.data.startswith(MAGIC):
            continue  # a database is there as a whole, or it is none
        for length in (0, 1, 2, 5, 10, 20, 40, 80, 160, 500, 2000):
            taken = recognise(f"/{sample.path}", sample.data[:length])
            if taken not in (None, log_format):
                assert kind(taken) == kind(log_format) == "stream", (sample.path, length)
                assert fed(taken, sample.data).series == fed(log_format, sample.data).series, (sample.path, length)


# ---------------------------------------------------------------------- streams: cutting


def same(ours: Given, whole: Given) -> None:
    """But for the console's text, whose last lines alone are given of one long piece."""
    assert ours.series == whole.series
    assert ours.segments == whole.segments
    assert ours.lost == whole.lost
    console = whole.facts.get("console", [])
    assert not console or ours.facts["console"][-len(console) :] == console
    assert {**ours.facts, "console": 0} == {**whole.facts, "console": 0}


@streams
@settings(max_examples=15)
@examples(data=st.data())
def test_any_cutting_gives_the_same(sample: Sample, data: st.DataObject) -> None:
    length = len(sample.data)
    cuts = data.draw(st.lists(st.integers(0, length), max_size=12))
    piece = data.draw(st.sampled_from([0, 7, 100, 1021, 4096, 32768]))
    if piece and length // piece <= 2000:
        cuts += range(piece, length, piece)
    same(fed(sample.format, sample.data, cuts), fed(sample.format, sample.data))


@small_streams
def test_every_byte_alone_gives_the_same(sample: Sample) -> None:
    data = sample.data[:EVERY_BYTE]
    same(fed(sample.format, data, range(len(data))), fed(sample.format, data))


@flushed_streams
def test_a_flush_gives_nothing_twice_and_loses_nothing(sample: Sample) -> None:
    whole = fed(sample.format, sample.data)
    draw = random.Random(2)
    ends = [found.end() for found in re.finditer(rb"[}\]\n]", sample.data)]  # where a record looks whole
    anywhere = [draw.randrange(len(sample.data)) for _ in range(25)]
    for place in (*draw.sample(ends, min(25, len(ends))), *anywhere):
        cut = fed(sample.format, sample.data, [place], flush_at_cuts=True)
        assert cut.series == whole.series, place
        assert cut.segments == whole.segments, place
        assert cut.lost == whole.lost, place
    cuts = sorted(draw.randrange(len(sample.data)) for _ in range(200))
    often = fed(sample.format, sample.data, cuts, flush_at_cuts=True)
    assert often.series == whole.series
    decoder = sample.format.decoder()
    assert isinstance(decoder, StreamDecoder)
    decoder.feed(sample.data)
    decoder.flush()
    assert not decoder.flush()
    assert not [item for item in decoder.feed(b"") if isinstance(item, Points)]


# ---------------------------------------------------------------------- streams: torn, damaged, noise


def steps_guessed(ours: Given, whole: Given) -> None:
    """A row of a console may say its step by the progress bar that is drawn behind it: torn off before that bar,
    its step is a guess. Where nothing else differs, it is taken for right here."""
    for metric, points in ours.series.items():
        logged = whole.series.get(metric, [])
        if [point[1:] for point in points] == [point[1:] for point in logged[: len(points)]]:
            ours.series[metric] = logged[: len(points)]


@streams
def test_a_torn_file_gives_the_first_points_of_each_metric(sample: Sample) -> None:
    whole = fed(sample.format, sample.data)
    draw = random.Random(3)
    ends = range(len(sample.data)) if len(sample.data) < 2000 else places(len(sample.data), 40, draw.randrange)
    for end in ends:
        torn = fed(sample.format, sample.data[:end])
        if sample.format.id == "console":
            steps_guessed(torn, whole)
        assert begins(torn.series, whole.series), end
        assert torn.lost <= whole.lost + 1, end


def reach(whole: Given) -> int:
    """How many points one name or number of a text is about: a column below a header, or all that share a step."""
    rows = Counter(step for points in whole.series.values() for step, _, _ in points)
    return max([*map(len, whole.series.values()), *rows.values()], default=1)


@streams
def test_one_wrong_byte_costs_little_and_makes_nothing_up(sample: Sample) -> None:
    whole = fed(sample.format, sample.data)
    draw = random.Random(4)
    for place in sorted(draw.randrange(len(sample.data)) for _ in range(60)):
        bad = bytearray(sample.data)
        bad[place] ^= draw.choice([0x01, 0x20, 0x80, 0xFF, draw.randrange(1, 256)])
        found = fed(sample.format, bytes(bad))
        if sample.format.id in CHECKED:
            assert lies_in(found.series, whole.series), place
            assert found.lost <= 2, place
        else:
            invented = sum(len(found.series[name]) for name in found.series.keys() - whole.series.keys())
            assert invented <= 2 * reach(whole), place
            assert found.count <= whole.count + 2 * reach(whole), place


@stream_formats
@settings(max_examples=30)
@examples(noise=st.binary(max_size=2000), piece=st.integers(1, 2000), place=st.integers(0, 1 << 20))
def test_noise_never_raises(log_format: Format, noise: bytes, piece: int, place: int) -> None:
    sample = some(log_format.id, 3)[0]
    place %= len(sample.data) + 1
    for data in (noise, sample.data[:place] + noise, sample.data[:place] + noise + sample.data[place:]):
        fed(log_format, data, range(piece, len(data), piece))


@stream_formats
@pytest.mark.parametrize("line", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_lines_never_raise_and_cost_no_good_line(log_format: Format, line: bytes) -> None:
    sample = some(log_format.id, 3, EVERY_BYTE)[-1]
    whole = fed(log_format, sample.data)
    if sample.is_text:
        middle = sample.data.rfind(b"\n", 0, len(sample.data) // 2) + 1
        found = fed(log_format, sample.data[:middle] + line + b"\n" + sample.data[middle:])
        assert lies_in(whole.series, found.series)
    else:
        middle = len(sample.data) // 2
        found = fed(log_format, sample.data[:middle] + line + sample.data[middle:])
        assert lies_in(found.series, whole.series)
        assert found.count >= fed(log_format, sample.data[:middle]).count


@stream_formats
@pytest.mark.parametrize("noise", ["random", "zeros", "letters", "newlines", "braces", "digits"])
def test_noise_is_held_in_bounded_memory(log_format: Format, noise: str) -> None:
    """128 KiB of noise behind a good beginning take less than 24 MiB, and less than 40 times their length."""
    pattern = {"zeros": b"\0", "letters": b"a", "newlines": b"\n", "braces": b'{"a": 1}', "digits": b"1,2 "}
    data = random.Random(5).randbytes(NOISE) if noise == "random" else (pattern[noise] * NOISE)[:NOISE]
    beginning = some(log_format.id, 1)[0].data[: 64 << 10]
    decoder = log_format.decoder()
    assert isinstance(decoder, StreamDecoder)
    decoder.feed(beginning)
    count = 0
    tracemalloc.start()
    try:
        for at in range(0, NOISE, CHUNK):
            count += sum(1 for _ in decoder.feed(data[at : at + CHUNK]))
        decoder.flush()
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < HELD
    assert peak < 40 * NOISE
    assert held < 16 * NOISE
    assert count <= NOISE


@stream_formats
def test_a_line_without_end_is_not_kept(log_format: Format) -> None:
    """Forty MiB without a newline, or of a record that claims to be as long: at most a line of 16 MiB and copies."""
    piece = b"x" * (1 << 20)
    decoder = log_format.decoder()
    assert isinstance(decoder, StreamDecoder)
    tracemalloc.start()
    try:
        for _ in range(40):
            decoder.feed(piece)
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < HELD
    assert peak < 3 * HELD
