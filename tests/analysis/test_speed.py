"""The time of a step of several runs, and the sentence about the fastest."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from support.stores import add_run, store_of

from tuimon.analysis.speed import faster, speeds
from tuimon.exports.compare import as_text
from tuimon.monitor.local import open_run
from tuimon.panels.lists.comparison import compare
from tuimon.store import Run


def _timed(gen: float, train: float, seed: int, count: int = 200) -> dict[str, list[float]]:
    """Return the timers of a run with a checkpoint of 300 s in its last steps."""
    random = np.random.default_rng(seed)
    gens = gen * (1 + 0.05 * random.standard_normal(count))
    trains = train * (1 + 0.05 * random.standard_normal(count))
    steps = gens + trains
    steps[-3] += 300
    return {"timing_s/gen": gens.tolist(), "timing_s/update_actor": trains.tolist(), "timing_s/step": steps.tolist()}


def _runs(*series: dict[str, list[float]]) -> tuple[Run, ...]:
    store = store_of(series[0])
    for number, more in enumerate(series[1:], 1):
        add_run(store, more, number)
    return store.snapshot().runs


def _said(names: Sequence[str], runs: Sequence[Run]) -> str:
    return faster(names, runs, speeds(runs))


@pytest.mark.parametrize("is_reversed", [False, True])
def test_the_faster_of_two_runs(is_reversed: bool) -> None:
    before, after = _timed(10, 8, 1), _timed(6, 8, 2)
    names, runs = ["before", "after"], _runs(before, after)
    own, base = (float(np.median([t for t in series["timing_s/step"][-133:] if t < 99])) for series in (after, before))
    order = -1 if is_reversed else 1
    change = f"{100 * (own / base - 1):+.0f} %"
    expected = f"after is faster: {own:.2f} s a step, before {base:.2f} s ({change})"
    assert _said(names[::order], runs[::order]) == expected


def test_steps_that_are_written_as_batches_count_each() -> None:
    """The 5 points of a batch are 50 steps and have one time; the other run logs each tenth of its steps of 1 s."""
    store = store_of({"loss": [1.0] * 400})
    add_run(store, {"loss": [1.0] * 400}, 1, wall_times=np.repeat(np.arange(1, 81) * 25.0, 5))
    each, batches = speeds(store.snapshot().runs)
    assert each is not None
    assert batches is not None
    assert (each.seconds, batches.seconds) == (1.0, 0.5)


def test_runs_are_compared_up_to_the_last_common_step() -> None:
    long = {name: values + [50.0] * 100 for name, values in _timed(10, 8, 1).items()}
    assert _said(["short", "long"], _runs(_timed(12, 14, 2), long)).startswith("long is faster: 1")


def test_the_fastest_of_several_runs_is_compared_with_the_slowest() -> None:
    said = _said(["a", "b", "c"], _runs(_timed(10, 8, 1), _timed(6, 8, 2), _timed(20, 8, 3)))
    assert said.startswith("b is faster: 1")
    assert " s a step, c 2" in said


@pytest.mark.parametrize("count", [2, 5])
def test_equal_runs_are_seldom_called_faster(count: int) -> None:
    """Step times that wander by 10 % with an autocorrelation of 0.9."""
    wrong = 0
    for seed in range(60):
        random, series = np.random.default_rng(seed), []
        for _ in range(count):
            wander = np.convolve(random.normal(0, 1, 300), 0.9 ** np.arange(60))[:150]
            series.append({"timing_s/step": (10 + 0.45 * wander).tolist(), "loss": [1.0] * 150})
        wrong += bool(_said("abcde"[:count], _runs(*series)))
    assert wrong <= 4


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (_timed(10, 8, 1), _timed(10, 8, 2)),
        (_timed(10, 8, 1), {"loss": [1.0, 0.5]}),
        (_timed(10, 8, 1, 12), _timed(2, 2, 2, 12)),
    ],
    ids=["noise", "no time in common", "few points"],
)
def test_nothing_is_said_without_a_difference_that_is_known(
    one: dict[str, list[float]], other: dict[str, list[float]]
) -> None:
    assert _said(["a", "b"], _runs(one, other)) == ""


def test_wall_times_decide_without_a_timer_and_the_comparison_says_so(tmp_path: Path) -> None:
    pauses = [10.0, 12.0, 14.0, 112.0, 114.0]  # two of five steps end with an evaluation
    for name, seconds in (("slow", [20.0]), ("quick", pauses)):
        times = 1.7e9 + np.cumsum([seconds[step % len(seconds)] for step in range(60)])
        rows = [{"step": step, "time": times[step], "reward": step % 3} for step in range(60)]
        (tmp_path / name).mkdir()
        (tmp_path / name / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    comparison = compare(open_run(tmp_path).runs)
    assert comparison.speed == "quick is faster: 12 s a step, slow 20 s (-40 %)"
    assert comparison.speed in list(as_text(comparison, 1.8e9))


def test_both_durations_are_in_one_unit() -> None:
    said = _said(["before", "after"], _runs(_timed(0.09, 0.06, 1), _timed(0.05, 0.04, 2)))
    assert re.search(r"after is faster: \d+(\.\d+)? ms a step, before 1\d\d(\.\d+)? ms \(", said), said
