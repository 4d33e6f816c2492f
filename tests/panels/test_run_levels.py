"""The values and the order of runs in the run list, against those of the table of hyperparameters and of compare."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.made_run import feed, run_of, snapshot_of, store_of, text
from support.tables import column_of

from tuimon.analysis.level import level
from tuimon.analysis.run_filter import parse
from tuimon.exports.summary_text import runs_table
from tuimon.model.views import Role, Row, Symbols
from tuimon.panels.lists.comparison import compare
from tuimon.panels.lists.run_metrics import RunLevels, level_note, reader_of
from tuimon.panels.lists.run_selection import list_runs
from tuimon.panels.lists.runs import Listing, run_columns
from tuimon.store import Run, Snapshot


def noisy(seed: int, mean: float, last: float, count: int = 100) -> list[float]:
    """Return values around a mean, of which the last is far from it."""
    values = np.random.default_rng(seed).normal(mean, 0.01, count)
    return [*values[:-1].tolist(), last]


REWARDS = (
    noisy(0, 0.5, 0.1),
    noisy(1, 0.3, 0.9),
    [*noisy(2, 0.4, 0.4), *[9.0] * 40],
    [*noisy(3, 0.95, 0.95, 60), *[math.nan] * 40],
    noisy(4, 0.2, 0.6, 30),
    [*noisy(5, 0.7, 0.7, 98), math.nan, 0.7],
)
"""The last values give another order than the levels; the third run is longer than the others, the fourth diverged."""
LONGEST = 2


def snapshot() -> Snapshot:
    series = [{"reward": (range(len(values)), values), "val_loss": (range(4), values[:4])} for values in REWARDS]
    return snapshot_of(*series)


def listing_of(metric: str = "") -> Listing:
    return Listing(1.8e9, Symbols.BRAILLE, metric=metric)


def cell(run: Run, listing: Listing, id: str, width: int = 8) -> Row:
    return column_of(run_columns(listing), id).show(run, width)


@pytest.mark.parametrize("metric", ["reward", "val_loss"])
def test_the_list_hyperparameters_and_compare_have_the_same_values_and_order(metric: str) -> None:
    seen = snapshot()
    equal_ends = [run for run in seen.runs if run.id != LONGEST]
    listing = listing_of(metric)
    listed = [run.id for run in list_runs(equal_ends, listing, sort="metric")]
    compared = next(entry for entry in compare(equal_ends).metrics if entry.name == metric)
    levels = [own.level.value for own in compared.runs if own is not None]
    assert [RunLevels().value(run, metric) for run in equal_ends] == pytest.approx(levels, nan_ok=True)
    assert [RunLevels(equal_ends).value(run, metric) for run in equal_ends] == pytest.approx(levels, nan_ok=True)
    if metric == "reward":
        assert [equal_ends[row.runs[0]].id for row in compared.rows] == listed
        assert listed == [5, 0, 1, 4, 3], "the run that diverged comes last"
        assert [run.id for run in list_runs(equal_ends, listing, sort="reward")] == listed
        head = next(column for column in runs_table(seen, 1.8e9).columns if column.head == "reward level")
        cells = [value for run, value in zip(seen.runs, head.cells, strict=True) if run in equal_ends]
        assert [float(value) for value in cells] == pytest.approx(levels, abs=1e-4, nan_ok=True)


def test_only_tables_that_compare_runs_cut_the_longest_of_them() -> None:
    seen = snapshot()
    longest, end = seen.runs[LONGEST], len(REWARDS[0]) - 1
    assert text(cell(longest, listing_of(), "reward")) == "9"
    assert RunLevels(seen.runs).last_step(reader_of("reward")) == end
    cut = level(np.array(REWARDS[LONGEST][: end + 1])).value
    assert RunLevels(seen.runs).value(longest, "reward") == pytest.approx(cut)


def test_values_are_levels_and_last_values_can_be_chosen() -> None:
    seen = snapshot()
    listing, last = listing_of(), listing_of("last(reward)")
    first = seen.runs[0]
    assert float(text(cell(first, listing, "reward"))) == pytest.approx(level(np.array(REWARDS[0])).value, abs=1e-4)
    assert text(cell(first, last, "metric")) == "0.1000"
    assert [run.id for run in list_runs(seen.runs, listing, parse("reward>0.45"))] == [0, 2, 5]
    assert [run.id for run in list_runs(seen.runs, listing, parse("last(reward)>0.65"))] == [1, 2, 5]


def test_values_that_are_not_finite_are_shown_with_the_step_since_when() -> None:
    seen = snapshot()
    listing = listing_of()
    assert cell(seen.runs[3], listing, "reward", 14) == (("NaN since 60", Role.CRITICAL),)
    assert cell(seen.runs[3], listing, "reward") == (("NaN", Role.CRITICAL),)
    infinite = run_of({"reward": ([3, 4], [math.inf, math.inf])})
    assert text(cell(infinite, listing, "reward", 14)) == "Inf since 3"
    diverging = run_of({"reward": (range(40), [*[0.5] * 39, math.nan])})
    assert cell(diverging, listing, "reward") == (("0.5000", Role.CRITICAL),), "the level of the finite points"


def test_a_level_follows_the_points_of_its_run() -> None:
    store = store_of({"reward": ([1, 2], [0.1, 0.3])})
    before = store.snapshot()
    assert RunLevels().value(before.runs[0], "reward") == 0.3, "of few points the last one"
    feed(store, {"reward": ([3], [0.7])})
    after = store.snapshot()
    assert RunLevels().level(after.runs[0], reader_of("reward")) == 0.7
    assert RunLevels().value(before.runs[0], "kl") is None


def test_the_difference_to_the_base_is_that_of_levels_at_the_last_common_step() -> None:
    seen = snapshot()
    listing = Listing(1.8e9, Symbols.BRAILLE, base=seen.runs[0])
    base = level(np.array(REWARDS[0][:30])).value
    own = level(np.array(REWARDS[4])).value
    assert column_of(run_columns(listing), "base").value(seen.runs[4]) == pytest.approx(own - base)


@pytest.mark.parametrize("room", range(50))
def test_the_note_about_levels_fits(room: int) -> None:
    assert len(level_note(room)[0]) <= room
    assert room < 20 or "mean of" in level_note(room)[0]
    assert len(level_note(room, "step 99")[0]) <= room
    assert room < 36 or "step 99" in level_note(room, "step 99")[0]
