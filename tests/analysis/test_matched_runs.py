"""Test which runs are found equal in all settings except one, against a comparison of each pair of runs."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tuimon.analysis.comparing import MISSING
from tuimon.analysis.matched_runs import matched_runs

VALUES = st.sampled_from([1, "1.0", 2.0, True, "text", None, MISSING, [1, 2], float("nan")])
EQUAL = {1: "one", "1.0": "one", None: "none", MISSING: "none"}


def key(value: Any) -> object:
    if isinstance(value, list) or value is True or value != value:
        return str(value)
    return EQUAL.get(value, value)


@given(st.lists(st.tuples(VALUES, VALUES, VALUES), min_size=2, max_size=12))
def test_strata_and_cells_are_equal_where_the_other_or_all_settings_are(rows: list[tuple[Any, ...]]) -> None:
    settings = [(name, [row[i] for row in rows]) for i, name in enumerate("abc")]
    runs = matched_runs([*settings, ("seed", range(len(rows))), ("run_name", [*map(str, range(len(rows)))])])
    compared = [(i, name) for i, name in enumerate("abc") if name in runs.codes]
    keys = [[key(row[i]) for i, _ in compared] for row in rows]
    for one, own in enumerate(keys):
        for other, others in enumerate(keys):
            assert bool(runs.cells[one] == runs.cells[other]) is (own == others)
            for position, (_, name) in enumerate(compared):
                is_equal = all(a == b for i, (a, b) in enumerate(zip(own, others, strict=True)) if i != position)
                assert bool(runs.strata[name][one] == runs.strata[name][other]) is is_equal


def test_texts_of_which_most_runs_have_their_own_are_left_out_but_not_numbers() -> None:
    runs = matched_runs([("path", ["/a", "/b", "/c", "/a"]), ("lr", [1, "2", 3.0, 4]), ("kind", ["x", "x", "y", "y"])])
    assert list(runs.codes) == ["lr", "kind"]
    assert runs.has("lr").all()
    assert matched_runs([]).codes == {}
