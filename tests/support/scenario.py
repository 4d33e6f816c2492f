"""Scenarios: keys that are pressed in the dashboard, and what must hold after them, as rows of a table.

A row is `keys | condition | condition`, and all its conditions must come to hold. Without keys it waits for something
else. The keys are names or characters, `+*4` is a key four times, and `"text"` is typed letter by letter.

- `text` is on the screen, maybe wrapped, or `/expression/` is found there; `not text` is not.
- `field = value` and `field ~ part` read a field: one of FIELDS, or attributes of the application (`state.order`).
- `:name arguments` in place of keys does something else, see ACTS. A row that begins with # is a comment.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

from textual.events import MouseScrollDown, MouseScrollUp
from textual.geometry import Offset
from textual.keys import _character_to_key
from textual.pilot import Pilot
from textual.widget import Widget

from support.dashboard import copied, strips, text
from support.written_texts import write_step
from tuimon.store import Run
from tuimon.text import cell_width
from tuimon.tui.actions import all_actions, explore
from tuimon.tui.app import TuimonApp
from tuimon.tui.arrangement import Heading

SECONDS = 60
SIZES = [(1, 1), (2, 2), (3, 1), (5, 3), (7, 20), (12, 4), (26, 5), (40, 12), (300, 4), (161, 31)]
LISTS = {where for action in all_actions() for where in action.where} - {"dashboard"}
UNSAFE = {*"\x1b\u202e\u2028\u200b\x07\r"}
"""Characters of logs that must reach neither the screen nor the clipboard."""
_KEY = re.compile(r'"([^"]*)"|(\S+?)(?:\*(\d+))?(?=\s|$)')
_FIELD = re.compile(r"([a-z_]+(?:\.[a-z_]+)*)(?:\((.*?)\))? (=|~)(?: (.*))?")


class Player:
    """Plays the rows of one scenario on a running application."""

    def __init__(self, app: TuimonApp, pilot: Pilot[None], root: Path) -> None:
        """root: directory that the rows name files of."""
        self.app, self.pilot, self.root = app, pilot, root
        self.done: set[str] = set()
        """Actions whose key was pressed on a screen that has them, or that were done by name."""
        self.written: list[str] = []
        """What the application has written to the terminal by itself, such as a copied text."""
        app.write = self.written.append  # type: ignore[method-assign]

    async def play(self, steps: str) -> None:
        for row in map(str.strip, steps.splitlines()):
            if not row or row.startswith("#"):
                continue
            act, *conditions = [cell.strip() for cell in re.split(r"(?:^|\s)\|(?:\s|$)", row)]
            if re.match(":[a-z]", act):
                name, _, argument = act[1:].partition(" ")
                await ACTS[name](self, argument)
            else:
                await self._press(act)
            await self._wait(row, conditions)

    async def _press(self, keys: str) -> None:
        for typed, key, count in _KEY.findall(keys):
            if not key:
                await self.pilot.press(*typed)
            for _ in range(int(count or 1) if key else 0):
                self.done |= self._actions_of(_character_to_key(key) if len(key) == 1 else key)
                await self.pilot.press(key)
                await self._drawn()

    async def _drawn(self) -> None:
        """Wait until the topmost screen has been drawn, so that its keys have something to do."""
        end = asyncio.get_running_loop().time() + SECONDS
        await self.pilot._wait_for_screen()
        while place(self.app) in LISTS and self.app.size.width > 20 and not text(self.app).splitlines()[0].strip():
            assert asyncio.get_running_loop().time() < end, place(self.app)
            await self.pilot.pause(0.01)

    def _actions_of(self, key: str) -> set[str]:
        where = place(self.app)
        return {a.id for a in self.app.actions if where in a.where and key in a.keys.split(",")}

    async def _wait(self, row: str, conditions: list[str]) -> None:
        end = asyncio.get_running_loop().time() + SECONDS
        await self._drawn()
        while failed := [condition for condition in conditions if not self._holds(condition)]:
            said = "; ".join(f"{condition} ({self._value_of(condition)})" for condition in failed)
            assert asyncio.get_running_loop().time() < end, f"after {row!r}: {said}\n{text(self.app)}"
            await self.pilot.pause(0.03)

    def _holds(self, condition: str) -> bool:
        if condition.startswith("not "):
            return not self._holds(condition[4:])
        if found := self._field_in(condition):
            value, wanted = self._value_of(condition).strip(), (found[4] or "").strip()
            return value == wanted if found[3] == "=" else wanted in value
        shown = text(self.app)
        joined = " ".join(shown.split())
        if condition.startswith("/") and condition.endswith("/") and len(condition) > 2:
            return re.search(condition[1:-1], joined) is not None
        return condition in shown or condition in joined

    def _field_in(self, condition: str) -> re.Match[str] | None:
        found = _FIELD.fullmatch(condition)
        return found if found and (found[1] in FIELDS or hasattr(self.app, found[1].split(".")[0])) else None

    def _value_of(self, condition: str) -> str:
        """Return the value of the field that a condition names as text, or "" if it names none."""
        found = self._field_in(condition.removeprefix("not "))
        if not found:
            return ""
        try:
            if found[1] in FIELDS:
                return self._words(FIELDS[found[1]](self, *([found[2]] if found[2] is not None else [])))
            return self._words(reduce(getattr, found[1].split("."), self.app))
        except (AttributeError, LookupError, StopIteration) as error:  # not there, or not yet
            return repr(error)

    def _words(self, value: Any) -> str:
        if isinstance(value, tuple | list):
            return ", ".join(map(self._words, value))
        if isinstance(value, Run):
            return value.name.rpartition("/")[2]
        if isinstance(value, float):
            return f"{value:g}"
        return str(value).replace(f"{self.root}/", "")


def place(app: TuimonApp) -> str:
    """Return the name of the topmost screen as the column `where` of the actions has it."""
    below = len(app.screen_stack) == 1
    return "dashboard" if below else str(getattr(app.screen, "WHERE", type(app.screen).__name__.lower()))


def actions_of(section: str) -> set[str]:
    """Return the actions of a section on the dashboard, or those of another screen that not every screen has."""
    own = {a.id for a in all_actions() if a.where == (section,) or (a.section == "Movement" and section in a.where)}
    every = {a.id for a in all_actions() if len(a.where) > 7}
    return own - every or {a.id for a in all_actions() if a.section == section and "dashboard" in a.where}


def _view(player: Player) -> Any:
    return explore.chart(player.app)


def _selected(player: Player) -> Any:
    app = player.app
    if place(app) == "dashboard":
        return app.board.panel.title if app.board.panel else ""
    return app.run_selected if place(app) == "runs" else app.screen.table.selected  # type: ignore[attr-defined]


def _listed(player: Player) -> list[Any]:
    table = player.app.screen.table  # type: ignore[attr-defined]
    return list(table.runs if place(player.app) == "runs" else table.items)


def _line(player: Player, part: str) -> str:
    return next(line for line in text(player.app).splitlines() if part in line)


def _panels(player: Player) -> list[str]:
    panels = player.app.board.panels
    return [f"{'▸' if p.folded else '▾'} {p.title}" if isinstance(p, Heading) else p.title for p in panels]


def _symbols(player: Player) -> str:
    """Return what the charts are drawn with."""
    charts = "".join(text(player.app).splitlines()[2:-1])
    return "braille" if any("\u2800" < c <= "\u28ff" for c in charts) else "ascii" if charts.isascii() else "block"


def _saved(player: Player, pattern: str) -> int:
    path = next(Path.cwd().glob(pattern))
    return len(path.read_text("utf-8").splitlines())


def _copied(player: Player, line: str = "") -> str:
    """Return the text that was copied last, or a line of it with blanks for tabs."""
    whole = copied(player.written[-1]).rstrip("\n")
    return whole.splitlines()[int(line)].replace("\t", " ") if line else whole


def _first_entry(player: Player) -> str:
    titles = (line.strip() for line in text(player.app).splitlines() if re.fullmatch(r"\s*[a-z: ]+ \(.+\)\s*", line))
    return next(titles)


FIELDS: dict[str, Callable[..., Any]] = {
    "screen": lambda player: place(player.app),
    "run": lambda player: player.app.run_shown,
    "selected": _selected,
    "listed": _listed,
    "at": lambda player: player.app.screen.table.cursor,
    "line": _line,
    "head": lambda player: text(player.app).splitlines()[0],
    "foot": lambda player: text(player.app).splitlines()[-1],
    "panel": lambda player: player.app.board.panel.title,
    "panels": _panels,
    "zoomed": lambda player: player.app.board.zoomed,
    "cursor": lambda player: player.app.state.options.cursor,
    "x": lambda player: f"{_view(player).x.low:g} to {_view(player).x.high:g}",
    "y": lambda player: f"{_view(player).y.low:g} to {_view(player).y.high:g}",
    "width": lambda player: _view(player).x.high - _view(player).x.low,
    "height": lambda player: _view(player).y.high - _view(player).y.low,
    "reading": lambda player: float("".join(part for part, _ in _view(player).headline).split()[0]),
    "curves": lambda player: ["behind" if line.behind else "curve" for line in _view(player).lines],
    "copied": _copied,
    "saved": _saved,
    "read": lambda player: player.app.monitor.snapshot().runs[0].last_step,
    "entry": _first_entry,
    "widths": lambda player: sorted({cell_width(line.text) for line in strips(player.app)}),
    "unsafe": lambda player: sorted(UNSAFE & {*text(player.app), *"".join(map(copied, player.written[-1:]))}),
    "alerts": lambda player: [alert.rule for alert in player.app.snapshot.alerts],
    "overlaid": lambda player: [len(over.runs) for over in player.app.options.overlay],
    "few_rendered": lambda player: 0 < len(player.app.screen.table._cache) <= 3 * player.app.screen.table.room,
    "symbols": _symbols,
    "is_ascii": lambda player: text(player.app).isascii(),
    "notices": lambda player: [f"{notice.level}: {notice.message}" for notice in player.app.snapshot.notices],
    "here": lambda player: player.app.screen.page.line.text.rstrip(),
}
"""Name → value, which is compared as text. An argument is in brackets: `line(name) ~ part`."""


async def _append(player: Player, argument: str) -> None:
    name, _, line = argument.partition(" ")
    with (player.root / name).open("a") as file:
        file.write(line + "\n")


async def _write(player: Player, argument: str) -> None:
    name, _, line = argument.partition(" ")
    (player.root / name).parent.mkdir(parents=True, exist_ok=True)
    (player.root / name).write_text(line + "\n")


async def _texts(player: Player, argument: str) -> None:
    run, *steps = argument.split()
    for step in steps:
        write_step(player.root / run, int(step))


async def _resize(player: Player, argument: str) -> None:
    await player.pilot.resize_terminal(*map(int, argument.split("x")))


async def _sizes(player: Player, _: str) -> None:
    """Show the screen at many sizes; an exception while it is drawn ends the application."""
    width, height = player.app.size
    for size in SIZES:
        await player.pilot.resize_terminal(*size)
        await player.pilot.press("down")
        assert len(text(player.app).splitlines()) <= size[1], size
    await player.pilot.resize_terminal(width, height)


async def _do(player: Player, argument: str) -> None:
    player.app.action_do(argument)
    player.done.add(argument)


def _at(player: Player, argument: str) -> tuple[Widget, tuple[int, int]]:
    """Return the widget at "10,3", or at "step,3", where that line has the word, and the place in it."""
    x, y = argument.split(",")
    cell = Offset(int(x) if x.isdecimal() else text(player.app).splitlines()[int(y)].index(x), int(y))
    widget, region = player.app.screen.get_widget_at(*cell)
    return widget, tuple(cell - region.offset)  # type: ignore[return-value]


async def _click(player: Player, argument: str) -> None:
    cell, _, times = argument.partition(" ")
    await player.pilot.click(*_at(player, cell), times=int(times or 1))


async def _wheel(player: Player, argument: str) -> None:
    way, cell, *count = argument.split()
    kind = MouseScrollUp if way == "up" else MouseScrollDown
    for _ in range(int(*count or ["1"])):
        await player.pilot._post_mouse_events([kind], *_at(player, cell))


async def _drag(player: Player, argument: str) -> None:
    begin, end = argument.split()
    await player.pilot.mouse_down(*_at(player, begin))
    await player.pilot.hover(*_at(player, end))
    await player.pilot.mouse_up(*_at(player, end))


async def _say(player: Player, argument: str) -> None:
    player.app.say(argument)
    player.app.redraw()


async def _remove(player: Player, argument: str) -> None:
    (player.root / argument).unlink()


ACTS = {
    "append": _append,  # FILE LINE
    "write": _write,  # FILE LINE
    "remove": _remove,  # FILE
    "texts": _texts,  # RUN STEP …
    "resize": _resize,  # WIDTHxHEIGHT
    "sizes": _sizes,
    "do": _do,  # ID of an action
    "say": _say,  # MESSAGE
    "click": _click,  # X,Y TIMES; WORD,Y
    "wheel": _wheel,  # up X,Y TIMES
    "drag": _drag,  # X,Y X,Y
}
"""Name → what it does with its arguments."""
