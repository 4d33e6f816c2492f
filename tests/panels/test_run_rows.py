"""The rows of lists of runs and ranks as text: any width, any order, values against those that were logged."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.made_run import run_of, runs_of, text
from support.programs import write_rows
from support.tables import column_of, fitted_runs, run_rows, table_rows

from tuimon.analysis.run_filter import parse
from tuimon.analysis.run_states import SIGNS as STATES
from tuimon.analysis.run_states import state_sign, state_words
from tuimon.draw.ascii import ascii_text
from tuimon.draw.raster import spark_columns, sparkline
from tuimon.draw.rows import row_width
from tuimon.draw.table import Order, column_at
from tuimon.model.alerts import Alert
from tuimon.model.events import Columns, MetricsFound, Progress, RunFound, StreamFound, StreamStatus
from tuimon.model.ranks import RankRow
from tuimon.model.views import Role, Symbols
from tuimon.monitor.local import open_run
from tuimon.panels.lists.hparam_rows import different_settings
from tuimon.panels.lists.rank_rows import COLUMNS
from tuimon.panels.lists.run_groups import RunGroup, group_row, group_values
from tuimon.panels.lists.run_selection import (
    count_alerts,
    list_runs,
    shared_words,
    totals,
    worst_alerts,
)
from tuimon.panels.lists.runs import GAP, SIGNS, Listing, run_columns
from tuimon.run_notes import RunNote
from tuimon.store import Curve, Run, Store

NOW = 1_700_000_100.0
WIDE = "名前の長い走行"
REWARDS: dict[str, list[float] | None] = {"b": [0.1, 0.9], "a": [0.5, math.nan], WIDE: [0.3, 0.2], "d": None}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, ...]:
    root = tmp_path_factory.mktemp("runs")
    for name, rewards in REWARDS.items():
        rows = [
            {"step": step, "loss": 1.0 + step, "time": NOW - 100 + step, **({"reward": value} if rewards else {})}
            for step, value in enumerate(rewards or [0.0, 0.0])
        ]
        write_rows(root / name, rows)
    return open_run(root).runs


def names(found: tuple[Run, ...]) -> list[str]:
    return [run.name for run in found]


def test_the_number_of_alerts_has_the_colour_of_the_most_severe(runs: tuple[Run, ...]) -> None:
    listing = Listing(NOW, Symbols.BRAILLE, {runs[0].id: 3, runs[1].id: 2}, critical=frozenset({runs[1].id}))
    rows = run_rows(runs, listing, 120)[1:3]
    found = [[span for span in row if span[0].strip()][-1] for row in rows]
    assert [(text.strip(), role) for text, role in found] == [("3", Role.WARNING), ("2", Role.CRITICAL)]


def test_the_row_of_a_run_has_its_most_severe_alert(runs: tuple[Run, ...]) -> None:
    alerts = [
        Alert("spike", "warning", runs[0].id, "loss", 9, "loss jumped"),
        Alert("collapse", "critical", runs[0].id, "reward", 4, "reward has fallen to 0"),
    ]
    listing = Listing(NOW, Symbols.BRAILLE, count_alerts(alerts), worst=worst_alerts(alerts))
    wide, narrow = (text(run_rows(runs, listing, width)[1]).rstrip() for width in (200, 60))
    assert wide.endswith("2 reward has fallen to 0")
    assert narrow.endswith(" 2")


@pytest.mark.parametrize("symbols", list(Symbols))
@pytest.mark.parametrize("base", [False, True])
def test_rows_fill_any_width_exactly(runs: tuple[Run, ...], symbols: Symbols, base: bool) -> None:
    listing = Listing(NOW, symbols, {runs[0].id: 3}, runs[0] if base else None)
    assert ("base" in {column.id for column, _ in fitted_runs(runs, listing, 200)}) == base
    for width in (*range(6, 130, 1 if symbols is Symbols.BRAILLE else 9), 250):
        rows = run_rows(runs, listing, width, runs[1], Order("reward"))
        assert {row_width(row) for row in rows} == {width}
        if symbols is Symbols.ASCII:
            shown = ascii_text("".join(text(row) for row in rows))
            assert {character for character in shown if not character.isascii()} <= set(WIDE), "but for foreign names"
        if width >= 50:
            assert "0.9000" in text(rows[1 + names(runs).index("b")]), "a reward stays where columns go"
            assert "NaN" in text(rows[1 + names(runs).index("a")])


def test_headings_of_groups_fill_any_width(runs: tuple[Run, ...]) -> None:
    listing = Listing(NOW, Symbols.BRAILLE)
    group, values = RunGroup("lr 0.001", runs, True), group_values(runs, listing)
    assert all(row_width(group_row(group, listing, True, width, values)) == width for width in range(1, 130))


def test_headings_are_aligned_with_their_columns(runs: tuple[Run, ...]) -> None:
    listing = Listing(NOW, Symbols.BRAILLE)
    fitted, head = fitted_runs(runs, listing, 120), text(run_rows(runs, listing, 120)[0])
    for column, _ in fitted:
        if column.head and column.head in head:
            assert column_at(fitted, head.index(column.head), SIGNS, GAP) == column
    assert column_at(fitted, 0, SIGNS, GAP) is None


def test_only_finished_runs_have_a_tick_and_critical_alerts_are_a_failure() -> None:
    assert [state for state, sign in STATES.items() if sign == "✓"] == ["finished"]
    assert (state_sign("ended"), ascii_text(state_sign("ended"))) == ("–", "-")
    assert ascii_text(state_sign("finished", critical=1)) == "x"
    assert state_words("ended", 1) == "ended, 1 critical alert"


def test_a_run_with_a_critical_alert_looks_failed_in_the_list(runs: tuple[Run, ...]) -> None:
    healthy = Listing(NOW + 1e6, Symbols.BRAILLE)
    alarmed = Listing(NOW + 1e6, Symbols.BRAILLE, critical=frozenset({runs[0].id}))
    ((text_before, role_before),) = column_of(run_columns(healthy), "state").show(runs[0], 10)
    ((text_after, role_after),) = column_of(run_columns(alarmed), "state").show(runs[0], 10)
    assert (text_before[:2], role_before) != ("✗ ", Role.CRITICAL)
    assert (text_after, role_after) == (f"✗ {text_before[2:]}", Role.CRITICAL)


def test_words_that_all_names_share_are_cut_where_names_do_not_fit() -> None:
    long = [f"grpo-qwen2.5-math-1.5b-lr1e-{number}-kl0.001-batch512-verified" for number in (3, 4, 5)]
    runs = [run_of({"loss": ([0], [1.0])}) for _ in long]
    for run, name in zip(runs, long, strict=True):
        run.name = name
    listing = Listing(NOW, Symbols.BRAILLE, common=shared_words(long))
    for width, expected in ((60, long[0]), (30, "…3-kl0.001-batch512-verified")):
        assert text(column_of(run_columns(listing), "name").show(runs[0], width)).rstrip() == expected


@given(st.lists(st.floats(), min_size=1, max_size=120), st.integers(1, 40))
@example([-1.2e308], 1)
@example([sys.float_info.max, -sys.float_info.max], 2)
def test_a_sparkline_shows_the_extremes_of_each_column(values: list[float], cells: int) -> None:
    curve = Curve.from_arrays("m", np.arange(len(values)), np.array(values))
    envelope = curve.envelope(0.0, max(len(values) - 1, 1), spark_columns(cells, Symbols.BRAILLE))
    drawn = sparkline(envelope, cells, Symbols.BRAILLE)
    assert len(drawn) == cells
    finite = np.array([value for value in values if math.isfinite(value)])
    if not len(finite):
        assert drawn.strip() == ""
        return
    low, high = finite.min(), finite.max()
    dots = dict.fromkeys(range(4), False)
    for character in drawn:
        mask = ord(character) - 0x2800 if character != " " else 0
        for bits, row in ((0x09, 0), (0x12, 1), (0x24, 2), (0xC0, 3)):
            dots[row] |= bool(mask & bits)
    if low < high:
        assert dots[0], "the highest value is at the top"
        assert dots[3], "the lowest at the foot"


def test_age_of_a_run_without_any_time_is_unknown() -> None:
    store = Store()
    store.apply(RunFound(0, "run", "/logs/run"))
    (run,) = store.snapshot().runs
    assert text(column_of(run_columns(Listing(NOW, Symbols.BRAILLE)), "age").show(run, 5)) == "-"


def test_notes_follow_the_names_where_there_is_room(runs: tuple[Run, ...]) -> None:
    run = next(run for run in runs if run.name == "b")
    listing = Listing(NOW, Symbols.BRAILLE, notes={run.path: RunNote("first", "rate\x1b[31m too high", ("todo",))})
    for width in (20, 60, 120, 200):
        row = next(row for row in run_rows(runs, listing, width)[1:] if " b" in text(row))
        assert row_width(row) == width
        assert "\x1b" not in text(row)
        assert ("first: rate" in text(row)) == (width > 20)
    assert ("  first: rate␛[31m too high #todo", Role.MUTED) in [(part.rstrip(), role) for part, role in row]
    assert [found.name for found in list_runs(runs, listing, parse("tag:todo high"))] == ["b"]
    assert list_runs(runs, listing, parse("tag:other")) == ()


def test_a_short_note_needs_no_more_room_than_it_has_cells(runs: tuple[Run, ...]) -> None:
    run = next(run for run in runs if run.name == "b")
    listing = Listing(NOW, Symbols.BRAILLE, notes={run.path: RunNote("", "ok", ())})
    name = column_of(run_columns(listing), "name")
    assert [text(name.show(run, width)) for width in (4, 5)] == ["b", "b  ok"]


def test_how_much_has_been_read_is_in_the_state_and_in_the_totals() -> None:
    store = Store(is_reading=True)
    for run, status in enumerate((("reading", 100, 30), ("current", 100, 100), None, None)):
        store.apply(RunFound(run, f"run{run}", f"/logs/{run}"))
        store.apply(StreamFound(run, run, "jsonl", f"/logs/{run}/metrics.jsonl", "jsonl", 30, "", 0))
        if status is not None:
            state, size, read = status
            store.apply(StreamStatus(run, state, "", size, read, NOW, 0))
    runs, listing = store.snapshot().runs, Listing(NOW, Symbols.BRAILLE)
    assert totals(runs, listing) == ("4 being read, 32 %",), "the files that were not examined yet are as large"
    rows = [text(row).split()[1:3] for row in run_rows(runs, listing, 80)[1:]]
    assert rows == [["30%", "read"], ["reading", "run1"], ["reading", "run2"], ["reading", "run3"]]


def test_the_order_of_urgency_is_that_of_the_last_changes_until_all_runs_have_been_read() -> None:
    store = Store(is_reading=True)
    for run, changed in enumerate((NOW - 300, NOW - 100, NOW - 200)):
        store.apply(RunFound(run, f"run{run}", f"/logs/{run}"))
        store.apply(StreamFound(run, run, "jsonl", f"/logs/{run}/metrics.jsonl", "jsonl", 30, "", 0))
        store.apply(StreamStatus(run, "current", "", 10, 10, changed, 0))
    store.apply(MetricsFound(1, 0, ("loss",)))
    step = np.array([0])
    store.apply(Columns(1, step.astype(np.uint32), np.array([1], np.uint32), step, np.ones(1), np.array([NOW - 1e6])))
    runs, listing = store.snapshot().runs, Listing(NOW, Symbols.BRAILLE)
    assert names(list_runs(runs, listing, sort="urgent")) == ["run1", "run2", "run0"], "run1 has been read"
    store.apply(Progress(1, 1, True))
    assert names(list_runs(runs, listing, sort="urgent"))[-1] == "run1", "it began long ago"


def made(*runs: tuple[float, dict[str, Any]]) -> tuple[Run, ...]:
    """Return a run for each (reward, settings)."""
    return runs_of(*({"reward": ([1], [reward])} for reward, _ in runs), configs=[config for _, config in runs])


def test_settings_are_compared_again_only_if_they_change() -> None:
    runs = made((0.5, {"lr": 1e-5, "seed": 1}), (0.1, {"lr": 0.003, "seed": 1}))
    found = different_settings(runs)
    assert (found.names, list(found.values.values()), found.equal) == (("lr",), [(1e-5,), (0.003,)], 1)
    assert different_settings(runs) is found
    assert different_settings(made((0.9, {"lr": 1e-5, "seed": 1}), (0.1, {"lr": 0.003, "seed": 1}))) is found
    changed = made((0.5, {"lr": 1e-5, "seed": 1}), (0.1, {"lr": 0.004, "seed": 2}))
    assert different_settings(changed).names == ("lr", "seed")


def test_the_sorted_column_is_visible_in_a_narrow_terminal() -> None:
    runs = made(*((0.5, {f"setting{number:02}": number + index for number in range(30)}) for index in range(2)))
    listing = Listing(0.0, Symbols.ASCII, settings=different_settings(runs), all_settings=True)
    for number in range(30):
        head = text(run_rows(runs, listing, 50, order=Order(f"setting.setting{number:02}"))[0])
        assert "▴" in head


@pytest.mark.parametrize(
    ("written", "shown"), [("3.404520E+00", " 3.405 "), ("2.35871", " 2.35871 "), ("nan", " nan ")]
)
def test_quantities_have_units_and_a_long_loss_is_rounded(written: str, shown: str) -> None:
    row = RankRow("", 5, "node01", 5, "run", 0.0, own=0.314, wait=0.25, memory=0.58, loss=written)
    head, cells = ("".join(text for text, _ in part) for part in table_rows(COLUMNS, [row], 100))
    assert shown in cells
    assert "E+" not in cells
    for quantity, value in (("own s", ".314"), ("wait s", ".250"), ("mem", "58%")):
        assert head.index(quantity) + len(quantity) == cells.index(value) + len(value)


def test_a_column_that_does_not_fit_is_left_out() -> None:
    row = RankRow("", 11, "node02", 3, "slow", 0.0, step=40, own=0.476, wait=0.055, loss="1.9354")
    head, cells = ("".join(text for text, _ in part) for part in table_rows(COLUMNS, [row], 45))
    assert head.split() == ["rank", "node", "gpu", "state", "step", "own", "s"]
    assert cells.split() == ["11", "node02", "3", "SLOW", "40", ".476"]
