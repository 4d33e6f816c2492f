"""Requirements on document and database formats, tested for all of them, and on the reader with all formats together.

Documents may be half-written, databases damaged.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given as examples
from hypothesis import settings
from hypothesis import strategies as st
from support.samples import Sample, cases, formats_of, some

from tuimon.formats import all_formats, kind
from tuimon.reader import Collector
from tuimon.testing import documents
from tuimon.testing.given import HOSTILE, Given, fed

some_documents = pytest.mark.parametrize("sample", cases("document", 2, 1 << 13), ids=str)
databases = pytest.mark.parametrize("sample", cases("database", 2), ids=str)


# ---------------------------------------------------------------------- documents


@some_documents
def test_a_half_written_document_gives_nothing_wrong(sample: Sample) -> None:
    documents.half_written_gives_nothing_wrong(sample.format, sample.data, random.Random(6))


@some_documents
def test_a_document_is_made_of_plain_values_and_read_once(sample: Sample) -> None:
    documents.is_made_of_plain_values(sample.format, sample.data)
    documents.loaded_twice_yields_nothing_new(sample.format, sample.data)


@some_documents
@settings(max_examples=20)
@examples(noise=st.binary(max_size=600), place=st.integers(0, 1 << 20), length=st.integers(0, 50))
def test_a_damaged_document_raises_only_documented_errors(
    sample: Sample, noise: bytes, place: int, length: int
) -> None:
    documents.damage_raises_documented_errors(sample.format, sample.data, noise, place % len(sample.data), length)


@some_documents
def test_a_hostile_document_raises_only_documented_errors(sample: Sample) -> None:
    for line in HOSTILE[:10]:
        documents.hostile_raises_documented_errors(sample.format, sample.data, line)


# ---------------------------------------------------------------------- databases, and files of one metric


def collected(root: Path) -> tuple[dict[str, Given], Collector]:
    collector = Collector([str(root)])
    for _ in collector.find():
        pass
    actual: dict[str, Given] = {}
    for source, item in collector.in_file_order():
        actual.setdefault(source, Given()).add([item])
    return actual, collector


def placed(root: Path, sample: Sample, data: bytes) -> Path:
    path = root / sample.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def state_of(root: Path) -> list[tuple[Path, int, bytes]]:
    """Return all files below a directory with their times and contents."""
    return [(path, path.stat().st_mtime_ns, path.read_bytes()) for path in sorted(root.rglob("*")) if path.is_file()]


@databases
def test_a_database_is_read_and_not_touched_and_a_damaged_one_raises_nothing(sample: Sample, tmp_path: Path) -> None:
    path = placed(tmp_path, sample, sample.data)
    before = state_of(tmp_path)
    whole, collector = collected(tmp_path)
    assert state_of(tmp_path) == before
    assert sum(items.count for items in whole.values()) > 50
    assert not collector.partly_unreadable
    names = {name for items in whole.values() for name in items.bits}
    draw = random.Random(7)
    page = 4096
    for trial in range(9):
        bad = bytearray(sample.data)
        position = draw.randrange(len(bad) // page) * page
        if trial % 3 == 0:
            bad[position : position + page] = draw.randbytes(page)
        elif trial % 3 == 1:
            bad[draw.randrange(len(bad))] ^= 0xFF
        else:
            del bad[position:]
        path.write_bytes(bytes(bad))
        actual, collector = collected(tmp_path)
        assert len({name for items in actual.values() for name in items.bits} - names) <= (trial % 3 == 1)
        lost = sum(items.count for items in actual.values()) < sum(items.count for items in whole.values())
        assert not lost or collector.partly_unreadable or collector.skipped, "lost and not reported"


named_by_path = [
    sample
    for log_format in all_formats()
    if log_format.metric_name and not log_format.describes_run and kind(log_format.id) == "stream"
    for sample in some(log_format.id, 3)
]


@pytest.mark.parametrize("sample", named_by_path, ids=str)
def test_a_file_of_one_metric_is_named_by_its_path(sample: Sample, tmp_path: Path) -> None:
    placed(tmp_path, sample, sample.data)
    actual, collector = collected(tmp_path)
    assert [followed.format.id for followed in collector.followed] == [sample.format.id]
    assert not collector.partly_unreadable
    assert sample.format.metric_name
    assert [list(items.bits) for items in actual.values()] == [[sample.format.metric_name(f"/{sample.path}")]]


def test_every_sample_is_read_through_the_collector_as_by_its_decoder(tmp_path: Path) -> None:
    """One sample of each stream format, each a run of its own, beside all others."""
    chosen = [some(log_format.id, 5)[-1] for log_format in formats_of("stream")]
    for position, sample in enumerate(chosen):
        placed(tmp_path / f"run_{position}", sample, sample.data)
    _, collector = collected(tmp_path)
    read = {followed.path: followed for followed in collector.followed}
    for position, sample in enumerate(chosen):
        followed = read[str(tmp_path / f"run_{position}" / sample.path)]
        assert followed.format is sample.format
        assert followed.status().read == len(sample.data)
        assert followed.damaged == fed(sample.format, sample.data).lost
