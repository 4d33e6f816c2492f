"""Proposed patterns that are accepted on the screen."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from support.dashboard import opened, until

from tuimon.errors import READ_AGAIN, UsageError
from tuimon.model.events import Notice
from tuimon.model.views import Role
from tuimon.monitor.piped import StdinPath
from tuimon.tui.taught_patterns import add_patterns

LINES = [f"zzz {step} qwx {1 / step:.4f} / 3.{step % 7}\n" for step in range(1, 40)]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "settings" / "config.toml"
    monkeypatch.setenv("TUIMON_CONFIG", str(path))
    return path


@pytest.mark.parametrize("name", ["train.log", "notes.log"])
async def test_one_key_accepts_the_proposal(tmp_path: Path, file: Path, name: str) -> None:
    """The text need not be recognised as a log."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / name).write_text({"train.log": "starting torch\n", "notes.log": ""}[name] + "".join(LINES))
    async with opened(tmp_path / "run") as (app, pilot):
        await until(app, pilot, lambda screen: "A saves console_patterns" in screen)
        await pilot.press("A")
        while app.return_code is None:
            await pilot.pause(0.02)
    assert app.return_code == READ_AGAIN
    assert tomllib.loads(file.read_text()) == {"console_patterns": ["zzz {step} qwx {qwx} / {}"]}


async def test_a_pipe_is_not_read_again(tmp_path: Path, file: Path) -> None:
    (tmp_path / "run").mkdir()
    log = tmp_path / "run" / "stdin.log"
    log.write_text("starting torch\n" + "".join(LINES))
    async with opened(StdinPath(str(log), lambda: False)) as (app, pilot):
        shown = await until(app, pilot, lambda screen: "A saves console_patterns" in screen)
        assert "for the next start" in shown
        assert "reads the log again" not in shown


@pytest.mark.parametrize(
    ("before", "wanted"),
    [
        ("", ["new"]),
        ('# mine\ninterval = 2\n[keys]\nzoom = "z"\n', ["new"]),
        ("console_patterns = []\n", ["new"]),
        ('"console_patterns" = ["x"]\n', ["new", "x"]),
        ('console_patterns = [\n  "[{step}] a {a}",  # kept\n]\ninterval = 2\n', ["new", "[{step}] a {a}"]),
    ],
)
def test_patterns_are_added_to_the_settings(file: Path, before: str, wanted: list[str]) -> None:
    file.parent.mkdir()
    file.write_text(before)
    add_patterns(["new"])
    assert tomllib.loads(file.read_text()) == {**tomllib.loads(before), "console_patterns": wanted}
    assert all(line in file.read_text() for line in before.splitlines() if "#" in line)


@pytest.mark.parametrize("before", ["console_patterns = 'x'\n", "console_patterns\n"])
def test_settings_that_cannot_be_changed_are_kept(file: Path, before: str) -> None:
    file.parent.mkdir()
    file.write_text(before)
    with pytest.raises(UsageError):
        add_patterns(["new"])
    assert file.read_text() == before


async def test_only_problems_are_warnings_while_there_is_no_log(tmp_path: Path) -> None:
    async with opened(tmp_path) as (app, pilot):
        for level in ("info", "warning"):
            app.monitor.post_notice(Notice(level, f"of level {level}"))
        await until(app, pilot, lambda screen: "of level info" in screen and "of level warning" in screen)
        roles = {text.strip(): role for row in app.waiting._rows for text, role in row}
        assert roles["of level info"] is Role.TEXT
        assert roles["of level warning"] is Role.WARNING
