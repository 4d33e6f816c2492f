"""What formats owe whose logs are no streams, tested over all there are: documents and databases; and what the reader
makes of all of them together. Documents may be met half-written, databases damaged."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given as examples
from hypothesis import settings
from hypothesis import strategies as st
from samples import HOSTILE, Given, Sample, begins, cases, fed, formats_of, given, places, some

from tuimon.errors import FormatError, Unfinished
from tuimon.formats import DocumentDecoder, Format, all_formats
from tuimon.model.points import Damage, Item, Points
from tuimon.reader import Collector

documents = pytest.mark.parametrize("sample", cases("document", 4), ids=str)
databases = pytest.mark.parametrize("sample", cases("database", 2), ids=str)


# ---------------------------------------------------------------------- documents


def document(log_format: Format) -> DocumentDecoder:
    decoder = log_format.decoder()
    assert isinstance(decoder, DocumentDecoder)
    return decoder


@documents
def test_a_half_written_document_gives_nothing_wrong(sample: Sample) -> None:
    """Each beginning of it says that it is unfinished, or gives the first points, and the whole gives the rest."""
    whole = given(document(sample.format).load(sample.data))
    draw = random.Random(6)
    known = document(sample.format)
    known.load(sample.data)
    for end in places(len(sample.data), 60, draw.randrange):
        decoder = document(sample.format)
        items: list[Item] = []
        try:
            items += decoder.load(sample.data[:end])
        except FormatError:
            items.clear()
        assert begins(given(items).series, whole.series), end
        assert not [item for item in items if isinstance(item, Damage)]
        items += decoder.load(sample.data)
        assert given(items).series == whole.series, end
        if end < len(sample.data) - 2 and sample.data[:1] in b"{[":
            with pytest.raises(Unfinished):
                known.load(sample.data[:end])


@documents
def test_a_document_that_is_loaded_twice_gives_nothing_new(sample: Sample) -> None:
    decoder = document(sample.format)
    assert decoder.load(sample.data)
    assert not decoder.load(sample.data)
    assert not [item for item in decoder.load(sample.data + b"\n") if isinstance(item, Points)]


@documents
@settings(max_examples=40)
@examples(noise=st.binary(max_size=600), place=st.integers(0, 1 << 20), length=st.integers(0, 50))
def test_a_damaged_document_raises_only_what_is_promised(sample: Sample, noise: bytes, place: int, length: int) -> None:
    place %= len(sample.data)
    bad = sample.data[:place] + noise[:length] + sample.data[place + length :]
    for data in (noise, sample.data + noise, bad):
        decoder = document(sample.format)
        decoder.load(sample.data)
        try:
            decoder.load(data)
        except FormatError:
            assert not decoder.load(sample.data), "what could not be read has changed the state"


@documents
@pytest.mark.parametrize("line", HOSTILE[:10], ids=range(10))
def test_a_hostile_document_raises_only_what_is_promised(sample: Sample, line: bytes) -> None:
    for data in (line, b'{"log_history": [' + line + b"]}", b'{"train_history": [' + line + b'], "config": {}}'):
        decoder = document(sample.format)
        decoder.load(sample.data)
        try:
            decoder.load(data)
        except FormatError:
            assert not decoder.load(sample.data)


@documents
def test_a_document_is_made_of_plain_values(sample: Sample) -> None:
    """What it says beside its points can go through a pipe as JSON."""
    for fact in given(document(sample.format).load(sample.data)).facts.values():
        json.dumps(fact)


# ---------------------------------------------------------------------- databases, and files of one metric


def collected(root: Path) -> tuple[dict[str, Given], Collector]:
    collector = Collector([str(root)])
    for _ in collector.find():
        pass
    found: dict[str, Given] = {}
    for source, item in collector.in_file_order():
        found.setdefault(source, Given()).add([item])
    return found, collector


def placed(root: Path, sample: Sample, data: bytes) -> Path:
    path = root / sample.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


@databases
def test_a_database_is_read_and_a_damaged_one_raises_nothing(sample: Sample, tmp_path: Path) -> None:
    path = placed(tmp_path, sample, sample.data)
    whole, collector = collected(tmp_path)
    assert sum(one.count for one in whole.values()) > 50
    assert not collector.partly_unreadable
    names = {name for one in whole.values() for name in one.series}
    draw = random.Random(7)
    page = 4096
    for trial in range(15):
        bad = bytearray(sample.data)
        at = draw.randrange(len(bad) // page) * page
        if trial % 3 == 0:
            bad[at : at + page] = draw.randbytes(page)
        elif trial % 3 == 1:
            bad[draw.randrange(len(bad))] ^= 0xFF
        else:
            del bad[at:]
        path.write_bytes(bytes(bad))
        found, collector = collected(tmp_path)
        assert len({name for one in found.values() for name in one.series} - names) <= (trial % 3 == 1)
        lost = sum(one.count for one in found.values()) < sum(one.count for one in whole.values())
        assert not lost or collector.partly_unreadable or collector.skipped, "lost and not told"


named_by_path = [
    sample
    for log_format in all_formats()
    if log_format.metric_name and not log_format.describes_run
    for sample in some(log_format.id, 3)
]


@pytest.mark.parametrize("sample", named_by_path, ids=str)
def test_a_file_of_one_metric_is_named_by_its_path(sample: Sample, tmp_path: Path) -> None:
    placed(tmp_path, sample, sample.data)
    found, collector = collected(tmp_path)
    assert [followed.format.id for followed in collector.followed] == [sample.format.id]
    assert not collector.partly_unreadable
    assert sample.format.metric_name
    assert [list(one.series) for one in found.values()] == [[sample.format.metric_name(f"/{sample.path}")]]


def test_every_sample_is_read_through_the_collector_as_by_its_decoder(tmp_path: Path) -> None:
    """One of each stream format, each a run of its own, beside all others."""
    chosen = [some(log_format.id, 5)[-1] for log_format in formats_of("stream")]
    for at, sample in enumerate(chosen):
        placed(tmp_path / f"run_{at}", sample, sample.data)
    _, collector = collected(tmp_path)
    read = {followed.path: followed for followed in collector.followed}
    for at, sample in enumerate(chosen):
        followed = read[str(tmp_path / f"run_{at}" / sample.path)]
        assert followed.format is sample.format
        assert followed.status().read == len(sample.data)
        assert followed.damaged == fed(sample.format, sample.data).lost
