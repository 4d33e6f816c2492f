"""The best seeds and the best values of text settings above the table of hyperparameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from support.made_run import runs_of, text

from tuimon.model.views import Role, Symbols
from tuimon.panels.lists.best_values import best_items, item_row
from tuimon.panels.lists.hparam_rows import effects_in, hparam_table

LEVELS = {
    "dapo": (0.7372, 0.7714, 0.7248, 0.7551),
    "gspo": (0.7015, 0.6769, 0.7172, 0.6905),
    "grpo": (0.6689, 0.7104, 0.0214, 0.7258),
}
"""Rewards of four seeds of three methods. The third seed of grpo collapses."""


def items(more: Mapping[str, dict[str, Any]]) -> Sequence[tuple[str, list[tuple[str, Role]]]]:
    """Return the items of runs with a method, a seed and more settings."""
    runs = [(method, seed, value) for method, values in LEVELS.items() for seed, value in enumerate(values)]
    table = hparam_table(
        runs_of(
            *({"reward": ([1], [value])} for *_, value in runs),
            configs=[{"method": method, "seed": seed, **more.get(method, {})} for method, seed, _ in runs],
        )
    )
    failed = frozenset(run.id for run, row in table.rows if 0.0214 in row)
    return best_items(table, table.rows, effects_in(table, table.rows, failed), failed)


def test_a_setting_that_is_a_text_has_its_best_value() -> None:
    [(head, own)] = items({})
    assert head == " best values:"
    assert own == [("method dapo: 0.7471 against 0.6965 of gspo, +0.0506 ± 0.0133 SE", Role.TEXT)]


def test_combinations_of_several_settings_are_listed_with_the_means_of_their_seeds() -> None:
    other = {"dapo": {"clip": 0.28}, "gspo": {"clip": 0.2}, "grpo": {"clip": 0.2}}
    [(_, seeds), (_, values)] = items(other)
    assert [said.partition(" seeds ")[2] or said for said, _ in seeds] == [
        "0.7471 ± 0.0102 SE",
        "0.6965 ± 0.00853 SE",
        "0.0506 ± 0.0133 SE apart",
        "0.5316 ± 0.1705 SE",
    ]
    assert values == [
        ("method gspo: 0.6965 against 0.5316 of grpo, +0.1649 ± 0.1707 SE (noise; not compared: dapo)", Role.MUTED)
    ], "dapo differs in another setting, too"
    row = text(item_row(" best values:", values, Symbols.ASCII, 200))
    assert row.endswith("+0.1649 +- 0.1707 SE (noise; not compared: dapo)")
    assert text(item_row(" best seeds:", seeds, Symbols.BRAILLE, 90)).endswith("  …")
