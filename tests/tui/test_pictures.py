"""Pictures in a real pseudo-terminal: what half blocks, the kitty protocol and sixels show of generated files."""

from __future__ import annotations

import base64
import io
import json
import os
import re
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from support.event_points import event, file_of, scalar
from support.grid import Grid
from support.terminal import TUIMON, Terminal
from tensorboard.compat.proto.summary_pb2 import Summary

from tuimon.samples.media import picture_data, pictures_of
from tuimon.tui import picture, picture_worker
from tuimon.tui.terminal.background import Background

pytest.importorskip("textual_image")
RED, GREEN, BLUE, WHITE = (200, 0, 0), (0, 180, 0), (0, 0, 220), (250, 250, 250)
WIDTH, HEIGHT = 100, 40


def quadrants(*colours: tuple[int, int, int], form: str = "PNG", side: int = 64) -> bytes:
    """An image with a colour in each quarter, in reading order."""
    image = Image.new("RGB", (2 * side, 2 * side))
    for place, colour in enumerate(colours):
        image.paste(colour, (place % 2 * side, place // 2 * side, place % 2 * side + side, place // 2 * side + side))
    file = io.BytesIO()
    image.save(file, form, quality=95)
    return file.getvalue()


def png_header(width: int, height: int) -> bytes:
    """A PNG file of this size whose pixels are missing."""
    head = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + head + struct.pack(">I", zlib.crc32(head))


def run_with(folder: Path, *images: bytes) -> Path:
    """A run that has logged an image in each step."""
    folder.mkdir()
    messages = []
    for step, data in enumerate(images):
        shown = Summary.Value(tag="camera", image=Summary.Image(height=1, width=1, encoded_image_string=data))
        messages += [event(step, scalar("loss", 1.0)), event(step, shown)]
    (folder / "events.out.tfevents.1.host.1.0").write_bytes(file_of(*messages))
    return folder


def colours(look: str) -> list[tuple[int, ...]]:
    """Foreground and background of a cell that a half block is in."""
    return [tuple(map(int, part.split(";"))) for part in re.findall(r"[34]8;2;(\d+;\d+;\d+)", look)]


def near(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return all(abs(a - b) < 30 for a, b in zip(one, other, strict=True))


def shown_quadrants(grid: Grid) -> list[tuple[int, ...]]:
    """The colours in the middle of the quarters of the area of half blocks; [] without any."""
    cells = [(y, x) for y, row in enumerate(grid.text) for x, text in enumerate(row) if text == "▀"]
    if not cells:
        return []
    (top, left), (bottom, right) = min(cells), max(cells)
    tall, wide = bottom - top, right - left
    looks = [grid.looks[top + tall * y // 4][left + wide * x // 4] for y in (1, 3) for x in (1, 3)]
    return [colours(look)[0] for look in looks if colours(look)]


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP"])
def test_half_blocks_show_the_image_of_each_step(tmp_path: Path, form: str) -> None:
    first, last = (RED, GREEN, BLUE, WHITE), (WHITE, BLUE, GREEN, RED)
    run = run_with(tmp_path / "run", quadrants(*first, form=form), quadrants(*last, form=form))
    grid, seen = Grid(WIDTH, HEIGHT), 0
    home = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path), "TUIMON_PICTURES": "blocks"}
    with Terminal((*TUIMON, "--fresh", str(run)), (WIDTH, HEIGHT), home) as terminal:

        def is_shown(expected: tuple[tuple[int, int, int], ...]) -> bool:
            nonlocal seen
            grid.feed(bytes(terminal.output[seen:]))
            seen = len(terminal.output)
            found = shown_quadrants(grid)
            return len(found) == 4 and all(map(near, found, expected))

        terminal.until(lambda output: b"loss" in output)
        terminal.type("D")
        terminal.until(lambda output: is_shown(last))
        terminal.type("h")
        terminal.until(lambda output: is_shown(first))
        terminal.type("?")
        terminal.until(lambda output: not is_shown(first) and grid.find("most important keys") is not None)
        terminal.type("\x1b")
        terminal.until(lambda output: is_shown(first))


def test_kitty_gets_the_image_and_forgets_the_one_before(tmp_path: Path) -> None:
    run = run_with(tmp_path / "run", quadrants(RED, GREEN, BLUE, WHITE), quadrants(WHITE, BLUE, GREEN, RED))
    home = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path), "TUIMON_PICTURES": "kitty"}
    with Terminal((*TUIMON, "--fresh", str(run)), (WIDTH, HEIGHT), home) as terminal:
        terminal.until(lambda output: b"loss" in output)
        terminal.type("D")
        output = terminal.until(lambda output: "\U0010eeee".encode() in output)
        uploads = re.findall(rb"\x1b_Gi=(\d+),m=([01]),f=100,q=2;([^\x1b]*)\x1b\\", output)
        number = uploads[0][0]
        image = Image.open(io.BytesIO(base64.b64decode(b"".join(data for *_, data in uploads))))
        terminal.type("h")
        terminal.until(lambda output: b"\x1b_Ga=d,d=I,i=" + number in output)
        *_, later = re.findall(rb"\x1b_Gi=(\d+),", bytes(terminal.output))
        assert later != number
        terminal.type("D")
        terminal.until(lambda output: b"\x1b_Ga=d,d=I,i=" + later in output)
    places = [(x * image.width // 4, y * image.height // 4) for y in (1, 3) for x in (1, 3)]
    for place, colour in zip(places, (WHITE, BLUE, GREEN, RED), strict=True):
        assert near(image.getpixel(place), colour)


def test_a_sixel_is_drawn_after_the_rows_that_it_covers(tmp_path: Path) -> None:
    run = run_with(tmp_path / "run", quadrants(RED, GREEN, BLUE, WHITE))
    home = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path), "TUIMON_PICTURES": "sixel"}
    with Terminal((*TUIMON, "--fresh", str(run)), (WIDTH, HEIGHT), home) as terminal:
        terminal.until(lambda output: b"loss" in output)
        terminal.type("D")
        output = terminal.until(lambda output: re.search(rb"\x1bP[^\x1b]*\x1b\\\x1b8", output) is not None)
    found = re.search(rb'\x1b\[(\d+);1H\x1bP[\d;]*q"1;1;(\d+);(\d+)', output)
    top, width, height = map(int, found.groups())
    assert width == height == (HEIGHT - top) * 20
    cells = [int(row) for row in re.findall(rb"\x1b\[(\d+);1H\x1b\[0m +", output[: found.start()])]
    assert cells[-1] == HEIGHT - 1


def answer(files: list[bytes], **changes: Any) -> dict[str, Any]:
    """The answer of the program that decodes."""
    request = {"sizes": [*map(len, files)], "columns": 40, "rows": 10, "cell": [10, 20], "protocol": "blocks"}
    line = json.dumps(request | {"colors": "truecolor"} | changes).encode() + b"\n"
    size = {"TEXTUAL_CELL_WIDTH": "10", "TEXTUAL_CELL_HEIGHT": "20"}
    program = [sys.executable, str(picture_worker.__file__)]
    done = subprocess.run(program, input=line + b"".join(files), capture_output=True, env={**os.environ, **size})
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"nothing",
        png_header(60_000, 60_000),
        png_header(100, 100),
        quadrants(RED)[:200],
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n",
        b"P6 4 4 255\n" + bytes(48),
    ],
    ids=["empty", "text", "bomb", "no pixels", "cut", "PostScript", "format that is not asked for"],
)
def test_what_is_no_picture_is_a_problem(data: bytes) -> None:
    assert answer([data]).keys() == {"problem"}


def test_numbers_of_16_bits_are_scaled() -> None:
    file = io.BytesIO()
    Image.frombytes("I;16", (2, 1), struct.pack("<HH", 1000, 3000)).save(file, "PNG")
    row = answer([file.getvalue()])["rows"][0]
    found = colours(row)
    assert (found[0], found[-1]) == ((0, 0, 0), (255, 255, 255))


def test_frames_and_several_images_are_side_by_side() -> None:
    one = quadrants(RED, RED, RED, RED)
    assert answer([one])["columns"] == 20
    assert answer([one, one])["columns"] == 40
    frames = [Image.new("RGB", (64, 64), colour) for colour in (RED, GREEN)]
    file = io.BytesIO()
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:])
    found = answer([file.getvalue()])
    assert found["columns"] == 40
    first, *_, last = colours(found["rows"][5])
    assert near(first, RED)
    assert near(last, GREEN)


def test_without_the_extra_the_screen_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    assert picture.obstacle() == ""
    monkeypatch.setattr(picture, "find_spec", lambda name: None)
    assert "'tuimon[images]'" in picture.obstacle()


@pytest.mark.parametrize(("reply", "expected"), [(b"\x1b[?62;4;22c", True), (b"\x1b[?64;14c", False), (b"", False)])
def test_sixel_support_is_attribute_4(reply: bytes, expected: bool) -> None:
    background = Background(False)
    background._reply = reply
    assert background.has_sixel is expected


def test_pictures_of_samples(tmp_path: Path) -> None:
    image = quadrants(RED, GREEN, BLUE, WHITE)
    url = f"data:image/png;base64,{base64.b64encode(image).decode()}"
    tables = tmp_path / "files" / "media" / "table"
    (tables.parent / "images").mkdir(parents=True)
    (tables.parent / "images" / "a.png").write_bytes(image)
    (tmp_path / "secret.png").write_bytes(image)
    table = str(tables / "val_1.table.json")
    rows: list[tuple[dict[str, Any], int]] = [
        ({"prompt": f"see ![]({url})"}, 1),
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]}, 1),
        ({"images": [{"bytes": image, "path": None}, {"bytes": image, "path": None}]}, 2),
        ({"picture": {"_type": "image-file", "path": "media/images/a.png"}}, 1),
        ({"picture": {"_type": "image-file", "path": "media/../../secret.png"}}, 0),
        ({"picture": "/etc/passwd", "url": "https://example.org/a.png"}, 0),
    ]
    for row, count in rows:
        found = pictures_of(row, table)
        assert [picture_data(picture) for picture in found] == [image] * count, row
