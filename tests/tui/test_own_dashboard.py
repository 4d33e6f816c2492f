"""The user's dashboard: which panels, values and thresholds it shows, what a project file may set, what W writes."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from support.dashboard import opened, text, until
from support.made_run import START, run_of

from tuimon import config
from tuimon.config import Settings
from tuimon.errors import UsageError
from tuimon.model.views import ChartView, Role, Size, Symbols
from tuimon.panels import ChartOptions, OwnDashboard, arrange, header_panel, parse_dashboard
from tuimon.sources.overrides import PROJECT_FILE, project_file
from tuimon.text import cell_width
from tuimon.tui.dashboard_file import (
    dashboard_table,
    file_to_save,
    load_dashboard,
    reset_dashboard,
    save_dashboard,
)

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
        assert isinstance(view, ChartView)
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
        ([500, -700], Symbols.ASCII, ("threshold ^ 500", "threshold v -700")),
    ],
)
def test_thresholds_outside_the_limits_are_in_the_note(
    values: list[float], symbols: Symbols, notes: tuple[str, ...]
) -> None:
    options = ChartOptions(thresholds=parse_dashboard({"thresholds": {"train/reward": values}}, "").thresholds)
    panel = next(panel for panel in arrange(RUN) if panel.id == "reward")
    view = panel.view(RUN, Size(80, 12), 0.0, symbols, options)
    assert isinstance(view, ChartView)
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
    ("table", "words"),
    [
        ({"panel": []}, "field `panel`"),
        ({"panels": "reward"}, "panels: "),
        ({"panels": [{"title": "x"}]}, "`metrics`"),
        ({"panels": [{"title": "x", "metrics": []}]}, "metrics: "),
        ({"others": 1}, "others: "),
        ({"values": ["a"] * 20}, "values: "),
        ({"thresholds": {"kl": "high"}}, "thresholds"),
        ({"thresholds": {"kl": [float("nan")]}}, "thresholds: "),
    ],
)
def test_an_invalid_table_is_refused_with_a_sentence(table: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_dashboard(table, "config.toml")


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ('[notify]\ncommand = ["touch", "x"]\n[dashboard]\npanels = ["kl"]', "it sets notify; a project file can set"),
        ('[keys]\nquit = "x"', "it sets keys"),
        ("[dashboard", "it is no TOML"),
        ("dashboard = 3", "must be a table"),
        ("runs = 3", "can have join"),
        ('[runs]\njoin = ["a"]', "can have join"),
        ("[dashboard]\npanels = 3", "panels: Expected"),
        ("#" * (1 << 19), "it is larger than"),
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
    assert ([entry.patterns for entry in own.entries], ignored) == ([("lr",)], "")


def test_what_is_written_is_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "tuimon" / "config.toml"
    monkeypatch.setenv("TUIMON_CONFIG", str(file))
    table = {
        "panels": ["kl", 'odd "name"\\ \x7fé', {"title": "l", "metrics": ["a", "b*"]}],
        "values": ["lr"],
        "thresholds": {"kl": [0.1, 0.2], "val/a b": 1e-9},
    }
    own = parse_dashboard(table, "")
    assert parse_dashboard(dashboard_table(own), "") == own
    assert save_dashboard(own, [str(tmp_path / "logs")], ()) == file
    old = '[dashboard]\npanels = ["old"]\n[dashboard.thresholds]\nx = 1\n'
    kept = f'# mine\ntheme = "light"\n\n{old}[keys]\nquit = "x" # q\n'
    file.write_text(kept)
    save_dashboard(own, [str(tmp_path / "logs")], ())
    settings = config.load()
    assert (settings.theme, settings.keys) == ("light", {"quit": "x"})
    assert parse_dashboard(settings.dashboard, "") == own
    assert "# mine" in file.read_text()
    assert "# q" in file.read_text()
    file.write_text("dashboard = { panels = [] }\n")
    save_dashboard(own, [str(tmp_path / "logs")], ())
    assert parse_dashboard(config.load().dashboard, "") == own


def test_nothing_is_written_below_a_run(tmp_path: Path) -> None:
    run = run_of({"loss": (STEPS, list(STEPS))})
    run.directory = str(tmp_path)
    (tmp_path / PROJECT_FILE).write_text("")
    with pytest.raises(UsageError, match="below the directory of a run"):
        save_dashboard(OwnDashboard(), [str(tmp_path / "logs")], [run])
    assert (tmp_path / PROJECT_FILE).read_text() == ""


async def test_w_saves_the_panels_of_the_screen(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "a" / "metrics.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps({"step": s, "reward": s / 10, "loss": 1 / (s + 1)}) + "\n" for s in STEPS))
    project = tmp_path / PROJECT_FILE
    project.write_text('[dashboard]\npanels = ["loss"]\nvalues = ["loss"]\n[dashboard.thresholds]\nloss = 0.5\n')
    async with opened(path, (300, 40)) as (app, pilot):
        shown = await until(app, pilot, lambda screen: "loss" in screen and "reward" in screen)
        assert [panel.id for panel in app.board.panels][:2] == ["loss", "reward"]
        assert "loss 0.0333" in shown.splitlines()[1]
        await pilot.press("right", "asterisk", "W")
        await until(app, pilot, lambda screen: f"Saved in {project}" in screen)
        table = tomllib.loads(project.read_text())["dashboard"]
        assert table["panels"] == ["reward", "loss"]
        assert (table["values"], table["thresholds"]) == (["loss"], {"loss": 0.5})
        app.action_do("reset_dashboard")
        await until(app, pilot, lambda screen: f"[dashboard] is removed from {project}" in screen)
        assert not project.exists(), "it has nothing else"
        app.action_do("reset_dashboard")
        await until(app, pilot, lambda screen: "No dashboard is saved" in screen)
        await pilot.press("W")
        beside = tmp_path / "runs" / PROJECT_FILE
        await until(app, pilot, lambda screen: f"Saved in {beside} for all runs below {beside.parent}" in screen)
        assert not (path.parent / PROJECT_FILE).exists(), "never below the directory of a run"
        assert "panels" in tomllib.loads(beside.read_text())["dashboard"]
        beside.unlink()
        beside.mkdir()  # neither a file nor writable as one: config.toml is written instead
        await pilot.press("W")
        await until(app, pilot, lambda screen: "config.toml for all paths" in screen)
        assert config.load().dashboard["panels"]
        app.action_do("reset_dashboard")
        await until(app, pilot, lambda screen: "config.toml" in screen and "is removed" in screen)
        assert not config.load().dashboard
        assert "Traceback" not in text(app)


async def test_w_refuses_to_save_no_panel(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "a" / "metrics.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps({"step": s, "reward": s / 10, "loss": 1 / (s + 1)}) + "\n" for s in STEPS))
    async with opened(path) as (app, pilot):
        await until(app, pilot, lambda screen: "reward" in screen)
        await pilot.press("slash", *"zzz", "enter", "W")
        await until(app, pilot, lambda screen: "Not saved: no metric matches the filter" in screen)
        await pilot.press("escape", "W")
        await until(app, pilot, lambda screen: "Saved in" in screen)
    assert tomllib.loads((tmp_path / "runs" / PROJECT_FILE).read_text())["dashboard"]["panels"]


def test_a_project_file_is_made_only_in_a_private_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUIMON_CONFIG", str(tmp_path / "config.toml"))
    run = run_of({"loss": (STEPS, list(STEPS))})
    run.directory = str(tmp_path / "shared" / "run")
    (tmp_path / "shared" / "run" / "deep").mkdir(parents=True)
    paths = [run.directory + "/deep"]
    assert file_to_save(paths, [run]) == tmp_path / "shared" / PROJECT_FILE
    (tmp_path / "shared").chmod(0o777)
    assert file_to_save(paths, [run]) == tmp_path / "config.toml"
    (tmp_path / "shared").chmod(0o755)
    monkeypatch.setenv("HOME", str(tmp_path / "shared"))
    assert file_to_save(paths, [run]) == tmp_path / "config.toml"
    assert file_to_save([], [run]) == tmp_path / "config.toml"


@pytest.mark.parametrize(
    ("logs", "opened_path", "saved_in"),
    [
        (("runs/events", "console.log"), "runs", "logs"),
        (("runs/events", "console.log"), "runs/events", "logs"),
        (("tb/events",), "tb", "logs"),
        (("board/events", "trainer_state.json"), "board", "logs"),
        (("runs/Nov21_10-11-12_host/events", "checkpoint-5/trainer_state.json"), "runs/Nov21_10-11-12_host", "logs"),
        (("runs/Nov21_10-11-12_host/events", "checkpoint-5/trainer_state.json"), "runs", "logs"),
        (("checkpoint-5/trainer_state.json",), "checkpoint-5/trainer_state.json", "logs"),
        (("runs/Nov21_10-11-12_host/events",), "runs/Nov21_10-11-12_host", "logs/grpo_a/runs"),
        (("a/events", "b/events", "config.yaml"), "a", "logs/grpo_a"),
    ],
)
def test_no_project_file_is_made_in_a_run_of_which_a_part_is_open(
    tmp_path: Path, logs: tuple[str, ...], opened_path: str, saved_in: str
) -> None:
    directory = tmp_path / "logs" / "grpo_a"
    texts = {
        "console.log": b"step 1 loss 0.5\nstep 2 loss 0.4\n",
        "trainer_state.json": b'{"log_history": [{"loss": 1.0, "step": 1}], "global_step": 1}',
        "config.yaml": b"lr: 0.1\n",
    }
    for log in logs:
        path = directory / log
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(texts.get(path.name, b""))
    path = directory / opened_path
    run = run_of({"loss": (STEPS, list(STEPS))})
    run.directory = str((directory / logs[0]).parent)
    assert file_to_save([str(path)], [run]) == tmp_path / saved_in / PROJECT_FILE
    if saved_in == "logs":
        (directory / PROJECT_FILE).write_text("")
        with pytest.raises(UsageError, match="below the directory of a run"):
            save_dashboard(OwnDashboard(), [str(path)], [run])


def test_a_reset_keeps_the_rest_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "config.toml"
    monkeypatch.setenv("TUIMON_CONFIG", str(file))
    file.write_text('# mine\ntheme = "light"\n\n[dashboard]\npanels = ["kl"]\n[keys]\nquit = "x"\n')
    assert reset_dashboard([str(tmp_path / "logs")], ()) == file
    assert file.read_text() == '# mine\ntheme = "light"\n\n[keys]\nquit = "x"\n'
    assert reset_dashboard([str(tmp_path / "logs")], ()) is None
