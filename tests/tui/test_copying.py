"""Test that the logged values are copied, completely or not at all."""

from __future__ import annotations

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
