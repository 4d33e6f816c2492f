"""Groups of the run list: by what, which runs, and the values of their headings."""

from __future__ import annotations

from support.made_run import runs_of, text

from tuimon.draw.rows import row_width
from tuimon.model.events import RunFound, StreamFound
from tuimon.model.views import Symbols
from tuimon.panels.lists.run_groups import (
    DIRECTORY,
    SEEDS,
    RunGroup,
    entries,
    group_row,
    group_values,
    groupings,
    seed_titles,
)
from tuimon.panels.lists.runs import Listing
from tuimon.store import Run, Store

STEPS = (0, 1, 2)
REWARDS = ([0.1, 0.9, 0.5], [0.1, 0.2, 0.7], [0.1, 0.1, 0.2])
RUNS = runs_of(
    *({"reward": (STEPS, values), "val_loss": (STEPS, [1.0 - value for value in values])} for values in REWARDS),
    configs=[{"lr": 1e-3, "seed": 1}, {"lr": 1e-3, "seed": 1}, {"lr": 1e-4, "seed": 1}],
)
LISTING = Listing(0.0, Symbols.BRAILLE, shared_path=len("/logs/"))


def heading_of(group: RunGroup, listing: Listing) -> str:
    return text(group_row(group, listing, False, 120, group_values(group.runs, listing))).strip()


def headings(by: str, listing: Listing = LISTING) -> list[str]:
    listed = entries(RUNS, by, frozenset(), listing)
    return [heading_of(entry, listing) for entry in listed if isinstance(entry, RunGroup)]


def test_headings_have_the_best_level_with_its_run_and_mean_and_spread() -> None:
    assert headings("lr") == [
        "▾ lr 0.001  2 runs  reward 0.6000 ± 0.100 SE, SD 0.1414  best 0.7000 (run1)",
        "▾ lr 0.0001  1 run  reward best 0.2000",
    ]


def test_the_values_of_a_heading_may_be_too_large_to_be_squared() -> None:
    configs = [{"lr": rate} for rate in (1, 1, 2)]
    runs = runs_of(*[{"loss": (STEPS, [value] * 3)} for value in (1e200, 3e200, 1.0)], configs=configs)
    listed = entries(runs, "lr", frozenset(), LISTING)
    heading = next(heading_of(entry, LISTING) for entry in listed if isinstance(entry, RunGroup))
    assert "loss 2.0e+200 ± 1.0e+200 SE, SD 1.4e+200" in heading


def test_headings_have_the_chosen_metric() -> None:
    listing = Listing(0.0, Symbols.ASCII, metric="val_loss")
    assert (
        headings("lr", listing)[0] == "▾ lr 0.001  2 runs  val_loss 0.4000 +- 0.100 SE, SD 0.1414  lowest 0.3000 (run1)"
    )


def test_headings_have_the_chosen_best_value() -> None:
    listing = Listing(0.0, Symbols.ASCII, metric="best(reward)")
    assert (
        headings("lr", listing)[0]
        == "▾ lr 0.001  2 runs  best(reward) 0.8000 +- 0.1000 SE, SD 0.1414  best 0.9000 (run0)"
    )


def test_groups_by_a_setting_are_in_the_order_of_its_values() -> None:
    rates = (0.01, 0.0001, "1e-3", None, "cosine", 0.01)
    configs = [{"seed": 1} if rate is None else {"lr": rate} for rate in rates]
    runs = runs_of(*[{"reward": (STEPS, values)} for values in (REWARDS * 2)], configs=configs)
    listed = entries(runs, "lr", frozenset(), LISTING, by_value=True)
    titles = [entry.title for entry in listed if isinstance(entry, RunGroup)]
    assert titles == ["lr 0.0001", "lr 1e-3", "lr 0.01", "lr cosine", "lr not set"]
    assert [entry.name for entry in listed if isinstance(entry, Run)][2:4] == ["run0", "run5"]


def test_runs_alone_in_their_directories_are_one_group() -> None:
    assert [heading.split("  ")[0] for heading in headings(DIRECTORY)] == ["▾ other directories"]


def test_tasks_of_a_job_array_are_a_group() -> None:
    store = Store()
    names = ("slurm-123.out", *(f"slurm-200_{task}.out" for task in range(3)), "run_20261121_014812.log", "a_1.log")
    for number, name in enumerate(names):
        store.apply(RunFound(number, name, f"/logs/{name}"))
        store.apply(StreamFound(number, number, name, f"/logs/{name}", "console", 40, "", 0))
    runs = store.snapshot().runs
    assert DIRECTORY in groupings(runs)
    groups = [entry for entry in entries(runs, DIRECTORY, frozenset(), LISTING) if isinstance(entry, RunGroup)]
    assert [(group.title, len(group.runs)) for group in groups] == [("slurm-200", 3), ("other directories", 3)]


def test_groupings_with_a_single_group_or_single_runs_are_skipped() -> None:
    assert groupings(RUNS) == ("", "lr"), "each run has a directory of its own"
    assert groupings(RUNS[:1]) == ("",)
    configs = [{"lr": rate, "seed": number, "cv.fold": number} for rate in (1, 2) for number in (1, 2)]
    runs = runs_of(*[{"reward": (STEPS, REWARDS[0])}] * 4, configs=configs)
    assert groupings(runs) == ("", "lr"), "seeds and folds are repetitions"


def test_headings_fill_any_width() -> None:
    group, values = RunGroup("lr 0.001", RUNS, True), group_values(RUNS, LISTING)
    assert all(row_width(group_row(group, LISTING, True, width, values)) == width for width in range(1, 130))


def test_merged_seeds_are_a_heading_and_other_runs_stay() -> None:
    series = {"reward": (STEPS, REWARDS[0])}
    runs = runs_of(series, series, series, configs=[{"seed": 1, "lr": 1}, {"seed": 2, "lr": 1}, {"seed": 3, "lr": 2}])
    runs = tuple(run for run in runs if run.name == "run2") + tuple(run for run in runs if run.name != "run2")
    titles = seed_titles(runs, LISTING)
    assert len(titles) in (0, 2)
    listed = entries(runs, SEEDS, frozenset(titles.values()), LISTING)
    groups = [entry for entry in listed if isinstance(entry, RunGroup)]
    assert [[run.name for run in group.runs] for group in groups] == [["run0", "run1"]]
    assert [entry.name for entry in listed if not isinstance(entry, RunGroup)] == ["run2"]
    unfolded = entries(runs, SEEDS, frozenset(), LISTING)
    assert len(unfolded) == 4


def test_runs_that_differ_in_settings_or_metrics_have_no_mean() -> None:
    series = {"reward": (STEPS, REWARDS[0])}
    configs = [{"algo": "a", "lr": 1, "seed": 1}, {"algo": "a", "lr": 2, "seed": 2}, {"algo": "a", "lr": 2, "seed": 3}]
    runs = runs_of(series, {"reward": (STEPS, REWARDS[1])}, series, configs=configs)

    def heading(*members: Run) -> str:
        return heading_of(RunGroup("g", members, True), LISTING)

    assert heading(*runs) == "▸ g  3 runs  reward best 0.7000 (run1)"
    assert heading(*runs[1:]) == "▸ g  2 runs  reward 0.6000 ± 0.100 SE, SD 0.1414  best 0.7000 (run1)"
    dpo, grpo = runs_of({"train/loss": (STEPS, [3, 2, 1])}, {"policy_loss": (STEPS, [0.3, 0.2, 0.1])})
    assert heading(dpo, grpo) == "▸ g  2 runs  policy_loss lowest 0.1000 (run1)"
