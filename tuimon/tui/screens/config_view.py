"""Config view: settings of the run, its best checkpoint and its result as a tree that can be folded and filtered."""

from __future__ import annotations

from collections.abc import Sequence

from tuimon.draw.table import KEPT, Column, cursor_sign
from tuimon.model.views import Role, Row, Span
from tuimon.panels.lists.settings import SETTINGS_SOURCES, Setting, settings_tree, visible_rows
from tuimon.run_notes import NO_NOTE, note_of
from tuimon.store import Run, Snapshot
from tuimon.text import clean, fit
from tuimon.tui.action import Action
from tuimon.tui.screens.table import Table, TableScreen
from tuimon.tui.state import ViewState

_WIDEST_NAME = 36
_NO_SETTINGS = f"no settings in the logs of this run; {SETTINGS_SOURCES}"


class SettingTable(Table[Setting]):
    """Names of settings and their values; branches are headings."""

    def __init__(self) -> None:
        super().__init__()
        self.folded: frozenset[tuple[str, ...]] = frozenset()
        """Paths of branches that are marked as folded."""

    def key(self, item: Setting) -> tuple[str, ...]:
        return item.path

    def heading(self, item: Setting, selected: bool) -> Row | None:
        if not item.branch:
            return None
        sign = "▸" if item.path in self.folded else "▾"
        text = f"{'  ' * item.depth}{sign} {item.name}"
        return cursor_sign(selected, self.symbols), (text, Role.ACCENT if selected else Role.TITLE)


_COLUMNS: tuple[Column[Setting], ...] = (
    Column(
        "name",
        "",
        lambda setting: setting.path,
        lambda setting, width: ((fit(f"{'  ' * setting.depth}{setting.name}", width).rstrip(), Role.MUTED),),
        *(8, KEPT),
        most=_WIDEST_NAME,
        right=False,
    ),
    Column(
        "value",
        "",
        lambda setting: setting.value,
        lambda setting, width: ((fit(setting.value, width).rstrip(), Role.TEXT),),
        *(8, KEPT),
        most=1 << 12,
        fills=True,
        right=False,
    ),
)


class ConfigScreen(TableScreen[Setting]):
    """The settings of a run."""

    WHERE, OPENS = "config", "fold"
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
    def shown(self) -> Sequence[Setting]:
        """Settings that are listed."""
        return self.table.items

    @property
    def setting(self) -> Setting | None:
        """Selected setting, or None if no setting is listed."""
        return self.table.selected

    def show(self, snapshot: Snapshot, state: ViewState, now: float) -> None:
        run = next((run for run in snapshot.runs if run.id == self._run_id), None)
        note = note_of(run.path) if run is not None else NO_NOTE
        if run is not None and (run is not self._run or note is not self._note):
            self._run, self._note, self._tree = run, note, settings_tree(run, note)
        settings = visible_rows(self._tree, self._folded, self.query_text)
        folded = frozenset() if self.query_text else self._folded
        empty = f"no setting matches {clean(self.query_text)}: Esc shows all" if self.query_text else _NO_SETTINGS
        if folded != self.table.folded:
            self.table.folded = folded
            self.table.forget_rows()
        self.table.empty = ((f" {empty}", Role.MUTED),)
        self.table.show_items(settings, _COLUMNS, self.order, state.symbols, state.theme)
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
            self.table.select(path)
        self.dashboard.redraw()

    def open(self) -> None:
        """Fold or unfold the selected branch, or the branch that contains the selected setting."""
        self.fold()

    def copied(self) -> tuple[str, str] | None:
        """Return the value of the selected setting."""
        setting = self.setting
        if setting is None or setting.branch:
            return None
        return setting.value, f"{'.'.join(setting.path[1:])}: {setting.value}"
