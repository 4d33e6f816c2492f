"""The user's dashboard: which panels, values and thresholds it shows, what a project file may set, what W writes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from support.dashboard import opened, until
from support.made_run import START, run_of

from tuimon.config import Settings
from tuimon.model.views import Role, Size, Symbols
from tuimon.panels import ChartOptions, arrange, header_panel, parse_dashboard
from tuimon.sources.overrides import PROJECT_FILE, project_file
from tuimon.text import cell_width
from tuimon.tui.dashboard_file import load_dashboard

STEPS = range(30)
NAMES = ("train/reward", "train/loss", "actor/pg_loss", "critic/vf_loss", "val/acc", "val/f1", "kl", "lr")
RUN = run_of({name: (STEPS, [0.1 * step for step in STEPS]) for name in NAMES})


def ids(table: dict[str, object]) -> list[str]:
    own = parse_dashboard(table, "config.toml")
    return [panel.id for panel in own.arranged(arrange(RUN), RUN)]


def test_panels_patterns_and_charts_of_several_metrics_in_order() -> None:
    chart = {"title": "losses", "metrics": ["*/*_loss", "train/loss"]}
    chosen = ids({"panels": ["kl", "val/*", chart, "reward", "nothing_like_it"], "others": False})
    assert chosen == ["kl", "metric:val/acc", "metric:val/f1", "own:losses", "reward"]
    own = parse_dashboard({"panels": [chart]}, "")
    losses = own.arranged(arrange(RUN), RUN)[0]
    assert set(losses.metrics) == {"actor/pg_loss", "critic/vf_loss", "train/loss"}  # type: ignore[union-attr]


def test_other_panels_follow_and_without_a_match_there_are_all() -> None:
    usual = [panel.id for panel in arrange(RUN)]
    assert ids({}) == usual
    assert ids({"panels": ["lr"]}) == ["lr", *[id for id in usual if id != "lr"]]
    assert ids({"panels": ["nothing_like_it"], "others": False}) == usual, "never an empty screen"


def test_a_chosen_panel_without_data_says_what_the_log_lacks() -> None:
    own = parse_dashboard({"panels": ["gpu_memory", "reward"], "others": False}, "here")
    run = run_of({"reward": ([0, 1], [0.0, 1.0])})
    missing, reward = own.arranged(arrange(run), run)
    assert (missing.id, reward.id) == ("gpu_memory", "reward")
    rows = missing.view(run, Size(60, 6), START, Symbols.BRAILLE).rows
    assert "This run logs no GPU memory: ROLL logs it with ROLL_DEBUG=1" in " ".join(row[0][0] for row in rows)
    assert own.with_panels((missing, reward), False) == own


def test_thresholds_are_lines_within_the_limits_of_the_chart() -> None:
    own = parse_dashboard({"thresholds": {"reward": [5, 4], "val/*": 0.5}}, "")
    options = ChartOptions(thresholds=own.thresholds)

    def levels(id: str) -> list[float]:
        panel = next(panel for panel in arrange(RUN) if panel.id == id)
        view = panel.view(RUN, Size(80, 14), 0.0, Symbols.BRAILLE, options)
        lines = [line.envelope.first for line in view.lines if line.role is Role.WARNING]
        drawn = [float(np.nanmax(line)) for line in lines]
        assert all(view.y.low < level < view.y.high for level in drawn)
        assert all(0.3 < np.isfinite(line).mean() < 0.7 for line in lines), "dashed"
        return drawn

    assert levels("reward") == [4.0, 5.0]
    assert levels("kl") == []
    assert {id: levels(id) for id in ids({}) if "val/" in id or id == "success"} == {"success": [0.5]}


@pytest.mark.parametrize(
    ("values", "symbols", "notes"),
    [
        ([500, 600.5], Symbols.BRAILLE, ("threshold ↑ 500, 600.5",)),
        ([500, -700], Symbols.ASCII, ("threshold ↑ 500", "threshold ↓ -700")),
    ],
)
def test_thresholds_outside_the_limits_are_in_the_note(
    values: list[float], symbols: Symbols, notes: tuple[str, ...]
) -> None:
    options = ChartOptions(thresholds=parse_dashboard({"thresholds": {"train/reward": values}}, "").thresholds)
    panel = next(panel for panel in arrange(RUN) if panel.id == "reward")
    view = panel.view(RUN, Size(80, 12), 0.0, symbols, options)
    assert view.notes == notes
    assert view.y == panel.view(RUN, Size(80, 12), 0.0, symbols).y, "they do not flatten the curve"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("name", "drawn_on"),
    [
        ("kl", {"metric:train/kl", "metric:approx_kl"}),
        ("kl.ref", {"metric:train/kl"}),
        ("train/kl", {"metric:train/kl"}),
        ("train/reward", {"metric:train/reward"}),
        ("learning rate", {"metric:lr"}),
        ("train/*", {"metric:train/kl", "metric:train/reward", "metric:train/reward_std"}),
        ("entropy", set()),
    ],
)
def test_a_threshold_applies_to_charts_that_were_saved_as_names_of_metrics(name: str, drawn_on: set[str]) -> None:
    metrics = ("train/kl", "approx_kl", "train/reward", "train/reward_std", "lr", "loss")
    run = run_of({metric: (STEPS, [0.01 * step for step in STEPS]) for metric in metrics})
    own = parse_dashboard({"panels": list(metrics), "others": False, "thresholds": {name: 0.1}}, "")
    options = ChartOptions(thresholds=own.thresholds)
    views = {panel.id: panel.view(run, Size(80, 14), 0.0, Symbols.BRAILLE, options) for panel in own.arranged((), run)}
    with_lines = {id for id, view in views.items() if any(line.role is Role.WARNING for line in view.lines)}  # type: ignore[union-attr]
    assert with_lines == drawn_on


def test_values_are_in_the_header() -> None:
    view = header_panel().view(RUN, Size(120, 2), 0.0, Symbols.BRAILLE, ChartOptions(values=("lr", "val/*")))
    shown = "".join(part for part, _ in view.rows[1])  # type: ignore[union-attr]
    assert "lr 2.9" in shown
    assert "val/acc 2.9" in shown


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120, 200])
def test_values_without_room_in_the_header_are_counted(width: int) -> None:
    options = ChartOptions(values=("train/*", "*/*_loss", "kl", "lr", "val/*"))
    view = header_panel().view(RUN, Size(width, 2), 0.0, Symbols.BRAILLE, options)
    second = "".join(part for part, _ in view.rows[1])  # type: ignore[union-attr]
    counted = re.search(r"  \+(\d)\b", second)
    assert sum(f"{name} " in second for name in NAMES) + int(counted[1] if counted else 0) == len(NAMES)
    assert cell_width(second) <= width
    many = run_of({f"m/{index}": (STEPS, [1.0] * len(STEPS)) for index in range(9)})
    view = header_panel().view(many, Size(200, 2), 0.0, Symbols.BRAILLE, ChartOptions(values=("m/*",)))
    assert "m/3 1  +5" in "".join(part for part, _ in view.rows[1])  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ('[notify]\ncommand = ["touch", "x"]\n[dashboard]\npanels = ["kl"]', "it sets notify; a project file can set"),
        ('[keys]\nquit = "x"', "it sets keys"),
        ("[dashboard", "it cannot be read"),
        ("dashboard = 3", "must be a table"),
        ("runs = 3", "can have join"),
        ('[runs]\njoin = ["a"]', "can have join"),
        ("[dashboard]\npanels = 3", "panels: Expected"),
    ],
)
def test_a_project_file_sets_nothing_but_the_dashboard(tmp_path: Path, written: str, words: str) -> None:
    (tmp_path / PROJECT_FILE).write_text(written)
    settings = Settings(dashboard={"panels": ["lr"]})
    own, ignored = load_dashboard(settings, [str(tmp_path / "logs" / "run")])
    assert words in ignored
    assert ignored.startswith(f"{PROJECT_FILE} is ignored: ")
    assert ignored.count(PROJECT_FILE) == 2, "at the beginning, and in the path at the end"
    assert str(tmp_path) in ignored
    assert own == parse_dashboard(settings.dashboard, ""), "the dashboard of config.toml is used"


def test_the_nearest_project_file_counts(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / PROJECT_FILE).write_text('[dashboard]\npanels = ["kl"]')
    (tmp_path / "a" / PROJECT_FILE).write_text('[dashboard]\npanels = ["lr"]')
    assert project_file(str(tmp_path / "a" / "b" / "run.log")) == tmp_path / "a" / PROJECT_FILE
    own, ignored = load_dashboard(Settings(), [str(tmp_path / "a" / "b")])
    assert (own.panels, ignored) == (("lr",), "")


async def test_w_keeps_the_panels_of_the_screen_for_the_path(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "a" / "metrics.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps({"step": s, "reward": s / 10, "loss": 1 / (s + 1)}) + "\n" for s in STEPS))
    table = '[dashboard]\npanels = ["loss"]\nvalues = ["loss"]\n[dashboard.thresholds]\nloss = 0.5\n'
    (tmp_path / PROJECT_FILE).write_text(table)
    views = tmp_path / "views"
    async with opened(path, (300, 40), views=views) as (app, pilot):
        shown = await until(app, pilot, lambda screen: "loss" in screen and "reward" in screen)
        assert [panel.id for panel in app.board.panels][:2] == ["loss", "reward"]
        assert "loss 0.0333" in shown.splitlines()[1]
        await pilot.press("slash", *"zzz", "enter", "W")
        await until(app, pilot, lambda screen: "Not kept: no metric matches the filter" in screen)
        await pilot.press("escape", "right", "asterisk", "W", "asterisk")
        await until(app, pilot, lambda screen: "no longer pinned" in screen)
        app.save_view()
    async with opened(path, (300, 40), views=views) as (app, pilot):
        await until(app, pilot, lambda screen: "loss" in screen and "reward" in screen)
        assert [panel.id for panel in app.board.panels][:2] == ["reward", "loss"]
        assert (app.state.own.values, app.state.own.thresholds) == (("loss",), (("loss", (0.5,)),)), "of the file"
        app.action_do("reset_dashboard")
        await until(app, pilot, lambda screen: "as before W" in screen)
        assert [panel.id for panel in app.board.panels][:2] == ["loss", "reward"]
    assert (tmp_path / PROJECT_FILE).read_text() == table
