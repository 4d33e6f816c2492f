"""Several runs on one chart: positions, colours and legends compared with the logs."""

from __future__ import annotations

import math
import re
import statistics
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.dashboard import opened, until
from support.programs import write, write_rows

from tuimon.draw import render, text_chart
from tuimon.draw.numbers import format_exact
from tuimon.model.views import DIM_ROLES, SERIES_ROLES, ChartView, Role, Size, Symbols
from tuimon.monitor.local import open_run
from tuimon.panels import DEFAULTS, ChartOptions, CurvePanel, distinct_markers, metric_panel, overlay_lines
from tuimon.panels._charts.captions import legend_rows
from tuimon.store import Run
from tuimon.text import cell_width

PANEL = metric_panel("reward")
WIDE = Size(120, 24)


def logged(
    root: Path, name: str, values: dict[int, float], start: float = 1.7e9, every: float = 10.0, **config: object
) -> None:
    run = root / name
    rows = (
        {"step": step, "reward": value, "time": start + every * at} for at, (step, value) in enumerate(values.items())
    )
    write_rows(run, rows, config)


def runs_below(root: Path) -> dict[str, Run]:
    return {run.name.rpartition("/")[2]: run for run in open_run(root).runs}


def overlay_options(*runs: Run, among: tuple[Run, ...] = (), grouped: bool = False, **more: object) -> ChartOptions:
    return replace(DEFAULTS, overlay=overlay_lines(runs, among, grouped), **more)  # type: ignore[arg-type]


def chart(shown: Run, options: ChartOptions, size: Size = WIDE, panel: CurvePanel = PANEL) -> ChartView:
    return panel.view(shown, size, 1.8e9, Symbols.BRAILLE, options)


def drawn_points(view: ChartView, line: int) -> dict[float, float]:
    """x (middle of the column) -> the last value in it."""
    envelope, columns = view.lines[line].envelope, view.columns
    width = (view.x.high - view.x.low) / columns
    at = np.flatnonzero(np.isfinite(envelope.last))
    return {view.x.low + (column + 0.5) * width: float(envelope.last[column]) for column in at.tolist()}


def test_each_run_is_drawn_at_its_steps_with_its_value_in_the_legend(tmp_path: Path) -> None:
    logged(tmp_path, "ppo_lr1e-3", {s: 0.1 * s for s in range(0, 50, 10)})
    logged(tmp_path, "ppo_lr1e-4", {s: 0.05 * s for s in range(0, 80, 10)})
    runs = runs_below(tmp_path)
    a, b = runs["ppo_lr1e-3"], runs["ppo_lr1e-4"]
    view = chart(a, overlay_options(a, b))
    assert [line.entry for line in view.lines] == ["lr1e-3 4", "lr1e-4 3.250"], (
        "levels: the last of 5 points, the mean of the last two of 8"
    )
    for line, factor, last in ((0, 0.1, 40), (1, 0.05, 70)):
        points = drawn_points(view, line)
        assert len(points) == last // 10 + 1
        width = (view.x.high - view.x.low) / view.columns
        for x, value in points.items():
            assert value == pytest.approx(factor * round(x / 10) * 10)
            assert abs(x - round(x / 10) * 10) <= width
    glyphs = [line.glyph for line in view.lines]
    assert len(set(glyphs)) == 2
    text = text_chart(view, WIDE)
    assert all(text.count(glyph) >= 2 for glyph in glyphs), "in the legend and on the line"
    assert view.extent == (0, 70)


def test_a_run_has_the_same_colour_and_marker_in_every_overlay(tmp_path: Path) -> None:
    for number in range(10):
        logged(tmp_path, f"run{number}", {0: 1.0, 1: 2.0})
    runs = runs_below(tmp_path)
    a, b, c = runs["run1"], runs["run8"], runs["run9"]
    signs = {}
    for over in (
        *overlay_lines((a, b), (), False),
        *overlay_lines((c, b, a), (), False),
    ):
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


def test_runs_are_aligned_along_any_axis(tmp_path: Path) -> None:
    logged(tmp_path, "early", {s: float(s) for s in range(5)}, start=1.7e9, every=10)
    logged(tmp_path, "late", {s: float(s) for s in range(100, 105)}, start=1.7e9 + 5000, every=20)
    runs = runs_below(tmp_path)
    early, late = runs["early"], runs["late"]
    by = {axis: chart(early, overlay_options(early, late, axis=axis)) for axis in ("step", "time", "duration")}
    assert by["step"].extent == (0, 104)
    assert by["time"].extent == (1.7e9, 1.7e9 + 5080)
    assert by["duration"].extent == (0, 80), "each since it began"
    relative = chart(late, overlay_options(late, early, axis="relative step"))
    assert relative.extent == (0, 4), "each from its first step"
    assert max(drawn_points(relative, 0).values()) == 104
    without = Path(tmp_path / "timeless")
    without.mkdir()
    (without / "metrics.jsonl").write_text('{"step": 1, "reward": 1.0}\n{"step": 2, "reward": 1.0}\n')
    runs = runs_below(tmp_path)
    view = chart(runs["early"], overlay_options(runs["early"], runs["timeless"], axis="time"))
    assert len(view.lines) == 1
    assert "not in 1 run" in view.note


def test_seeds_are_one_line_of_their_mean_in_an_area_from_lowest_to_highest(tmp_path: Path) -> None:
    values = {seed: {s: math.sin(s + seed) for s in range(0, 40, 10)} for seed in range(3)}
    for seed, points in values.items():
        logged(tmp_path, f"ppo_seed{seed}", points, lr=1e-3, seed=seed)
    logged(tmp_path, "sac_seed0", {0: 0.5, 30: 0.5}, lr=1e-3, algo="sac", seed=0)
    runs = runs_below(tmp_path)
    among = tuple(runs.values())
    options = overlay_options(runs["ppo_seed1"], runs["sac_seed0"], among=among, grouped=True)
    view = chart(runs["ppo_seed1"], options)
    area, mean, other = view.lines
    assert area.filled
    assert area.behind
    for s in range(0, 40, 10):
        at = min(int((s - view.x.low) / (view.x.high - view.x.low) * view.columns), view.columns - 1)
        three = [values[seed][s] for seed in values]
        assert mean.envelope.last[at] == pytest.approx(statistics.fmean(three))
        assert (area.envelope.low[at], area.envelope.high[at]) == pytest.approx((min(three), max(three)))
    said = statistics.fmean(values[seed][30] for seed in values)
    assert mean.entry == f"ppo ×3 {said:.4f}"
    assert other.entry == "sac_seed0 0.5000"
    assert "seeds: mean, area min to max" in view.note
    alone = chart(runs["ppo_seed1"], overlay_options(runs["ppo_seed1"], among=among, grouped=True))
    assert len(alone.lines) == 2, "the seeds of the run that is shown, when nothing is marked"


def test_merged_seeds_say_which_of_them_are_not_healthy(tmp_path: Path) -> None:
    for algo in ("ppo", "sac"):
        for seed in range(2):
            logged(tmp_path, f"{algo}_seed{seed}", {0: 1.0, 10: seed}, algo=algo, seed=seed)
    runs = runs_below(tmp_path)
    every = tuple(runs.values())
    failed = {runs["ppo_seed1"].id}
    lines = overlay_lines(every, every, True, failed=failed)
    view = chart(every[0], replace(DEFAULTS, overlay=lines, fullscreen=True))
    areas = {line.role for line in view.lines if line.filled}
    assert areas == {DIM_ROLES[SERIES_ROLES.index(line.role)] for line in lines}, "each in the colour of its line"
    assert [line.entry for line in view.lines if not line.filled] == ["ppo ×2 ✗ 0.5000", "sac ×2 0.5000"]
    assert view.note.startswith("ppo ×2 ✗: 1 of 2 not healthy, seeds: mean")
    names = [row[0][0].strip() for row in view.table[1:]]
    assert names == [f"{lines[0].marker} ppo_seed0", f"{lines[0].marker} ppo_seed1 ✗", *names[2:]]
    assert not overlay_lines(every, (), False, failed=failed)[1].failed, "its own curve shows it"


def test_a_mean_covers_the_seeds_that_have_reached_the_step(tmp_path: Path) -> None:
    logged(tmp_path, "s1", {0: 0.0, 10: 1.0}, seed=1)
    logged(tmp_path, "s2", {0: 2.0, 10: 3.0, 20: 5.0}, seed=2)
    runs = runs_below(tmp_path)
    view = chart(runs["s1"], overlay_options(runs["s1"], among=tuple(runs.values()), grouped=True))
    _, mean = view.lines
    assert mean.envelope.last[-1] == 5.0
    assert mean.entry.endswith(" 5 (1 of 2)"), "at step 20, where the curve ends; one seed has reached it"
    at_cursor = chart(runs["s1"], overlay_options(runs["s1"], among=tuple(runs.values()), grouped=True, cursor=20))
    assert at_cursor.lines[-1].entry.endswith(" 5")


def test_the_cursor_reads_every_run(tmp_path: Path) -> None:
    logged(tmp_path, "a", {s: s * 0.001234567 for s in range(30)})
    logged(tmp_path, "b", {s: s * 0.1 for s in range(0, 30, 7)})
    runs = runs_below(tmp_path)
    view = chart(runs["a"], overlay_options(runs["a"], runs["b"], cursor=16, fullscreen=True))
    assert [float(line.entry.split()[1]) for line in view.lines] == pytest.approx([16 * 0.001234567, 14 * 0.1])
    assert view.lines[1].entry.endswith("@ 14"), "b was not logged at step 16"
    displayed = ["".join(text for text, _ in row) for row in view.table]
    assert "0.019753072" in displayed[1], "every digit"
    assert "1.4 @ 14" in displayed[2]
    assert view.headline == (("step 16", Role.ACCENT),)
    assert view.cursor == 16
    options = overlay_options(runs["a"], runs["b"], cursor=16, fullscreen=True, smoothing=0.6)
    view = chart(runs["a"], options, size=Size(160, 20))
    averages = [line for line in view.lines if not line.behind]
    for line, logged_value in zip(averages, (format_exact(16 * 0.001234567, 10), "1.4 @ 14"), strict=True):
        column = int((16 - view.x.low) / (view.x.high - view.x.low) * view.columns)
        drawn = line.envelope.last[: column + 1]
        average = format_exact(drawn[np.isfinite(drawn)][-1], 10)
        assert line.entry.endswith(f"{logged_value} logged, {average} smoothed")


def test_the_cursor_reads_every_run_at_its_place_on_the_axis(tmp_path: Path) -> None:
    """Run "large" makes twice the progress of "small" in a step, and takes twice as long for it."""
    for name, per_step, seconds, first in (
        ("small", 0.005, 4.0, 10),
        ("large", 0.01, 8.0, 10),
        ("late", 0.01, 8.0, 60),
    ):
        run = tmp_path / name
        rows = [
            {
                "step": s,
                "reward": s + per_step,
                "epoch": s * per_step,
                "time": 1.7e9 + seconds * s,
                "frames": s * per_step,
            }
            for s in range(first, 101, 10)
        ]
        write_rows(run, rows)
    runs = runs_below(tmp_path)
    large, small, late = runs["large"], runs["small"], runs["late"]
    for axis, place in (("epoch", "epoch 0.3"), ("metric:frames", "frames 0.3"), ("duration", "duration 2 m 40 s")):
        options = overlay_options(large, small, late, axis=axis, cursor=30, fullscreen=True)
        view = chart(large, options)
        small_step, late_text = (60, "-") if axis != "duration" else (50, "76.01 @ 80")
        labels = [line.entry for line in view.lines]
        assert labels[:2] == ["large 30.01 @ 30", f"small {small_step}.005 @ {small_step}"]
        if axis != "duration":
            assert labels[2] == f"late {late_text}", "it begins at epoch 0.6"
        assert view.headline == ((place, Role.ACCENT),)
        displayed = ["".join(text for text, _ in row) for row in view.table]
        assert place in displayed[0]
        assert f"{small_step}.005 @ {small_step}" in displayed[2]
        assert view.cursor == large.curve("reward").x_of_step(30, large.scale(axis))
    ended = chart(large, overlay_options(large, small, axis="epoch", cursor=80))
    assert [line.entry for line in ended.lines] == ["large 80.01 @ 80", "small 100.005 ended @ 100"]
    base = chart(large, overlay_options(large, small, axis="epoch", cursor=30, base=small))
    assert [line.entry for line in base.lines] == ["large 30.01 @ 30 (-30.00)", "small 60.005 @ 60"]
    smooth = chart(large, overlay_options(large, small, axis="epoch", cursor=30, smoothing=0.6), size=Size(160, 20))
    average = chart(small, replace(DEFAULTS, cursor=60, smoothing=0.6, fullscreen=True), size=Size(160, 20)).headline
    assert smooth.lines[-1].entry.partition(" logged, ")[2] in "".join(text for text, _ in average)


def test_seeds_are_read_at_the_place_of_the_cursor_on_the_axis(tmp_path: Path) -> None:
    for name, per_step, seed in (("s1", 0.01, 1), ("s2", 0.005, 2)):
        run = tmp_path / name
        rows = [{"step": s, "reward": float(s), "epoch": s * per_step} for s in range(0, 101, 10)]
        write_rows(run, rows, {"seed": seed})
    runs = runs_below(tmp_path)
    options = overlay_options(runs["s1"], among=tuple(runs.values()), grouped=True, axis="epoch", cursor=30)
    assert chart(runs["s1"], options).lines[-1].entry.endswith(" 45"), "the mean of 30 and 60"


def test_the_difference_to_the_base_is_taken_at_the_same_step(tmp_path: Path) -> None:
    logged(tmp_path, "a", {s: s * 0.1 for s in range(31)})
    logged(tmp_path, "b", {s: s * 0.2 for s in range(21)})
    runs = runs_below(tmp_path)
    a, b = runs["a"], runs["b"]
    over = chart(a, overlay_options(a, b, base=b))
    assert [line.entry for line in over.lines] == ["a 2.800 (-1.800)", "b 3.600"], (
        "the difference of the means of steps 16 to 20"
    )
    alone = chart(a, replace(DEFAULTS, base=b))
    assert "".join(text for text, _ in alone.headline).endswith(" -1.800 to base")
    assert chart(b, replace(DEFAULTS, base=b)).headline == chart(b, DEFAULTS).headline, (
        "the base is not held against itself"
    )


def test_the_seeds_of_the_base_lie_behind_another_run(tmp_path: Path) -> None:
    noise = np.random.default_rng(7)
    shifts = {"base1": 0.0, "base2": 0.1, "base3": 0.5, "new": 0.24}
    for name, shift in shifts.items():
        spread = 0.02 if name in ("base1", "new") else 0.0
        logged(tmp_path, name, {s: 1.0 + shift + spread * noise.standard_normal() for s in range(500)})
    runs = runs_below(tmp_path)
    seeds = tuple(runs[f"base{n}"] for n in (1, 2, 3))
    view = chart(runs["new"], replace(DEFAULTS, base=seeds[0], seeds=seeds), Size(100, 20))
    area, mean = (line for line in view.lines if line.behind)
    assert area.filled
    known = np.isfinite(mean.envelope.last)
    assert np.all(area.envelope.high[known] == 1.5)
    assert np.all(np.abs(area.envelope.low[known] - 1.0) < 0.1)
    assert np.allclose(mean.envelope.last[known], 1.2, atol=0.03)
    errors = re.search(r"([+-][0-9.]+) \(([0-9.]+) SE\) to base", "".join(text for text, _ in view.headline))
    assert errors is not None
    assert float(errors[1]) == pytest.approx(0.24, abs=0.02)
    assert float(errors[2]) == pytest.approx(0.24 / (0.02 * math.sqrt(2 / 50)), rel=0.5), "of 50 points each"
    own = chart(seeds[1], replace(DEFAULTS, base=seeds[0], seeds=seeds), Size(100, 20))
    assert not any(line.filled for line in own.lines), "a seed of the base is not held against its own group"


def test_nonfinite_and_missing_values_are_in_the_note(tmp_path: Path) -> None:
    logged(tmp_path, "a", {0: 1.0, 1: math.nan, 2: 3.0})
    logged(tmp_path, "b", {0: math.inf, 1: -math.inf, 2: 1e308})
    logged(tmp_path, "c", {0: -1e308, 1: 1e308})
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "metrics.jsonl").write_text('{"step": 1, "loss": 1.0}\n')
    runs = runs_below(tmp_path)
    for grouped in (False, True):
        view = chart(runs["a"], overlay_options(*runs.values(), among=tuple(runs.values()), grouped=grouped))
        assert "1 NaN, 2 Inf" in view.note
        assert "not in 1 run" in view.note
        for size in (Size(1, 1), Size(10, 3), Size(40, 12), WIDE):
            for symbols in Symbols:
                output = render(
                    PANEL.view(runs["a"], size, 1.8e9, symbols, replace(overlay_options(*runs.values()))), size, symbols
                )
                assert len(output) == size.height


def test_a_legend_has_all_runs_in_as_many_rows_as_it_needs(tmp_path: Path) -> None:
    names = ("grpo_lr1e-3", "grpo_lr1e-4", "hf_resume")
    for name in names:
        logged(tmp_path, name, {0: 1.0, 1: 2.0})
    runs = runs_below(tmp_path)
    options = overlay_options(*runs.values())
    narrow, wide = (
        text_chart(chart(runs["hf_resume"], options, Size(width, 12)), Size(width, 12)).splitlines()
        for width in (40, 120)
    )
    assert all(f"{name} 2" in wide[0] for name in names)
    assert all(name in "".join(narrow[1:3]) for name in names)
    assert not any(name in narrow[0] for name in names)
    assert len(narrow) == len(wide) == 12


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


@pytest.mark.parametrize(
    ("noise", "options", "weight"),
    [(0.3, {}, "0.9"), (0.01, {}, ""), (0.3, {"smoothing": 0.0}, ""), (0.3, {"smoothing": 0.6}, "")],
    ids=["noisy", "smooth", "turned off", "chosen"],
)
def test_noisy_runs_begin_smoothed(tmp_path: Path, noise: float, options: dict[str, float], weight: str) -> None:
    random = np.random.default_rng(4)
    for name, level in (("a", 0.5), ("b", 0.6)):
        logged(tmp_path, name, {s: level + s / 500 + noise * float(random.normal()) for s in range(300)})
    runs = runs_below(tmp_path)
    view = chart(runs["a"], overlay_options(runs["a"], runs["b"], **options))
    assert (f"smoothed by {weight}" in view.notes) == bool(weight)
    averaged = bool(weight) or options.get("smoothing", 0.0) > 0
    assert [line.role for line in view.lines if line.behind] == (list(DIM_ROLES[:2]) if averaged else [])
    alone = chart(runs["a"], replace(DEFAULTS, **options))
    assert all("smoothed" not in note for note in alone.notes), "a single run is drawn as logged"


def test_runs_above_the_maximum_are_counted_in_the_note(tmp_path: Path) -> None:
    for number in range(40):
        logged(tmp_path, f"r{number:02}", {0: number, 1: number})
    runs = runs_below(tmp_path)
    view = chart(runs["r39"], overlay_options(runs["r39"], *runs.values()))
    assert len(view.lines) == 32
    assert "+8 lines" in view.note


async def test_marked_runs_are_drawn_over_the_one_that_is_shown(tmp_path: Path) -> None:
    for number, name in enumerate(("a_lr1", "b_lr2", "c_lr3"), 1):
        write(tmp_path / "many", name, 20, number / 1000)
    async with opened(tmp_path / "many") as (app, pilot):
        await until(app, pilot, lambda s: "of 3" in s and app.snapshot.progress.caught_up)
        await pilot.press("O")
        await until(app, pilot, lambda s: "No run is marked" in s)
        await pilot.press("u")
        await until(app, pilot, lambda s: "differ only in their seed" in s)
        await pilot.press("r", "g", "space", "down", "space", "g", "enter")
        shown = await until(app, pilot, lambda s: "2 overlaid" in s and "a_lr1 0.0170" in s)
        assert f"b_lr2 {17 * 0.002:.4f}" in shown, "the level: the mean of the last five"
        await pilot.press("O")
        await until(app, pilot, lambda s: "2 overlaid" not in s and "no longer overlaid" in s)
        await pilot.press("O")
        await until(app, pilot, lambda s: "2 overlaid" in s)
        with (tmp_path / "many" / "b_lr2" / "metrics.jsonl").open("a") as file:
            file.write('{"step": 20, "reward": 0.777, "loss": 0.1}\n')
        level = (sum(0.002 * s for s in range(16, 20)) + 0.777) / 5
        await until(app, pilot, lambda s: f"b_lr2 {level:.4f}" in s)
        await pilot.press("r", "g", "down", "space")
        await pilot.press("escape")
        await until(app, pilot, lambda s: "2 overlaid" not in s)


async def test_seeds_as_one_by_a_key(tmp_path: Path) -> None:
    for seed in range(3):
        write(tmp_path / "many", f"ppo_seed{seed}", 10, 0.1 * (seed + 1), seed=seed, optim={})
    async with opened(tmp_path / "many") as (app, pilot):
        await until(app, pilot, lambda s: "of 3" in s and app.snapshot.progress.caught_up)
        await pilot.press("u")
        await until(app, pilot, lambda s: "seeds merged" in s and "ppo ×3 1.700" in s)
        await pilot.press("u")
        await until(app, pilot, lambda s: "seeds merged" not in s and "drawn separately" in s)
