"""View of the ranks of a job: the verdict, the ranks as a table, as nodes or as a map, and the evidence about one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.events import Click

from tuimon.analysis.attempts import lost_work
from tuimon.analysis.progress_inputs import progress_of
from tuimon.draw.numbers import format_bytes, format_duration
from tuimon.draw.rows import fit_row, wrap_row
from tuimon.model.views import Role, Row, Span
from tuimon.panels import plural
from tuimon.panels.lists import rank_rows
from tuimon.panels.lists.rank_grid import QUANTITIES, Grid
from tuimon.store import Run, Snapshot
from tuimon.text import clean
from tuimon.tui.action import Action
from tuimon.tui.box import CellGrid
from tuimon.tui.screens.wheel import Wheel
from tuimon.tui.screens.work_screen import WorkScreen
from tuimon.tui.state import ViewState

if TYPE_CHECKING:
    from tuimon.model.ranks import JobRanks, RankRow

LAYOUTS = ("table", "nodes", "map")
_MOST_IN_TABLE, _MOST_IN_NODES = 32, 128
"""Ranks up to which the table and the nodes are the first layout."""
_VERDICT_ROWS, _MOST_VERDICT_ROWS = 2, 8
"""Rows of the verdict at most: in a small window, and where all ranks fit below it."""
_EVIDENCE_ROWS = 5
_LEAST_BODY = 6


class RanksPane(Wheel, CellGrid):
    """The verdict, the ranks, and the evidence about the selected one."""

    DEFAULT_CSS = "RanksPane { height: 1fr; width: 1fr; }"

    def __init__(self) -> None:
        super().__init__()
        self.job: JobRanks | None = None
        self.is_examined = True
        self.lost = ""
        self.layout_name = ""
        self.quantity = 0
        self.selected: tuple[str, int] | None = None
        """(role, rank) of the selected rank; None selects the strangest."""
        self._grid = Grid(())
        self._with_lines = True
        self._top = 0
        self._shown: list[tuple[int, int, int]] = []
        """(row on the screen, first cell, index of the rank) of what a click can select."""
        self._theme_shown = ""

    def show(self, job: JobRanks | None, theme: str, is_examined: bool = True, lost: str = "") -> None:
        """Display the ranks of a job. is_examined: whether its logs have been searched for ranks. lost: what the end of
        the run, or of the attempt before, cost; "" if it is unknown."""
        self._theme_shown, self.is_examined, self.lost = theme, is_examined, lost
        if job is not self.job:
            self.job = job
            self._grid = Grid(job.rows if job else ())
            self._with_lines = job is not None and rank_rows.lines_differ(job.rows)
        if job is not None and not self.layout_name:
            count = len(job.rows)
            self.layout_name = LAYOUTS[(count > _MOST_IN_TABLE) + (count > _MOST_IN_NODES)]
        self.draw()

    @property
    def index(self) -> int:
        """Index of the selected rank."""
        rows = self.job.rows if self.job else ()
        return next((i for i, row in enumerate(rows) if (row.role, row.rank) == self.selected), 0)

    @property
    def row(self) -> RankRow | None:
        """Selected rank; None without ranks."""
        return self.job.rows[self.index] if self.job and self.job.rows else None

    def select(self, index: int) -> None:
        """Select a rank by its index."""
        if self.job and self.job.rows:
            row = self.job.rows[max(0, min(index, len(self.job.rows) - 1))]
            self.selected = row.role, row.rank
            self.draw()

    def move(self, rows: int, columns: int = 0) -> None:
        """Select another rank: in the table by rows, else by node and GPU."""
        if self.job is None:
            return
        if self.layout_name == "table":
            self.select(self.index + rows + columns)
            return
        place = self._grid.place_of(self.index) or (0, 0)
        nodes, gpus = (rows, columns) if self.layout_name == "nodes" else (columns, rows)
        node = max(0, min(place[0] + nodes, len(self._grid.nodes) - 1))
        gpu = max(0, min(place[1] + gpus, len(self._grid.gpus) - 1))
        index = self._grid.index_at(node, gpu)
        if index is not None:
            self.select(index)

    def move_to_strange(self, backwards: bool) -> bool:
        """Select the next rank about which something is unusual. Return False if there is none."""
        strange = [i for i, row in enumerate(self.job.rows if self.job else ()) if row.strangeness > 0]
        if not strange:
            return False
        after = [i for i in strange if (i < self.index if backwards else i > self.index)]
        self.select(after[-1 if backwards else 0] if after else strange[-1 if backwards else 0])
        return True

    def draw(self) -> None:
        """Draw everything."""
        width, height = self.size
        job = self.job
        if width < 2 or height < 1:
            return
        if job is None:
            text = " No logs of several ranks: torchrun --log-dir DIR --redirects 3 writes them"
            if not self.is_examined:
                text = " The logs of this run are being searched for ranks …"
            self.paint_filled((fit_row(((text, Role.MUTED),), width),), self._theme_shown)
            return
        role = Role.CRITICAL if job.problems else Role.WARNING if job.restart else Role.GOOD
        spare = height - len(job.rows) - 1 - _EVIDENCE_ROWS - 2
        top = _wrapped(job.verdict, role, width, max(_VERDICT_ROWS, min(spare, _MOST_VERDICT_ROWS)))
        if self.lost and height >= len(top) + _VERDICT_ROWS + _LEAST_BODY:
            top += _wrapped(self.lost, Role.TEXT, width, _VERDICT_ROWS)
        hosts = job.unreachable[: max((height - len(top) - _LEAST_BODY) // 2, 1)]
        top += [rank_rows.unreachable_row(host, why, width) for host, why in hosts]
        evidence = self._evidence(width, job.verdict) if height >= len(top) + _LEAST_BODY + 2 else []
        evidence = evidence[: max(height - len(top) - _LEAST_BODY, 1)]
        body = self._body(width, height - len(top) - len(evidence), len(top))
        blank = fit_row((), width)
        filling = [blank] * (height - len(top) - len(body) - len(evidence))
        self.paint_filled((*top, *body, *filling, *evidence), self._theme_shown)

    def _body(self, width: int, height: int, above: int) -> list[Row]:
        self._shown = []
        if self.job is None or height < 1:
            return []
        if self.layout_name == "table":
            return self._table(width, height, above)
        quantity = QUANTITIES[self.quantity]
        selected = self._grid.place_of(self.index)
        legend = fit_row(((f" {rank_rows.legend(quantity, self._grid.usual(quantity))}", Role.MUTED),), width)
        if self.layout_name == "map":
            rows = rank_rows.map_rows(self._grid, quantity, selected, width)
            columns = rank_rows.map_columns(width)
            block = len(self._grid.gpus) + 2
            first = selected[0] // columns * block if selected else 0
            room = height - 1
            start = 0 if len(rows) <= room else min(first, max(len(rows) - room, 0))
            for y, number in enumerate(range(start, min(start + room, len(rows)))):
                gpu = number % block - 2
                for column in range(columns):
                    index = self._grid.index_at(number // block * columns + column, gpu) if gpu >= 0 else None
                    if index is not None:
                        self._shown.append((above + 1 + y, rank_rows.LABEL + column, index))
            return [legend, *rows[start : start + room]]
        room = max(height - 2, 1)
        at = selected[0] if selected else 0
        self._top = max(min(self._top, at, len(self._grid.nodes) - room), at - room + 1, 0)
        nodes = range(self._top, min(self._top + room, len(self._grid.nodes)))
        for y, node in enumerate(nodes):
            for position in range(len(self._grid.gpus)):
                index = self._grid.index_at(node, position)
                if index is not None:
                    self._shown.append((above + 2 + y, rank_rows.LABEL + 3 + 3 * position, index))
        body = [rank_rows.node_row(self._grid, node, quantity, selected, width) for node in nodes]
        return [legend, rank_rows.node_head(self._grid, width), *body]

    def _table(self, width: int, height: int, above: int) -> list[Row]:
        assert self.job is not None
        rows, room = self.job.rows, max(height - 1, 1)
        self._top = max(min(self._top, self.index, len(rows) - room), self.index - room + 1, 0)
        visible = range(self._top, min(self._top + room, len(rows)))
        self._shown = [(above + 1 + y, 0, index) for y, index in enumerate(visible)]
        lines = self._with_lines
        body = [rank_rows.table_row(rows[index], rows, index == self.index, width, lines) for index in visible]
        return [rank_rows.table_head(rows, width, lines), *body]

    def _evidence(self, width: int, verdict: str) -> list[Row]:
        """Return what is known about the selected rank besides the verdict."""
        row = self.row
        if row is None:
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
        facts["temp"] = "" if row.temperature is None else f"{row.temperature:.0f} °C"
        facts["clock"] = "" if row.clock is None else f"{row.clock:.0f} MHz"
        head += [(f"  {name} {text}", Role.MUTED) for name, text in facts.items() if text]
        rule = "─" * width
        rows = [fit_row(((rule, Role.MUTED),), width), fit_row(head, width)]
        texts = [line for text in row.evidence if text != verdict for line in _wrapped(text, Role.TEXT, width, 2)]
        rows += texts[: _EVIDENCE_ROWS - 2]
        rows.append(fit_row(((f" {row.line}", Role.TEXT),), width))
        rows.append(fit_row(((f" {clean(place)}" if place else " no log of its own", Role.ACCENT),), width))
        return rows

    def on_click(self, event: Click) -> None:
        hits = [item for item in self._shown if item[0] == event.y and item[1] <= event.x]
        if hits:
            self.select(max(hits, key=lambda item: item[1])[2])


class RanksScreen(WorkScreen):
    """The ranks of the job that wrote the run that is shown."""

    WHERE = "ranks"
    PROMPT = "rank"
    PLACEHOLDER = "number of a rank, or part of a node's name"

    def __init__(self, actions: tuple[Action, ...]) -> None:
        self.pane = RanksPane()
        super().__init__(actions, self.pane)
        self._made_from: tuple[JobRanks | None, str] = (None, "")
        self._shown_job: JobRanks | None = None

    def on_mount(self) -> None:
        self.call_after_refresh(self.resized)

    def show(self, snapshot: Snapshot, state: ViewState, now: float) -> None:
        run = self.dashboard.run_shown
        job = self._job(run, now) if run is not None else None
        lost = _lost(run, now) if run is not None and job is not None else ""
        self.pane.show(job, state.theme, run is None or snapshot.progress.caught_up, lost)
        head: list[Span] = [(f" {clean(run.name) if run else ''}", Role.TITLE)]
        if job is not None:
            head.append((f"  {plural(len(job.rows), 'rank')}", Role.TEXT))
            if nodes := len({row.node for row in job.rows if row.node and row.state != "lost"}):
                head.append((f"  {nodes} node{'s' if nodes > 1 else ''}", Role.TEXT))
            if job.unreachable:
                head.append((f"  {len(job.unreachable)} unreachable", Role.WARNING))
            steps = [row.step for row in job.rows if row.step is not None and row.state != "lost"]
            if steps:
                span = f"{min(steps)} to {max(steps)}" if min(steps) < max(steps) else f"{max(steps)}"
                head.append((f"  step {span}", Role.VALUE))
            head += [(f"  {_counted(job)}", Role.TEXT)]
            if job.unread:
                head.append((f"  {format_bytes(job.unread)} of history not read", Role.MUTED))
        self.draw_lines(tuple(head), state.theme)

    def _job(self, run: Run, now: float) -> JobRanks | None:
        """Return the ranks of a run; the same object as long as nothing changes."""
        state = progress_of(run, now).state
        if self._made_from != (run.ranks, state):
            self._made_from = run.ranks, state
            self._shown_job = rank_rows.with_end(run.ranks, state) if run.ranks is not None else None
        return self._shown_job

    def move(self, rows: int = 0, pages: int = 0) -> None:
        room = max(self.pane.size.height - _EVIDENCE_ROWS - _VERDICT_ROWS - 1, 1)
        self.pane.move(rows + pages * (room if self.pane.layout_name == "table" else 1))

    def next_quantity(self, by: int) -> None:
        """Show the next quantity in the cells, and the nodes if the ranks are a table."""
        if self.pane.layout_name == "table":
            self.pane.layout_name = "nodes"
        self.pane.quantity = (self.pane.quantity + by) % len(QUANTITIES)
        self.dashboard.redraw()

    def next_layout(self) -> None:
        """Show the ranks in the next layout."""
        at = LAYOUTS.index(self.pane.layout_name) if self.pane.layout_name else 0
        self.pane.layout_name = LAYOUTS[(at + 1) % len(LAYOUTS)]
        self.dashboard.redraw()

    def filter_edited(self, text: str) -> None:
        """Select the first rank that matches what was typed: its number, or a part of its node's name."""
        job = self.pane.job
        if job is None or not text:
            return
        for index, row in enumerate(job.rows):
            if str(row.rank) == text or (not text.isdigit() and text.lower() in row.node.lower()):
                self.pane.select(index)
                return

    def filter_submitted(self, text: str) -> None:
        self.filter_edited(text)


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
