"""Panels of real stores: texts compared with values computed here, and any size and content."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import numpy as np
import pytest
from support.made_run import START, panel_of, run_of, store_of, text
from support.view_cases import series_of

from tuimon import draw
from tuimon.analysis.progress_inputs import progress_of
from tuimon.model.events import Columns, FactFound, MetricsFound, RanksSeen
from tuimon.model.points import Fact
from tuimon.model.ranks import JobRanks
from tuimon.model.views import ChartView, Size, Symbols
from tuimon.panels import (
    Panel,
    all_panels,
    arrange,
    header_panel,
    metric_panel,
    unshown_metrics,
)
from tuimon.registry import discover
from tuimon.store import Run


def chart(run: Run, id: str) -> ChartView:
    return panel_of(id).view(run, Size(80, 12), START, Symbols.BRAILLE)


def constant(value: float, steps: Sequence[int] = range(1, 31)) -> tuple[Sequence[int], Sequence[float]]:
    return steps, [value] * len(steps)


# ---------------------------------------------------------------- header and arrangement


def test_the_range_of_the_end_is_given_as_clock_times_and_does_not_drift() -> None:
    """The steps become shorter, from 100 to 60 s: the quarters of the newest 20 differ, so does when it may end."""
    elapsed = np.concatenate([np.linspace(60, 100, 100), np.linspace(100, 60, 100)])
    times = START + np.cumsum(elapsed)
    store = store_of({})
    store.apply(MetricsFound(0, 0, ("loss",)))
    ids, counts = np.array([0], np.uint32), np.array([200], np.uint32)
    store.apply(Columns(0, ids, counts, np.arange(1, 201), np.ones(200), times))
    store.apply(FactFound(0, Fact("progress", {"step": 200, "total": 400})))
    run = store.snapshot().runs[0]
    last = float(times[-1])
    paces = [half.mean() for half in np.array_split(elapsed[-50:], 2)]
    soonest, latest = (time.strftime("%H:%M", time.localtime(last + 200 * pace)) for pace in (min(paces), max(paces)))
    shown = set()
    for now in (last + 1, last + 20, last + 50):
        view = header_panel().view(run, Size(200, 2), now, Symbols.BRAILLE)
        facts = text(view.rows[1])
        assert facts.startswith("step 200 of 400 50 %  ETA ")
        shown.add(facts[facts.index("(") : facts.index(")") + 1])
    assert shown == {f"({soonest} to {latest})"}


@pytest.mark.parametrize("width", [1, 5, 20, 40, 80, 200])
def test_the_header_leaves_out_what_does_not_fit(width: int) -> None:
    run = run_of({"loss": constant(1.0)}, [Fact("progress", {"step": 30, "total": 60})])
    for height in (1, 2):
        view = header_panel().view(run, Size(width, height), START + 31, Symbols.BRAILLE)
        assert len(view.rows) == height
        assert all(len(text(row)) <= width or "  " not in text(row) for row in view.rows)


@pytest.mark.parametrize(("width", "verdict"), [(80, True), (40, False)])
def test_the_verdict_about_ranks_leaves_the_state_its_room(width: int, verdict: bool) -> None:
    store = store_of({"loss": constant(1.0)})
    store.apply(RanksSeen(0, JobRanks("/run", "", "rank 11 computes 52% longer", ())))
    view = header_panel().view(store.snapshot().runs[0], Size(width, 2), START + 31, Symbols.BRAILLE)
    first = text(view.rows[0])
    assert "● running" in first
    assert ("rank 11" in first) is verdict


def test_series_over_seconds_set_neither_the_step_nor_the_axis() -> None:
    late = range(100, 3001, 100)
    run = run_of({"Train/mean_reward": constant(1.0), "Train/mean_reward/time": constant(1.0, late)})
    assert run.last_step == 30
    assert progress_of(run, START + 40).step == 30
    assert chart(run, "reward").x.high <= 30
    games = run_of({f"rewards/{axis}": constant(1.0, steps) for axis, steps in (("step", range(31)), ("time", late))})
    assert progress_of(games, START + 40).step == 30


def test_panels_have_distinct_ids() -> None:
    result = discover("tuimon.panels", "PANEL")
    assert len(result) >= 30
    assert all(isinstance(panel, Panel) for panel in result)
    assert len({panel.id for panel in result}) == len(result)
    assert {panel.kind for panel in result} == {"chart", "bars", "heat", "text"}


def test_a_run_with_thousands_of_metrics_is_arranged() -> None:
    run = run_of({f"layer/{i}/norm": ([1], [1.0]) for i in range(3000)})
    assert len(arrange(run)) <= 60
    assert len(unshown_metrics(run)) == 3000


# ---------------------------------------------------------------- whatever the content, whatever the size

ROLL = "time/{rollout,adv,generate/total,generate/execute,train_step/total,train_step/onload}"
DEVICES = "memory/{generate,train_step}/{end/onload/max_reserved_frac,start/offload/reserved}/{0..7}"
OTHERS = "{reward,loss,lr,kl,entropy,timing_s/step,timing_s/gen,perf/max_memory_reserved_gb,val-core/a/acc/mean@8}"
CONTENTS = {
    "empty": {},
    "one point": "3..3: 0.5",
    "not finite": [math.nan, math.inf, math.nan],
    "negative": [-1.0, -5.0, -2.0],
    "one step": ";".join(f"0..0: {value}" for value in range(50)),
    "huge": {-(2**62): 1e308, 0: -1e308, 2**62: 5e-324},
    "rare": "0..80 by 4: 0.1 * s",
}
SIZES = [Size(0, 0), Size(1, 1), Size(3, 2), Size(20, 6), Size(39, 11), Size(80, 24), Size(200, 50)]


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("symbols", list(Symbols))
def test_every_panel_at_every_size(content: str, symbols: Symbols) -> None:
    run = run_of(series_of(dict.fromkeys((ROLL, DEVICES, OTHERS) if content != "empty" else (), CONTENTS[content])))
    for size in SIZES if symbols is Symbols.BRAILLE else SIZES[2::2]:  # the symbols do not change the layout
        for panel in (*all_panels(), metric_panel("reward")):
            view = panel.view(run, size, START + 100, symbols)
            rows = draw.render(view, size, symbols)
            assert len(rows) == size.height, panel.id
