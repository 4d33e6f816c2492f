"""The application: takes a monitor, shows its runs, gives the terminal back however it ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.command import Provider
from textual.containers import Horizontal
from textual.events import CursorPosition, Event, Key
from textual.geometry import Size as Cells
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
from tuimon.tui.preparing import START, prepare, settle
from tuimon.tui.redrawing import Redrawing
from tuimon.tui.run_choice import RunChoice, base_of, lines_of, runs_of
from tuimon.tui.run_list import RunListScreen
from tuimon.tui.state import ViewState
from tuimon.tui.waiting import Waiting
from tuimon.tui.work_screen import WorkScreen

NOTHING_FOUND = 3
"""The exit code when there is no log, and none is waited for."""
_HEADER = 2
"""Its rows; the other lines of the dashboard have one each."""
TICK = 1.0
"""Seconds between two looks at the clock: a state may change although nothing was written."""


class DashboardScreen(_textual.OnceScreen):
    """What is under all other screens. It is drawn before it is laid out."""

    app: TuimonApp

    def on_resize(self) -> None:
        self.app.draw_for_layout()


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
        self.forget_sent: Callable[[], object] = lambda: None
        """To call when the terminal shows something else than it was sent."""
        self.deaf_until = 0.0
        """Until then (time.monotonic()) what looks like keys is the terminal's late answer to a question."""
        self.snapshot: Snapshot = monitor.snapshot()
        self._listed: tuple[Snapshot | None, RunChoice, tuple[Run, ...]] = (None, self.state.runs, ())
        self._pace = Pace(settings.frame_rate)
        self.ending = Ending(self.leave)
        self._link = Link(partial(_textual.backlog, self), partial(_textual.ask, self))
        self._redrawing = Redrawing(self, monitor, self._pace, self._link)
        self.header = PanelBox(clock=True)
        self.header.styles.height = _HEADER
        self.board = Board(self._pace, self._link, monitor.undisturbed)
        self.board.larger = self.state.chart_size
        self.waiting = Waiting(monitor.paths)
        self.alert_bar = AlertBar()
        self.filter_line = Input(id="filter", placeholder="part of a name; * and ?; re:expression", compact=True)
        self.filter_bar = Horizontal(id="filter-bar")
        self.filter_bar.display = False
        self.key_bar = KeyBar(tuple(action for action in self.actions if "dashboard" in action.where))
        self.header_at = 0.0
        """When the header was drawn last (time.monotonic())."""

    # ------------------------------------------------------------------ the screen

    def get_default_screen(self) -> Screen[None]:
        return DashboardScreen(id="_default")

    def compose(self) -> ComposeResult:
        prepare()
        self.header.assign(header_panel())
        yield from (self.header, self.board, self.waiting, self.alert_bar)
        with self.filter_bar:
            yield Static(" filter / ", id="filter-prompt", markup=False)
            yield self.filter_line
        yield self.key_bar

    def on_mount(self) -> None:
        for action in self.actions:
            if action.keys and "dashboard" in action.where:
                self.bind(action.keys, f"do({action.id!r})", description=action.label, show=False)
        loop = asyncio.get_running_loop()
        self.ending.listen(loop)
        _textual.tell_writes(self, self._link.wrote)
        self.app_resume_signal.subscribe(self, self._resume)
        self._monitor.on_change = partial(self._redrawing.announce, loop)
        self.set_interval(TICK, self._tick)
        self.set_timer(START, settle)
        self._redrawing.begin_with_what_is_there()
        self.run_worker(self._redrawing.go_on())

    def _resume(self, _: object) -> None:
        self._link.speak()
        self.paint_again()  # the shell has drawn over it

    def on_unmount(self) -> None:
        self.ending.stop()

    def _tick(self) -> None:
        """Time alone changes the header (a state, an ETA), nothing else; what it was not told yet, it is told now."""
        if isinstance(self.screen, WorkScreen):
            self.screen.look_again()
            self.draw()
        elif not self.state.paused and time.monotonic() > self.header_at + TICK / 2:
            self._draw_header(self.run_shown, time.time())

    def draw_for_layout(self) -> None:
        """The dashboard, before it is laid out in another size than it was drawn for."""
        if self.header_at and self.board.room != self._room:
            self.draw()
            self.board.draw_at_once()

    @property
    def _room(self) -> Cells:
        """What the lines above and below leave to the board."""
        lines = 1 + self.alert_bar.display + self.filter_bar.display
        return Cells(self.size.width, max(1, self.size.height - _HEADER - lines))

    def draw(self, header: bool = True) -> None:
        """Everything that is visible, from the snapshot of the last drawing. header: that, too."""
        snapshot, now = self.snapshot, time.time()
        if not self._wait and snapshot.progress.caught_up and not any(run.streams for run in snapshot.runs):
            self.leave(NOTHING_FOUND)
        if isinstance(self.screen, WorkScreen):
            self.screen.show(snapshot, self.state, now)
            return
        run = self.run_shown
        panels = panels_of(run, self.state)
        self.alert_bar.update(snapshot, run, self.state.theme)
        self.board.fit(self._room)
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
        typing = self.filter_bar.display
        self.key_bar.update(self.state, self.board, self._which(run), look.axis_of(run), typing, len(look.over))

    def _draw_header(self, run: Run | None, now: float) -> None:
        self.header_at = time.monotonic()
        self.header.room = Size(self.size.width, _HEADER)
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
        self.draw()
        if not self.state.paused:
            self._redrawing.wake()

    def paint_again(self) -> None:
        """Sends the whole screen, whatever the terminal shows now."""
        self.forget_sent()
        self.screen.refresh()

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
            self.draw()

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
        self.draw()
        self.board.open(names.index(first))
        self.redraw()

    def begin_filter(self) -> None:
        """Opens the line in which a filter is typed."""
        self.filter_line.value = self.state.query or ""
        self.filter_bar.display = True
        self.filter_line.focus()
        self.draw()

    def end_filter(self, query: str) -> None:
        """Closes it. query: what to filter by; "" nothing."""
        self.state.query = query or None
        self.filter_bar.display = False
        self.set_focus(None)

    def on_input_changed(self, event: Input.Changed) -> None:
        if self.filter_bar.display:
            self.state.query = event.value or None
            self.draw()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.end_filter(event.value)
        self.draw()

    def on_panel_box_selected(self, event: PanelBox.Selected) -> None:
        for box, place in zip(self.board.boxes, self.board.places, strict=False):
            if box is event.box:
                self.board.selected = place.index
                if event.zoom:
                    self.board.zoom(not self.board.zoomed)
                elif self.board.zoomed:
                    explore.put_cursor(self, event.x)
        self.draw()

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
