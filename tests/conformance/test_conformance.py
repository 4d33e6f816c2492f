"""Requirements on every log format, tested for all of them: a new format file is tested as soon as it exists.

A format without a sample below tests/data fails. Here: descriptions, and streams that are split, torn, damaged and
flushed anywhere. Nothing raises, no item is returned twice, and no number is invented.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given as examples
from hypothesis import settings
from hypothesis import strategies as st
from support.samples import Sample, cases, formats_of, kind, samples, some

from tuimon import testing
from tuimon.formats import Format, all_formats, recognise
from tuimon.sources.sqlite_copy import MAGIC
from tuimon.testing import streams
from tuimon.testing.given import HOSTILE, fed

CHECKED = frozenset({"tensorboard", "wandb", "swanlab"})
"""Formats with a checksum for every record: nothing of a damaged record may be returned."""


some_streams = pytest.mark.parametrize("sample", cases("stream", 2, 1 << 15), ids=str)
small_streams = pytest.mark.parametrize("sample", cases("stream", 2, streams.EVERY_BYTE), ids=str)
consoles = [sample for sample in samples()["console"] if len(sample.data) <= 1 << 13]
flushed_streams = pytest.mark.parametrize(
    "sample", dict.fromkeys([*cases("stream", 2, streams.EVERY_BYTE), *consoles]), ids=str
)
stream_formats = pytest.mark.parametrize("log_format", formats_of("stream"), ids=lambda f: f.id)


# ---------------------------------------------------------------------- what a format says of itself


def test_every_format_has_a_sample_and_describes_itself() -> None:
    formats = all_formats()
    assert len({f.id for f in formats}) == len({f.title for f in formats}) == len(formats)
    assert [f.id for f in formats if f.id not in samples()] == [], "no file below tests/data is recognised as these"
    for log_format in formats:
        testing.describes_itself(log_format)
        if kind(log_format) == "stream":
            assert any(fed(log_format, sample.data).count for sample in some(log_format.id, 9)), log_format.id


def test_an_incomplete_file_is_not_taken_for_another_format() -> None:
    """A file is recognised once, perhaps when it has just begun. A format that decodes the same from it is accepted."""
    for log_format in all_formats():
        for sample in samples()[log_format.id]:
            if sample.data.startswith(MAGIC):
                continue  # an incomplete database is not recognised
            for length in (0, 1, 2, 5, 10, 20, 40, 80, 160, 500, 2000):
                taken = recognise(f"/{sample.path}", sample.data[:length])
                if taken not in (None, log_format):
                    assert kind(taken) == kind(log_format) == "stream", (sample.path, length)
                    assert fed(taken, sample.data).bits == fed(log_format, sample.data).bits, (sample.path, length)


# ---------------------------------------------------------------------- streams: cutting


@some_streams
@settings(max_examples=8)
@examples(data=st.data())
def test_any_split_gives_the_same(sample: Sample, data: st.DataObject) -> None:
    length = len(sample.data)
    cuts = data.draw(st.lists(st.integers(0, length), max_size=12))
    piece = data.draw(st.sampled_from([0, 7, 100, 1021, 4096, 32768]))
    if piece and length // piece <= 2000:
        cuts += range(piece, length, piece)
    streams.same_when_split(sample.format, sample.data, cuts)


@small_streams
def test_every_byte_alone_gives_the_same(sample: Sample) -> None:
    data = sample.data[: streams.EVERY_BYTE]
    streams.same_when_split(sample.format, data, range(len(data)))


@flushed_streams
def test_a_flush_repeats_and_loses_nothing(sample: Sample) -> None:
    streams.flushes_repeat_nothing(sample.format, sample.data, random.Random(2))


# ---------------------------------------------------------------------- streams: torn, damaged, noise


@some_streams
def test_a_truncated_file_yields_the_first_points_of_each_metric(sample: Sample) -> None:
    streams.truncation_keeps_the_first_points(sample.format, sample.data, random.Random(3))


@some_streams
def test_one_wrong_byte_costs_little_and_invents_nothing(sample: Sample) -> None:
    streams.wrong_byte_invents_nothing(sample.format, sample.data, sample.format.id in CHECKED, random.Random(4))


@stream_formats
@settings(max_examples=15)
@examples(noise=st.binary(max_size=2000), piece=st.integers(1, 2000), place=st.integers(0, 1 << 20))
def test_noise_never_raises(log_format: Format, noise: bytes, piece: int, place: int) -> None:
    data = some(log_format.id, 3)[0].data
    streams.noise_never_raises(log_format, data, noise, place % (len(data) + 1), piece)


@stream_formats
def test_hostile_lines_never_raise_and_cost_no_good_line(log_format: Format) -> None:
    sample = some(log_format.id, 3, streams.EVERY_BYTE)[-1]
    for line in HOSTILE:
        streams.hostile_line_costs_no_other(log_format, sample.data, line)


@stream_formats
def test_noise_and_a_line_without_end_are_held_in_bounded_memory(log_format: Format) -> None:
    for noise in streams.NOISES:
        streams.noise_is_bounded(log_format, some(log_format.id, 1)[0].data, noise)
    streams.endless_line_is_bounded(log_format)
