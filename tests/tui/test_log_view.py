"""Test the log view and the config view of a run by keys against the contents of the files."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.dashboard import opened, until

from tuimon.reader.log_text import LogText, text_files
from tuimon.tui.screens.health import HealthScreen
from tuimon.tui.screens.log_page import Page, Pager
from tuimon.tui.screens.log_view import LogScreen

STEPS = 300


def lines() -> list[str]:
    """Return the lines of a log like verl's: metrics, two errors, a warning, and control sequences."""
    text = ["starting \x1b[2J\x1b[31mred\x1b[0m"]
    for step in range(1, STEPS + 1):
        text.append(f"step:{step} - actor/loss:{1 / step:.6f} - critic/rewards/mean:{step / STEPS:.6f}")
        if step in (100, 200):
            text.append(f"ERROR worker {step} lost its heart beat")
        if step == 150:
            text.append("WARNING: the disk is nearly full")
        if step % 100 == 50:
            text.append(f"train.py:{step}: UserWarning: scheduler called {step} times")
        if step % 10 == 0:
            text.append(f"validated Wörk {step} {'=' * 200}>end{step}")
    return text


@pytest.fixture
def run(tmp_path: Path) -> Path:
    directory = tmp_path / "grpo"
    (directory / "logs").mkdir(parents=True)
    (directory / "train.log").write_text("\n".join(lines()) + "\n")
    (directory / "logs" / "worker.err").write_text("Traceback (most recent call last):\nValueError: gone\n")
    config = {"algorithm": {"kl_coef": 0.001, "adv": "grpo"}, "trainer": {"lr": 1e-6}, "api_key": "sk-" + "a" * 40}
    (directory / "config.json").write_text(json.dumps(config))
    return directory


def pager_of(path: Path) -> Pager:
    return Pager(LogText(str(path)))


def test_pager_reaches_every_line_in_both_directions(run: Path) -> None:
    pager = pager_of(run / "train.log")
    expected = [line.replace("\x1b[2J\x1b[31m", "").replace("\x1b[0m", "") for line in lines()]
    pager.start(7)
    seen = [line.text for line in pager.page.lines]
    while not pager.page.following:
        before = pager.page
        pager.move(3, 7)
        assert pager.page.line is not None
        new = [line.text for line in pager.page.lines if line.offset > before.lines[-1].offset]
        seen += new
    assert seen == expected
    assert pager.page.share == 1.0
    back = [line.text for line in pager.page.lines]
    while pager.page.lines[0].offset:
        before = pager.page
        pager.move(-5, 7)
        assert not pager.page.following
        back = [line.text for line in pager.page.lines if line.offset < before.lines[0].offset] + back
    assert back == expected


def test_page_follows_a_growing_file_and_reloads_a_replaced_one(run: Path) -> None:
    path = run / "train.log"
    pager = pager_of(path)
    pager.refresh(5)
    with path.open("a") as file:
        file.write("one more\n")
    assert [line.text for line in pager.refresh(5).lines][-1] == "one more"
    pager.move(-8, 5)
    held = pager.page.lines[0].offset
    with path.open("a") as file:
        file.write("and one\n")
    assert pager.refresh(5).lines[0].offset == held
    path.write_text("anew\n")
    assert [line.text for line in pager.refresh(5).lines] == ["anew"]
    path.unlink()
    assert "No such file" in pager.refresh(5).message


def test_the_texts_of_a_run(run: Path) -> None:
    known = str(run / "train.log")
    assert text_files(str(run), [known]) == [known, str(run / "logs" / "worker.err")]
    assert text_files(str(run / "nowhere"), []) == []


async def test_follow_search_errors_and_steps(run: Path) -> None:
    async with opened(run, size=(100, 30)) as (app, pilot):
        await until(app, pilot, lambda s: f"step {STEPS}" in s)
        await pilot.press("L")
        shown = await until(app, pilot, lambda s: "following" in s and f"step:{STEPS} " in s)
        assert f"step {STEPS}" in shown.splitlines()[0]
        assert isinstance(app.screen, LogScreen)
        pager, app.screen.pager = app.screen.pager, None
        assert "".join(part for part, _ in app.screen._head(Page())).endswith("  reading")
        app.screen.pager = pager
        with (run / "train.log").open("a") as file:
            file.write("the newest line\n")
        await until(app, pilot, lambda s: "the newest line" in s)
        await pilot.press("left_parenthesis")
        await until(app, pilot, lambda s: "▌ERROR worker 200" in s and "  step 200" in s.splitlines()[0])
        await pilot.press("left_parenthesis")
        await until(app, pilot, lambda s: "▌ERROR worker 100" in s)
        await pilot.press("left_parenthesis")
        await until(app, pilot, lambda s: "▌ERROR worker 200" in s and "Error 2 of 2" in s)
        await pilot.press("right_parenthesis")
        await until(app, pilot, lambda s: "▌ERROR worker 100" in s and "Error 1 of 2" in s)
        await pilot.press("G", "left_parenthesis")
        await until(app, pilot, lambda s: "▌ERROR worker 200" in s)
        await pilot.press("W")
        await until(app, pilot, lambda s: "▌" in s and "UserWarning" in s and "Warning 3 of 4" in s)
        await pilot.press("w")
        await until(app, pilot, lambda s: "Warning 4 of 4" in s)
        await pilot.press("G", "slash", *"disk is", "enter")
        await until(app, pilot, lambda s: "▌WARNING: the disk" in s and "Match 1 of 1" in s)
        await pilot.press("slash", *"never", "enter")
        await until(app, pilot, lambda s: "No match in this text" in s)
        await pilot.press("slash", *"wörk 2", "enter")
        await until(app, pilot, lambda s: "▌validated Wörk 200" in s)
        await pilot.press("n")
        await until(app, pilot, lambda s: "▌validated Wörk 210" in s)
        await pilot.press("N", "N")
        await until(app, pilot, lambda s: "▌validated Wörk 20 " in s)
        for _ in range(8):
            await pilot.press("l")
        await until(app, pilot, lambda s: ">end20" in s)
        await pilot.press("escape", "g")
        await until(app, pilot, lambda s: "starting" in s or "from column" in s)
        await pilot.press("tab")
        await until(app, pilot, lambda s: "ValueError: gone" in s and "worker.err" in s.splitlines()[0])
        await pilot.press("escape")
        await until(app, pilot, lambda s: "critic/rewards/mean" in s or "reward" in s)
        assert not isinstance(app.screen, LogScreen)


async def test_the_log_opens_at_the_step_of_the_selected_alert(run: Path) -> None:
    (run / "logs" / "worker.err").unlink()  # a crash
    text = "\n".join(lines())
    before, after = text[: text.index("step:200 ")], text[text.index("step:200 ") :]
    (run / "train.log").write_text(before + re.sub(r"loss:\S+", "loss:nan", after) + "\n")
    async with opened(run, (100, 24)) as (app, pilot):
        await until(app, pilot, lambda _: bool(app.snapshot.alerts))
        await pilot.press("a")
        await until(app, pilot, lambda s: "L its log" in s and "is NaN since step 200" in s)
        await pilot.press("L")
        await until(app, pilot, lambda s: "▌step:200" in s)
        await pilot.press("L")
        await until(app, pilot, lambda s: app.board.zoomed and "actor/loss" in s)
        assert app.state.options.cursor == 200


async def test_the_log_opens_at_its_end_from_the_alert_of_a_crash(run: Path) -> None:
    with (run / "train.log").open("a") as file:
        file.write("Traceback (most recent call last):\nRuntimeError: gone\n")
    async with opened(run, (100, 24)) as (app, pilot):
        await until(app, pilot, lambda _: any(alert.rule == "liveness" for alert in app.snapshot.alerts))
        await pilot.press("a", "L")
        await until(app, pilot, lambda s: "▌RuntimeError: gone" in s)


async def test_text_next_to_the_run_is_named_like_its_source(run: Path) -> None:
    (run / "train.log").rename(run.parent / "train.log")
    (run / "metrics.jsonl").write_text('{"step": 1, "reward": 0.5}\n')
    async with opened(run.parent) as (app, pilot):
        await until(app, pilot, lambda s: "reward" in s)
        assert app.run_shown is not None
        assert app.run_shown.path == str(run)
        await pilot.press("L")
        screen = await until(app, pilot, lambda s: "following" in s)
        assert " train.log " in screen
        assert str(run.parent) not in screen


async def test_from_a_line_to_the_charts_and_back(run: Path) -> None:
    async with opened(run, size=(100, 30)) as (app, pilot):
        await until(app, pilot, lambda s: f"step {STEPS}" in s)
        await pilot.press("L")
        await until(app, pilot, lambda s: "following" in s)
        await pilot.press("slash", *"step:123 ", "enter")
        await pilot.press("N")
        await until(app, pilot, lambda s: "▌step:123 " in s)
        await pilot.press("enter")
        await until(app, pilot, lambda s: "following" not in s)
        assert app.state.options.cursor == 123
        await until(app, pilot, lambda s: "0.41 @ 123" in s)
        await pilot.press("L")
        await until(app, pilot, lambda s: "▌step:123 " in s)


async def test_any_size(run: Path) -> None:
    async with opened(run, size=(3, 2)) as (app, pilot):
        await until(app, pilot, lambda s: app.run_shown is not None and app.snapshot.progress.caught_up)
        for size in ((3, 2), (40, 12), (80, 24), (200, 50)):
            await pilot.resize_terminal(*size)
            for key in ("L", "C"):
                await pilot.press(key)
                await pilot.pause(0.3)
                await pilot.press("j", "pageup", "G", "g")
                await pilot.press("escape")
            assert app.is_running, size


async def test_settings_are_found_folded_and_hidden(run: Path) -> None:
    async with opened(run, size=(100, 30)) as (app, pilot):
        await until(app, pilot, lambda s: f"step {STEPS}" in s)
        await pilot.press("C")
        shown = await until(app, pilot, lambda s: "kl_coef" in s and "adv" in s)
        assert isinstance(app.screen, HealthScreen)
        assert "  4 settings " in shown, "those of the configuration, not the directory and what else is listed"
        assert "1e-06" in shown
        assert "sk-aaa" not in shown
        algorithm = [row.target.name for row in app.screen.table.items].index("algorithm")
        for _ in range(algorithm):
            await pilot.press("j")
        await pilot.press("enter")
        await until(app, pilot, lambda s: "▸ algorithm" in s and "kl_coef" not in s)
        await pilot.press("slash", *"KL_", "enter")
        await until(app, pilot, lambda s: "/KL_" in s and "kl_coef" in s and "lr" not in s.splitlines()[3])
        await pilot.press("escape", "C")
        await until(app, pilot, lambda s: "settings" not in s.splitlines()[0])
