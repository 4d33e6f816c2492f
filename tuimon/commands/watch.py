"""`tuimon [PATH …]`: the live dashboard; what it shows once as text with --once; a summary where there is no screen."""

from __future__ import annotations

import argparse
import os
import sys
import time

from tuimon import config
from tuimon.commands import EXIT_OK, Command
from tuimon.commands._shared import add_paths, checked_paths, say
from tuimon.errors import NothingFound


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_paths(parser)
    parser.add_argument("--once", action="store_true", help="print the dashboard once, as text, and exit")
    parser.add_argument("--wait", action="store_true", help="wait for a path that does not exist, or holds no log yet")
    parser.add_argument("--poll", action="store_true", default=None, help="do not use file system events")
    parser.add_argument("--interval", type=float, metavar="S", help="seconds between two looks at the files (1.0)")
    parser.add_argument("--symbols", choices=config.SYMBOLS, help="what charts are drawn with (auto)")
    parser.add_argument("--theme", choices=config.THEMES, help="colours (auto)")
    parser.add_argument("--no-mouse", action="store_true", help="leave the mouse to the terminal")
    parser.add_argument("--width", type=int, metavar="N", help="columns of --once (the terminal's, or 100)")
    parser.add_argument("--height", type=int, metavar="N", help="rows of --once (the terminal's, or 40)")


def _run(options: argparse.Namespace) -> int:
    settings = config.load().with_changes(
        theme=options.theme,
        symbols=options.symbols,
        poll=options.poll,
        interval=options.interval,
        mouse=False if options.no_mouse else None,
    )
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
    return _watch(paths, settings, options.wait)


def _watch(paths: list[str], settings: config.Settings, wait: bool) -> int:
    from tuimon.monitor.process import ReaderProcess

    monitor = ReaderProcess(paths, poll=settings.poll, interval=settings.interval)
    monitor.start()
    try:
        from tuimon.tui.app import run  # the reader reads while this imports

        if not wait:
            monitor.wait_for_first(10.0)
            _require_streams(monitor, paths)
        return run(monitor, settings)
    finally:
        monitor.close()


def _require_streams(monitor: object, paths: list[str]) -> None:
    """Raises NothingFound when the reader has looked everywhere and there was no log."""
    from tuimon.monitor.process import ReaderProcess
    from tuimon.reader.collect import nothing_found

    assert isinstance(monitor, ReaderProcess)
    snapshot = monitor.snapshot()
    if snapshot.progress.caught_up and not any(run.streams for run in snapshot.runs):
        raise nothing_found(paths)


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
