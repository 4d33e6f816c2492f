"""Many charts: which metrics a filter means, their order, sections on pages, rows of the list of metrics."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.made_run import feed, run_of, store_of, text
from support.programs import run, write_rows
from support.tables import table_rows

from tuimon.analysis.metric_filter import chosen, matching, no_match
from tuimon.draw.layout import PanelRequest, grid_shape, neighbour, pages
from tuimon.draw.table import fit_columns
from tuimon.model.views import Role, Symbols
from tuimon.monitor.local import open_run
from tuimon.panels import arrange, why_no_match
from tuimon.panels.lists.metric_rows import metric_columns
from tuimon.store import Run
from tuimon.store.block_sums import BlockSums
from tuimon.text import cell_width
from tuimon.tui.arrangement import Heading, ordered, sectioned


@pytest.mark.parametrize("query", ["re:(a+)+$", "re:(a|aa)+$", r"re:(.*)*\1", "re:" + "a*" * 60, "/(x+x+)+y/", "(a+)+"])
def test_no_expression_is_slow_on_adversarial_names(query: str) -> None:
    begun = time.thread_time()
    matching(["a" * 40 + "!", "x" * 5000, "a" * 100_000], query)
    assert time.thread_time() - begun < 2, "an exponential one would take hours"


@given(query=st.text(max_size=20), names=st.lists(st.text(max_size=20), max_size=5))
def test_any_filter_returns_a_subset_of_the_names(query: str, names: list[str]) -> None:
    assert set(matching(names, query)) <= set(names)
    assert set(matching(names, f"re:{query}")) <= set(names)


def _run_with(names: tuple[str, ...]) -> Run:
    return run_of({name: (range(20), [float(step % 7) for step in range(20)]) for name in names})


def test_metrics_by_relevance_and_by_name() -> None:
    run = _run_with(("epoch", "zzz/m10", "zzz/m9", "loss", "train/reward", "kl"))
    assert ordered(run, "name") == ("epoch", "kl", "loss", "train/reward", "zzz/m9", "zzz/m10")
    by_relevance = ordered(run, "relevance")
    assert by_relevance.index("train/reward") < by_relevance.index("loss") < by_relevance.index("zzz/m10")
    assert by_relevance[-1] == "epoch", "progress metrics come last"


def test_sections_hold_every_metric_once_and_fold() -> None:
    names = ("a/x", "b/y", "a/z", "plain")
    panels = sectioned(tuple(sorted(names)), False, ())
    assert [panel.title for panel in panels] == ["a/", "a/x", "a/z", "b/", "b/y", "without a section", "plain"]
    folded = sectioned(tuple(sorted(names)), True, ("b/",))
    assert [panel.title for panel in folded] == ["a/", "b/", "b/y", "without a section"]
    assert [panel.metrics for panel in folded if isinstance(panel, Heading)] == [2, 1, 1]
    assert not any(isinstance(panel, Heading) for panel in sectioned(("a/x", "a/y"), None, ()))
    many = tuple(f"{s}/{i}" for s in "ab" for i in range(50))
    assert len(sectioned(many, None, ())) == 2, "many metrics begin folded"
    few_first = (*(f"0/{i}" for i in range(12)), *many)
    opened = sectioned(few_first, None, ())
    assert [panel.folded for panel in opened if isinstance(panel, Heading)] == [False, True, True]
    assert len(opened) == 3 + 12, "but for the first sections"


def test_a_section_of_many_metrics_has_sections_of_its_own() -> None:
    memory = [
        f"memory/{phase}/{when}/{device}" for phase in ("sample", "train") for when in "ab" for device in range(40)
    ]
    names = ("loss/x", *memory, "memory/total")

    def titles(*turned: str) -> list[str]:
        panels = sectioned(names, True, turned)
        return [f"{panel.depth} {panel.title}" if isinstance(panel, Heading) else panel.title for panel in panels]

    assert titles() == ["0 loss/", "0 memory/"]
    assert titles("memory/") == ["0 loss/", "0 memory/", "memory/total", "1 memory/sample/", "1 memory/train/"]
    opened = titles("memory/", "memory/train/", "memory/train/b/")
    assert opened[5:7] == ["2 memory/train/a/", "2 memory/train/b/"]
    assert opened[7:] == [f"memory/train/b/{device}" for device in range(40)], (
        "no more than can be seen through: charts"
    )
    charts = [panel.title for panel in sectioned(names, False, ()) if not isinstance(panel, Heading)]
    assert sorted(charts) == sorted(names)
    assert [panel.title for panel in sectioned(tuple(memory), True, ())] == ["memory/sample/", "memory/train/"]


def test_charts_are_resized_within_readable_limits() -> None:
    for width, height in ((80, 21), (120, 37), (200, 47), (40, 9)):
        sizes = [grid_shape(width, height, larger) for larger in range(5, -6, -1)]
        assert sizes[0] == (1, 1)
        assert sizes == sorted(sizes)
        columns, rows = sizes[-1]
        assert columns == 1 or width // columns >= 22
        assert rows == 1 or height // rows >= 6


def test_arrow_keys_reach_headings_and_charts_below_them() -> None:
    wishes = [PanelRequest("heading", 1), *[PanelRequest("chart")] * 3, PanelRequest("heading", 1)]
    [page] = pages(120, 40, wishes)
    assert neighbour(page, 0, "down") == 1
    assert [neighbour(page, chart, "up") for chart in (1, 2, 3)] == [0, 0, 0]
    assert [neighbour(page, chart, "down") for chart in (1, 2, 3)] == [4, 4, 4]


# ---------------------------------------------------------------- the list of metrics

RUN = run_of(
    {
        "reward": (range(20), [0.5] * 18 + [1.5] * 2),
        "loss": (range(20), [math.exp(-step) for step in range(20)]),
        "broken": (range(3), [1.0, 2.0, math.nan]),
        "never": (range(2), [math.inf, math.nan]),
    }
)


NAMES_OF_RUN = ("reward", "loss", "broken", "never")


def cells(run: Run, name: str, **of: Any) -> dict[str, str]:
    """The cells of a metric by column, 20 wide."""
    return {column.id: text(column.show(name, 20)).strip() for column in metric_columns(run, Symbols.BRAILLE, **of)}


def test_a_row_has_last_lowest_highest_change_and_source() -> None:
    row = cells(RUN, "reward")
    assert (row["metric"], row["last"], row["min"], row["max"]) == ("reward", "1.500", "0.5000", "1.500")
    assert (row["points"], row["source"]) == ("20", "run")
    assert row["recent"].split()[-1] == "+0.4000"
    assert cells(RUN, "broken")["last"] == "NaN"
    assert cells(RUN, "never") | {"min": "", "max": ""} == cells(RUN, "never"), "no finite value"
    units = cells(run_of({"kl": ([1, 2], [2.0, 1.0])}), "kl")
    assert [units[id].count("nats") for id in ("last", "min", "max")] == [1, 0, 0]


def test_the_number_of_points_goes_before_a_long_name_is_cut() -> None:
    run = run_of({name: ([1, 2], [2.0, 1.0]) for name in ("x" * 33, "short")})
    of = {len(name): dict(fit_columns(metric_columns(run, Symbols.BRAILLE), [name], 120)) for name in run.metrics}
    ids = {length: [column.id for column in fitted] for length, fitted in of.items()}
    assert {*ids[5]} - {*ids[33]} <= {"points", "source"}
    assert next(width for column, width in of[33].items() if column.id == "metric") >= 33


@pytest.mark.parametrize("width", [1, 20, 40, 60, 80, 100, 120, 200])
def test_rows_fill_any_width(width: int) -> None:
    for symbols in Symbols:
        rows = table_rows(metric_columns(RUN, symbols), NAMES_OF_RUN, width)
        assert [cell_width(text(row)) for row in rows] == [width] * 5


def test_a_row_in_ascii_has_only_ascii() -> None:
    for row in table_rows(metric_columns(RUN, Symbols.ASCII), NAMES_OF_RUN, 120):
        assert text(row).isascii()


def test_the_value_at_the_cursor_has_the_step_of_its_point() -> None:
    heads = {column.id: column.head for column in metric_columns(RUN, Symbols.BRAILLE, 10)}
    assert heads["at"] == "at 10"
    assert "at" not in {column.id for column in metric_columns(RUN, Symbols.BRAILLE)}
    assert [cells(RUN, name, cursor=10)["at"] for name in ("reward", "broken")] == ["0.5000", "NaN @ 2"]
    assert cells(RUN, "loss", cursor=-1)["at"] == "-"
    row = cells(RUN, "reward", cursor=10, usual={"reward": 0.25})
    assert (row["at"], row["before"], row["last"]) == ("0.5000", "0.2500", "1.500")


# ---------------------------------------------------------------- block means


@given(
    lengths=st.lists(st.integers(0, 700), min_size=1, max_size=4),
    most=st.integers(1, 40),
    before=st.integers(0, 50),
    parts=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    seed=st.integers(0, 99),
)
def test_block_means_equal_those_computed_directly(
    lengths: list[int], most: int, before: int, parts: tuple[float, float], seed: int
) -> None:
    chance = np.random.default_rng(seed)
    values = chance.normal(size=sum(lengths))
    values[chance.random(len(values)) < 0.1] = math.nan
    sums = BlockSums()
    for end in np.cumsum(lengths):
        sums.extend(values[:end])
    begin, end = sorted(int(part * len(values)) for part in parts)
    if not len(values):
        return
    rows, result, size = sums.means(values, begin, end, most, before)
    assert size & (size - 1) == 0
    assert math.ceil((end - begin) / size) <= most
    assert len(result) <= most + 3 + before
    starts = [int(row) // size * size for row in rows]
    assert starts == sorted(set(starts))
    assert starts[0] <= begin or begin == len(values)
    for start, mean in zip(starts, result, strict=True):
        block = values[start : start + size]
        finite = block[np.isfinite(block)]
        assert mean == pytest.approx(finite.mean()) if len(finite) else math.isnan(mean)


def test_the_order_of_charts_changes_only_when_points_double() -> None:
    store = store_of({"stuck": (range(20), [1.0] * 20), "wobble": (range(20), list(range(20)))})

    def order() -> list[str]:
        return [panel.title for panel in arrange(store.snapshot().runs[0])]

    assert order() == ["wobble", "stuck"]
    steps, values = range(20, 24), [2.0, 3.0, 4.0, 5.0]
    feed(store, {"stuck": (steps, values), "wobble": (steps, values)}, 10)
    assert order() == ["wobble", "stuck"], "no chart moves at every point"
    steps = range(24, 90)
    feed(store, {"stuck": (steps, [float(x) for x in steps]), "wobble": (steps, [float(x) for x in steps])}, 20)
    assert order() == ["stuck", "wobble"]


def test_bookkeeping_without_a_section_is_a_section_at_the_end() -> None:
    run = _run_with(("_step", "_timestamp", "__swanlab__.mem.pct", "loss", "rollout/rewards"))
    titles = [panel.title for panel in sectioned(ordered(run, "relevance"), True, ())]
    assert titles == ["rollout/", "without a section", "bookkeeping"]


def test_titles_on_the_screen_are_found_if_no_name_matches() -> None:
    names = ["completions/clipped_ratio", "eval/success_once", "env/success_once", "loss", "other/thing"]
    assert matching(names, "truncated") == ["completions/clipped_ratio"]
    assert chosen(names, ["truncated responses", "success (val)"])[0] == {names[0], names[1]}
    assert chosen(names, ["success"])[0] == {names[1], names[2]}, "names that match come first"
    assert chosen(names, ["learning rate"]) == (set(), ["learning rate"])
    assert chosen(names, ["truncated"], titles=False) == (set(), ["truncated"])


def test_a_filter_without_a_match_names_the_nearest_metrics() -> None:
    run = run_of({name: ([1], [1.0]) for name in ("train/reward", "train/loss", "eval/steps_per_second")})
    assert why_no_match("rewrd", run) == ["The nearest names are train/reward."]
    assert why_no_match("lss", run) == ["The nearest names are train/loss."]
    assert why_no_match("zzqq", run) == []
    assert why_no_match("vram", run)[0].startswith("This run logs no GPU memory: ROLL logs it with ROLL_DEBUG=1")
    assert no_match("re:(", run.metrics).startswith("invalid expression re:(: ")


def _write(path: Path, factor: float) -> None:
    """Write a run in two logs; the KL of the lesser one is multiplied by `factor`."""
    rows = [{"step": step, "kl": 0.1 + step / 1000, "entropy": 2.0 - step / 100} for step in range(1, 21)]
    history = [row | {"kl": row["kl"] * factor} for row in rows]
    (path / "trainer_state.json").write_text(json.dumps({"global_step": 20, "log_history": history}))
    lines = ({"step": row["step"], "train/kl": row["kl"], "train/entropy": row["entropy"]} for row in rows)
    write_rows(path, lines)


@pytest.mark.parametrize(("factor", "disagree"), [(1.5, True), (1.0, False)])
def test_doctor_names_sources_that_disagree(tmp_path: Path, factor: float, disagree: bool) -> None:
    _write(tmp_path, factor)
    assert ("sources disagree on train/kl" in run("doctor", str(tmp_path)).stdout) is disagree


def test_the_list_of_metrics_marks_sources_that_disagree(tmp_path: Path) -> None:
    _write(tmp_path, 1.5)
    [read] = open_run(str(tmp_path)).runs
    for width in (60, 100, 200):
        rows = dict(
            zip(read.metrics, table_rows(metric_columns(read, Symbols.BRAILLE), read.metrics, width)[1:], strict=True)
        )
        marked = {name for name, row in rows.items() if (" ≠", Role.WARNING) in row}
        assert marked == {"train/kl"}
