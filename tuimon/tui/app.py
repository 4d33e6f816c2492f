"""The application: shows the runs of a monitor and restores the terminal when it ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.command import Provider
from textual.events import CursorPosition, Event, Key
from textual.screen import Screen

from tuimon.analysis.metric_filter import expression_error
from tuimon.config import Settings
from tuimon.model.alerts import Alert
from tuimon.model.views import Size
from tuimon.monitor.process import ReaderProcess
from tuimon.panels import MOST_TOGETHER, ChartOptions, header_panel
from tuimon.store import Run, Snapshot
from tuimon.tui import actions, opening, saved_view
from tuimon.tui.action import Action, key_names
from tuimon.tui.actions import explore
from tuimon.tui.arrangement import panels_of
from tuimon.tui.ascii_mode import draw_with
from tuimon.tui.bars import AlertBar, InputLine, KeyBar, Question
from tuimon.tui.board import Board
from tuimon.tui.box import Drawing, PanelBox
from tuimon.tui.frame_limiter import FrameLimiter
from tuimon.tui.page import HEADER_ROWS, chart_options, default_state, header_options
from tuimon.tui.palette import ActionProvider, Palette
from tuimon.tui.redraw_loop import RedrawLoop
from tuimon.tui.run_choice import RunChoice, run_with_id, runs_of
from tuimon.tui.run_contents import RunContents
from tuimon.tui.screens.work_screen import WorkScreen, place_of
from tuimon.tui.startup import GC_FREEZE_DELAY, freeze_gc, preload
from tuimon.tui.terminal import textual_patches
from tuimon.tui.terminal.backpressure import OutputBackpressure
from tuimon.tui.terminal.signals import ExitSignals
from tuimon.tui.waiting import Waiting

NOTHING_FOUND = 3
"""Exit code if there is no log and none is waited for."""
TICK = 1.0
"""Interval (s) at which the header is refreshed: the state of a run can change although nothing was written."""


class DashboardScreen(textual_patches.PresentSize):
    """Screen below all others. It is drawn before it is laid out."""

    app: TuimonApp

    def on_resize(self) -> None:
        self.app.draw_for_layout()


class TuimonApp(textual_patches.LateTimers, inherit_bindings=False):
    """The dashboard."""

    TITLE = "tuimon"
    AUTO_FOCUS = ""  # or else the filter line takes every letter
    BINDINGS: ClassVar[list[BindingType]] = [  # these also work while a line is typed
        Binding("ctrl+c", "do('quit')", show=False, priority=True),
        Binding("ctrl+z", "tuimon_suspend", show=False, priority=True),
    ]
    ENABLE_COMMAND_PALETTE = False  # or else Textual binds a key of its own; the action "palette" has the key
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {ActionProvider}
    CSS_PATH = Path(__file__).with_name("app.tcss")

    def __init__(
        self,
        monitor: ReaderProcess,
        settings: Settings,
        wait: bool = True,
        views: Path | None = None,
        list_runs: bool = False,
    ) -> None:
        """wait: stay although there is no log yet, instead of leaving with exit code 3 once all has been searched.

        views: directory of the saved views; None: begin with the default view and do not save it.

        list_runs: begin with the run list, alerts first, if there are several runs.
        """
        self.actions = actions.with_user_keys(settings.keys)
        self.action_of = {action.id: action for action in self.actions}
        super().__init__(ansi_color=True)
        self.use_command_palette = True
        self.animation_level = "none"
        self.monitor, self.paths = monitor, monitor.paths
        self.settings = settings
        self._wait = wait
        self.views = views
        self._default = default_state(settings, list_runs)
        self.list_runs = list_runs
        """Whether the run list is still to be opened."""
        self.first_contents: RunContents | None = None
        """Contents of the run list that the screen shows already."""
        self.begun_at = time.monotonic()
        fresh = replace(self._default)
        self.state = saved_view.restored(fresh, monitor.paths, views) if views else fresh
        self.forget_sent: Callable[[], object] = lambda: None
        """Called when the terminal no longer shows what it was sent."""
        self.started: Callable[[], object] = lambda: None
        """Called once the screen is there and signals are handled."""
        self.ignore_input_until = 0.0
        """Time (time.monotonic()) until which keys are discarded: a late reply of the terminal can look like typing."""
        self.snapshot: Snapshot = monitor.snapshot()
        self._listed: tuple[Snapshot | None, RunChoice, tuple[Run, ...]] = (None, self.state.runs, ())
        self.limiter = FrameLimiter(settings.frame_rate)
        self.exit_signals = ExitSignals(self.leave)
        self.backpressure = OutputBackpressure(
            partial(textual_patches.backlog, self), partial(textual_patches.ask_position, self)
        )
        self._redraw_loop = RedrawLoop(self)
        self.header = PanelBox(clock=True)
        self.header.styles.height = HEADER_ROWS
        self.board = Board()
        self.board.larger, self.board.frames = self.state.chart_size, settings.frames
        self.waiting = Waiting()
        self.alert_bar = AlertBar()
        hint = "part of a name; * and ?; re:expression"
        self._filter = Question(
            "filter charts", hint, self._submit_filter, self._set_filter, partial(self._set_filter, "")
        )
        self.input_line = InputLine()
        self.key_bar = KeyBar()
        self._settings_checked = False
        self.header_at = 0.0
        """Time of the last header (time.monotonic())."""

    # ------------------------------------------------------------------ the screen

    def get_default_screen(self) -> Screen[None]:
        return DashboardScreen(id="_default")

    def compose(self) -> ComposeResult:
        preload()
        self.header.assign(header_panel())
        yield from (self.header, self.board, self.waiting, self.alert_bar)
        yield from (self.input_line, self.key_bar)

    def on_mount(self) -> None:
        for action in self.actions:
            if action.keys and "dashboard" in action.where:
                self.bind(action.keys, f"do({action.id!r})", description=action.label, show=False)
        loop = asyncio.get_running_loop()
        self.exit_signals.install(loop)
        textual_patches.observe_writes(self, self.backpressure.wrote)
        self.app_resume_signal.subscribe(self, self._resume)
        self.monitor.on_change = partial(self._redraw_loop.announce, loop)
        self.set_interval(TICK, self._tick)
        self.set_timer(GC_FREEZE_DELAY, freeze_gc)
        opening.use_dashboard(self)
        if opening.is_list_expected(self):
            opening.open_run_list(self)
        self._redraw_loop.draw_first_page()
        self.started()
        self.run_worker(self._redraw_loop.run())

    def _resume(self, _: object) -> None:
        self.backpressure.resume()
        self.repaint()  # the shell has written over the screen

    def on_unmount(self) -> None:
        self.exit_signals.uninstall()

    def _tick(self) -> None:
        """Refresh what depends on the wall time: the header (state, ETA), and what a screen reads from a file."""
        if not self.screen_stack:  # the app is closing, and its timers have not been stopped yet
            return
        if not self.snapshot.progress.caught_up or self.snapshot.unchecked:
            freeze_gc()  # what is read stays; scanning it would block the loop for 0.2 s if there are thousands of runs
        if self.snapshot.progress.caught_up and not self._settings_checked:
            self._settings_checked = True
            self.run_worker(opening.check_settings(self))
        if isinstance(self.screen, WorkScreen):
            self.screen.tick()
            self.draw()
        elif self.alert_bar.expired or self.list_runs:  # the first drawing may have been the last one with news
            self.draw()
        elif not self.state.paused and time.monotonic() > self.header_at + TICK / 2:
            self._draw_header(self.run_shown, time.time())

    def draw_for_layout(self) -> None:
        """Draw the dashboard if it is about to be laid out in another size than it was drawn for."""
        if self.header_at and self.board.room != self._board_size:
            self.draw()
            self.board.draw_at_once()

    @property
    def _board_size(self) -> Size:
        """Size that the lines above and below leave to the board."""
        lines = 1 + self.alert_bar.rows + self.input_line.display
        return Size(self.size.width, max(1, self.size.height - HEADER_ROWS - lines))

    def draw(self, header: bool = True) -> None:
        """Draw everything that is visible from `snapshot`. header: whether to draw the header, too."""
        if not self.screen_stack:  # the app is closing, and the redraw loop has not been cancelled yet
            return
        draw_with(self.state.symbols)
        snapshot, now = self.snapshot, time.time()
        if not self._wait and snapshot.progress.caught_up and not opening.expects_metrics(snapshot, now):
            self._wait = True
            self.run_worker(opening.open_texts_or_leave(self, NOTHING_FOUND))
        if isinstance(self.screen, WorkScreen):
            self.screen.show(snapshot, self.state, now)
            return
        if self.list_runs and self.header_at:
            self.call_later(opening.open_run_list, self)
        run, theme = self.run_shown, self.state.theme
        panels = () if opening.is_list_expected(self) else panels_of(run, self.state)
        self.alert_bar.update(snapshot, run, theme, self.size.width)
        self.board.fit(self._board_size)
        self.board.show(panels)
        self.board.display = bool(panels)
        self.waiting.display = not panels
        if not panels:
            self.waiting.update(run)
        if header:
            self._draw_header(run, now)
        options = self.options
        self.board.update(Drawing(run, now, self.state.symbols, theme, options))
        self.key_bar.update(run, options)

    def _draw_header(self, run: Run | None, now: float) -> None:
        self.header_at = time.monotonic()
        self.header.room = Size(self.size.width, HEADER_ROWS)
        options = header_options(self.snapshot, self.state)
        self.header.update(Drawing(run, now, self.state.symbols, self.state.theme, options), False)

    @property
    def options(self) -> ChartOptions:
        """Display options of the charts, including the runs that are overlaid."""
        return chart_options(self.snapshot, self.state, self.run_shown, self.board.zoomed)

    @property
    def run_shown(self) -> Run | None:
        """Run that the user chose, or else the run that grew last, which is then kept."""
        runs = self.snapshot.runs
        if not runs:
            return None
        if self.state.run is None:
            newest = self.snapshot.newest_run
            if newest is None or newest.point_count == 0:
                return newest
            self.state.run = newest.id
        return run_with_id(self.snapshot, self.state.run)

    # ------------------------------------------------------------------ what actions and screens call

    async def on_event(self, event: Event) -> None:
        """Pass an event of the terminal on, except keys that are to be discarded."""
        if isinstance(event, CursorPosition):
            self.backpressure.answered()
        if not (isinstance(event, Key) and time.monotonic() < self.ignore_input_until):
            self.list_runs = self.list_runs and not isinstance(event, Key)
            await super().on_event(event)

    def action_do(self, id: str) -> None:
        """Run an action."""
        self.do(self.action_of[id])

    def do(self, action: Action) -> None:
        """Do an action on the topmost screen, and draw."""
        action.do(self)
        self.redraw()

    async def action_tuimon_suspend(self) -> None:
        await self.backpressure.finish()
        self.action_suspend_process()

    def log_in(self) -> bool:
        """Log in to the hosts that ask for it, on the terminal without the screen; return whether there is one."""
        if not any(link.state == "login" for link in self.monitor.links):
            return False
        with self.suspend():
            self.monitor.log_in()
        self.repaint()
        return True

    def open_palette(self) -> None:
        """Open the palette, which finds actions, panels and metrics by words."""
        if not isinstance(self.screen, Palette):
            self.push_screen(Palette())

    def pop_screen(self) -> AwaitComplete:
        """Close the screen on top; the dashboard itself stays, whatever keys a burst has."""
        return super().pop_screen() if len(self.screen_stack) > 1 else AwaitComplete()

    def leave(self, code: int) -> None:
        """Exit with this exit code."""
        self.run_worker(self._leave(code))

    async def _leave(self, code: int) -> None:
        await self.backpressure.finish()
        self.exit(return_code=code)

    def redraw(self) -> None:
        """Draw at once from the snapshot that is shown, so that a key costs only what it changes; newer data follow at
        the frame rate. Boxes that get another size ask for more themselves."""
        self.draw()
        if not self.state.paused:
            self._redraw_loop.wake()

    def repaint(self) -> None:
        """Send every cell to the terminal again."""
        self.forget_sent()
        self.screen.refresh()

    def write(self, text: str) -> None:
        """Write control sequences to the terminal, in order with the output of Textual."""
        textual_patches.write(self, text)

    def resize_charts(self, by: int) -> None:
        """Make charts larger (by > 0) or smaller."""
        size = self.state.chart_size + by
        if not self.board.resize(size):
            self.say("Charts cannot be larger" if by > 0 else "Charts cannot be smaller")
            return
        self.state.chart_size = size

    def say(self, message: str) -> None:
        """Display a message from the next drawing on: what an action did, or why not."""
        if isinstance(self.screen, WorkScreen):
            self.screen.say(message)
        else:
            self.alert_bar.say(message)

    def runs_listed(self) -> tuple[Run, ...]:
        """Return the runs in the order of the run list, without the runs that it leaves out."""
        inputs = self.snapshot, self.state.runs
        if inputs != self._listed[:2]:
            self._listed = *inputs, runs_of(*inputs, time.time(), self.state.symbols)
        return self._listed[2]

    @property
    def run_selected(self) -> Run | None:
        """Run that actions apply to: the selected row of the run list, or else the run that is shown."""
        return self.screen.run_selected if isinstance(self.screen, WorkScreen) else self.run_shown

    def show_run(self, run: Run) -> None:
        """Close any other screen and display the dashboard of `run`."""
        self.state.run = run.id
        self._close_screens()

    def _close_screens(self) -> None:
        while len(self.screen_stack) > 1:
            self.pop_screen()

    def show_alert(self, alert: Alert) -> None:
        """Close any other screen and display the metric of an alert at its step, or else the run of the alert."""
        run = next((run for run in self.snapshot.runs if run.id == alert.run), None)
        if run is None:
            self.say("The run of this alert is gone")
            return
        if alert.step is not None:
            self.state.options = explore.with_cursor(self.state.options, run, alert.step)
        self.show_run(run)
        if alert.metric in run.metrics:
            self.show_metrics((alert.metric,), alert.metric)

    def perform(self, action: Action) -> None:
        """Do what an action does on the topmost screen, or say on which screens it works."""
        if place_of(self.screen) in action.where:
            action.do(self)
        else:
            name = key_names(action.keys) if action.keys else action.label
            self.say(f"{name} works on another screen: {', '.join(action.where)}")

    def show_metrics(self, names: tuple[str, ...], first: str) -> None:
        """Close any other screen and display one chart for each metric, the chart of `first` zoomed."""
        self.state.query, self.state.chosen, self.state.together = "", names, ()
        self._close_screens()
        self.draw()
        self.board.open(names.index(first))

    def show_together(self, names: Sequence[str]) -> None:
        """Close any other screen and draw the metrics, at most MOST_TOGETHER, in one chart."""
        self.state.together = tuple(names[:MOST_TOGETHER])
        self._close_screens()
        self.draw()
        self.board.open(0)
        if len(names) > MOST_TOGETHER:
            self.say(f"The first {MOST_TOGETHER} of {len(names)} metrics")

    def begin_filter(self) -> None:
        """Open the line in which the filter of the dashboard is typed."""
        self.input_line.open(self._filter, self.state.query)

    def ask(self, prompt: str, hint: str, on_answer: Callable[[str], None], text: str = "") -> None:
        """Open a line in which an answer is typed, which begins with `text`. on_answer: called with it after Enter.

        hint: shown while the line is empty."""
        if isinstance(self.screen, WorkScreen):
            self.screen.ask(prompt, hint, on_answer, text)
        else:
            self.input_line.open(Question(prompt, hint, on_answer), text)

    def _set_filter(self, query: str) -> None:
        self.state.query = query

    def _submit_filter(self, query: str) -> None:
        self._set_filter(query)
        if error := expression_error(query):
            self.say(f"{error}; it is searched for as plain text")

    def go_back(self) -> None:
        """Close the innermost open thing: a filter, a screen, a zoomed panel, a list of metrics."""
        state = self.state
        if isinstance(self.screen, WorkScreen) and self.screen.go_back():
            return
        if len(self.screen_stack) > 1:
            self.pop_screen()
        elif self.input_line.cancel():
            pass
        elif self.board.zoomed:
            self.board.zoom(False)
        else:
            state.leave_choice()

    # ------------------------------------------------------------------ the mouse

    def click_box(self, box: PanelBox, x: int, twice: bool) -> None:
        """Select the panel of a box; put the cursor at a cell of the zoomed chart; twice: zoom, or undo it."""
        place = dict(zip(self.board.boxes, self.board.places, strict=False)).get(box)
        if place is not None:  # a key may have taken the box away since
            self.board.selected = place.index
            if twice:
                self.board.zoom(not self.board.zoomed)
            elif self.board.zoomed:
                explore.put_cursor(self, x)
        self.redraw()

    def drag_chart(self, cells: int) -> None:
        """Move the window of the zoomed chart as the mouse was moved with a button held down, to the right if > 0."""
        if self.board.zoomed and cells:
            explore.drag(self, cells)
            self.redraw()

    def turn_wheel(self, x: int, up: bool, sideways: bool) -> None:
        """Zoom or pan the zoomed chart around a cell, or turn the page. sideways: with shift or ctrl."""
        if self.board.zoomed:
            explore.wheel(self, x, up, sideways)
        else:
            self.board.turn(-1 if up else 1)
        self.redraw()

    def save_view(self) -> None:
        """Save the view for the next start on the same paths. Raises OSError."""
        if self.views:
            saved_view.save(self.state, self._default, self.monitor.paths, self.views)
