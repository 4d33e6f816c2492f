"""The application: takes a monitor, shows its runs, gives the terminal back however it ends."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Iterable
from pathlib import Path

from textual.app import App, ComposeResult, SystemCommand
from textual.binding import Binding
from textual.containers import Horizontal
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input, Static

from tuimon.config import Settings
from tuimon.draw import FrameCache
from tuimon.model.views import Symbols
from tuimon.monitor import ReaderProcess
from tuimon.panels import Panel, arrange, header_panel, metric_panel
from tuimon.store import Run, Snapshot
from tuimon.text import clean
from tuimon.tui import _textual, actions, terminal
from tuimon.tui.bars import AlertBar, KeyBar
from tuimon.tui.board import Board
from tuimon.tui.box import PanelBox
from tuimon.tui.filtering import matching
from tuimon.tui.screens import HelpScreen, NotesScreen
from tuimon.tui.themes import THEMES
from tuimon.tui.waiting import Waiting

NOTHING_FOUND = 3
"""The exit code when there is no log, and none is waited for."""
TICK = 1.0
"""Seconds between two looks at the clock: a state may change although nothing was written."""


class Changed(Message):
    """The store has changed. However many are posted, one is handled."""

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, Changed)


class TuimonApp(App[None], inherit_bindings=False):
    """The dashboard."""

    TITLE = "tuimon"
    AUTO_FOCUS = ""  # the filter line would take every letter
    BINDINGS = [  # noqa: RUF012  Textual's way. These two work while a line is being typed, too.
        Binding("ctrl+c", "tuimon_quit", show=False, priority=True),
        Binding("ctrl+z", "tuimon_suspend", show=False, priority=True),
    ]
    ENABLE_COMMAND_PALETTE = True
    CSS = """
    * { scrollbar-size: 0 0; }
    Screen { background: ansi_default; color: ansi_default; layout: vertical; }
    #header { height: 2; }
    #filter-bar { height: 1; }
    #filter-prompt { width: auto; color: ansi_bright_blue; }
    #filter { height: 1; width: 1fr; border: none; padding: 0; background: ansi_default; color: ansi_default; }
    """

    def __init__(self, monitor: ReaderProcess, settings: Settings, wait: bool = True) -> None:
        """wait: stay although there is no log yet; else leave with exit code 3 once all has been looked through."""
        self._actions = actions.with_user_keys(settings.keys)
        super().__init__(ansi_color=True)
        self.animation_level = "none"
        self._monitor = monitor
        self._settings = settings
        self._wait = wait
        self._symbols = terminal.symbols(settings.symbols)
        self.theme_name = terminal.theme(settings.theme)
        self._frames = FrameCache()
        self._snapshot: Snapshot = monitor.snapshot()
        self._run_index: int | None = None
        self._paused = False
        self._query: str | None = None
        self._all_metrics = False
        self._axis = "step"
        self._drawn = 0.0
        self._draw_waits = False

    # ------------------------------------------------------------------ the screen

    def compose(self) -> ComposeResult:
        header = PanelBox(self._frames)
        header.id = "header"
        header.assign(header_panel())
        yield header
        yield Board(self._frames)
        yield Waiting(self._monitor.paths)
        yield AlertBar()
        with Horizontal(id="filter-bar") as bar:
            bar.display = False
            yield Static(" filter / ", id="filter-prompt", markup=False)
            yield Input(id="filter", placeholder="part of a metric's name; * and ? match anything", compact=True)
        yield KeyBar(self._actions)

    def on_mount(self) -> None:
        for action in self._actions:
            self.bind(action.keys, f"tuimon_{action.id}", description=action.label, show=False)
        self.board = self.query_one(Board)
        self.waiting = self.query_one(Waiting)
        self.alert_bar = self.query_one(AlertBar)
        self.key_bar = self.query_one(KeyBar)
        self.header = self.query_one("#header", PanelBox)
        self.filter_line = self.query_one("#filter", Input)
        self.filter_bar = self.query_one("#filter-bar")
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            loop.add_signal_handler(number, self._ended_by, number)
        self.app_resume_signal.subscribe(self, lambda _: self.refresh(layout=True))  # the shell has drawn over it
        self._monitor.on_change = self._announce
        self.set_interval(TICK, self._tick)
        self.call_after_refresh(self._draw)

    def _ended_by(self, number: int) -> None:
        self.exit(return_code=128 + number)

    def _announce(self) -> None:
        """On the receiving thread."""
        self.post_message(Changed())

    def on_changed(self) -> None:
        if not self._paused:
            self._draw_soon()

    def _tick(self) -> None:
        """Time alone changes the header (a state, an ETA), nothing else."""
        if not self._paused and self._monitor.snapshot().version == self._snapshot.version:
            self.header.update(self.run_shown, time.time(), self._symbols, self.theme_name, False)
        elif not self._paused:
            self._draw_soon()

    def _draw_soon(self) -> None:
        """Now, or when the frame rate allows; later while a slow terminal has frames waiting."""
        if self._draw_waits:
            return
        pause = self._drawn + 1 / self._settings.frame_rate - time.monotonic()
        if pause <= 0 and _textual.backlog(self) == 0:
            self._draw()
        else:
            self._draw_waits = True
            self.set_timer(max(pause, 0.02), self._draw_now)

    def _draw_now(self) -> None:
        self._draw_waits = False
        if _textual.backlog(self):
            self._draw_soon()
        else:
            self._draw()

    def on_panel_box_resized(self) -> None:
        """A box has its size now, or another one: what it shows is to be drawn for it, once for all boxes."""
        self.call_after_refresh(self._draw)

    def _draw(self) -> None:
        """Everything that is visible, from one snapshot."""
        self._drawn = time.monotonic()
        if not self._paused:
            self._snapshot = self._monitor.snapshot()
        snapshot, now = self._snapshot, time.time()
        if not self._wait and snapshot.progress.caught_up and not any(run.streams for run in snapshot.runs):
            self.exit(return_code=NOTHING_FOUND)
        run = self.run_shown
        panels = self._panels(run)
        self.board.show(panels)
        self.board.display = bool(panels)
        self.waiting.display = not panels
        if not panels:
            self.waiting.update(snapshot, self._query if run is not None else None, self.theme_name)
        theme = self.theme_name
        self.header.update(run, now, self._symbols, theme, False)
        axis = self._axis_of(run)
        self.board.update(run, now, self._symbols, theme, axis)
        self.alert_bar.update(snapshot, run, theme)
        self.key_bar.update(self.board, self._run_index or 0, len(snapshot.runs), self._paused, theme, axis)

    @property
    def run_shown(self) -> Run | None:
        """The run that a person chose, or the one that grew last."""
        runs = self._snapshot.runs
        if not runs:
            return None
        if self._run_index is None:
            newest = max(runs, key=lambda run: (run.last_change, run.point_count))
            if newest.point_count == 0:
                return newest
            self._run_index = runs.index(newest)
        return runs[min(self._run_index, len(runs) - 1)]

    def _axis_of(self, run: Run | None) -> str:
        """The axis that a person chose, where the run has it."""
        return self._axis if self._axis == "step" or (run is not None and self._axis in run.axes()) else "step"

    def _panels(self, run: Run | None) -> tuple[Panel, ...]:
        if run is None:
            return ()
        if self._query:
            return tuple(metric_panel(name) for name in matching(run.metrics, self._query))
        if self._all_metrics:
            return tuple(metric_panel(name) for name in run.metrics)
        return arrange(run)

    # ------------------------------------------------------------------ actions

    def action_tuimon_quit(self) -> None:
        self.exit(return_code=0)

    def action_tuimon_help(self) -> None:
        self.push_screen(HelpScreen(self._actions, self.theme_name))

    def action_tuimon_notes(self) -> None:
        self.push_screen(NotesScreen(self._snapshot, self.run_shown, self.theme_name))

    def action_tuimon_zoom(self) -> None:
        self.board.zoom(not self.board.zoomed)
        self._redraw()

    def action_tuimon_back(self) -> None:
        if len(self.screen_stack) > 1:
            self.pop_screen()
        elif self.filter_bar.display:
            self._end_filter("")
        elif self.board.zoomed:
            self.board.zoom(False)
        elif self._query:
            self._query = None
        elif self._all_metrics:
            self._all_metrics = False
        self._redraw()

    def action_tuimon_filter(self) -> None:
        self.board.zoom(False)
        self.filter_line.value = self._query or ""
        self.filter_bar.display = True
        self.filter_line.focus()
        self._redraw()

    def on_input_changed(self, event: Input.Changed) -> None:
        if self.filter_bar.display:
            self._query = event.value or None
            self._redraw()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self._end_filter(event.value)
        self._redraw()

    def _end_filter(self, query: str) -> None:
        self._query = query or None
        self.filter_bar.display = False
        self.set_focus(None)

    def action_tuimon_metrics(self) -> None:
        self._all_metrics = not self._all_metrics
        self._query = None
        self.board.zoom(False)
        self._redraw()

    def action_tuimon_next_page(self) -> None:
        self.board.turn(1)
        self._redraw()

    def action_tuimon_previous_page(self) -> None:
        self.board.turn(-1)
        self._redraw()

    def action_tuimon_next_run(self) -> None:
        self._choose_run(1)

    def action_tuimon_previous_run(self) -> None:
        self._choose_run(-1)

    def _choose_run(self, step: int) -> None:
        if self._snapshot.runs:
            self._run_index = ((self._run_index or 0) + step) % len(self._snapshot.runs)
            self._redraw()

    def action_tuimon_left(self) -> None:
        self._move("left")

    def action_tuimon_right(self) -> None:
        self._move("right")

    def action_tuimon_up(self) -> None:
        self._move("up")

    def action_tuimon_down(self) -> None:
        self._move("down")

    def _move(self, direction: str) -> None:
        self.board.move(direction)
        self._redraw()

    def on_panel_box_selected(self, event: PanelBox.Selected) -> None:
        for box, place in zip(self.board.boxes, self.board.places, strict=False):
            if box is event.box:
                self.board.selected = place.index
                if event.zoom:
                    self.board.zoom(not self.board.zoomed)
        self._redraw()

    def action_tuimon_axis(self) -> None:
        run = self.run_shown
        axes = run.axes() if run is not None else ("step",)
        self._axis = axes[(axes.index(self._axis_of(run)) + 1) % len(axes)]
        if len(axes) == 1:
            self.alert_bar.say("The run tells nothing but steps: neither times nor epochs, samples or tokens")
        self._redraw()

    def action_tuimon_pause(self) -> None:
        self._paused = not self._paused
        self._redraw()

    def action_tuimon_symbols(self) -> None:
        order = list(Symbols)
        self._symbols = order[(order.index(self._symbols) + 1) % len(order)]
        self._redraw()

    def action_tuimon_theme(self) -> None:
        order = list(THEMES)
        self.theme_name = order[(order.index(self.theme_name) + 1) % len(order)]
        self._redraw()

    def action_tuimon_screenshot(self) -> None:
        path = Path(time.strftime("tuimon-%Y%m%d-%H%M%S.svg"))
        try:
            path.write_text(self.export_screenshot(title="tuimon"), "utf-8")
        except OSError as error:
            self.alert_bar.say(clean(f"The screenshot was not saved: {error}"))
        else:
            self.alert_bar.say(f"Screenshot saved: {path}")
        self._redraw()

    def action_tuimon_suspend(self) -> None:
        self.action_suspend_process()

    def _redraw(self) -> None:
        """After a key: at once. Boxes that get another size by it ask for more themselves."""
        self._draw()

    # ------------------------------------------------------------------ the palette

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The palette offers the same actions as the keys."""
        for action in self._actions:
            yield SystemCommand(
                f"{action.label} ({actions.key_names(action.keys)})",
                action.help,
                getattr(self, f"action_tuimon_{action.id}"),
            )


def run(monitor: ReaderProcess, settings: Settings, wait: bool) -> int:
    """Shows the dashboard until a person leaves it. Returns the exit code."""
    app = TuimonApp(monitor, settings, wait)
    try:
        app.run(mouse=settings.mouse)
    finally:
        monitor.on_change = lambda: None
    return app.return_code or 0


__all__ = ["TuimonApp", "run"]
