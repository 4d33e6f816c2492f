"""The settings of the run, its best checkpoint and its result as a tree: folded, searched, copied."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.events import Click, MouseScrollDown, MouseScrollUp
from textual.widgets import Input, Static

from tuimon.model.views import Role, Row, Span
from tuimon.panels.lists.settings import Setting, settings_tree, visible
from tuimon.store import Run, Snapshot
from tuimon.text import cell_width, clean, fit
from tuimon.tui.actions import Action
from tuimon.tui.bars import Line, key_spans
from tuimon.tui.box import Cells
from tuimon.tui.state import ViewState
from tuimon.tui.work_screen import WorkScreen

_WHEEL = 3
_WIDEST_NAME = 36


class ConfigScreen(WorkScreen):
    """A row a setting, with a line above that says whose they are, and one below for the keys."""

    WHERE = "config"
    AUTO_FOCUS = ""
    CSS = """
    ConfigScreen { background: ansi_default; layout: vertical; }
    #config-rows { height: 1fr; width: 1fr; }
    #config-filter-bar { height: 1; }
    #config-filter-prompt { width: auto; color: ansi_bright_blue; }
    #config-filter { height: 1; width: 1fr; border: none; padding: 0; background: ansi_default; color: ansi_default; }
    """

    def __init__(self, actions: tuple[Action, ...]) -> None:
        super().__init__(actions)
        self.query_text = ""
        self.shown: list[Setting] = []
        self._run: Run | None = None
        self._tree: tuple[Setting, ...] = ()
        self._folded: frozenset[tuple[str, ...]] = frozenset()
        self._cursor = self._top = 0
        self._said = ""
        self.head, self.message, self.keys = Line(), Line(), Line()
        self.pane = Cells()
        self.pane.id = "config-rows"
        self.filter_line = Input(id="config-filter", placeholder="words of names and values", compact=True)
        self.filter_bar = Horizontal(
            Static(" settings / ", id="config-filter-prompt", markup=False), self.filter_line, id="config-filter-bar"
        )
        self.message.display = self.filter_bar.display = False

    def compose(self) -> ComposeResult:
        yield from (self.head, self.pane, self.filter_bar, self.message, self.keys)

    def on_mount(self) -> None:
        self.call_after_refresh(self.tuimon.redraw)

    @property
    def setting(self) -> Setting | None:
        """The selected one."""
        return self.shown[self._cursor] if self._cursor < len(self.shown) else None

    def show(self, snapshot: Snapshot, state: ViewState, now: float) -> None:
        run = self.tuimon.run_shown
        if run is not self._run and run is not None:
            self._run, self._tree = run, settings_tree(run)
        self.shown = visible(self._tree, self._folded, self.query_text)
        self._cursor = max(0, min(self._cursor, len(self.shown) - 1))
        self.head.draw(self._head(), state.theme)
        self._draw_rows(state.theme)
        self.message.display = bool(self._said)
        self.message.draw(((f" i {clean(self._said)}", Role.ACCENT),), state.theme)
        self.keys.draw(key_spans(self.actions, self.keys.size.width), state.theme)

    def _draw_rows(self, theme: str) -> None:
        width, height = self.pane.size.width, self.pane.size.height
        if width < 2 or height < 1:
            return
        self._top = max(min(self._top, self._cursor, len(self.shown) - height), self._cursor - height + 1, 0)
        seen = self.shown[self._top : self._top + height]
        widest = max((2 * row.depth + cell_width(row.name) for row in seen if not row.branch), default=0)
        column = min(widest, _WIDEST_NAME, max(width // 2, 8))
        rows: list[Row] = []
        for number, setting in enumerate(seen):
            folded = not self.query_text and setting.path in self._folded
            rows.append(_row(setting, folded, self._top + number == self._cursor, column, width))
        if not rows:
            said = " no setting matches" if self.query_text else " the logs of this run tell no settings"
            rows = [((fit(said, width), Role.MUTED),)]
        blank: Row = ((" " * width, Role.MUTED),)
        self.pane.paint((*rows, *[blank] * (height - len(rows))), theme)

    def _head(self) -> Row:
        count = sum(not row.branch for row in self._tree)
        listed = sum(not row.branch for row in self.shown)
        name = clean(self._run.name) if self._run is not None else ""
        said: list[Span] = [(f" {name}", Role.TITLE), (f"  {count} setting{'s' if count != 1 else ''}", Role.TEXT)]
        if self.query_text:
            said += [(f", {listed} listed", Role.TEXT), (f"  /{clean(self.query_text)}", Role.ACCENT)]
        return tuple(said)

    # ------------------------------------------------------------------ what keys do

    def move(self, rows: int = 0, pages: int = 0) -> None:
        """Selects another row."""
        self._cursor += rows + pages * max(1, self.pane.size.height - 1)
        self._cursor = max(0, min(self._cursor, len(self.shown) - 1))
        self.tuimon.redraw()

    def fold(self) -> None:
        """The branch at the cursor, or the one that the setting is in, is folded or unfolded."""
        setting = self.setting
        if setting is None or self.query_text:
            return
        path = setting.path if setting.branch else setting.path[:-1]
        if path in self._folded:
            self._folded -= {path}
        elif path:
            self._folded |= {path}
            self._cursor = next((at for at, row in enumerate(self.shown) if row.path == path), self._cursor)
        self.tuimon.redraw()

    def begin_filter(self) -> None:
        """Opens the line in which a filter is typed."""
        self.filter_line.value = self.query_text
        self.filter_bar.display = True
        self.filter_line.focus()

    def go_back(self) -> bool:
        if not self.filter_bar.display and not self.query_text:
            return False
        self._end_filter("")
        return True

    def _end_filter(self, query: str) -> None:
        self.filter_bar.display = False
        self.set_focus(None)
        self.query_text = query
        self.tuimon.redraw()

    def say(self, message: str) -> None:
        self._said = message
        self.tuimon.redraw()

    def on_key(self, event: object) -> None:
        self._said = ""  # what the key before did

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.filter_bar.display:
            self.query_text = event.value
            self.tuimon.redraw()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._end_filter(event.value)

    def on_resize(self) -> None:
        self.call_after_refresh(self.tuimon.redraw)

    def on_click(self, event: Click) -> None:
        if event.widget is self.pane and self._top + event.y < len(self.shown):
            self._cursor = self._top + event.y
            if event.chain >= 2:
                self.fold()
            self.tuimon.redraw()

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        self.move(_WHEEL)

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        self.move(-_WHEEL)


def _row(setting: Setting, folded: bool, selected: bool, column: int, width: int) -> Row:
    """One row, `width` cells wide; values begin at a common column, where names leave it free."""
    sign = ("▌" if selected else " ", Role.ACCENT)
    indent = "  " * setting.depth
    if setting.branch:
        told = fit(f"{indent}{'▸' if folded else '▾'} {setting.name}", width - 1)
        return (sign, (told, Role.ACCENT if selected else Role.TITLE))
    name = f"{indent}{setting.name}"
    name = fit(name, max(column, min(cell_width(name), width - 3))) + "  "
    value = fit(setting.value, max(0, width - 1 - cell_width(name)))
    return (
        sign,
        (fit(name, min(cell_width(name), width - 1)), Role.MUTED),
        (value, Role.VALUE if selected else Role.TEXT),
    )
