"""`tuimon [PATH …]`: the live dashboard; what it shows once as text with --once; a summary where there is no screen."""

from __future__ import annotations

import argparse
import gc
import os
import re
import sys
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING

from tuimon import config
from tuimon.commands import EXIT_NOTHING, EXIT_OK, Command
from tuimon.commands._shared import add_paths, checked_paths, say
from tuimon.errors import NothingFound
from tuimon.lean import without

if TYPE_CHECKING:
    from tuimon.tui.background import Background

LATE_ANSWER = 2.0
"""Seconds for which keys are not heeded where the terminal's answer is still on its way."""
MOST_CELLS = 1000
"""Of a side of --once: more than any screen has, and no more memory than a screen takes."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_paths(parser)
    parser.add_argument("--once", action="store_true", help="print the dashboard once, as text, and exit")
    parser.add_argument("--wait", action="store_true", help="wait for a path that does not exist, or holds no log yet")
    parser.add_argument("--poll", action="store_true", default=None, help="do not use file system events")
    parser.add_argument("--interval", type=float, metavar="S", help="seconds between two looks at the files (1.0)")
    parser.add_argument("--symbols", choices=config.SYMBOLS, help="what charts are drawn with (auto)")
    parser.add_argument("--theme", choices=config.THEMES, help="colours (auto)")
    parser.add_argument("--fresh", action="store_true", help="not as you left it last time: the view of a path is kept")
    parser.add_argument("--no-mouse", action="store_true", help="leave the mouse to the terminal")
    parser.add_argument("--width", type=_cells, metavar="N", help="columns of --once (the terminal's, or 100)")
    parser.add_argument("--height", type=_cells, metavar="N", help="rows of --once (the terminal's, or 40)")


def _cells(text: str) -> int:
    number = int(text) if re.fullmatch("[0-9]{1,4}", text) else 0
    if not 1 <= number <= MOST_CELLS:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to {MOST_CELLS}")
    return number


def _run(options: argparse.Namespace) -> int:
    settings = config.load().with_changes(
        theme=options.theme,
        symbols=options.symbols,
        poll=options.poll,
        interval=options.interval,
        mouse=False if options.no_mouse else None,
    )
    if "-" in options.paths and not options.once:
        return _watch_standard_input(options, settings)
    paths = list(options.paths) or ["."] if options.wait else checked_paths(options.paths)
    if options.once:
        return _once(paths, options, settings)
    from tuimon.tui import terminal

    if not terminal.can_draw():
        from tuimon.commands.summary import print_summary

        if options.wait:
            _wait_for_logs(paths, settings.interval)
        say("tuimon: this is no terminal to draw on; here is the summary (`tuimon --once` prints the charts)")
        return print_summary(paths, as_json=False)
    return _watch(paths, settings, options.wait, options.fresh)


def _watch_standard_input(options: argparse.Namespace, settings: config.Settings) -> int:
    """`train.py 2>&1 | tuimon -`: the screen follows the pipe, and its keys come from the terminal."""
    from tuimon.commands._stdin import piped_input
    from tuimon.tui import terminal

    drawn_on = sys.stdout.isatty() and not sys.stdin.isatty()
    if not drawn_on or not piped_input().keys_from_the_terminal() or not terminal.can_draw():
        from tuimon.commands.summary import print_summary

        return print_summary(checked_paths(options.paths), as_json=False)
    try:
        return _watch(checked_paths(options.paths, live=True), settings, wait=True, fresh=True)
    finally:
        piped_input().hand_over()


def _watch(paths: list[str], settings: config.Settings, wait: bool, fresh: bool) -> int:
    from tuimon.monitor.spawn import spawn

    patterns = settings.console_patterns
    if patterns:
        from tuimon.formats.console import with_patterns

        with_patterns(patterns)  # a wrong one is said here, not by a reader that ends
    reader = spawn([os.path.abspath(path) for path in paths], settings.poll, settings.interval, patterns)
    asked = _ask_for_the_background(settings)
    gc.disable()  # until tui/preparing.py settles: what a start imports and stores stays, and to look for garbage in it
    with asked or nullcontext():  # costs 50 ms of a long run's first frame
        with without("ssl"):  # which a screen has no use for
            import asyncio  # noqa: F401
        from tuimon.detectors import Checker  # the reader reads while this is imported
        from tuimon.monitor.process import ReaderProcess
        from tuimon.tui.launch import run

        if asked is not None:
            settings = settings.with_changes(theme=asked.theme())
    chosen = settings.detectors or settings.rules  # what is wrong with them is said before there is a screen
    checker = Checker(settings.detectors, settings.rules, str(config.config_path())) if chosen else None
    monitor = ReaderProcess(
        paths,
        poll=settings.poll,
        interval=settings.interval,
        console_patterns=patterns,
        spawned=reader,
        checker=checker,
    )
    monitor.start(detect=False)
    try:
        code = run(monitor, settings, wait, fresh, deaf_for=LATE_ANSWER if asked is not None and asked.late else 0.0)
    finally:
        gc.enable()
        monitor.close()
    if code == EXIT_NOTHING:
        from tuimon.monitor.local import open_run

        open_run(*paths)  # says what was looked for, and what was met instead
    return code


def _ask_for_the_background(settings: config.Settings) -> Background | None:
    """The question whether the terminal is dark or light, where nobody has said it."""
    from tuimon.tui import background, terminal

    unknown = settings.theme == "auto" and terminal.theme("auto") != "ansi"
    return background.Background() if unknown and background.worth_asking() else None


def _wait_for_logs(paths: list[str], interval: float) -> None:
    from tuimon.monitor.local import LocalMonitor

    while True:
        try:
            monitor = LocalMonitor(paths)
            monitor.update()
            monitor.collector.require_something()
            return
        except NothingFound:
            time.sleep(interval)


def _once(paths: list[str], options: argparse.Namespace, settings: config.Settings) -> int:
    from tuimon.exports.dashboard import dashboard
    from tuimon.monitor.local import open_run
    from tuimon.tui import terminal

    if options.wait:
        _wait_for_logs(paths, settings.interval)
    snapshot = open_run(*paths)
    try:
        columns, lines = os.get_terminal_size(sys.stdout.fileno())
    except OSError:
        columns, lines = 100, 40
    width, height = options.width or columns, options.height or max(10, lines - 1)
    symbols = terminal.symbols(settings.symbols)
    for text in dashboard(snapshot, max(1, width), max(1, height), time.time(), symbols):
        print(text)
    return EXIT_OK


COMMAND = Command("watch", "the live dashboard (what `tuimon PATH` does)", _arguments, _run)
