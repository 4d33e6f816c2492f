"""Reads a case and reports the differences from its truth."""

from __future__ import annotations

import math
import os
import re
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random

from support.strangers import console, files
from support.strangers.cases import Case, Point, truth_of
from support.strangers.trainings import training
from tuimon.analysis.printed_units import meaning_of
from tuimon.exports.metrics import metric_summaries
from tuimon.monitor.local import LocalMonitor
from tuimon.store import Run

WRITERS = {**console.WRITERS, **files.WRITERS}


@dataclass(frozen=True)
class Fault:
    """A difference from the truth."""

    kind: str
    text: str


def make(seed: int, writer: str = "") -> Case:
    """Return the case of a seed."""
    rng = Random(f"stranger {seed}")
    name = writer or rng.choice(list(WRITERS))
    drawn = training(rng)
    written = WRITERS[name](drawn, rng)
    truth = truth_of(drawn, written)
    if files.is_float32(name):
        truth = {key: [(s, _float32(v), t) for s, v, t in points] for key, points in truth.items()}
    units = {written.names.get(key, key): unit for key, unit in written.units.items()}
    traits = [
        drawn.kind,
        *written.traits,
        *(["cut"] if written.rows is not None else []),
        *(["resumed"] if len(drawn.attempts) > 1 else []),
    ]
    return Case(seed, name, drawn, written.files, truth, units, written.names, traits=traits)


def _float32(value: float) -> float:
    return float(struct.unpack("f", struct.pack("f", value))[0])


def place(case: Case, folder: Path) -> Path:
    """Write the files of a case."""
    directory = folder / "run"
    directory.mkdir(parents=True)
    for name, data in case.files:
        (directory / name).write_bytes(data)
        end = case.training.rows[-1].time
        os.utime(directory / name, (end, end))
    return directory


def faults(case: Case, folder: Path) -> list[Fault]:
    """Return what is wrong in the numbers that are read from the files of a case."""
    monitor = LocalMonitor([place(case, folder)])
    monitor.read()
    runs = monitor.snapshot().runs
    result = []
    if len(runs) != 1:
        result.append(Fault("run count", f"{len(runs)} runs instead of 1"))
    said = [notice.message for notice in monitor.snapshot().notices]
    for run in runs:
        said += [
            f"damaged {stream.status.damaged}" for stream in run.streams if stream.status and stream.status.damaged
        ]
    if not any(run.point_count for run in runs):
        return [Fault("nothing read", "; ".join(said) or "and nothing is said")]
    run = max(runs, key=lambda run: run.point_count)
    return [*result, *_point_faults(case, run), *_summary_faults(case, run)]


def _points(run: Run) -> dict[str, list[Point]]:
    points: dict[str, list[Point]] = {}
    for name, steps, values, times in run.points(lambda name: True, 1 << 16):
        points.setdefault(name, []).extend(zip(steps.tolist(), values.tolist(), times.tolist(), strict=True))
    return points


def _point_faults(case: Case, run: Run) -> Iterator[Fault]:
    actual = _points(run)
    pairs, renamed = _paired(case, actual)
    for name, other in renamed.items():
        yield Fault("name", f"{name!r} is {other!r}")
    for name, expected in case.truth.items():
        if name not in pairs:
            yield Fault("metric missing", f"{name!r}: {len(expected)} points; read: {sorted(actual)}")
            continue
        yield from _differences(name, expected, actual[pairs[name]], _allowed(case, name))
    known = {*pairs.values(), "epoch"}
    for name in actual:
        certain = {point[:2] for point in actual[name]} - {(s, float(v)) for s, v in _allowed(case, name)}
        if name not in known and certain and not re.match(r"rank[1-9]/", name):
            yield Fault("invented", f"{name!r}: {actual[name][:3]}")


def _paired(case: Case, actual: dict[str, list[Point]]) -> tuple[dict[str, str], dict[str, str]]:
    """Return (name in the truth -> name that was read, those that differ)."""
    pairs = {name: name for name in case.truth if name in actual}
    renamed = {}
    left = [name for name in actual if name not in pairs]
    for name, expected in case.truth.items():
        if name in pairs:
            continue
        values = Counter(repr(value) for _, value, _ in expected)
        for other in left:
            if (Counter(repr(value) for _, value, _ in actual[other]) & values).total() > len(expected) / 2:
                pairs[name] = renamed[name] = other
                left.remove(other)
                break
    return pairs, renamed


def _allowed(case: Case, name: str) -> set[tuple[int, str]]:
    """Return points that may be read or not: those of a row that is cut, and the first reading of a step that was the
    last of one attempt and is the first of the next one, as nothing says whether both count."""
    attempts = case.training.attempts
    rows = [case.training.rows[-1]] if "cut" in case.traits else []
    rows += [before[-1] for before, after in pairwise(attempts) if before[-1].step == after[0].step]
    return {
        (row.step, repr(cell.value + 0.0))
        for row in rows
        for cell in row.cells
        if case.names.get(cell.name, cell.name) == name
    }


def _differences(
    name: str, expected: list[Point], actual: list[Point], allowed: set[tuple[int, str]]
) -> Iterator[Fault]:
    wanted, read = ({(step, repr(value + 0.0)) for step, value, _ in points} for points in (expected, actual))
    read -= allowed - wanted
    actual = [point for point in actual if (point[0], repr(point[1] + 0.0)) not in allowed - wanted]
    uncertain = {step for step, _ in allowed}
    counted = [step for step, *_ in actual if step not in uncertain]
    if len(counted) != len(set(counted)):
        yield Fault("doubled", f"{name!r}: {len(actual)} points at {len({s for s, *_ in actual})} steps")
    wanted_steps, read_steps = {step for step, _ in wanted}, {step for step, _ in read}
    missing, more = wanted_steps - read_steps, read_steps - wanted_steps
    if more:
        yield Fault(
            "wrong step",
            f"{name!r}: {sorted(more)[:5]}, not {sorted(missing)[:5]} (first steps {sorted(wanted_steps)[:3]})",
        )
    elif missing:
        yield Fault("points missing", f"{name!r}: {len(missing)} of {len(wanted_steps)}: {sorted(missing)[:5]}")
    different = sorted((step, value) for step, value in read - wanted if step in wanted_steps)
    if different and not more:
        right = dict(sorted(wanted))
        yield Fault(
            "wrong value",
            f"{name!r}: {[(s, v, right[s]) for s, v in different[:3]]}, {len(different)} of {len(wanted)}",
        )
    times = {step: time for step, _, time in actual}
    late = [(s, t, times[s]) for s, _, t in expected if s in times and t == t and not abs(t - times[s]) < 0.002]
    if late:
        yield Fault("wrong time", f"{name!r}: {late[:2]}, {len(late)} of {len(expected)}")
    if any(t != t and times[s] == times[s] for s, _, t in expected if s in times):
        yield Fault("invented time", f"{name!r}")


def _summary_faults(case: Case, run: Run) -> Iterator[Fault]:
    summaries = {summary.name: summary for summary in metric_summaries(run)}
    for name, expected in case.truth.items():
        summary = summaries.get(name)
        if summary is None:
            continue
        read = _points(run).get(name, [])
        if [p[:2] for p in read] != [p[:2] for p in expected]:
            continue
        finite = [(value, step) for step, value, _ in expected if math.isfinite(value)]
        if repr(summary.last) != repr(expected[-1][1]) and finite and repr(summary.last) != repr(finite[-1][0]):
            yield Fault("wrong last", f"{name!r}: {summary.last} instead of {expected[-1][1]}")
        if finite and summary.best:
            extremes = {"up": max, "down": min}.get(meaning_of(run, name).direction)
            if extremes and summary.best.value != extremes(value for value, _ in finite):
                yield Fault("wrong best", f"{name!r}: {summary.best}")
        unit = case.units.get(name)
        if unit and summary.unit != unit:
            yield Fault("wrong unit", f"{name!r}: {summary.unit!r} instead of {unit!r}")
