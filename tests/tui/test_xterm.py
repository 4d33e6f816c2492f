"""Test in a real xterm that the screen can be read on black and on white: contrasts are measured in pixels."""

from __future__ import annotations

import json
import math
import os
import shutil
import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support.terminal import TUIMON

needs_xterm = pytest.mark.skipif(
    not (shutil.which("xterm") and shutil.which("Xvfb")), reason="xterm and Xvfb are not installed"
)
SIZE = 120, 40
CELL = 6, 13
"""Pixels of a character of the font "fixed"."""
DECORATION = (0x4A5058, 0xC4C8CC, 0x444444, 0x4E4E4E, 0xC6C6C6, 0xBCBCBC)
"""Colours of Role.FAINT, also as a terminal with 256 colours shows them."""
NAMES = ("policy loss", "old_log_prob", "ref_log_prob", "update_actor")
"""Names in the colours of curves: of a legend, and of phases."""


@pytest.fixture
def display(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A display of its own, and the file that holds its picture."""
    reader, writer = os.pipe()
    command = ["Xvfb", "-displayfd", str(writer), "-screen", "0", "1000x700x24", "-fbdir", str(tmp_path)]
    server = subprocess.Popen(command, pass_fds=(writer,), stderr=subprocess.DEVNULL)
    os.close(writer)
    try:
        with os.fdopen(reader) as file:
            number = file.readline().strip()
        assert number, "Xvfb does not start"
        yield f":{number}", tmp_path / "Xvfb_screen0"
    finally:
        server.terminate()
        server.wait(60)


def pixels(picture: Path) -> np.ndarray:
    """Return the colours of a picture in the format of xwd (X11/XWDFile.h): uint32 (height, width)."""
    data = picture.read_bytes()
    header = struct.unpack(">25I", data[:100])
    start, width, height, line, colours = header[0], header[4], header[5], header[12], header[19]
    values = np.frombuffer(data[start + colours * 12 :], "<u4")[: line // 4 * height]
    return values.reshape(height, line // 4)[:, :width] & 0xFFFFFF


def luminance(color: int) -> float:
    values = np.array([color >> 16, color >> 8 & 255, color & 255]) / 255
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def contrast(first: int, second: int) -> float:
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def cells_of(window: np.ndarray) -> np.ndarray:
    """Return the character cells of CELL pixels: uint32 (rows, columns, height, width)."""
    width, height = CELL
    rows, columns = window.shape[0] // height, window.shape[1] // width
    return window.reshape(rows, height, columns, width).swapaxes(1, 2)


def paper_of(cell: np.ndarray) -> int:
    colours, counts = np.unique(cell, return_counts=True)
    return int(colours[counts.argmax()])


def pairs(window: np.ndarray) -> dict[tuple[int, int], float]:
    """Return the contrast of each pair of colours that share a character cell of CELL pixels."""
    ratios = {}
    cells = cells_of(window)[..., 1:]  # bold letters extend into the next cell by a pixel
    for cell in np.unique(cells.reshape(-1, CELL[1] * (CELL[0] - 1)), axis=0):
        paper = paper_of(cell)
        for color in map(int, np.unique(cell)):
            if color != paper:
                ratios[color, paper] = contrast(color, paper)
    return ratios


def inks(window: np.ndarray, name: str) -> set[tuple[int, int]]:
    """Return (colour, colour of the paper) of the cells of a name, wherever it is on the screen and not bold: where
    cells have the same shape if, and only if, the name has the same letter."""
    cells = cells_of(window)
    rows, columns = cells.shape[:2]
    papers = np.array([[paper_of(cell) for cell in row] for row in cells])
    marks = (cells != papers[..., np.newaxis, np.newaxis]).reshape(rows * columns, -1)
    blanks = ~marks.any(axis=1).reshape(rows, columns)
    shapes = np.unique(marks, axis=0, return_inverse=True)[1].reshape(rows, columns)
    letters = np.array(list(name))
    places = np.lib.stride_tricks.sliding_window_view(shapes, len(name), axis=1)
    equal = (places[..., np.newaxis] == places[..., np.newaxis, :]) == (letters[:, np.newaxis] == letters)
    blank = np.lib.stride_tricks.sliding_window_view(blanks, len(name), axis=1) == (letters == " ")
    return {
        (int(color), int(papers[row, column]))
        for row, column in np.argwhere(equal.all(axis=(2, 3)) & blank.all(axis=2)).tolist()
        for color in np.unique(cells[row, column : column + len(name)])
        if color != papers[row, column]
    }


@needs_xterm
@pytest.mark.parametrize("kind", ["xterm", "xterm-256color"])
@pytest.mark.parametrize(("background", "foreground"), [("black", "white"), ("white", "black")])
def test_everything_can_be_read(
    background: str, foreground: str, kind: str, display: tuple[str, Path], tmp_path: Path
) -> None:
    number, picture = display
    log = tmp_path / "run" / "metrics.jsonl"
    log.parent.mkdir()
    levels = dict.fromkeys(("reward", "loss", "policy_loss", "kl"), 0.0)
    levels |= {f"timing_s/{name}": 2.0 for name in ("generate", *NAMES[1:])}
    rows = (
        {name: level + math.sin(step / 9 + place) for place, (name, level) in enumerate(levels.items())}
        | {"step": step}
        for step in range(200)
    )
    log.write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"step": 200, "loss": NaN}\n')
    home = {name: str(tmp_path / "home") for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")}
    surroundings = {name: value for name, value in os.environ.items() if name not in ("COLORTERM", "COLORFGBG")}
    # Bold text in a colour of its own would not be the theme's; anti-aliased text has shades of any contrast.
    options = f"-bg {background} -fg {foreground} -tn {kind} -geometry 120x40+0+0 -fn fixed -b 0 -bw 0 +sb".split()
    xterm = subprocess.Popen(
        ["xterm", *options, "-xrm", "XTerm*colorBDMode: false", "-e", *TUIMON, str(log.parent)],
        env={**surroundings, **home, "DISPLAY": number, "LC_ALL": "C.UTF-8", "TUIMON_SYMBOLS": "ascii"},
    )
    try:
        end = time.monotonic() + 60
        window, ratios, complete = np.zeros(0, np.uint32), dict[tuple[int, int], float](), False
        while not complete:
            assert xterm.poll() is None
            assert time.monotonic() < end, "the dashboard does not appear"
            time.sleep(0.3)
            before, window = window, pixels(picture)[: CELL[1] * SIZE[1], : CELL[0] * SIZE[0]]
            ratios = pairs(window)
            key_bar = window[-CELL[1] :]
            complete = len(ratios) > 2 and len(np.unique(key_bar)) > 1 and np.array_equal(before, window)
            complete = complete and all(inks(window, name) for name in NAMES)
    finally:
        xterm.terminate()
        xterm.wait(60)
    assert np.bincount(window.ravel() & 1).argmax() == (background == "white"), "the terminal's own background shows"
    low = {f"{color:06x} on {paper:06x}": ratio for (color, paper), ratio in ratios.items() if ratio < 3.0}
    assert not [pair for pair in low if int(pair[:6], 16) not in DECORATION]
    plain = 0xFFFFFF if foreground == "white" else 0
    for name in NAMES:
        colours = inks(window, name)
        assert all(contrast(*pair) >= 4.5 for pair in colours), (name, colours)
        assert kind == "xterm" or any(color != plain for color, _ in colours), "in the colour of its curve"
