"""Which runs the comparison shows."""

from __future__ import annotations

import pytest
from support.stores import add_run, store_of

from tuimon.tui.run_choice import RunChoice, runs_to_compare


@pytest.mark.parametrize(
    ("count", "marked", "base", "expected"),
    [
        (2, (), "", [0, 1]),
        (1, (), "", [1]),
        (3, (), "", [0, 1, 2]),
        (3, (), "/logs/2", [2, 1]),
        (3, ("/logs/2",), "", [1, 2]),
        (3, ("/logs/0", "/logs/2"), "", [0, 2]),
    ],
)
def test_marked_runs_are_compared_or_else_all(
    count: int, marked: tuple[str, ...], base: str, expected: list[int]
) -> None:
    store = store_of({"loss": [1.0]}, run=0 if count > 1 else 1)
    for number in range(1, count):
        add_run(store, {"loss": [1.0]}, number)
    snapshot = store.snapshot()
    selected = next(run for run in snapshot.runs if run.id == 1)
    runs = runs_to_compare(snapshot, RunChoice(marked=marked, base=base), selected)
    assert [run.id for run in runs] == expected
