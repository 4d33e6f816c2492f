"""Points that must be read of a damaged log, for all formats: cut off, with a hole of zeros, a changed byte, a part
that is repeated, and foreign bytes, each anywhere.

No point may be invented. In a text without checksums a changed digit, or two halves of lines that fit each other,
look like text that was written; there only the damaged row may be wrong. Lost points must be reported, except that a
stream which merely ends is one that is being written. All points outside the damaged record must be there.
"""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from support.damage import KINDS, Damaged, Key, Reading, gzipped, placed, read, records, samples_of, untouched
from support.samples import Sample, kind

from tuimon.formats import all_formats

CHECKED = frozenset({"tensorboard", "wandb", "swanlab"})
"""Formats with a checksum for every record."""
WITHOUT_CHECKSUMS = frozenset({"trackio", "mlflow-sqlite", "optuna-sqlite", "visualdl"})
"""Binary formats in which a value may be zero."""
RECOGNISED_BY_ALL = frozenset({"sb3-evaluations", "trackio", "mlflow-sqlite", "optuna-sqlite"})
"""Archives and databases: damage to their directory or schema costs everything."""

SAMPLES = [sample for known in all_formats() for sample in samples_of(known.id, 3 if known.id == "console" else 1)]
samples = pytest.mark.parametrize("sample", SAMPLES, ids=str)
COMPRESSED = [s for s in SAMPLES if s.format.id in ("jsonl", "csv", "console") and len(s.data) > 2000]


@cache
def truth(sample: Sample) -> Counter[Key]:
    with tempfile.TemporaryDirectory() as folder:
        return read(placed(Path(folder), sample, sample.data)).points


def damaged(sample: Sample, kind: str, times: int) -> Iterator[tuple[Damaged, Reading]]:
    """Yield the log with this kind of damage at several places, which are the same in each run, and what is read."""
    for seed in range(times):
        damage = KINDS[kind](sample.data, random.Random(seed))
        with tempfile.TemporaryDirectory() as folder:
            yield damage, read(placed(Path(folder), sample, damage.data))


def least(sample: Sample, damage: Damaged) -> Counter[Key]:
    """Return the points that must be read: those outside the damaged record, or in front of it in a document."""
    if sample.format.id in RECOGNISED_BY_ALL:
        return Counter()
    if kind(sample.format) == "document":
        before = [keys for _, end, keys in records(sample) if end < damage.begin]
        return Counter(key for keys in before for key in keys)
    return untouched(sample, damage)


def head_end(sample: Sample) -> int:
    """Return the end of the part that the reading of all records depends on: a header, and what shows the format."""
    return max((end for _, end, _ in records(sample)[:3]), default=len(sample.data))


def reach(points: Counter[Key]) -> int:
    """Return the number of points that one damaged name or number of a text may affect."""
    steps, names = Counter(step for _, step, _ in points), Counter(name for name, _, _ in points)
    return max([*steps.values(), *names.values()], default=0)


@samples
def test_a_cut_log_gives_its_first_points(sample: Sample) -> None:
    whole = truth(sample)
    for damage, actual in damaged(sample, "cut", 4):
        assert not actual.points.keys() - whole.keys()
        if damage.begin >= head_end(sample):
            assert not least(sample, damage) - actual.points
        if kind(sample.format) not in ("stream", "journal"):
            assert actual.reported or actual.points == whole


@samples
def test_a_hole_costs_only_what_it_covers(sample: Sample) -> None:
    whole = truth(sample)
    for damage, actual in damaged(sample, "hole", 6):
        if sample.format.id in WITHOUT_CHECKSUMS:
            assert len(actual.points.keys() - whole.keys()) <= 2 * reach(whole)
            continue
        assert not actual.points.keys() - whole.keys()
        assert actual.reported or actual.points == whole
        if damage.begin >= head_end(sample) and kind(sample.format) != "journal":
            # the value of a trial is a point only if it had no others, which may be lost
            assert not least(sample, damage) - actual.points


@samples
def test_foreign_bytes_reach_no_further_than_their_row(sample: Sample) -> None:
    whole = truth(sample)
    for _, actual in (*damaged(sample, "flip", 4), *damaged(sample, "garbage", 4)):
        invented = actual.points.keys() - whole.keys()
        if sample.format.id in CHECKED:
            assert not invented
            assert actual.reported or actual.points == whole
        elif kind(sample.format) != "document":  # in a document, the name of a list reaches all its rows
            assert len(invented) <= 2 * reach(whole)


@pytest.mark.parametrize("sample", [sample for sample in SAMPLES if sample.format.id in CHECKED], ids=str)
def test_a_repeated_part_loses_nothing_in_formats_with_checksums(sample: Sample) -> None:
    whole = truth(sample)
    for damage, actual in damaged(sample, "duplicate", 8):
        assert not actual.points.keys() - whole.keys()
        assert not untouched(sample, damage).keys() - actual.points.keys()


@pytest.mark.parametrize("damage_kind", KINDS)
@pytest.mark.parametrize("sample", COMPRESSED, ids=str)
def test_damaged_compressed_text_gives_no_false_point(sample: Sample, damage_kind: str) -> None:
    """The text is in two members, each of which has a checksum."""
    whole = truth(sample)
    middle = sample.data.rfind(b"\n", 0, len(sample.data) // 2) + 1
    members = gzipped(sample.data[:middle]), gzipped(sample.data[middle:])
    for seed in range(8):
        damage = KINDS[damage_kind](b"".join(members), random.Random(seed))
        with tempfile.TemporaryDirectory() as folder:
            actual = read(placed(Path(folder), sample, damage.data, compressed=True))
        assert not actual.points.keys() - whole.keys()
        if damage_kind not in ("cut", "duplicate"):
            assert actual.reported or actual.points == whole
        if damage.begin >= len(members[0]):
            with tempfile.TemporaryDirectory() as folder:
                first = read(placed(Path(folder), sample, members[0], compressed=True))
            assert not first.points - actual.points
