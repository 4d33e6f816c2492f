"""Several runs on one chart: positions, colours and legends compared with the logs."""

from __future__ import annotations

import re

import pytest
from support.made_run import runs_of, view_of

from tuimon.model.views import Role
from tuimon.panels import distinct_markers, overlay_lines
from tuimon.panels._charts.captions import legend_rows
from tuimon.store import Run
from tuimon.text import cell_width


def test_a_run_has_the_same_colour_and_marker_in_every_overlay() -> None:
    runs = runs_of(*[{"reward": ([0], [1.0])}] * 10)
    a, b, c = runs[1], runs[8], runs[9]
    signs: dict[tuple[Run, ...], set[tuple[str, Role]]] = {}
    for over in (*overlay_lines((a, b), (), False), *overlay_lines((c, b, a), (), False)):
        signs.setdefault(over.runs, set()).add((over.marker, over.role))
    assert all(len(result) == 1 for result in signs.values())
    markers, roles = zip(*(next(iter(result)) for result in signs.values()), strict=True)
    assert len(set(markers)) == len(set(roles)) == 3, "runs 1 and 9 have the same colour when they are drawn alone"
    assert overlay_lines((a,), (), False) == (), "a run alone needs no legend"


def test_no_marker_or_colour_is_repeated_before_all_are_used() -> None:
    for ids in ((0, 8, 16), (3, 10, 17, 64), range(0, 64, 8)):
        markers, roles = zip(*distinct_markers(ids).values(), strict=True)
        assert len(set(markers)) == len(set(roles)) == len(ids)
    assert distinct_markers((8, 0))[0] == distinct_markers((0,))[0]
    many = distinct_markers([*range(0, 400, 8), *range(50)])
    assert len({*list(many.values())[:50]}) == 50, "no pair of both is repeated, either"


@pytest.mark.parametrize("height", [8, 14, 40])
def test_names_that_do_not_fit_stay_distinct_or_are_counted(height: int) -> None:
    names = [f"lr{rate}_beta{beta}_s{seed}" for rate in ("0.0001", "1e-05") for beta in (0, 0.1) for seed in (0, 1)]
    signs = [(marker, Role.SERIES_1) for marker in "●▲■◆○△□◇"]
    rows = ["".join(text for text, _ in row) for row in legend_rows(names, signs, 38, height)]
    assert len(rows) <= height // 6
    assert all(cell_width(row.rstrip()) <= 38 for row in rows)
    labels = [label for row in rows for label in re.split(r"\s*[●▲■◆○△□◇+] ?", row) if label]
    assert len(set(labels)) == len(labels)
    shown = [label for label in labels if not label.endswith("more")]
    assert len(shown) == len(names) or labels[-1] == f"{len(names) - len(shown)} more"


def test_runs_above_the_maximum_are_counted_in_the_note() -> None:
    runs = runs_of(*({"reward": ([0], [number])} for number in range(40)))
    view = view_of(runs[39], "reward", overlay=overlay_lines(runs[::-1], (), False))
    assert (len(view.lines), "+8 lines" in view.note) == (32, True)
