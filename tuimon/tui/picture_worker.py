"""Program that decodes pictures and encodes them for a terminal. `tuimon.tui.picture` starts it by its path.

It is a process of its own: a hostile picture costs only its memory and time, which are limited, and textual-image asks
the terminal nothing, as it sees none. Standard input, for each request: a line of JSON, then the files one after the
other. Standard output: a line of JSON, {"rows": [text of each row], "head": uploads of the kitty protocol, "sixel": the
picture, "columns": width in cells} or {"problem": sentence}. It ends with standard input.
"""

from __future__ import annotations

import io
import json
import math
import resource
import signal
import sys
import warnings
from typing import Any

from PIL import Image, ImageSequence, UnidentifiedImageError
from rich.console import Console

_FORMATS = ("PNG", "JPEG", "GIF", "BMP", "WEBP")
_MOST_PIXELS = 50_000_000
_MOST_PICTURES = 16
"""Pictures, or frames of one that moves, that are shown side by side."""
_MEMORY = 3 << 30
"""Maximum size (bytes) of the address space."""
_SECONDS = 10.0
"""CPU time (s) of a request after which SIGVTALRM ends the program."""
_GAP = 4
"""Pixels between two pictures."""


def main() -> None:
    """Answer until standard input ends."""
    signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    Image.MAX_IMAGE_PIXELS = _MOST_PIXELS
    answers = sys.stdout
    for line in sys.stdin.buffer:
        request = json.loads(line)
        files = [io.BytesIO(sys.stdin.buffer.read(size)) for size in request["sizes"]]
        signal.setitimer(signal.ITIMER_VIRTUAL, _SECONDS)
        answers.write(json.dumps(_answer(files, request)) + "\n")
        answers.flush()
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _answer(files: list[io.BytesIO], request: dict[str, Any]) -> dict[str, Any]:
    space = request["columns"] * request["cell"][0], request["rows"] * request["cell"][1]
    try:
        return _encoded(_sheet(_pictures(files, space), space), request)
    except (Image.DecompressionBombWarning, Image.DecompressionBombError, MemoryError):
        return {"problem": f"The picture is not decoded: more than {_MOST_PIXELS:,} pixels"}
    except UnidentifiedImageError:
        return {"problem": f"Not a picture that is shown: {', '.join(_FORMATS)} are"}
    except Exception as error:  # noqa: BLE001  decoders raise any for a broken file
        return {"problem": f"The picture cannot be decoded: {error}"}


def _pictures(files: list[io.BytesIO], space: tuple[int, int]) -> list[Image.Image]:
    """Return the pictures of files, or frames of the only one, evenly spaced; none larger than the space."""
    opened = [Image.open(file, formats=_FORMATS) for file in files[:_MOST_PICTURES]]
    frames = getattr(opened[0], "n_frames", 1)
    if len(opened) > 1 or frames == 1:
        return [_plain(picture, space) for picture in opened]
    shown = min(frames, _MOST_PICTURES)
    wanted = {round(index * (frames - 1) / (shown - 1)) for index in range(shown)}
    return [_plain(frame, space) for index, frame in enumerate(ImageSequence.Iterator(opened[0])) if index in wanted]


def _plain(picture: Image.Image, space: tuple[int, int]) -> Image.Image:
    """Return a picture in RGB, on black where it is transparent, no larger than the space.

    Numbers of more than 8 bits, such as depths, are scaled from the smallest to the largest.
    """
    if picture.mode.startswith(("I", "F")):
        numbers = picture.convert("F")
        low, high = numbers.getextrema()
        scale = 255 / (high - low) if high > low else 0.0  # type: ignore[operator]
        plain = numbers.point(lambda value: value * scale - low * scale).convert("RGB")  # type: ignore[operator]
    elif picture.has_transparency_data:
        seen = picture.convert("RGBA")
        plain = Image.new("RGB", seen.size)
        plain.paste(seen, mask=seen)
    else:
        plain = picture.convert("RGB")
    plain.thumbnail(space)
    return plain


def _sheet(pictures: list[Image.Image], space: tuple[int, int]) -> Image.Image:
    """Return the pictures in the grid in which they are largest, as large as the space."""
    wide, tall = (max(picture.size[side] for picture in pictures) for side in (0, 1))

    def scale(across: int) -> float:
        down = math.ceil(len(pictures) / across)
        return min((space[0] - _GAP * across) / (across * wide), (space[1] - _GAP * down) / (down * tall))

    across = max(range(1, len(pictures) + 1), key=scale)
    down, by = math.ceil(len(pictures) / across), scale(across)
    cell = [max(round(side * by), 1) for side in (wide, tall)]
    sheet = Image.new("RGB", (across * (cell[0] + _GAP) - _GAP, down * (cell[1] + _GAP) - _GAP))
    for index, picture in enumerate(pictures):
        width, height = (max(round(side * by), 1) for side in picture.size)
        place = index % across * (cell[0] + _GAP), index // across * (cell[1] + _GAP)
        sheet.paste(picture.resize((width, height)), place)
    return sheet


def _encoded(sheet: Image.Image, request: dict[str, Any]) -> dict[str, Any]:
    """Return what shows a picture, by the protocol of the request."""
    uploads = io.StringIO()  # textual-image uploads to standard output, and asks it nothing if it is no terminal
    sys.__stdout__ = uploads  # type: ignore[assignment, misc]
    from textual_image import renderable

    kinds = {"kitty": renderable.TGPImage, "sixel": renderable.SixelImage, "blocks": renderable.HalfcellImage}
    columns, rows = (max(round(sheet.size[side] / request["cell"][side]), 1) for side in (0, 1))
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, color_system=request["colors"], width=columns, height=rows)
    console.print(kinds[request["protocol"]](sheet, columns, rows), soft_wrap=True, end="")
    lines = text.getvalue().split("\n")
    rest = "\n".join(lines[rows:])
    sixel = rest[rest.index("\x1bP") : rest.rindex("\x1b\\") + 2] if request["protocol"] == "sixel" else ""
    return {"head": uploads.getvalue(), "rows": lines[:rows], "columns": columns, "sixel": sixel}


if __name__ == "__main__":
    main()
