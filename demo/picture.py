"""Make the pictures of the documentation: run the demo's training and save what the dashboard shows.

python demo/picture.py [DIRECTORY] [NAME …]

tuimon  the dashboard of a run in training
zoom    its reward on the whole screen: smoothed in front of the raw values, read at a step
runs    the list of four runs that have ended, one of them with a NaN
own     the dashboard of docs/screens.md
texts   what its model wrote: the groups of a step by their reward, and the text of the selected sample
over    the rewards of the four runs over each other, read at a step
session a moving picture: the run while it trains, then what some keys show

The pictures contain measured times, so make them on a machine with little load.
"""

from __future__ import annotations

import asyncio
import html
import re
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

from textual.pilot import Pilot

from tuimon.config import Settings
from tuimon.demo.launch import Training
from tuimon.monitor.process import ReaderProcess
from tuimon.tui.app import TuimonApp

FONTS = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"
AT_STEP, STEPS, FEW_STEPS = 290, 400, 120
NAMES = ("tuimon", "zoom", "own", "runs", "over", "texts", "session")
DASHBOARD = Path(__file__).parent.parent / "docs" / "screens.md"
SESSION_SIZE = (112, 34)
KEYS = (
    ("enter", "Enter: a chart on the whole screen", 1.6),
    ("}", "}: smooth it in front of the raw values", 1.4),
    ("c", "c: read the values at a cursor", 0.8),
    *(("<", "c: read the values at a cursor", 0.5),) * 4,
    ("escape", "", 0.0),
    ("escape", "", 0.0),
    ("M", "M: a table of all metrics", 2.2),
    ("escape", "", 0.0),
    ("m", "m: a chart of every metric", 2.2),
    ("m", "", 0.0),
    ("question_mark", "?: every key", 2.0),
    ("escape", "", 0.0),
)
"""The keys of the moving picture: (key, caption, seconds that its screen is shown); not shown without a caption."""


@asynccontextmanager
async def dashboard(directory: str, size: tuple[int, int]) -> AsyncIterator[tuple[TuimonApp, Pilot[object]]]:
    """Open the dashboard on a directory until the block is left."""
    monitor = ReaderProcess([directory])
    monitor.start()
    try:
        app = TuimonApp(monitor, Settings(theme="dark", symbols="braille"))
        async with app.run_test(size=size) as pilot:
            yield app, pilot
    finally:
        monitor.close()


async def when(pilot: Pilot[object], ready: Callable[[], bool], trainings: Sequence[Training]) -> None:
    """Wait until `ready` returns True. Fails if a training fails."""
    while not ready():
        for training in trainings:
            assert not training.process.poll(), training.errors()
        await pilot.pause(0.1)


def save(app: TuimonApp, target: Path) -> None:
    """Save the screen as an SVG file."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(_self_contained(app.export_screenshot(title="tuimon demo")), "utf-8")


async def one_run(to: Path, names: Sequence[str]) -> None:
    """Train at full speed and take the pictures of one run while it trains."""
    with tempfile.TemporaryDirectory() as directory:
        training = Training(Path(directory), f"--steps={STEPS}", "--pace=0")
        try:
            if "tuimon" in names:
                async with dashboard(directory, (160, 46)) as (app, pilot):
                    await when(pilot, lambda: _step(app) >= AT_STEP, [training])
                    app.header_at = 0.0  # it is drawn once a second, in which the demo trains 40 steps
                    app.redraw()
                    await pilot.pause()
                    save(app, to / "tuimon.svg")
            if "zoom" in names:
                async with dashboard(directory, (120, 36)) as (app, pilot):
                    await when(pilot, lambda: _step(app) >= AT_STEP, [training])
                    await pilot.press("enter", "}", "c", *["<"] * 4)
                    await pilot.pause(0.5)
                    save(app, to / "zoom.svg")
            if "texts" in names:
                async with dashboard(directory, (132, 26)) as (app, pilot):
                    await when(pilot, lambda: _step(app) >= AT_STEP, [training])
                    await pilot.press("T")
                    await when(pilot, lambda: "mean reward" in _text(app), [training])
                    await pilot.press("v", "j", "j")
                    await pilot.pause(0.5)
                    save(app, to / "texts.svg")
            if "own" in names:
                example = DASHBOARD.read_text("utf-8").split("```toml\n")[1].split("```")[0]
                Path(directory, ".tuimon.toml").write_text(example, "utf-8")
                async with dashboard(directory, (120, 36)) as (app, pilot):
                    await when(pilot, lambda: _step(app) >= AT_STEP, [training])
                    await pilot.pause(1.0)  # the training may have ended, and the first page not been drawn
                    save(app, to / "own.svg")
        finally:
            training.stop()


async def many_runs(to: Path, names: Sequence[str]) -> None:
    """Train three seeds and a run that fails to their end, then take the pictures of several runs."""
    with tempfile.TemporaryDirectory() as directory:
        few = f"--steps={FEW_STEPS}", "--pace=0"
        trainings = [Training(Path(directory, f"seed{seed}"), *few, f"--seed={seed}") for seed in range(3)]
        trainings.append(Training(Path(directory, "lr-too-high"), *few, "--seed=3", "--inject=nan@60"))
        try:
            assert not any(training.process.wait() for training in trainings)
            async with dashboard(directory, (120, 36)) as (app, pilot):
                await when(pilot, lambda: len(app.snapshot.runs) == 4 and app.snapshot.progress.caught_up, trainings)
                await pilot.press("r", "home")
                for _ in trainings:
                    await pilot.pause(1.0)
                    run = app.run_selected
                    await pilot.press(*["space"] * (run is not None and "seed" in run.path), "down")
                await pilot.resize_terminal(120, 9)
                await pilot.pause(0.5)
                if "runs" in names:
                    save(app, to / "runs.svg")
                await pilot.resize_terminal(120, 36)
                await pilot.press("home", "enter", "enter", "}", "c", *["<"] * 3)  # the run with alerts is the first
                await pilot.pause(1.0)
                if "over" in names:
                    save(app, to / "over.svg")
        finally:
            for training in trainings:
                training.stop()


async def session(to: Path) -> None:
    """Record the dashboard while a run trains, then while keys are pressed, as one moving picture."""
    frames: list[Frame] = []
    with tempfile.TemporaryDirectory() as directory:
        training = Training(Path(directory), f"--steps={STEPS}", "--pace=0")
        try:
            async with dashboard(directory, SESSION_SIZE) as (app, pilot):
                for step in range(10, AT_STEP, 20):
                    await when(pilot, lambda step=step: _step(app) >= step, [training])  # type: ignore[misc]
                    frames.append(Frame(app.export_screenshot(), "The dashboard of a run, while it trains", 0.45))
                frames.append(Frame(app.export_screenshot(), "The dashboard of a run, while it trains", 1.0))
                for key, caption, seconds in KEYS:
                    await pilot.press(key)
                    await pilot.pause(0.5)
                    if caption:
                        frames.append(Frame(app.export_screenshot(), caption, seconds))
        finally:
            training.stop()
    (to / "session.svg").write_text(moving(frames, *SESSION_SIZE), "utf-8")


class Frame(NamedTuple):
    """A screen of the moving picture."""

    svg: str
    """The screenshot."""
    caption: str
    seconds: float


def moving(frames: Sequence[Frame], width: int, height: int) -> str:
    """Return one SVG that shows the frames one after the other, again and again.

    A row of the screen that is the same in several frames is drawn once. Readers who prefer no motion see the first
    frame.
    """
    styles: dict[str, str] = {}
    rows: dict[str, list[int]] = {}
    for number, frame in enumerate(frames):
        for content in _row_elements(frame, styles, height):
            rows.setdefault(content, []).append(number)
    groups = {tuple(numbers): f"f{index}" for index, numbers in enumerate({tuple(n): None for n in rows.values()})}
    rules = [f".{name}{{{style}}}" for style, name in styles.items()]
    rules += [_animation(name, numbers, frames) for numbers, name in groups.items() if len(numbers) < len(frames)]
    rules.append("@media (prefers-reduced-motion:reduce){g{animation:none!important}}")
    drawn = "".join(f'<g class="{groups[tuple(numbers)]}">{content}</g>' for content, numbers in rows.items())
    wide, high = width * _CELL + 20, (height + 2) * _LINE + 16
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:g} {high:g}" role="img" aria-label="A session">'
        f"<style>text{{font:20px {FONTS};white-space:pre;fill:#d0d0d0}}{''.join(rules)}</style>"
        f'<rect width="{wide:g}" height="{high:g}" rx="8" fill="#14171a"/>'
        f'<g transform="translate(10 8)">{drawn}</g></svg>\n'
    )


def _animation(name: str, numbers: Sequence[int], frames: Sequence[Frame]) -> str:
    """Return the style rules of a group that is visible in the frames with these numbers."""
    total = sum(frame.seconds for frame in frames)
    edges = [sum(frame.seconds for frame in frames[:number]) / total * 100 for number in range(len(frames) + 1)]
    stops, visible = "", False
    for number in range(len(frames)):
        if (number in numbers) != visible or number == 0:
            visible = number in numbers
            stops += f"{edges[number]:.2f}%{{visibility:{'visible' if visible else 'hidden'}}}"
    still = "" if 0 in numbers else ";visibility:hidden"
    return f"@keyframes {name}{{{stops}}}.{name}{{animation:{name} {total:.2f}s step-end infinite{still}}}"


_CELL, _LINE = 12.2, 24.4
"""Size of a cell in a screenshot."""
_ELEMENT = re.compile(
    r'<rect fill="(?P<fill>#\w+)" x="(?P<x>[\d.]+)" y="(?P<y>[\d.]+)" width="(?P<width>[\d.]+)"[^>]*/>'
    r'|<text class="[\w-]+-(?P<style>r\d+)" x="(?P<left>[\d.]+)" y="(?P<base>[\d.]+)" '
    r'textLength="(?P<length>[\d.]+)"[^>]*>(?P<text>.*?)</text>'
)


def _row_elements(frame: Frame, styles: dict[str, str], height: int) -> list[str]:
    """Return the elements of each row of a frame, and its caption. styles: style -> class, of all frames."""
    colours = dict(re.findall(r"\.terminal-\w+-(r\d+) { (.*?) }", frame.svg))
    rows: dict[int, str] = {}
    for found in _ELEMENT.finditer(frame.svg):
        row = int(float(found["y"] or found["base"]) // _LINE)
        if found["fill"]:
            place = f'x="{found["x"]}" y="{row * _LINE:g}" width="{found["width"]}"'
            element = f'<rect fill="{found["fill"]}" {place} height="24.6"/>'
        elif found["text"].replace("&#160;", ""):
            name = styles.setdefault(colours[found["style"]], f"c{len(styles)}")
            place = f'x="{found["left"]}" y="{found["base"]}" textLength="{found["length"]}"'
            element = f'<text class="{name}" {place}>{found["text"]}</text>'
        else:
            continue
        rows[row] = rows.get(row, "") + element
    caption = f'<text x="0" y="{(height + 1.6) * _LINE:g}" font-weight="bold">{escape(frame.caption)}</text>'
    return [*rows.values(), caption]


def _step(app: TuimonApp) -> int:
    return (app.run_shown.last_step or 0) if app.run_shown is not None else 0


def _text(app: TuimonApp) -> str:
    """Return the text of the screen."""
    return html.unescape(re.sub(r"<[^>]*>", "", app.export_screenshot())).replace("\xa0", " ")


def _self_contained(svg: str) -> str:
    """Return the picture without fonts from the network: the viewer's monospaced font is used."""
    svg = re.sub(r"@font-face\s*{[^}]*}", "", svg)
    return svg.replace("Fira Code, monospace", FONTS).replace("font-family: Fira Code", f"font-family: {FONTS}")


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    wanted = sys.argv[2:] or NAMES
    if {"tuimon", "zoom", "own", "texts"} & {*wanted}:
        asyncio.run(one_run(target, wanted))
    if {"runs", "over"} & {*wanted}:
        asyncio.run(many_runs(target, wanted))
    if "session" in wanted:
        asyncio.run(session(target))
