"""The sentence about the time of a step in two runs, and its largest phase."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from support.stores import add_run, store_of

from tuimon.analysis.speed import speed_difference
from tuimon.exports.compare import as_text
from tuimon.exports.comparison import compare
from tuimon.monitor.local import open_run
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


@pytest.mark.parametrize("is_reversed", [False, True])
def test_the_faster_run_and_the_phase_that_explains_it(is_reversed: bool) -> None:
    before, after = _timed(10, 8, 1), _timed(6, 8, 2)
    names, runs = ["before", "after"], _runs(before, after)
    own, base = (float(np.median(series["timing_s/step"][-20:])) for series in (after, before))
    gens = [float(np.median(series["timing_s/gen"][-20:])) for series in (after, before)]
    order = -1 if is_reversed else 1
    assert speed_difference(names[::order], runs[::order]) == (
        f"after is faster: in the median {own:.2f} s a step by its timer instead of {base:.2f} s"
        f" ({100 * (own / base - 1):+.0f} %), most of it in gen ({100 * (gens[0] / gens[1] - 1):+.0f} %)"
    )


def test_steps_that_are_written_as_batches_count_each() -> None:
    """The 5 points of a batch are 50 steps and have one time; the other run logs each tenth of its steps of 1 s."""
    store = store_of({"loss": [1.0] * 400})
    add_run(store, {"loss": [1.0] * 400}, 1, wall_times=np.repeat(np.arange(1, 81) * 25.0, 5))
    said = speed_difference(["each", "batches"], store.snapshot().runs)
    assert said.startswith("batches is faster: in the median 0.5000 s a step between logged points, ")
    assert said.endswith(" instead of 1 s (-50 %)")


def test_runs_are_compared_up_to_the_last_common_step() -> None:
    long = {name: values + [50.0] * 100 for name, values in _timed(10, 8, 1).items()}
    said = speed_difference(["short", "long"], _runs(_timed(12, 14, 2), long))
    assert said.startswith("long is faster: in the median 1")


def test_the_fastest_of_several_runs_is_compared_with_the_slowest() -> None:
    said = speed_difference(["a", "b", "c"], _runs(_timed(10, 8, 1), _timed(6, 8, 2), _timed(20, 8, 3)))
    assert said.startswith("b is the fastest of 3 runs: in the median 1")
    assert " s of c (-" in said


def test_runs_that_are_as_fast_as_the_fastest_are_named() -> None:
    said = speed_difference(["a", "b", "c"], _runs(_timed(10, 8, 1), _timed(10, 8, 2), _timed(20, 8, 3)))
    assert said.startswith(("a and b are", "b and a are"))
    assert "are about equally fast, the fastest of 3 runs: in the median 1" in said
    assert f" s a step ({said[0]}) by the timer instead of 2" in said


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
    assert speed_difference(["a", "b"], _runs(one, other)) == ""


def test_wall_times_decide_without_a_timer_and_the_comparison_says_so(tmp_path: Path) -> None:
    pauses = [10.0, 12.0, 14.0, 112.0, 114.0]  # two of five steps end with an evaluation
    for name, seconds in (("slow", [20.0]), ("quick", pauses)):
        times = 1.7e9 + np.cumsum([seconds[step % len(seconds)] for step in range(60)])
        rows = [{"step": step, "time": times[step], "reward": step % 3} for step in range(60)]
        (tmp_path / name).mkdir()
        (tmp_path / name / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    comparison = compare(open_run(tmp_path).runs)
    assert comparison.speed == (
        "quick is faster: in the median 12 s a step between logged points, without evaluations and other pauses,"
        " instead of 20 s (-40 %)"
    )
    assert comparison.speed in list(as_text(comparison, 1.8e9))


def test_both_durations_are_in_one_unit() -> None:
    said = speed_difference(["before", "after"], _runs(_timed(0.09, 0.06, 1), _timed(0.05, 0.04, 2)))
    assert re.search(r"median \d+(\.\d+)? ms a step by its timer instead of 1\d\d(\.\d+)? ms \(", said), said
