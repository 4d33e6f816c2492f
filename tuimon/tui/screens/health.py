"""Health of the runs: alerts, notices, and every file that is read; the settings of one run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tuimon.analysis.aligned_steps import step_name
from tuimon.analysis.attempts import attempts_of
from tuimon.analysis.hidden_values import hidden_conflict
from tuimon.analysis.log_files import unread_parts
from tuimon.draw.table import table_rows
from tuimon.model.alerts import SEVERITIES, Alert
from tuimon.model.views import Role, Row
from tuimon.panels import plural
from tuimon.panels.lists.files_table import files_table
from tuimon.panels.lists.run_selection import count_alerts
from tuimon.panels.lists.settings import SETTINGS_SOURCES, Setting, settings_tree, visible_rows
from tuimon.run_notes import RunNote, note_of
from tuimon.store import Run, Snapshot
from tuimon.text import cell_width, clean, fit, local_time, shown_path
from tuimon.tui.action import Action
from tuimon.tui.screens.lines import Entry, LinesScreen
from tuimon.tui.state import ViewState

_RESOLVED = 20
"""Number of resolved alerts that are listed, the newest."""
_RUNS = 20
"""Number of runs whose files are listed, besides the run that is shown."""
_COMPARED_METRICS = 1000
"""Maximum number of metrics whose files are compared for the list."""
_ATTEMPTS, _NAME, _BESIDE = 20, 28, 46
"""Number of attempts that are listed, the last ones, least cells of the names of files, and those of the columns beside
them."""
_WIDEST_NAME = 36
_NO_SETTINGS = f"no settings in the logs of this run; {SETTINGS_SOURCES}"
_ROLES = {"critical": Role.CRITICAL, "warning": Role.WARNING, "info": Role.MUTED}


Target = Alert | Setting


class HealthScreen(LinesScreen[Target]):
    """Alerts, notices and files, or the settings of one run; Enter opens the run of an alert at its step, or folds."""

    WHERE = "health"
    PROMPT = "lines"
    PLACEHOLDER = "words of a line: nan, a run, a file, a setting"

    def __init__(self, actions: tuple[Action, ...], run: Run | None, section: str = "alerts") -> None:
        """run: the one whose settings are listed. section: "alerts" or "settings"."""
        super().__init__(actions)
        self.view = section
        self._run_id = run.id if run is not None else None
        self._entries: list[Entry[Target]] = []
        self._made_from: tuple[object, ...] = ()
        self._tree: tuple[Setting, ...] = ()
        self._folded: frozenset[tuple[str, ...]] = frozenset()

    @property
    def shows(self) -> str:
        return "settings" if self.view == "settings" else self.WHERE

    @property
    def alert(self) -> Alert | None:
        """Selected alert, or None."""
        return self.table.target if isinstance(self.table.target, Alert) else None

    @property
    def setting(self) -> Setting | None:
        """Selected setting, or None."""
        return self.table.target if isinstance(self.table.target, Setting) else None

    def show(self, snapshot: Snapshot, state: ViewState, now: float) -> None:
        run = next((run for run in snapshot.runs if run.id == self._run_id), None)
        if self.view == "settings" and run is not None:
            self._make(self._setting_entries, run, note_of(run.path), self._folded, self.query_text, self.size.width)
            count = sum(not row.branch and row.path[0] == "config" for row in self._tree)
            self.draw_entries(self._entries, f"{clean(run.name)}  {plural(count, 'setting')}", state.theme)
            return
        shown = self.app.run_shown

        def entries(*_: object) -> list[Entry[Target]]:
            return _filtered(list(note_entries(snapshot, shown, self.size.width)), self.query_text)

        begins = self._made_from[:1] != (self.view,)
        self._make(entries, snapshot.version, shown, self.query_text, self.size.width)
        if begins and snapshot.alerts:
            self.table.cursor = 1
        self.draw_entries(self._entries, _title(snapshot), state.theme)

    def _make(self, make: Callable[..., list[Entry[Target]]], *inputs: object) -> None:
        """Make the entries of the section again if their inputs have changed; equal ones stay the same object."""
        if self._made_from != (self.view, *inputs):
            self._made_from = self.view, *inputs
            made = make(*inputs)
            self._entries = self._entries if made == self._entries else made

    def _setting_entries(
        self, run: Run, note: RunNote, folded: frozenset[tuple[str, ...]], query: str, width: int
    ) -> list[Entry[Target]]:
        """Return a line for each setting and each branch that is not folded away."""
        self._tree = settings_tree(run, note)
        shown = visible_rows(self._tree, folded, query)
        if not shown:
            empty = f"No setting contains {clean(query)}; Esc shows all" if query else _NO_SETTINGS
            return [Entry(((f" {empty}", Role.MUTED),))]
        names = [f"{'  ' * setting.depth}{setting.name}" for setting in shown]
        leaves = [cell_width(name) for name, setting in zip(names, shown, strict=True) if not setting.branch]
        cells = min(max(leaves, default=0), _WIDEST_NAME, max(width // 2 - 2, 1))
        return [
            Entry(_setting_row(setting, name, cells, setting.path in folded and not query), setting, setting.path)
            for name, setting in zip(names, shown, strict=True)
        ]

    def next_part(self, by: int) -> None:
        """Show the settings instead of the alerts, or the other way round."""
        self.view = "alerts" if self.view == "settings" else "settings"
        self.query_text, self.table.cursor = "", 0

    def fold(self) -> None:
        """Fold or unfold the selected branch of settings, or the branch that contains the selected setting."""
        setting = self.setting
        if setting is None or self.query_text:
            return
        path = setting.path if setting.branch else setting.path[:-1]
        self._folded ^= {path} if path else set()
        self.table.select(path)

    def open(self) -> None:
        """Show the run of the selected alert at its step, or fold settings."""
        if (alert := self.alert) is not None:
            self.app.show_alert(alert)
        elif self.view == "settings":
            self.fold()
        else:
            self.say("Select an alert: it opens its run at its step")

    def copied(self) -> tuple[str, str] | None:
        """Return the value of the selected setting, or the selected alert: its run, its message and its advice."""
        alert, setting = self.alert, self.setting
        if setting is not None and not setting.branch:
            return setting.value, f"{'.'.join(setting.path[1:])}: {setting.value}"
        if alert is None:
            return None
        run = next((run for run in self.app.snapshot.runs if run.id == alert.run), None)
        name = f"{run.name} ({run.path}): " if run is not None else ""
        lines = (name + alert.message, alert.hint)
        return "\n".join(clean(line, 1 << 14) for line in lines if line), "the alert"


def _setting_row(setting: Setting, name: str, cells: int, folded: bool) -> Row:
    if setting.branch:
        sign = "▸" if folded else "▾"
        return ((f"{'  ' * setting.depth}{sign} {setting.name}", Role.TITLE),)
    return (f"{fit(name, cells)}  ", Role.MUTED), (setting.value, Role.TEXT)


def _title(snapshot: Snapshot) -> str:
    counts = count_alerts(snapshot.alerts)
    informations = len(snapshot.alerts) - sum(counts.values())
    title = f"{plural(sum(counts.values()), 'active alert')} in {plural(len(counts), 'run')}" if counts else ""
    more = f", {informations} info" if informations else ""
    if snapshot.is_reading:
        reading = f"{plural(len(snapshot.runs), 'run')} still being read"
        return f"{title}{more}, {reading}" if title else reading
    if snapshot.unchecked:
        return f"{title or 'No active alerts'} so far{more}, {plural(snapshot.unchecked, 'run')} still to check"
    return f"{title or 'No active alerts'}{more}"


def _filtered(entries: list[Entry[Target]], query: str) -> list[Entry[Target]]:
    """Return the entries that have all words of a query, in their row or in the whole name of their file."""
    words = query.lower().split()
    if not words:
        return entries
    matching = [entry for entry in entries if all(word in _text_of(entry) for word in words)]
    return matching or [Entry(((f"No line contains {clean(query)}; Esc shows all lines", Role.MUTED),))]


def _text_of(entry: Entry[Target]) -> str:
    source = entry.key[2:] if isinstance(entry.key, tuple) else ()  # the key of a file is (run, format, source)
    return " ".join(("".join(text for text, _ in entry.row), *source)).lower()


def note_entries(snapshot: Snapshot, shown: Run | None, width: int = 200) -> Iterator[Entry[Target]]:
    """Yield the lines: alerts, the most severe first, with the names of their runs; notices; files.

    shown: the run that is shown, whose alerts come first among those of the same severity. width: cells of the screen.
    """
    of_alerts = {run.id: clean(run.name) for run in snapshot.runs}
    names = of_alerts if len(snapshot.runs) > 1 else {}
    keys = "   Enter opens the run at the step, L its log, w what changed with it"
    yield Entry((("Alerts", Role.TITLE), (keys, Role.MUTED)))
    for alert in sorted(snapshot.alerts, key=lambda alert: _urgency(alert, shown)):
        yield from _alert(alert, of_alerts)
    for alert in snapshot.resolved[:_RESOLVED]:
        name = f"{of_alerts[alert.run]}: " if alert.run in of_alerts else ""
        yield Entry(((f"  resolved: {name}{clean(alert.message)}", Role.MUTED),), alert, alert.key)
    if not snapshot.alerts and snapshot.is_reading:
        yield Entry((("  none is known before the logs have been read", Role.MUTED),))
    elif not snapshot.alerts and snapshot.unchecked:
        yield Entry((("  no active alerts so far", Role.MUTED),))
    elif not snapshot.alerts:
        yield Entry((("  no active alerts", Role.GOOD), ("; [[rules]] in config.toml adds your own", Role.MUTED)))
    yield Entry(())
    yield Entry((("Notices", Role.TITLE),))
    for notice in snapshot.notices:
        yield Entry(((f"  {clean(notice.message)}", Role.WARNING if notice.level != "info" else Role.TEXT),))
        if notice.hint:
            yield Entry(((f"    {clean(notice.hint)}", Role.MUTED),))
    if shown is not None:
        name = f"{names[shown.id]}: " if shown.id in names else ""
        if unread := unread_parts(shown):
            yield Entry(((f"  {name}not read: {unread}", Role.TEXT),), key=(shown.id, "unread"))
    for run in snapshot.runs:
        if run.ranks is not None and run.ranks.restart:
            name = f"{names[run.id]}: " if run.id in names else ""
            restart = clean(run.ranks.restart)
            row = (f"  {name}{restart}", Role.WARNING), ("   R shows the ranks", Role.MUTED)
            yield Entry(row, key=(run.id, "restart"))
    if snapshot.watching is not None:
        yield Entry(((f"  new data is detected by {clean(snapshot.watching.detail)}", Role.TEXT),))
    for number, run in enumerate(snapshot.runs):
        if number <= _RUNS or shown is None or run.id == shown.id:
            yield Entry(())
            yield Entry(((clean(run.name), Role.TITLE), (f"  {shown_path(run.path)}", Role.MUTED)))
            yield from _files(run, width)
            if shown is not None and run.id == shown.id:
                yield from _attempts(run)
            if shown is not None and run.id == shown.id and (conflict := _conflict(run)):
                yield Entry(((f"  {conflict}", Role.WARNING),), key=(run.id, "conflict"))


def _urgency(alert: Alert, shown: Run | None) -> tuple[int, bool, int, int]:
    step = alert.step if alert.step is not None else -1
    return -SEVERITIES.index(alert.severity), shown is None or alert.run != shown.id, alert.run, step


def _alert(alert: Alert, names: Mapping[int, str]) -> Iterator[Entry[Target]]:
    role = _ROLES[alert.severity]
    head: Row = ((f"  {names[alert.run]}  ", Role.TITLE),) if alert.run in names else (("  ", role),)
    yield Entry((*head, (clean(alert.message), role)), alert, alert.key)
    if alert.hint:
        yield Entry(((f"    {clean(alert.hint)}", Role.MUTED),), alert, (alert.key, "hint"))


def _conflict(run: Run) -> str:
    """Return how many values conflict, or where to find it if there are too many metrics to compare them here."""
    if len(run.metrics) > _COMPARED_METRICS:
        return "too many metrics to compare files here: tuimon doctor counts values that conflict"
    return hidden_conflict(run)


def _files(run: Run, width: int) -> Iterator[Entry[Target]]:
    """Yield the table of the files of a run. Their keys have the whole names."""
    table = files_table(run)
    sources = next((column.cells for column in table.columns if column.head == "source"), ())
    keys = [(table.head,), *zip(table.names, sources, strict=True)]
    for row, key in zip(table_rows(table, max(_NAME, width - _BESIDE)), keys, strict=False):  # no head without rows
        yield Entry(row, key=(run.id, *key))


def _attempts(run: Run) -> Iterator[Entry[Target]]:
    """Yield a row for each attempt of a training that has a file of its own: its steps, and how it ended."""
    attempts = attempts_of(run)
    for attempt in attempts[-_ATTEMPTS:]:
        begin = local_time(attempt.begin, "%m-%d %H:%M")
        facts = (
            f"since {begin}" if begin else "",
            "" if attempt.resumed_from is None else f"resumed from {attempt.resumed_from}",
            f"{plural(attempt.superseded, 'logged step')} superseded" if attempt.superseded else "",
            clean(attempt.end),
        )
        row = (
            (f"    {fit(clean(attempt.name), _NAME)}  ", Role.TEXT),
            (f"{step_name(run)}s {attempt.first_step} to {attempt.last_step}", Role.TEXT),
            ("".join(f", {fact}" for fact in facts if fact), Role.MUTED),
        )
        yield Entry(row, key=(run.id, attempt.name))
    if len(attempts) > _ATTEMPTS:
        yield Entry(((f"    and {len(attempts) - _ATTEMPTS} earlier files", Role.MUTED),))
