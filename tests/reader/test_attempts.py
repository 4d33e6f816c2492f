"""Where a log's program was started again, by the steps of its rows. More of them: directories/attempts.toml."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.event_points import event, records, scalar, version

from tuimon.analysis.attempts import attempts_of
from tuimon.monitor.local import open_run
from tuimon.reader.attempts import AttemptFinder

Row = tuple[int, str]
"""(step, metrics, a letter each)."""


def found_rows(rows: list[Row], pieces: int = 1) -> list[tuple[int, list[int]]]:
    """Return (first step, number of points before it by metric) of each attempt, read in pieces of whole rows."""
    finder, starts = AttemptFinder(), list[tuple[int, list[int]]]()
    for part in np.array_split(np.arange(len(rows)), pieces):
        points = [("abcdef".index(name), rows[number][0]) for number in part for name in rows[number][1]]
        if points:
            ids, steps = np.array([id for id, _ in points], np.uint32), np.array([step for _, step in points])
            starts += [(start.step, start.counts.tolist()) for start in finder.add(ids, steps)]
    return starts


def found(steps: list[int], pieces: int = 1) -> list[int]:
    """Return the rows at which attempts begin in the steps of one metric."""
    return [counts[0] for _, counts in found_rows([(step, "a") for step in steps], pieces)]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([0, 5, 2, 6], []),
        ([0, 10, 20, 30, 15, 40], []),
        ([0, 1, 3, 2, 4, 5, 8, 6, 7, 9], []),
        ([0, 1, 2, 5, 2, 3, 6], [4]),
        ([0, 10, 20, 30, 40, 14, 19, 24, 29, 34], [5]),
        ([0, 15, 16, 17, 10, 11, 12, 13, 14, 18], []),
        ([0, 5, 2], []),
        ([5, 4, 3, 2, 1], []),
        ([0, 1, 2, 3, 0, 1, 2, 3, 0, 1], [4, 8]),
        ([0, 1, 2, 3, 2, 4], []),
        ([*range(0, 90, 10), 70, 80, 90], [9]),
        ([*range(8), 6, 7], [8]),
        ([*range(8), 6, 8], []),
        ([*range(5), *range(4, 8), 6, 7, 8], []),
        ([0, 0, 1, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4], []),
        ([*range(9), 7, 8, 9, 8, 9, 10], [9]),
        ([], []),
        ([7, 7, 7], []),
    ],
)
def test_restarts_in_the_steps_of_one_metric(steps: list[int], expected: list[int]) -> None:
    assert [found(steps, pieces) for pieces in (1, 3, 1000)] == [expected] * 3


@given(st.integers(0, 10), st.lists(st.integers(0, 12), max_size=25), st.integers(1, 40))
def test_restarts_equal_the_definition(rising: int, others: list[int], pieces: int) -> None:
    steps = [*range(rising), *others]
    expected, highest, begin = list[int](), -1, 0
    for row, step in enumerate(steps):
        if row and step < steps[row - 1]:
            climb = [step]
            for following in steps[row + 1 :]:
                if following < climb[-1]:
                    break
                climb.append(following)
            below = {later for later in climb if later < highest}
            between = {before for before in steps[begin:row] if min(below) < before < max(below)}
            again = not below.isdisjoint(steps[:row])
            before = steps[max(begin, row - 8) : row]
            ordered = len(before) == 8 and before == sorted(set(before))
            repeats_two = ordered and climb[:2] == steps[row : row + 2] == before[-2:]
            if repeats_two or (len(below) >= 2 and (again or (len(below) >= 4 and len(between) >= 2))):
                expected.append(row)
                highest, begin = step, row
        highest = max(highest, step)
    assert found(steps, pieces) == expected


ROWS: list[Row] = [(step, "abc") for step in range(20)]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([*ROWS, *((step, "abc") for step in range(19, 30))], [(19, [20, 20, 20])]),
        ([*ROWS, (19, "abc")], []),  # it may be a summary
        ([*ROWS, (19, "ab"), (20, "abc")], []),  # a summary of an epoch
        ([*ROWS, (19, "d"), (20, "abc")], []),  # a validation
        ([*ROWS, (19, "d"), (19, "abc"), (20, "abc")], [(19, [20, 20, 20, 1])]),
        ([(step, "a") for step in (*range(20), 19, 20)], []),  # one metric says too little
        ([row for row in ROWS for _ in range(2)], []),  # two processes
        ([*ROWS, (0, "d"), (20, "abc"), (21, "abc")], []),  # a validation at step 0
        ([*ROWS, *((step, "abc") for step in range(12, 30))], [(12, [20, 20, 20])]),
        ([*ROWS[:19], (19, "dabc"), *((step, "abc") for step in range(12, 30))], [(12, [20, 20, 20, 1])]),
        ([*ROWS, *((step, "abcd" if step == 12 else "abc") for step in range(12, 30))], [(12, [20, 20, 20, 0])]),
    ],
)
def test_attempts_in_rows_of_several_metrics(rows: list[Row], expected: list[tuple[int, list[int]]]) -> None:
    for pieces in (1, 7, 1000):
        starts = found_rows(rows, pieces)
        assert [(step, np.trim_zeros(counts, "b")) for step, counts in starts] == [
            (step, np.trim_zeros(counts, "b")) for step, counts in expected
        ]


def test_log_with_rows_out_of_order_is_not_examined_for_ever() -> None:
    turns = [step for start in range(0, 800, 4) for step in (start, start + 3, start + 1, start + 2)]
    again = [*range(1000, 1100), *range(1050, 1200)]
    assert found(again) == [100]
    assert found([*turns, *again]) == []


@pytest.mark.parametrize("seed", range(6))
def test_directories_of_a_trainers_starts_are_attempts_of_one_run(tmp_path: Path, seed: int) -> None:
    """runs/<stamp>_host/ of each start, beside the trainer_state.json of each checkpoint."""
    rng = np.random.default_rng(seed)
    month = ["Nov", "Dec", "Jan", "Feb"]  # the names are not in the order of the starts
    saved, first, wall, drawn, spans = 0, 1, 1.7e9, dict[int, float](), list[list[int]]()
    for number in range(int(rng.integers(2, 5))):
        last = first + int(rng.integers(21, 60))
        values = {step: float(np.float32(rng.normal())) for step in range(first, last + 1)}
        drawn = {step: value for step, value in drawn.items() if step < first} | values
        folder = tmp_path / "runs" / f"{month[number]}01_10-11-12_node1"
        folder.mkdir(parents=True)
        rows = [event(step, scalar("train/loss", value), wall=wall + step) for step, value in values.items()]
        (folder / f"events.out.tfevents.{wall:.0f}.node1.7.0").write_bytes(b"".join(records([version(), *rows])))
        for saved in range(20 * (first // 20 + 1), last + 1, 20):
            rows = [{"step": step, "loss": value} for step, value in drawn.items() if step <= saved]
            (state := tmp_path / f"checkpoint-{saved}").mkdir(exist_ok=True)
            (state / "trainer_state.json").write_text(json.dumps({"global_step": saved, "log_history": rows}))
        if spans:
            spans[-1].append(max(spans[-1][1] - first + 1, 0))
        spans.append([first, last])
        first, wall = int(rng.choice([saved + 1, last + 1])), wall + 7200
    spans[-1].append(0)
    (run,) = open_run(tmp_path).runs
    curve = run.curve("train/loss")
    assert dict(zip(curve.steps.tolist(), curve.values.tolist(), strict=True)) == drawn
    assert [[own.first_step, own.last_step, own.superseded] for own in attempts_of(run)] == spans
