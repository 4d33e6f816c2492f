"""Settings as columns of the run list: which ones it has, how it sorts, and that secrets are hidden."""

from __future__ import annotations

from typing import Any

import pytest
from support.made_run import runs_of, text
from support.tables import column_of, run_rows

from tuimon.draw.table import Order, sort_items
from tuimon.model.views import Symbols
from tuimon.panels.lists.hparam_rows import different_settings
from tuimon.panels.lists.run_metrics import RunLevels
from tuimon.panels.lists.runs import Listing, run_columns
from tuimon.store import Run


def made(*runs: tuple[float, dict[str, Any]]) -> tuple[Run, ...]:
    """Return a run for each (reward, settings)."""
    return runs_of(*({"reward": ([1], [reward])} for reward, _ in runs), configs=[config for _, config in runs])


RUNS = made(
    (0.5, {"lr": "1e-5", "algo": {"clip": 0.2}, "seed": 1, "api_key": "sk-" + "a" * 40}),
    (float("nan"), {"lr": 0.003, "algo": {"clip": 0.2}, "seed": 1, "api_key": "sk-" + "b" * 40}),
    (0.1, {"algo": {"clip": 0.3}, "seed": 1}),
)


def test_settings_that_differ_are_listed_without_secrets() -> None:
    found = different_settings(RUNS)
    assert set(found.names) >= {"lr", "algo.clip"}
    assert "seed" not in found.names
    assert found.equal >= 1
    assert "aaaa" not in str(found.values)


def test_settings_are_compared_again_only_if_they_change() -> None:
    runs = made((0.5, {"lr": 1e-5, "seed": 1}), (0.1, {"lr": 0.003, "seed": 1}))
    found = different_settings(runs)
    assert (found.names, list(found.values.values()), found.equal) == (("lr",), [(1e-5,), (0.003,)], 1)
    assert different_settings(runs) is found
    assert different_settings(made((0.9, {"lr": 1e-5, "seed": 1}), (0.1, {"lr": 0.003, "seed": 1}))) is found
    changed = made((0.5, {"lr": 1e-5, "seed": 1}), (0.1, {"lr": 0.004, "seed": 2}))
    assert different_settings(changed).names == ("lr", "seed")


def test_numbers_sort_as_numbers_and_unknown_values_come_last() -> None:
    columns = run_columns(Listing(0.0, Symbols.BRAILLE, settings=different_settings(RUNS), all_settings=True))
    for by, order in (("setting.lr", [0, 1, 2]), ("loss", [0, 1, 2])):
        assert [run.id for run in sort_items(RUNS, columns, Order(by))] == order
    back = sort_items(RUNS, columns, Order("setting.lr", reverse=True))
    assert [run.id for run in back] == [1, 0, 2]


def test_the_sorted_column_is_visible_in_a_narrow_terminal() -> None:
    runs = made(*((0.5, {f"setting{number:02}": number + index for number in range(30)}) for index in range(2)))
    listing = Listing(0.0, Symbols.ASCII, settings=different_settings(runs), all_settings=True)
    for number in range(30):
        head = text(run_rows(runs, listing, 50, order=Order(f"setting.setting{number:02}"))[0])
        assert "▴" in head


def test_a_long_head_gets_the_cells_that_no_column_takes() -> None:
    runs = made(*((0.5, {"lr_scheduler_type": kind, "seed": 7}) for kind in ("linear", "cosine")))
    listing = Listing(0.0, Symbols.ASCII, settings=different_settings(runs), all_settings=True)
    for width, shown in ((100, True), (38, False)):
        assert ("lr_scheduler_type" in text(run_rows(runs, listing, width)[0])) is shown


def test_levels_stop_where_only_one_run_goes_on() -> None:
    runs = runs_of(*[{"reward": (range(end), [float(step) for step in range(end)])} for end in (10, 20, 40)])
    listing = Listing(0.0, Symbols.BRAILLE, levels=RunLevels(runs), all_settings=True)
    values = [column_of(run_columns(listing), "reward").value(run) for run in runs]
    assert values == pytest.approx([8.5, 17.0, 17.0])


def test_the_loss_is_not_shown_twice_and_a_setting_may_have_its_name() -> None:
    configs = [{"seed": number, "lr": 10.0**-number, "loss": f"kind{number}"} for number in range(4)]
    runs = runs_of(*[{"loss": ([1, 2], [2.0, 1.0])}] * 4, configs=configs)
    listing = Listing(0.0, Symbols.BRAILLE, metric="loss", settings=different_settings(runs), all_settings=True)
    head, *rows = map(text, run_rows(runs, listing, 120))
    assert head.split() == ["state", "run", "loss", "lr", "loss", "seed"]
    assert "kind3" in rows[3]
