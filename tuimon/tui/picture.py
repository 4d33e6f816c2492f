"""Picture: images on the screen by the kitty protocol, sixels or half blocks. Needs the extra `images`."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.segment import ControlType, Segment
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from tuimon import lazy_re as re
from tuimon.model.views import Role
from tuimon.text import clean
from tuimon.tui import themes
from tuimon.tui.action import TuimonApp
from tuimon.tui.ascii_mode import ascii_only

_MOST = 16
"""Pictures of a step that are shown."""
_CELL = 10, 20
"""Pixels of a cell if the terminal does not report them."""
_ID = re.compile(r"\x1b_Gi=(\d+),")


def obstacle() -> str:
    """Return why no picture can be shown, as a sentence; "" if they can be."""
    if ascii_only():
        return "Pictures need more than ASCII"
    return "" if find_spec("textual_image") else "To see pictures: pip install 'tuimon[images]'"


class Picture(Widget):
    """The images of an item side by side, or the frames of a GIF, as large as the widget.

    Each row draws all its cells by itself, at its place on the screen, see `changed_cells`.
    """

    app: TuimonApp
    DEFAULT_CSS = "Picture { width: 1fr; display: none; }"

    def __init__(self) -> None:
        super().__init__()
        self._encoder = _Encoder()
        self._key: tuple[object, ...] = ()
        """What is shown, or is being encoded."""
        self._rows: list[str] = []
        self._uploaded = ""
        """Id of the picture that the terminal keeps (kitty)."""

    def show(self, source: Sequence[Any], read: Callable[[Any], bytes], protocol: str, theme: str) -> None:
        """Show pictures. source: references, from which `read` gets the encoded pictures and may raise OSError;
        protocol: "kitty", "sixel" or "blocks"."""
        key = source, self.region, protocol, theme
        if key == self._key or not self.region:
            return
        self._key, self._rows = key, []
        self.refresh()
        request = {
            "columns": self.size.width,
            "rows": self.size.height,
            "cell": _cell_size(),
            "protocol": protocol,
            "colors": self.app.console.color_system or "standard",
        }

        async def work() -> None:
            answer = await asyncio.to_thread(_answer, self._encoder, source, read, request, lambda: key == self._key)
            if key == self._key and self.is_attached:
                self._rows = self._drawn(answer, theme)
                self.refresh()

        self.run_worker(work())

    def on_unmount(self) -> None:
        self._key = ()
        self._encoder.end()
        self.app.write(self._forgotten())

    def _forgotten(self) -> str:
        """Return the sequence that lets the terminal forget the uploaded picture; "" without one."""
        number, self._uploaded = self._uploaded, ""
        return f"\x1b_Ga=d,d=I,i={number},q=2\x1b\\" if number else ""

    def _drawn(self, answer: dict[str, Any], theme: str) -> list[str]:
        """Return the sequences of the rows."""
        if "problem" in answer:
            style = themes.style(theme, Role.MUTED)
            return [style.render(clean(f" {answer['problem']}", self.size.width))]
        rows: list[str] = answer["rows"]
        if answer["head"]:
            rows[0] = self._forgotten() + answer["head"] + rows[0]
            match = _ID.match(answer["head"])
            self._uploaded = match[1] if match else ""
        if answer["sixel"]:  # after the last row, as blanks that follow would erase it
            rows += [""] * (self.size.height - len(rows))
            left, top = self.region.x + 1, self.region.y + 1
            rows[-1] += f"\x1b7\x1b[{top};{left}H{answer['sixel']}\x1b8"
        return rows

    def render_lines(self, crop: Region) -> list[Strip]:
        region = self.region
        blank = "\x1b[0m" + " " * region.width
        strips = []
        for y in crop.line_range:
            start = f"\x1b[{region.y + y + 1};{region.x + 1}H"
            text = start + blank + start + (self._rows[y] if y < len(self._rows) else "")
            strips.append(Strip([Segment(text, None, [(ControlType.CURSOR_FORWARD, 0)])], region.width))
        return strips


def _cell_size() -> tuple[int, int]:
    """Return the size of a cell of the terminal in pixels."""
    with suppress(OSError, ValueError, AttributeError):
        raw = fcntl.ioctl(sys.__stdout__.fileno(), termios.TIOCGWINSZ, bytes(8))  # type: ignore[union-attr]
        rows, columns, width, height = struct.unpack("HHHH", raw)
        if rows and columns and width >= columns and height >= rows:
            return width // columns, height // rows
    return _CELL


def _answer(
    encoder: _Encoder,
    source: Sequence[Any],
    read: Callable[[Any], bytes],
    request: dict[str, Any],
    is_wanted: Callable[[], bool],
) -> dict[str, Any]:
    """Read pictures and let them be encoded."""
    try:
        return encoder.ask(request, [*map(read, source[:_MOST])], is_wanted)
    except OSError as error:
        return {"problem": f"The picture cannot be read: {error.strerror or error}"}


class _Encoder:
    """The process that decodes and encodes, which is started when it is needed."""

    def __init__(self) -> None:
        self._worker: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def ask(self, request: dict[str, Any], files: Sequence[bytes], is_wanted: Callable[[], bool]) -> dict[str, Any]:
        """Return the answer of `picture_worker`. is_wanted: return whether the answer is still of use."""
        with self._lock:
            if not is_wanted():
                return {"problem": ""}
            self._worker = worker = self._worker or _start(request["cell"])
            assert worker.stdin is not None
            assert worker.stdout is not None
            try:
                worker.stdin.write(json.dumps({**request, "sizes": [*map(len, files)]}).encode() + b"\n")
                worker.stdin.writelines(files)
                worker.stdin.flush()
                answer: dict[str, Any] = json.loads(worker.stdout.readline())
            except (OSError, ValueError):
                self.end()
                return {"problem": "The picture cannot be decoded within the limits of time and memory"}
            return answer

    def end(self) -> None:
        """End the process, so that a thread that waits for it goes on."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.kill()
            for pipe in filter(None, (worker.stdin, worker.stdout)):
                with suppress(OSError):  # unsent bytes in its buffer
                    pipe.close()
            worker.wait()


def _start(cell: tuple[int, int]) -> subprocess.Popen[bytes]:
    size = {"TEXTUAL_CELL_WIDTH": str(cell[0]), "TEXTUAL_CELL_HEIGHT": str(cell[1])}  # read by textual-image
    return subprocess.Popen(
        [sys.executable, "-P", str(Path(__file__).with_name("picture_worker.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **size},
        start_new_session=True,  # ctrl+c in the terminal must reach only the UI process
    )
