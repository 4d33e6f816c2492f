"""Rows about many runs: cost of a list of a thousand, and of a chart of several runs compared with one run."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from tests.bench._explore_rows import SCREEN, side_by_side
from tests.bench._row import Row
from tests.bench._store_rows import Feed
from tuimon.analysis.run_filter import parse
from tuimon.draw import FrameCache, render
from tuimon.draw.table import fit_columns, table_row
from tuimon.model.views import Symbols
from tuimon.monitor.local import open_run
from tuimon.panels import ChartOptions, metric_panel, overlay_lines
from tuimon.panels.lists.run_selection import list_runs
from tuimon.panels.lists.runs import GAP, SIGNS, Listing, run_columns, run_signs
from tuimon.store import Run, Snapshot

MANY, FEW = 1000, 50


def rows(folder: Path, full: bool) -> Iterator[Row]:
    many, few = (_runs(folder / str(count), count) for count in (MANY, FEW))
    listing = Listing(time.time(), Symbols.BRAILLE)

    def page(runs: Sequence[Run]) -> None:
        seen = list_runs(runs, listing)[: SCREEN.height]
        fitted = fit_columns(run_columns(listing), seen, SCREEN.width - SIGNS, GAP)
        for run in seen:
            table_row(fitted, run, run_signs(run, listing, False), GAP)

    begun = time.thread_time()
    page(many.runs)
    first = (time.thread_time() - begun) * 1e3
    long, short = side_by_side(partial(page, many.runs), partial(page, few.runs))
    against = f"{long:.2f} ms against {short:.2f} ms, {SCREEN.height} rows"
    yield Row(f"a screen of {MANY} runs, against {FEW}", long / short, "x", 1.5, 1.1, against=against)
    yield Row(f"the first screen of {MANY} runs", first, "ms", 200, 100)
    for what, ask in (
        ("sorted by reward", lambda: list_runs(many.runs, listing, sort="reward")),
        ("sorted by state", lambda: list_runs(many.runs, listing, sort="state")),
        ("filtered by lr>3e-4 state:stalled", lambda: list_runs(many.runs, listing, parse("lr>3e-4 state:stalled"))),
    ):
        times = []
        for _ in range(2):
            begun = time.thread_time()
            ask()
            times.append((time.thread_time() - begun) * 1e3)
        yield Row(f"{MANY} runs {what}, at first", times[0], "ms", 1000, 500, against=f"{times[1]:.1f} ms again")
    yield from _overlays()


def _overlays() -> Iterator[Row]:
    """Eight runs over each other: of a million points each against ten thousand, and against one of them alone."""
    charts = {}
    for points in (1_000_000, 10_000):
        feeds = [Feed(1, points) for _ in range(8)]
        over = overlay_lines([feed.run for feed in feeds], (), False, Symbols.BRAILLE)
        charts[points] = feeds[0].names[0], feeds[0].run, over
    frames = FrameCache()

    def draw(points: int, count: int) -> None:
        name, run, over = charts[points]
        options = replace(ChartOptions(), overlay=over[:count] if count > 1 else ())
        view = metric_panel(name).view(run, SCREEN, 1.7e9, Symbols.BRAILLE, options)
        render(view, SCREEN, Symbols.BRAILLE, frames)

    long, short = side_by_side(partial(draw, 1_000_000, 8), partial(draw, 10_000, 8))
    against = f"{long:.2f} ms against {short:.2f} ms, a chart of {SCREEN.width}x{SCREEN.height}"
    yield Row("8 runs of 1M points over each other, against 10k", long / short, "x", 2.5, 1.5, against=against)
    eight, one = side_by_side(partial(draw, 1_000_000, 8), partial(draw, 1_000_000, 1))
    yield Row("8 runs over each other, against 8 charts of one", eight / (8 * one), "x", 1.0, 0.7)


def _runs(folder: Path, count: int) -> Snapshot:
    """Real files: thirty points of three metrics each, and a config."""
    for number in range(count):
        run = folder / f"grpo_seed{number}"
        run.mkdir(parents=True)
        points = (
            {"step": s, "reward": 0.01 * s * (number % 9 + 1), "loss": 1 / (s + 1), "kl": 0.01 * s} for s in range(30)
        )
        (run / "metrics.jsonl").write_text("".join(json.dumps(point) + "\n" for point in points))
        (run / "config.json").write_text(json.dumps({"optim": {"lr": number % 7 * 1e-4}, "seed": number}))
    return open_run(folder)
