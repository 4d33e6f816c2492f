"""Runs that are compared at equal tokens or durations instead of equal steps, with levels worked out again."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support.programs import run, write
from support.stores import add_run, store_of

from tuimon.analysis.comparison_axis import comparison_axis, places_of
from tuimon.analysis.level import level_value
from tuimon.exports.compare import as_text, comparison_document
from tuimon.exports.documents import plain
from tuimon.panels.lists.comparison import compare
from tuimon.panels.lists.comparison_tables import screen_rows
from tuimon.store import Curve, Run

COUNT = 200
FAST, SLOW = (2 + np.exp(-np.arange(COUNT) / length) for length in (25.0, 50.0))
TOKENS = "num_input_tokens_seen"


def runs_of_tokens(per_step: float = 1000.0, other: float = 2000.0, name: str = TOKENS) -> tuple[Run, ...]:
    """Return a run that learns slowly, and one that learns fast by the step and takes more tokens for it."""
    counts = [(np.arange(1, COUNT + 1) * amount).tolist() for amount in (per_step, other)]
    store = store_of({"loss": SLOW.tolist(), name: counts[0]})
    add_run(store, {"loss": FAST.tolist(), name: counts[1]}, 1)
    return store.snapshot().runs


@pytest.mark.parametrize("axis", ["tokens", f"metric:{TOKENS}"])
def test_levels_are_taken_at_equal_tokens(axis: str) -> None:
    runs = runs_of_tokens()
    expected = [level_value(SLOW), level_value(FAST[: COUNT // 2])]
    comparison = compare(runs, x=axis)
    loss = next(metric for metric in comparison.metrics if metric.name == "loss")
    assert [own.level.value for own in loss.runs if own] == expected
    assert loss.end == 200_000
    words = "tokens" if axis == "tokens" else f"values of {TOKENS}"
    assert f" at equal {words}" in comparison.first_line
    assert f"compared at equal {words}" in list(as_text(comparison, 1.8e9))
    place = "200.0 k tokens" if axis == "tokens" else f"{TOKENS} 200000"
    assert any(line.endswith(f"up to {place}") for line in as_text(comparison, 1.8e9))
    written = plain(comparison_document(comparison, 1.8e9))
    assert (written["axis"], written["verdict"]) == (axis, comparison.first_line)
    assert [row["end"] for row in written["metrics"][0]["rows"]] == [200_000, 200_000]
    rows = screen_rows(comparison, 1.8e9, 200)
    assert f"compared at equal {words}" in ["".join(text for text, _ in row) for row in rows]


def test_levels_are_taken_at_equal_durations_whenever_the_runs_began() -> None:
    wall_times = [1e9 + np.arange(COUNT) * 1.0, 2e9 + np.arange(COUNT) * 4.0]
    curves = [
        Curve.from_arrays("loss", np.arange(COUNT), values, times)
        for values, times in zip((SLOW, FAST), wall_times, strict=True)
    ]
    runs = runs_of_tokens()
    axis = comparison_axis(runs, "time")
    assert (axis.name, axis.sentence) == ("duration", "compared at equal durations since the start")
    places = [places_of(curve, run.scale("time")) for curve, run in zip(curves, runs, strict=True)]
    assert [own.tolist() for own in places if own is not None] == [times.tolist() for times in wall_times]


def test_a_run_without_the_axis_makes_steps_the_axis() -> None:
    runs = runs_of_tokens()
    plain = runs_of_tokens(name="other")
    axis = comparison_axis((*runs, *plain), "tokens")
    assert (axis.name, axis.sentence) == ("step", "compared at equal steps: 2 of 4 runs have no tokens")
    assert compare((*runs, plain[0]), x="tokens").axis.sentence.endswith("1 of 3 runs has no tokens")
    assert compare(runs).axis.sentence == ""


def test_points_without_a_position_have_that_of_their_neighbour() -> None:
    run_, _ = runs_of_tokens()
    curve = Curve.from_arrays("loss", np.array([1, 5, 10, 15, 20]), np.arange(5.0))
    places = places_of(curve, run_.scale("tokens"))
    assert places.tolist() == [1000.0, 1000.0, 1000.0, 1000.0, 2000.0]


def test_the_command_names_the_runs_without_the_axis(tmp_path_factory: pytest.TempPathFactory) -> None:
    root = tmp_path_factory.mktemp("two")
    for number, name in enumerate(("a", "b"), 1):
        write(root, name, 20, number / 1000)
    result = run("compare", str(root), "--x", "tokens", expect=2)
    assert "cannot compare along tokens: a, b have no such axis" in result.stderr
    assert "Axes of all of these runs: step" in result.stderr
    rows = [{"step": step, "loss": 1 / (step + 1), TOKENS: 512.0 * step} for step in range(20)]
    (root / "c").mkdir()
    (root / "c" / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = run("compare", *(str(root / name) for name in ("a", "c")), "--x", "tokens", expect=2)
    assert "cannot compare along tokens: a has no such axis" in result.stderr
    assert "and metric:NAME for a metric that does not fall." in result.stderr
