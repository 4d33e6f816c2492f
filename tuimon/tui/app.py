"""The application: takes a monitor, shows its runs, gives the terminal back however it ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.command import Provider
from textual.containers import Horizontal
from textual.events import CursorPosition, Event, Key
from textual.screen import Screen
from textual.widgets import Input, Static

from tuimon.config import Settings
from tuimon.model.views import Size
from tuimon.monitor import ReaderProcess
from tuimon.panels import Look, header_panel
from tuimon.store import Run, Snapshot
from tuimon.tui import _textual, actions, explore, saved_view, terminal
from tuimon.tui.arrangement import panels_of
from tuimon.tui.bars import AlertBar, KeyBar
from tuimon.tui.board import Board
from tuimon.tui.box import PanelBox
from tuimon.tui.ending import Ending
from tuimon.tui.link import Link
from tuimon.tui.pace import Pace
from tuimon.tui.palette import ActionProvider
from tuimon.tui.preparing import START, meet, prepare, settle
from tuimon.tui.run_choice import RunChoice, base_of, lines_of, runs_of
from tuimon.tui.run_list import RunListScreen
from tuimon.tui.state import ViewState
from tuimon.tui.waiting import Waiting
from tuimon.tui.work_screen import WorkScreen

NOTHING_FOUND = 3
"""The exit code when there is no log, and none is waited for."""
_HEADER = 2
"""Its rows."""
TICK = 1.0
"""Seconds between two looks at the clock: a state may change although nothing was written."""
_HEADER_EVERY = 1.0
"""Seconds, at least, from one header to the next while a run grows: it is worked out of many metrics."""
_SOON = 0.02
"""Seconds from one look whether it is time for a drawing to the next."""
_DETECT_AFTER = 0.1
"""Seconds from the first curves, for which the boxes must be laid out, to the first look of the detectors."""


class TuimonApp(App[None], inherit_bindings=False):
    """The dashboard."""

    TITLE = "tuimon"
    AUTO_FOCUS = ""  # the filter line would take every letter
    BINDINGS: ClassVar[list[BindingType]] = [  # these two work while a line is being typed, too
        Binding("ctrl+c", "do('quit')", show=False, priority=True),
        Binding("ctrl+z", "tuimon_suspend", show=False, priority=True),
    ]
    ENABLE_COMMAND_PALETTE = True
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {ActionProvider}
    CSS = """
    * { scrollbar-size: 0 0; }
    Screen { background: ansi_default; color: ansi_default; layout: vertical; }
    #header { height: 2; }
    #filter-bar { height: 1; }
    #filter-prompt { width: auto; color: ansi_bright_blue; }
    #filter { height: 1; width: 1fr; border: none; padding: 0; background: ansi_default; color: ansi_default; }
    """

    def __init__(
        self, monitor: ReaderProcess, settings: Settings, wait: bool = True, views: Path | None = None
    ) -> None:
        """wait: stay although there is no log yet; else leave with exit code 3 once all has been looked through.

        views: the directory in which the view of each path is kept; None: it begins fresh, and is not kept.
        """
        self.actions = actions.with_user_keys(settings.keys)
        self._action_of = {action.id: action for action in self.actions}
        super().__init__(ansi_color=True)
        self.animation_level = "none"
        self._monitor = monitor
        self.settings = settings
        self._wait = wait
        self._views = views
        self._begun = ViewState(terminal.symbols(settings.symbols), terminal.theme(settings.theme))
        begun = replace(self._begun)
        self.state = saved_view.restored(begun, monitor.paths, views) if views else begun
        self.deaf_until = 0.0
        """Until then (time.monotonic()) what looks like keys is the terminal's late answer to a question."""
        self.snapshot: Snapshot = monitor.snapshot()
        self._listed: tuple[Snapshot | None, RunChoice, tuple[Run, ...]] = (None, self.state.runs, ())
        self._pace = Pace(settings.frame_rate)
        self.ending = Ending(self.leave)
        self._link = Link(partial(_textual.backlog, self), partial(_textual.ask, self))
        self._news = asyncio.Event()
        self._alone = ExitStack()
        self._drawn = self._begun_to_show = self._whole = False
        self._header_at = 0.0
        self._met: tuple[int, int] | None = None

    # ------------------------------------------------------------------ the screen

    def get_default_screen(self) -> Screen[None]:
        return _textual.OnceScreen(id="_default")

    def compose(self) -> ComposeResult:
        prepare()
        header = PanelBox(clock=True)
        header.id = "header"
        header.assign(header_panel())
        header.expected = Size(self.size.width, _HEADER)
        yield header
        yield Board(self._pace, self._link, self._monitor.undisturbed, self.size - (0, _HEADER + 1))
        yield Waiting(self._monitor.paths)
        yield AlertBar()
        with Horizontal(id="filter-bar") as bar:
            bar.display = False
            yield Static(" filter / ", id="filter-prompt", markup=False)
            yield Input(id="filter", placeholder="part of a name; * and ?; re:expression", compact=True)
        yield KeyBar(tuple(action for action in self.actions if "dashboard" in action.where))

    def on_mount(self) -> None:
        for action in self.actions:
            if action.keys and "dashboard" in action.where:
                self.bind(action.keys, f"do({action.id!r})", description=action.label, show=False)
        self.board = self.query_one(Board)
        self.board.larger = self.state.chart_size
        self.waiting = self.query_one(Waiting)
        self.alert_bar = self.query_one(AlertBar)
        self.key_bar = self.query_one(KeyBar)
        self.header = self.query_one("#header", PanelBox)
        self.filter_line = self.query_one("#filter", Input)
        self.filter_bar = self.query_one("#filter-bar")
        loop = asyncio.get_running_loop()
        self.ending.listen(loop)
        _textual.tell_writes(self, self._link.wrote)
        self.app_resume_signal.subscribe(self, self._resume)
        self._monitor.on_change = partial(self._announce, loop)
        self.set_interval(TICK, self._tick)
        self.set_timer(START, settle)
        self._begin_with_what_is_there()
        self.run_worker(self._keep_drawing())

    def _begin_with_what_is_there(self) -> None:
        """Where the reader was quicker than the imports, the first thing on the screen is the first page with its
        charts: no screen before it tells what is waited for, and nothing is laid out twice."""
        run = self._run_to_meet()
        if run is not None and run.point_count:
            self._alone.enter_context(self._monitor.undisturbed())
            meet(run)
            self._met = run.id, run.structure
            self._draw_new()
            self.board.draw_at_once()

    def _resume(self, _: object) -> None:
        self._link.speak()
        self.refresh(layout=True)  # the shell has drawn over it

    def on_unmount(self) -> None:
        self.ending.stop()

    def _announce(self, loop: asyncio.AbstractEventLoop) -> None:
        """On the receiving thread."""
        with suppress(RuntimeError):  # the loop is closed: the screen has just been left
            loop.call_soon_threadsafe(self._news.set)

    async def _keep_drawing(self) -> None:
        """What is new, when the pace allows; later while a slow terminal has frames waiting."""
        self._news.set()
        while True:
            await self._news.wait()
            while (rest := self._rest()) > 0 or self.board.drawing:
                await asyncio.sleep(max(rest if self._whole else min(rest, _SOON), _SOON))
            await self._link.drained()
            self._news.clear()
            if not self.state.paused:
                await self._meet_new()
                self._draw_new()

    async def _meet_new(self) -> None:
        """What names of metrics mean is worked out once for each, in a thread: of hundreds it takes a while."""
        run = self._run_to_meet()
        if run is not None and (run.id, run.structure) != self._met:
            if not self._begun_to_show:
                self._alone.enter_context(self._monitor.undisturbed())
            await asyncio.to_thread(meet, run)
            self._met = run.id, run.structure

    def _rest(self) -> float:
        """Seconds until the next drawing: none once all has been read, as what is shown is a part of it."""
        return self._pace.rest() if self._whole or not self._monitor.has_read else 0.0

    def _run_to_meet(self) -> Run | None:
        snapshot, at = self._monitor.snapshot(), self.state.run
        return snapshot.runs[min(at, len(snapshot.runs) - 1)] if at is not None and snapshot.runs else snapshot.newest

    def _draw_new(self) -> None:
        snapshot = self._monitor.snapshot()
        if snapshot is not self.snapshot or not self._drawn:
            self.snapshot, self._drawn = snapshot, True
            self._pace.begin()
            with self._monitor.undisturbed(), self._pace.piece():
                self._draw(header=self._header_is_due(snapshot))
            if not self._begun_to_show:
                self._begin_to_show()

    def _header_is_due(self, snapshot: Snapshot) -> bool:
        """At times, and when all has been read: what was said of a part may be wrong."""
        whole, self._whole = self._whole, snapshot.progress.caught_up
        return whole != self._whole or time.monotonic() >= self._header_at + _HEADER_EVERY

    def _begin_to_show(self) -> None:
        """The first curve waits for no rest, and for no detector."""
        if self.snapshot.progress.caught_up or not self.waiting.display:
            self._begun_to_show = True
            self.set_timer(_DETECT_AFTER, self._has_begun)
        else:
            self._alone.close()
            self._pace.at_once()

    def _has_begun(self) -> None:
        self._alone.close()
        self._monitor.detect()

    def _tick(self) -> None:
        """Time alone changes the header (a state, an ETA), nothing else; what it was not told yet, it is told now."""
        if isinstance(self.screen, WorkScreen):
            self.screen.look_again()
            self._draw()
        elif not self.state.paused and time.monotonic() > self._header_at + TICK / 2:
            self._draw_header(self.run_shown, time.time())

    def on_panel_box_resized(self) -> None:
        """A box has its size now, or another one: what it shows is to be drawn for it, once for all boxes."""
        self.call_after_refresh(self._draw)

    def _draw(self, header: bool = True) -> None:
        """Everything that is visible, from the snapshot of the last drawing. header: that, too."""
        snapshot, now = self.snapshot, time.time()
        if not self._wait and snapshot.progress.caught_up and not any(run.streams for run in snapshot.runs):
            self.leave(NOTHING_FOUND)
        if isinstance(self.screen, WorkScreen):
            self.screen.show(snapshot, self.state, now)
            return
        run = self.run_shown
        panels = panels_of(run, self.state)
        self.board.show(panels)
        self.board.display = bool(panels)
        self.waiting.display = not panels
        if not panels:
            self.waiting.update(snapshot, self.state.query if run is not None else None, self.state.theme)
        theme = self.state.theme
        if header:
            self._draw_header(run, now)
        look = self.look
        self.board.update(run, now, self.state.symbols, theme, look, snapshot.alerts)
        self.alert_bar.update(snapshot, run, theme)
        typing = self.filter_bar.display
        self.key_bar.update(self.state, self.board, self._which(run), look.axis_of(run), typing, len(look.over))

    def _draw_header(self, run: Run | None, now: float) -> None:
        self._header_at = time.monotonic()
        self.header.update(run, now, self.state.symbols, self.state.theme, False)

    def _which(self, run: Run | None) -> str:
        """Where the run stands among those that one goes through; "" where there is no other run."""
        if len(self.snapshot.runs) < 2 or run is None:
            return ""
        runs = self.runs_listed()
        return f"run {runs.index(run) + 1} of {len(runs)}" if run in runs else f"1 of {len(self.snapshot.runs)} runs"

    @property
    def look(self) -> Look:
        """How charts are looked at now: one that is zoomed says more."""
        choice, shown = self.state.runs, self.run_shown
        over = lines_of(self.snapshot, choice, shown, self.state.symbols)
        return replace(self.state.look, alone=self.board.zoomed, over=over, base=base_of(self.snapshot, choice))

    @property
    def run_shown(self) -> Run | None:
        """The run that a person chose, or the one that grew last."""
        runs = self.snapshot.runs
        if not runs:
            return None
        if self.state.run is None:
            newest = self.snapshot.newest
            if newest is None or newest.point_count == 0:
                return newest
            self.state.run = runs.index(newest)
        return runs[min(self.state.run, len(runs) - 1)]

    # ------------------------------------------------------------------ what actions use

    async def on_event(self, event: Event) -> None:
        """Every event of the terminal comes by here."""
        if isinstance(event, CursorPosition):
            self._link.answered()
        if not (isinstance(event, Key) and time.monotonic() < self.deaf_until):
            await super().on_event(event)

    def action_do(self, id: str) -> None:
        """A key or the palette asks for an action."""
        self._action_of[id].do(self)

    async def action_tuimon_suspend(self) -> None:
        await self._link.fall_silent()
        self.action_suspend_process()

    def leave(self, code: int) -> None:
        """Ends the screen."""
        self.run_worker(self._leave(code))

    async def _leave(self, code: int) -> None:
        await self._link.fall_silent()
        self.exit(return_code=code)

    def redraw(self) -> None:
        """After a key: at once, from the snapshot that is shown, so that a key costs what it changes; what is new since
        follows at its pace. Boxes that get another size by it ask for more themselves."""
        self._draw()
        if not self.state.paused:
            self._news.set()

    def resize_charts(self, by: int) -> None:
        """Larger charts, fewer on a page (by > 0), or the other way round."""
        size = self.state.chart_size + by
        if not self.board.resize(size):
            self.say("No larger" if by > 0 else "No smaller: charts would tell nothing")
            return
        self.state.chart_size = size
        self.redraw()

    def say(self, message: str) -> None:
        """Tells what a key did."""
        if isinstance(self.screen, WorkScreen):
            self.screen.say(message)
        else:
            self.alert_bar.say(message)
            self._draw()

    def runs_listed(self) -> tuple[Run, ...]:
        """The runs that one goes through, in the order of the list, which is kept as long as nothing is new."""
        made_of = self.snapshot, self.state.runs
        if made_of != self._listed[:2]:
            self._listed = *made_of, runs_of(*made_of, time.time(), self.state.symbols)
        return self._listed[2]

    @property
    def run_selected(self) -> Run | None:
        """The run that keys act upon: in the list the one at the cursor, else the one that is shown."""
        return self.screen.run_selected if isinstance(self.screen, RunListScreen) else self.run_shown

    def show_run(self, run: Run) -> None:
        """Shows its dashboard."""
        self.state.run = next((at for at, one in enumerate(self.snapshot.runs) if one.id == run.id), None)
        if isinstance(self.screen, WorkScreen):
            self.pop_screen()
        self.redraw()

    def show_metrics(self, names: tuple[str, ...], first: str) -> None:
        """A chart each, one of them zoomed."""
        self.state.query, self.state.chosen = None, names
        if isinstance(self.screen, WorkScreen):
            self.pop_screen()
        self._draw()
        self.board.open(names.index(first))
        self.redraw()

    def begin_filter(self) -> None:
        """Opens the line in which a filter is typed."""
        self.filter_line.value = self.state.query or ""
        self.filter_bar.display = True
        self.filter_line.focus()
        self._draw()

    def end_filter(self, query: str) -> None:
        """Closes it. query: what to filter by; "" nothing."""
        self.state.query = query or None
        self.filter_bar.display = False
        self.set_focus(None)

    def on_input_changed(self, event: Input.Changed) -> None:
        if self.filter_bar.display:
            self.state.query = event.value or None
            self._draw()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.end_filter(event.value)
        self._draw()

    def on_panel_box_selected(self, event: PanelBox.Selected) -> None:
        for box, place in zip(self.board.boxes, self.board.places, strict=False):
            if box is event.box:
                self.board.selected = place.index
                if event.zoom:
                    self.board.zoom(not self.board.zoomed)
                elif self.board.zoomed:
                    explore.put_cursor(self, event.x)
        self._draw()

    def on_panel_box_dragged(self, event: PanelBox.Dragged) -> None:
        if self.board.zoomed:
            explore.drag(self, event.cells, event.rows)

    def on_panel_box_wheeled(self, event: PanelBox.Wheeled) -> None:
        if self.board.zoomed:
            explore.wheel(self, event.x, event.up, event.aside)
        elif self.board.turn(-1 if event.up else 1):
            self.redraw()

    # ------------------------------------------------------------------ the next start

    def keep_view(self) -> None:
        """For the next start on the same paths."""
        if self._views:
            saved_view.keep(self.state, self._begun, self._monitor.paths, self._views)
