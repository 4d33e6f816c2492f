"""View of the ranks of a job: the verdict, the ranks as a table, as nodes or as a map, and the evidence about one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tuimon.analysis.attempts import lost_work
from tuimon.analysis.progress_inputs import progress_of
from tuimon.draw.numbers import format_bytes, format_duration
from tuimon.draw.rows import fit_row, wrap_row
from tuimon.draw.table import cursor_sign
from tuimon.model.views import Role, Row, Rows, Span, Symbols
from tuimon.panels import plural
from tuimon.panels.lists import rank_rows
from tuimon.panels.lists.rank_rows import QUANTITIES, Grid
from tuimon.store import Run, Snapshot
from tuimon.text import clean
from tuimon.tui.action import Action
from tuimon.tui.screens.table import TableScreen
from tuimon.tui.screens.work_screen import head_of
from tuimon.tui.state import ViewState
from tuimon.tui.table import Click, Table

if TYPE_CHECKING:
    from tuimon.model.ranks import JobRanks, RankRow

_MOST_IN_TABLE = 128
"""Ranks up to which the table is shown at first, and from which on the map is."""
_VERDICT_ROWS, _MOST_VERDICT_ROWS = 2, 8
"""Rows of the verdict at most: in a small window, and where all ranks fit below it."""
_EVIDENCE_ROWS = 5
_LEAST_BODY = 6


class RanksTable(Table["RankRow"]):
    """The verdict, the ranks as a table or as a map of nodes and GPUs, and the evidence about the selected one."""

    SIGNS, GAP = 2, 1

    def __init__(self) -> None:
        super().__init__()
        self.job: JobRanks | None = None
        self.lost = ""
        """What the end of the run, or of the attempt before, cost; "" if it is unknown."""
        self.is_map: bool | None = None
        """Whether the ranks are a map; None before there are ranks."""
        self.quantity = 0
        self._grid = Grid(())
        self._map_top = 0
        """Row of the widget at which the map begins."""
        self._map_start = 0
        """Row of the map that is the first visible one."""

    def show(self, job: JobRanks | None, theme: str, is_examined: bool = True, lost: str = "") -> None:
        """Display the ranks of a job. is_examined: whether its logs have been searched for ranks. lost: see `lost`."""
        self.lost = lost
        if job is not self.job:
            self.job = job
            self._grid = Grid(job.rows if job else ())
        if job is not None and self.is_map is None:
            self.is_map = len(job.rows) > _MOST_IN_TABLE
        text = " No logs of several ranks: torchrun --log-dir DIR --redirects 3 writes them"
        self.empty = ((text if is_examined else " The logs of this run are being searched for ranks …", Role.MUTED),)
        columns = rank_rows.COLUMNS if job is not None and not self.is_map else ()
        self.show_items(job.rows if job else (), columns, self.order, Symbols.BRAILLE, theme)

    def key(self, item: RankRow) -> tuple[str, int]:
        return item.role, item.rank

    def signs(self, item: RankRow, selected: bool) -> Row:
        return cursor_sign(selected), (" ", Role.MUTED)

    @property
    def room(self) -> int:
        return max(self.size.height - self.heads - len(self._evidence_rows()), 1)

    def scroll_to_cursor(self) -> range:
        return range(0) if self.is_map else super().scroll_to_cursor()

    def move(self, rows: int = 0, pages: int = 0) -> None:
        if self.is_map:
            self._move_in_map(0, rows + pages)
        else:
            super().move(rows, pages)

    def aside(self, by: int) -> None:
        if self.is_map:
            self._move_in_map(by, 0)
        else:
            self.move(by)

    def _move_in_map(self, nodes: int, gpus: int) -> None:
        """Select the rank of another node and GPU."""
        place = self._grid.place_of(self.cursor) or (0, 0)
        node = max(0, min(place[0] + nodes, len(self._grid.nodes) - 1))
        gpu = max(0, min(place[1] + gpus, len(self._grid.gpus) - 1))
        if (index := self._grid.index_at(node, gpu)) is not None:
            self.go_to(index)

    def move_to_strange(self, backwards: bool) -> bool:
        """Select the next rank about which something is unusual. Return False if there is none."""
        strange = [index for index, row in enumerate(self.items) if row.strangeness > 0]
        after = [index for index in strange if (index < self.cursor if backwards else index > self.cursor)]
        if strange:
            place = -1 if backwards else 0
            self.go_to(after[place] if after else strange[place])
        return bool(strange)

    def above(self) -> Rows:
        """Return the verdict, what was lost, hosts that are away, and the map."""
        job, width, height = self.job, self.size.width, self.size.height
        if job is None:
            return ()
        role = Role.CRITICAL if job.problems else Role.WARNING if job.restart else Role.GOOD
        spare = height - len(job.rows) - 1 - _EVIDENCE_ROWS - 2
        rows = _wrapped(job.verdict, role, width, max(_VERDICT_ROWS, min(spare, _MOST_VERDICT_ROWS)))
        if self.lost and height >= len(rows) + _VERDICT_ROWS + _LEAST_BODY:
            rows += _wrapped(self.lost, Role.TEXT, width, _VERDICT_ROWS)
        hosts = job.unreachable[: max((height - len(rows) - _LEAST_BODY) // 2, 1)]
        rows += [rank_rows.unreachable_row(host, why, width) for host, why in hosts]
        return (*rows, *self._map(width, height - len(rows), len(rows))) if self.is_map else tuple(rows)

    def _map(self, width: int, height: int, above: int) -> list[Row]:
        """Return the legend and the part of the map with the selected rank."""
        quantity, selected = QUANTITIES[self.quantity], self._grid.place_of(self.cursor)
        legend = ((f" {rank_rows.legend(quantity, self._grid.usual(quantity))}", Role.MUTED),)
        rows = rank_rows.map_rows(self._grid, quantity, selected, width)
        room = max(height - 1 - len(self._evidence_rows()), 1)
        first = selected[0] // rank_rows.map_columns(width) * (len(self._grid.gpus) + 2) if selected else 0
        self._map_top, self._map_start = above + 1, min(first, max(len(rows) - room, 0))
        return [legend, *rows[self._map_start : self._map_start + room]]

    def below(self, visible: Sequence[RankRow], taken: int) -> Rows:
        """Return the evidence, at the foot of the screen."""
        evidence = self._evidence_rows()[: max(self.size.height - taken, 0)]
        return (*[()] * (self.size.height - taken - len(evidence)), *evidence)

    def _evidence_rows(self) -> list[Row]:
        """Return what is known about the selected rank besides the verdict; [] if there is no room for it."""
        row, width, height = self.selected, self.size.width, self.size.height
        if row is None or self.job is None or height < _LEAST_BODY + _EVIDENCE_ROWS:
            return []
        where = ", ".join(part for part in (row.node, "" if row.gpu is None else f"gpu {row.gpu}") if part)
        place = f"{row.path}:{row.number}" if row.path and row.number else row.path
        head: list[Span] = [(f" {row.role + ' ' if row.role else ''}rank {row.rank}", Role.TITLE)]
        head.append((f" ({where or 'node unknown'})  {row.state}", Role.TEXT))
        head.append((f"  step {row.step}" if row.step is not None else "  no step known", Role.TEXT))
        facts = {
            name: "" if value is None else format_duration(value)
            for name, value in (("own", row.own), ("waits", row.wait))
        }
        facts["loss"] = row.loss
        facts["mem"] = "" if row.memory is None else f"{row.memory:.0%}"
        head += [(f"  {name} {text}", Role.MUTED) for name, text in facts.items() if text]
        texts = [
            line for text in row.evidence if text != self.job.verdict for line in _wrapped(text, Role.TEXT, width, 2)
        ]
        return [
            (("─" * width, Role.MUTED),),
            tuple(head),
            *texts[: _EVIDENCE_ROWS - 2],
            ((f" {row.line}", Role.TEXT),),
            ((f" {clean(place)}" if place else " no log of its own", Role.ACCENT),),
        ]

    def click(self, x: int, y: int, twice: bool) -> Click:
        if not self.is_map:
            return super().click(x, y, twice)
        block, gpu = divmod(self._map_start + y - self._map_top, len(self._grid.gpus) + 2)
        node = block * rank_rows.map_columns(self.size.width) + x - rank_rows.LABEL
        if (index := self._grid.index_at(node, gpu - 2)) is not None:
            self.go_to(index)
        return Click()


class RanksScreen(TableScreen[RanksTable]):
    """The ranks of the job that wrote the run that is shown."""

    WHERE = "ranks"
    PROMPT = "rank"
    PLACEHOLDER = "number of a rank, or part of a node's name"

    def __init__(self, actions: tuple[Action, ...]) -> None:
        super().__init__(actions, RanksTable())
        self._made_from: tuple[JobRanks | None, str] = (None, "")
        self._shown_job: JobRanks | None = None

    def on_mount(self) -> None:
        self.call_after_refresh(self.resized)

    def show(self, snapshot: Snapshot, state: ViewState, now: float) -> None:
        run = self.app.run_shown
        job = self._job(run, now) if run is not None else None
        lost = _lost(run, now) if run is not None and job is not None else ""
        self.table.show(job, state.theme, run is None or snapshot.progress.caught_up, lost)
        parts = _parts(job) if job is not None else ()
        self.draw_lines(head_of(clean(run.name) if run else "", *parts), state.theme)

    def _job(self, run: Run, now: float) -> JobRanks | None:
        """Return the ranks of a run; the same object as long as nothing changes."""
        state = progress_of(run, now).state
        if self._made_from != (run.ranks, state):
            self._made_from = run.ranks, state
            self._shown_job = rank_rows.with_end(run.ranks, state) if run.ranks is not None else None
        return self._shown_job

    def open(self) -> None:
        """Show the log of the selected rank, at the line that is the evidence."""
        from tuimon.tui.screens.log_view import LogScreen

        row, job = self.table.selected, self.table.job
        if row is None or job is None or not row.path:
            self.say("This rank has no log")
            return
        path, patterns = os.path.join(job.directory, row.path), self.app.settings.console_patterns
        self.app.push_screen(LogScreen(self.app.actions, [path], patterns, None, row.offset))

    def copied(self) -> tuple[str, str] | None:
        job = self.table.job
        return None if job is None else (clean(job.verdict, 1 << 16), "the verdict")

    def next(self, by: int) -> None:
        """Select the next rank (by = 1) about which something is unusual, or the one before."""
        if not self.table.move_to_strange(by < 0):
            self.say("Nothing is unusual about any rank")

    def next_part(self, by: int) -> None:
        """Show the next quantity in the cells of the map."""
        if self.table.is_map:
            self.table.quantity = (self.table.quantity + by) % len(QUANTITIES)
        self.table.is_map = True

    def next_view(self) -> None:
        """Show the ranks as a map, or as a table."""
        self.table.is_map = not self.table.is_map

    def filter_edited(self, text: str) -> None:
        """Select the first rank that matches what was typed: its number, or a part of its node's name."""
        job = self.table.job
        if job is None or not text:
            return
        for index, row in enumerate(job.rows):
            if str(row.rank) == text or (not text.isdigit() and text.lower() in row.node.lower()):
                self.table.go_to(index)
                return

    def filter_submitted(self, text: str) -> None:
        self.filter_edited(text)


def _parts(job: JobRanks) -> Row:
    """Return the parts of the head: the numbers of ranks and nodes, and their progress."""
    nodes = len({row.node for row in job.rows if row.node and row.state != "lost"})
    steps = sorted({row.step for row in job.rows if row.step is not None and row.state != "lost"})
    span = f"{steps[0]} to {steps[-1]}" if len(steps) > 1 else "".join(map(str, steps))
    return (
        (plural(len(job.rows), "rank"), Role.TEXT),
        (plural(nodes, "node") if nodes else "", Role.TEXT),
        (f"{len(job.unreachable)} unreachable" if job.unreachable else "", Role.WARNING),
        (f"step {span}" if span else "", Role.VALUE),
        (_counted(job), Role.TEXT),
        (f"{format_bytes(job.unread)} of history not read" if job.unread else "", Role.MUTED),
    )


def _lost(run: Run, now: float) -> str:
    """Return the work lost at the end of the run or at its last restart as text; "" if it is unknown."""
    report = progress_of(run, now)
    work = lost_work(run, report.has_died)
    return work.text(report.step_name) if work is not None else ""


def _counted(job: JobRanks) -> str:
    counts: dict[str, int] = {}
    for row in job.rows:
        counts[row.state] = counts.get(row.state, 0) + 1
    return ", ".join(f"{count} {state}" for state, count in counts.items())


def _wrapped(text: str, role: Role, width: int, most: int) -> list[Row]:
    """Return a text as at most `most` rows of `width` cells; the last one ends with "…" if text is left out."""
    rows = wrap_row(((text, role),), max(width - 2, 1), most)
    return [fit_row(((" ", role), *row), width) for row in rows]
