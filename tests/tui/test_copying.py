"""Test that the logged values are copied, completely or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from support.dashboard import copied, opened, rows, until

from tuimon.tui.terminal import clipboard


@pytest.mark.parametrize("text", ["0.125", "名 µ\t1\n", "x" * 5000])
def test_the_sequence_holds_the_text(text: str) -> None:
    assert copied(clipboard.sequence(text)) == text
    assert clipboard.fits("x" * clipboard.MOST_BYTES)
    assert not clipboard.fits("é" * clipboard.MOST_BYTES)


async def test_keys_copy_the_value_and_the_series_as_logged(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TMUX", "STY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    written: list[str] = []
    async with opened(log.parent) as (app, pilot):
        await until(app, pilot, lambda s: "KL" in s)
        monkeypatch.setattr(app._driver, "write", written.append)
        await pilot.press("y")
        await until(app, pilot, lambda s: "Copied reward at step 19: 1.9000000000000001" in s)
        assert copied("".join(w for w in written if "]52;" in w)) == repr(0.1 * 19)
        written.clear()
        await pilot.press("Y")
        await until(app, pilot, lambda s: "Copied 20 points of reward" in s)
        head, *lines = copied("".join(w for w in written if "]52;" in w)).splitlines()
    assert head == "step\treward"
    logged = [json.loads(line) for line in rows(*range(20)).splitlines()]
    assert [tuple(map(float, line.split("\t"))) for line in lines] == [(row["step"], row["reward"]) for row in logged]


async def test_inside_tmux_a_text_goes_into_its_buffer(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, program = tmp_path / "buffer", tmp_path / "bin" / "tmux"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\n{{ echo "$*"; cat; }} > {result}\n')
    program.chmod(0o755)
    monkeypatch.setenv("TMUX", "socket,1,0")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    async with opened(log.parent) as (app, pilot):
        await until(app, pilot, lambda s: "KL" in s)
        await pilot.press("y")
        await until(app, pilot, lambda s: "Copied reward at step 19" in s and "tmux buffer, and clipboard" in s)
    assert result.read_text() == f"load-buffer -w -\n{0.1 * 19!r}"


async def test_without_the_program_tmux_the_sequence_is_written(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMUX", "socket,1,0")
    monkeypatch.setenv("PATH", "/nonexistent")
    async with opened(log.parent) as (app, pilot):
        await until(app, pilot, lambda s: "KL" in s)
        await pilot.press("y")
        await until(app, pilot, lambda s: "sent to the terminal: OSC 52" in s)


async def test_an_alert_and_the_path_of_a_run_are_copied(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TMUX", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    log.write_text(rows(*range(20)) + '{"step": 20, "reward": NaN}\n')
    written: list[str] = []
    async with opened(log.parent) as (app, pilot):
        await until(app, pilot, lambda s: "NaN" in s and bool(app.snapshot.alerts))
        monkeypatch.setattr(app._driver, "write", written.append)
        await pilot.press("a")
        await pilot.pause()
        await pilot.press("y")
        await until(app, pilot, lambda s: "Copied the alert" in s)
        head, advice = copied("".join(w for w in written if "]52;" in w)).splitlines()
        assert f"({log.parent}): " in head
        assert "NaN" in head
        assert advice == app.snapshot.alerts[0].hint
        written.clear()
        await pilot.press("escape", "r")
        await pilot.pause()
        await pilot.press("y")
        await until(app, pilot, lambda s: "Copied the path of the run" in s)
        assert copied("".join(w for w in written if "]52;" in w)) == str(log.parent)


async def test_a_long_series_goes_into_a_file(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log.write_text(rows(*range(9000)))
    monkeypatch.chdir(tmp_path)
    async with opened(log.parent) as (app, pilot):
        await until(app, pilot, lambda s: "27 000 points" in s)
        await pilot.press("Y")
        await until(app, pilot, lambda s: f"saved to {Path.cwd()}" in " ".join(s.split()))  # the message is wrapped
    [saved] = tmp_path.glob("tuimon-*.tsv")
    assert len(saved.read_text().splitlines()) == 9001


@pytest.mark.parametrize("below", ["", "checkpoint-1"])
async def test_nothing_is_saved_into_the_directory_of_a_run(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, below: str
) -> None:
    log.write_text(rows(*range(9000)))
    home = tmp_path / "home"
    for directory in (home, log.parent / below):
        directory.mkdir(exist_ok=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(log.parent / below)
    before = sorted(log.parent.rglob("*"))
    async with opened(log.parent) as (app, pilot):
        await until(app, pilot, lambda s: "27 000 points" in s)
        await pilot.press("Y")
        await until(app, pilot, lambda s: "saved to ~/tuimon-" in s)
        await pilot.press("S")
        await until(app, pilot, lambda s: "Screenshot saved: ~/tuimon-" in s)
    assert sorted(log.parent.rglob("*")) == before
    assert sorted(path.suffix for path in home.glob("tuimon-*")) == [".svg", ".tsv"]
