"""Settings as columns of the run list: which ones it has, how it sorts, and that secrets are hidden."""

from __future__ import annotations

from typing import Any

from support.made_run import runs_of, text
from support.tables import run_rows

from tuimon.draw.table import Order
from tuimon.model.views import Symbols
from tuimon.panels.lists.hparam_rows import different_settings
from tuimon.panels.lists.runs import Listing
from tuimon.store import Run


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
