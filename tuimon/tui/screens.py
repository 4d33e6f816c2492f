"""The screens above the dashboard: every key, and every alert, notice and file."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import Resize
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tuimon.draw.numbers import format_bytes, format_count
from tuimon.draw.rows import paragraph, row_width, sides
from tuimon.model.views import Role, Row, Span
from tuimon.store import Run, Snapshot
from tuimon.text import clean, fit, shown_path
from tuimon.tui.actions import Action, key_names
from tuimon.tui.bars import Line
from tuimon.tui.box import strip

_PAST = 20
"""Incidents that are over, of which the newest are told."""
_KEYS = (("Esc", "back"), ("↓ ↑", "move"), ("space b", "page"), ("g G", "ends"))


class Rows(ScrollView, can_focus=True):
    """Rows that can be scrolled by keys and wheel."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(("j,down", "scroll_down"), ("k,up", "scroll_up"), ("g,home", "scroll_home"), ("G,end", "scroll_end")),
        *(
            ("h,left", "scroll_left"),
            ("l,right", "scroll_right"),
            ("space,pagedown", "page_down"),
            ("b,pageup", "page_up"),
        ),
    ]

    def __init__(self, rows: Sequence[Row], theme: str, table: bool) -> None:
        super().__init__()
        self._whole = rows
        self._rows = rows
        self._theme = theme
        self._table = table

    def on_mount(self) -> None:
        self.focus()

    def on_resize(self, event: Resize) -> None:
        if not self._table:
            self._rows = [part for row in self._whole for part in wrapped(row, self.size.width)]
        self.virtual_size = Size(max(map(row_width, self._rows), default=0), len(self._rows))

    @property
    def where(self) -> str:
        """Which of the rows are on the screen; "" where all are."""
        top, room, count = self.scroll_offset.y, self.size.height, len(self._rows)
        return f"rows {top + 1}-{min(top + room, count)} of {count} " if count > room else ""

    def render_line(self, y: int) -> Strip:
        x, top = self.scroll_offset
        blank = strip(((" " * self.size.width, Role.TEXT),), self._theme)
        if top + y >= len(self._rows):
            return blank
        line = strip((*self._rows[top + y], (" ", Role.TEXT)), self._theme)
        return line.crop_extend(x, x + self.size.width, strip(((" ", Role.TEXT),), self._theme)._segments[0].style)


def wrapped(row: Row, width: int) -> list[Row]:
    """A row broken into lines of `width` cells, the later ones below the end of its first span, or of its blanks."""
    first, role = row[0] if row else ("", Role.TEXT)
    blanks = len(first) - len(first.lstrip())
    head, rest = ((first, role), row[1:]) if len(row) > 1 else ((first[:blanks], role), ((first[blanks:], role),))
    beside = row_width((head,))
    if row_width(row) <= width or beside * 2 > width:
        return [row]
    lines = paragraph(rest, width - beside, len(row_text(rest)))
    return [((head if not at else (" " * beside, role)), *line) for at, line in enumerate(lines)]


def row_text(row: Row) -> str:
    """Without its roles."""
    return "".join(text for text, _ in row)


class RowsScreen(ModalScreen[None]):
    """A full screen of rows above a line of keys; any of the leaving keys leaves it."""

    TABLE = False
    """Whether its rows are columns, so that long ones are moved, not broken."""

    CSS = """
    RowsScreen { background: ansi_default; align: left top; }
    Rows { background: ansi_default; width: 1fr; height: 1fr; padding: 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [("q,escape,question_mark,a", "app.pop_screen")]

    def __init__(self, rows: list[Row], theme: str) -> None:
        super().__init__()
        self.rows = rows
        self._theme = theme

    def compose(self) -> ComposeResult:
        self._pane, self._keys = Rows(self.rows, self._theme, self.TABLE), Line()
        yield from (self._pane, self._keys)

    def on_mount(self) -> None:
        for changes in ("scroll_y", "virtual_size", "size"):
            self.watch(self._pane, changes, self._draw_keys, init=False)

    def _draw_keys(self) -> None:
        where: Row = ((self._pane.where, Role.ACCENT),)
        keys: list[Span] = []
        for key, does in _KEYS:
            more: Row = (f" {key}", Role.ACCENT), (f" {does} ", Role.MUTED)
            if row_width((*keys, *more, *where)) >= self.size.width:
                break
            keys += more
        self._keys.draw(sides(keys, where, self.size.width), self._theme)


class HelpScreen(RowsScreen):
    """Every action, its keys, what it does."""

    def __init__(self, actions: tuple[Action, ...], theme: str) -> None:
        super().__init__(self._told(actions), theme)

    @staticmethod
    def _told(actions: tuple[Action, ...]) -> list[Row]:
        found: list[Row] = []
        for section, some in groupby(actions, key=lambda action: action.section):
            found += [((section, Role.TITLE),)]
            found += [((fit(key_names(a.keys), 16), Role.ACCENT), (a.help, Role.TEXT)) for a in some]
            found += [()]
        found += [
            (
                (
                    "Ctrl+p opens the palette with the same actions. Keys can be changed in config.toml, under [keys]:",
                    Role.MUTED,
                ),
            ),
            (("action = key. The actions: " + ", ".join(a.id for a in actions[:10]) + ",", Role.MUTED),),
            ((", ".join(a.id for a in actions[10:]) + ".", Role.MUTED),),
            (),
            (("Marks on a chart: ✗ NaN or infinity   ★ best checkpoint   ◇ checkpoint   △ evaluation", Role.MUTED),),
            (("⚑ alert   ┊ restart   │ cursor   ▲▼ beyond the limits   ◆ pinned", Role.MUTED),),
            (("Faint: raw values behind an average, what a restart superseded, min to max of a mean", Role.MUTED),),
        ]
        return found


class NotesScreen(RowsScreen):
    """Alerts, notices, and every file that is read."""

    def __init__(self, snapshot: Snapshot, run: Run | None, theme: str) -> None:
        super().__init__(self._told(snapshot, run), theme)

    @staticmethod
    def _told(snapshot: Snapshot, run: Run | None) -> list[Row]:
        found: list[Row] = [(("Alerts", Role.TITLE),)]
        for alert in snapshot.alerts:
            role = Role.CRITICAL if alert.severity == "critical" else Role.WARNING
            found.append(((f"  {clean(alert.message)}", role),))
            if alert.hint:
                found.append(((f"    {clean(alert.hint)}", Role.MUTED),))
        found += [((f"  over: {clean(alert.message)}", Role.MUTED),) for alert in snapshot.past[:_PAST]]
        if not snapshot.alerts:
            found.append((("  none stands", Role.GOOD),))
        found += [(), (("Notices", Role.TITLE),)]
        for notice in snapshot.notices:
            found.append(((f"  {clean(notice.message)}", Role.WARNING if notice.level != "info" else Role.TEXT),))
            if notice.hint:
                found.append(((f"    {clean(notice.hint)}", Role.MUTED),))
        if snapshot.watching is not None:
            found.append(((f"  growth is noticed by {clean(snapshot.watching.detail)}", Role.TEXT),))
        for number, one in enumerate(snapshot.runs):
            if run is not None and one.id != run.id and number > 20:
                continue
            found += [(), ((clean(one.name), Role.TITLE), (f"  {shown_path(one.path)}", Role.MUTED))]
            for stream in one.streams:
                status = stream.status
                state = status.state if status is not None else "waiting"
                bad = state in ("gone", "unreadable", "unsupported") or bool(status and status.damaged)
                said = [state, f"{format_count(stream.point_count)} points"]
                if status is not None:
                    said.append(format_bytes(status.size))
                    if status.damaged:
                        said.append(f"{status.damaged} damaged records skipped")
                    if status.message:
                        said.append(clean(status.message))
                found.append(
                    (
                        (f"  {fit(clean(stream.found.format), 14)}", Role.MUTED),
                        (f"{clean(stream.found.source)}  ", Role.TEXT),
                        (", ".join(said), Role.WARNING if bad else Role.MUTED),
                    )
                )
        return found
