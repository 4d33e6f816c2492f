"""Test the chart below a short run list: which metric and runs it shows, and in which colours."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace
from support import made_run

from tuimon.draw.rows import row_width
from tuimon.model.alerts import Alert
from tuimon.model.views import Rows, Size, Symbols
from tuimon.panels._charts.overlay_lines import marker_of
from tuimon.panels.lists.run_overview import LEAST, MOST_LINES, overview
from tuimon.panels.lists.runs import Listing
from tuimon.store import Run
from tuimon.tui import run_choice

SIZE = Size(120, 16)


def runs_of(**metrics: dict[str, list[float]]) -> tuple[Run, ...]:
    """Return runs with these names; a list of values begins at step 0."""
    series = ({name: (range(len(values)), values) for name, values in own.items()} for own in metrics.values())
    return made_run.runs_of(*series, names=list(metrics))


def drawn(runs: Sequence[Run], size: Size = SIZE, grouped: bool = False) -> Rows:
    return overview(runs, Listing(0.0, Symbols.BRAILLE), grouped, size)


def text(rows: Rows) -> str:
    return "\n".join(map(made_run.text, rows))


def test_a_run_with_a_warning_that_it_diverges_is_not_healthy() -> None:
    warning = Alert("divergence", "warning", 0, "loss", 1, "the loss diverges")
    snapshot = replace(made_run.snapshot_of({"reward": ([0], [1.0])}, {"reward": ([0], [2.0])}), alerts=(warning,))
    listing = run_choice.listing_of(snapshot, run_choice.RunChoice(), 0.0, Symbols.BRAILLE)
    assert (listing.critical, listing.failed) == (frozenset(), {0})


def test_it_shows_the_reward_of_each_run_in_the_colour_of_the_list() -> None:
    runs = runs_of(**{name: {"reward": [0.0, last], "loss": [1.0, 0.5]} for name, last in (("a", 0.25), ("b", 0.75))})
    rows = drawn(runs)
    assert len(rows) == SIZE.height
    assert {row_width(row) for row in rows} == {SIZE.width}
    assert text(rows).startswith("reward")
    legend = {part.strip(): role for part, role in rows[0]}
    for run, last in zip(runs, ("0.2500", "0.7500"), strict=True):
        marker, role = marker_of(run.id)
        assert legend[f"{marker} {run.name} {last}"] is role


def test_it_shows_the_metric_that_most_runs_have() -> None:
    loss, reward = {"loss": [2.0, 1.0]}, {"loss": [2.0, 1.0], "reward": [0.0, 1.0]}
    assert text(drawn(runs_of(a=loss, b=loss, c=reward, d=loss))).startswith("loss")
    assert text(drawn(runs_of(a=loss, b=reward))).startswith("reward")
    other = {"accuracy_on_my_test": [0.5, 0.75]}
    assert "0.7500" in text(drawn(runs_of(a=other, b=other)))


def test_it_shows_the_metric_by_which_the_list_is_sorted() -> None:
    both = {"loss": [2.0, 1.0], "eval_loss": [2.5, 1.5], "reward": [0.0, 1.0]}
    runs = runs_of(a=both, b=both, c={"loss": [2.0, 1.0], "eval_accuracy": [0.0, 0.25]})

    def title(sort: str, metric: str = "") -> str:
        listing = Listing(0.0, Symbols.BRAILLE, metric=metric)
        return text(overview(runs, listing, False, SIZE, sort)).split()[0]

    assert title("found", "eval_loss") == title("name") == title("reward") == "reward"
    assert title("loss") == "loss"
    assert title("metric", "eval_loss") == title("metric", "best(eval_loss)") == "eval_loss"
    assert title("metric", "eval_accuracy") == "reward", "only one run has an accuracy"


def test_a_value_far_from_the_others_does_not_set_the_limits() -> None:
    values = [1.0 + step % 7 / 10 for step in range(60)]
    runs = runs_of(a={"loss": values}, b={"loss": [*values[:30], 4e6, *values[31:]]})
    assert "M" not in text(drawn(runs))


def test_there_is_no_chart_for_one_run_or_in_little_room() -> None:
    runs = runs_of(**{f"run{i:02}": {"loss": [2.0, 1.0]} for i in range(MOST_LINES + 2)})
    assert drawn(runs[:1]) == ()
    assert drawn(runs, Size(LEAST.width - 1, 20)) == ()
    assert drawn(runs, Size(120, LEAST.height - 1)) == ()
    legend = drawn(runs, Size(300, 20))[0]
    assert sum("run0" in part for part, _ in legend) == MOST_LINES
    assert text(drawn(runs, Size(300, 20))[-1:]).strip() == "+2 more runs, not drawn"


def test_runs_that_differ_in_their_seed_are_one_line_if_they_are_merged() -> None:
    runs = runs_of(ppo_seed0={"reward": [0.0, 1.0]}, ppo_seed1={"reward": [0.0, 3.0]})
    assert "ppo ×2 2" in text(drawn(runs, grouped=True))
    assert "ppo ×2" not in text(drawn(runs))


def test_many_runs_are_merged_by_their_seeds_rather_than_left_out() -> None:
    names = [f"{algo}_seed{seed}" for algo in ("grpo", "dapo", "gspo") for seed in range(4)]
    runs = runs_of(**{name: {"reward": [0.0, 1.0]} for name in names})
    listing = Listing(0.0, Symbols.BRAILLE, failed=frozenset([runs[-1].id]))
    drawing = text(overview(runs, listing, False, SIZE))
    assert all(label in drawing for label in ("grpo ×4 1", "dapo ×4 1", "gspo ×4 ✗ 1"))
    legend = [role for label, role in overview(runs, listing, False, SIZE)[0] if "×4" in label]
    assert len(set(legend)) == 3, "the first runs of two groups have the same colour in the list"
    assert "not drawn" not in drawing
    assert "gspo ×4 ✗: 1 of 4 not healthy" in drawing


def test_marked_runs_are_drawn_alone() -> None:
    runs = runs_of(**{name: {"reward": [0.0, 1.0]} for name in ("a", "b", "c")})
    listing = Listing(0.0, Symbols.BRAILLE, marked=frozenset(run.path for run in runs[1:]))
    title = text(overview(runs, listing, False, SIZE)).splitlines()[0]
    assert " b " in title
    assert " c " in title
    assert " a " not in title
    one = Listing(0.0, Symbols.BRAILLE, marked=frozenset([runs[0].path]))
    assert " a " in text(overview(runs, one, False, SIZE)).splitlines()[0]
