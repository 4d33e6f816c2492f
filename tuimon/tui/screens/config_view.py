"""Config view: settings of the run, its best checkpoint and its result as a tree that can be folded and filtered."""

from __future__ import annotations

from collections.abc import Sequence

from textual.events import Click

from tuimon.draw.rows import wrap_row
from tuimon.model.views import Role, Row, Span
from tuimon.panels.lists.settings import SETTINGS_SOURCES, Setting, settings_tree, visible_rows
from tuimon.run_notes import NO_NOTE, note_of
from tuimon.store import Run, Snapshot
from tuimon.text import cell_width, clean, fit
from tuimon.tui.action import Action
from tuimon.tui.screens.table import Table, TableScreen
from tuimon.tui.state import ViewState

_WIDEST_NAME = 36
_NO_SETTINGS = f"no settings in the logs of this run; {SETTINGS_SOURCES}"


class SettingTable(Table):
    """Rows of settings."""

    DEFAULT_CSS = "SettingTable { height: 1fr; width: 1fr; }"
    HEADS = 0

    def __init__(self) -> None:
        super().__init__()
        self.settings: list[Setting] = []
        self._folded: frozenset[tuple[str, ...]] = frozenset()
        self._empty = self._theme_shown = ""

    @property
    def count(self) -> int:
        return len(self.settings)

    def show(self, settings: list[Setting], folded: frozenset[tuple[str, ...]], empty: str, theme: str) -> None:
        """Display settings. folded: paths of branches that are marked as folded; empty: text if there is no setting."""
        self.settings, self._folded, self._empty, self._theme_shown = settings, folded, empty, theme
        self.cursor = max(0, min(self.cursor, len(settings) - 1))
        self.draw()

    def draw(self) -> None:
        width, height = self.size
        if width < 2 or height < 1:
            return
        shown = [(self.settings[index], index == self.cursor) for index in self.scroll_to_cursor()]
        column = _value_column([row for row, _ in shown], width)
        rows = [_row(row, row.path in self._folded, selected, column, width) for row, selected in shown]
        self.paint_filled(rows or wrap_row(((f" {self._empty}", Role.MUTED),), width, height), self._theme_shown)


class ConfigScreen(TableScreen):
    """The settings of a run."""

    WHERE = "config"
    PROMPT = "settings"
    PLACEHOLDER = "words of names and values"

    def __init__(self, actions: tuple[Action, ...], run: Run) -> None:
        self.table = SettingTable()
        super().__init__(actions, self.table)
        self._run_id = run.id
        self._run: Run | None = None
        self._note = NO_NOTE
        self._tree: tuple[Setting, ...] = ()
        self._folded: frozenset[tuple[str, ...]] = frozenset()

    @property
    def shown(self) -> list[Setting]:
        """Settings that are listed."""
        return self.table.settings

    @property
    def setting(self) -> Setting | None:
        """Selected setting, or None if no setting is listed."""
        return self.shown[self.table.cursor] if self.table.cursor < len(self.shown) else None

    def show(self, snapshot: Snapshot, state: ViewState, now: float) -> None:
        run = next((run for run in snapshot.runs if run.id == self._run_id), None)
        note = note_of(run.path) if run is not None else NO_NOTE
        if run is not None and (run is not self._run or note is not self._note):
            self._run, self._note, self._tree = run, note, settings_tree(run, note)
        settings = visible_rows(self._tree, self._folded, self.query_text)
        folded = frozenset() if self.query_text else self._folded
        empty = f"no setting matches {clean(self.query_text)}: Esc shows all" if self.query_text else _NO_SETTINGS
        self.table.show(settings, folded, empty, state.theme)
        self.draw_lines(self._head(), state.theme)

    def _head(self) -> Row:
        count = sum(not row.branch and row.path[0] == "config" for row in self._tree)
        listed = sum(not row.branch for row in self.shown)
        name = clean(self._run.name) if self._run is not None else ""
        spans: list[Span] = [(f" {name}", Role.TITLE), (f"  {count} setting{'s' if count != 1 else ''}", Role.TEXT)]
        if self.query_text:
            spans += [(f", {listed} listed", Role.TEXT), (f"  /{clean(self.query_text)}", Role.ACCENT)]
        return tuple(spans)

    def fold(self) -> None:
        """Fold or unfold the selected branch, or the branch that contains the selected setting."""
        setting = self.setting
        if setting is None or self.query_text:
            return
        path = setting.path if setting.branch else setting.path[:-1]
        if path in self._folded:
            self._folded -= {path}
        elif path:
            self._folded |= {path}
            branch = (index for index, row in enumerate(self.shown) if row.path == path)
            self.table.cursor = next(branch, self.table.cursor)
        self.dashboard.redraw()

    def on_click(self, event: Click) -> None:
        index = self.table.top + event.y
        if event.widget is self.table and index < len(self.shown):
            self.table.move(index - self.table.cursor)
            if event.chain >= 2:
                self.fold()


def _value_column(settings: Sequence[Setting], width: int) -> int:
    """Return the column at which values begin, if the name before them is not longer."""
    widest = max((2 * row.depth + cell_width(row.name) for row in settings if not row.branch), default=0)
    return min(widest, _WIDEST_NAME, max(width // 2, 8))


def _row(setting: Setting, folded: bool, selected: bool, column: int, width: int) -> Row:
    """Return a row of `width` cells."""
    sign = ("▌" if selected else " ", Role.ACCENT)
    indent = "  " * setting.depth
    if setting.branch:
        text = fit(f"{indent}{'▸' if folded else '▾'} {setting.name}", width - 1)
        return (sign, (text, Role.ACCENT if selected else Role.TITLE))
    name = f"{indent}{setting.name}"
    name = fit(name, max(column, min(cell_width(name), width - 3))) + "  "
    value = fit(setting.value, max(0, width - 1 - cell_width(name)))
    return (
        sign,
        (fit(name, min(cell_width(name), width - 1)), Role.MUTED),
        (value, Role.VALUE if selected else Role.TEXT),
    )
