"""`tuimon [PATH …]`: open the live dashboard; print it with --once; print the summary if there is no terminal.

--json prints changes instead.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from typing import TYPE_CHECKING

from tuimon import config
from tuimon.commands import Command
from tuimon.commands._options import ALL_PATHS, SCHEMA, whole
from tuimon.commands._remote import is_mirror
from tuimon.commands._shared import checked_paths, live_monitor, resolved_paths, setting_warnings
from tuimon.commands._stderr import print_status
from tuimon.errors import READ_AGAIN, ExitCode, NothingFound
from tuimon.platform_support import hidden_modules

if TYPE_CHECKING:
    from tuimon.monitor.spawn import Spawned
    from tuimon.tui.terminal.background import Background

MAX_CELLS = 1000
"""Maximum width and height of --once, which bounds the memory it takes."""


_OPTIONS = f"""\
{ALL_PATHS}--once  print the dashboard once, as text, and exit
--json  print each change as a line of JSON (see --schema)
{SCHEMA}--wait  wait until the path exists and contains a log
--theme NAME  colour theme: {", ".join(config.THEMES)}, or one of the settings
--fresh  ignore the saved view (axis, theme, marked runs) of this path
--samples DIR…  also search DIR for generated texts (key T); repeatable
--width N  columns of --once (default: the terminal's, or 100)
--height N  rows of --once (default: the terminal's, or 40)
"""


def _run(options: argparse.Namespace) -> int:
    from tuimon.monitor import load_settings

    settings = load_settings().with_changes(
        theme=options.theme,
        samples=tuple(checked_paths(options.samples)) if options.samples else None,
    )
    if options.json:
        _print_changes(_paths_to_read(options, True), settings.interval, settings.poll)
    if "-" in options.paths and not options.once:
        return _watch_standard_input(options, settings)
    from tuimon.tui.terminal import capabilities as terminal

    is_live = not options.once and terminal.can_draw()
    paths = _paths_to_read(options, is_live)
    if options.once:
        return _once(paths, options, settings)
    if not terminal.can_draw():
        from tuimon.commands.summary import print_summary

        if options.wait:
            _wait_for_logs(paths, settings.interval)
        print_status(f"{terminal.obstacle()}; printing the summary instead (--once prints the charts)")
        return print_summary(paths, as_json=False)
    code = _watch(paths, settings, options.wait or any(map(is_mirror, paths)), options.fresh)
    if code == READ_AGAIN:
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
    return code


def _paths_to_read(options: argparse.Namespace, live: bool) -> list[str]:
    """Return the paths to read; with --wait they need not exist yet."""
    if options.wait:
        return resolved_paths(options.paths, live, options) or ["."]
    return checked_paths(options.paths, live=live, can_wait=True, options=options)


def _watch_standard_input(options: argparse.Namespace, settings: config.Settings) -> int:
    """Follow a pipe on the dashboard and read key presses from the terminal: `train.py 2>&1 | tuimon -`."""
    from tuimon.commands._stdin import stdin_spool
    from tuimon.tui.terminal import capabilities as terminal

    is_piped = sys.stdout.isatty() and not sys.stdin.isatty()
    if not is_piped or not stdin_spool().read_keys_from_terminal() or not terminal.can_draw():
        from tuimon.commands.summary import print_summary

        return print_summary(checked_paths(options.paths), as_json=False)
    try:
        code = _watch(checked_paths(options.paths, live=True), settings, wait=True, fresh=True)
        if code == READ_AGAIN:
            print_status("the pattern is saved; a pipe cannot be read again")
            return ExitCode.OK
        return code
    finally:
        stdin_spool().report_problem()
        stdin_spool().drain_in_background()


def _watch(paths: list[str], settings: config.Settings, wait: bool, fresh: bool) -> int:
    from tuimon.monitor.spawn import spawn
    from tuimon.tui.terminal import capabilities as terminal
    from tuimon.tui.terminal.background import Background, worth_asking

    terminal.draw_on_stdout()
    patterns = settings.console_patterns
    if patterns:
        from tuimon.formats.console.text import with_patterns

        with_patterns(patterns)  # report an invalid pattern here rather than in the reader process
    reader = spawn([os.path.abspath(path) for path in paths], settings.poll, settings.interval, patterns)
    gc.disable()  # objects made at start-up live on; collecting them would delay the first frame by 50 ms. The
    try:  # dashboard enables the GC after it (tui/startup.py).
        with Background(settings.theme == "auto" and worth_asking()) as background:
            code = _show_dashboard(paths, settings, wait, fresh, reader, background)
    finally:
        gc.enable()
    if code == ExitCode.NOTHING_FOUND:
        from tuimon.monitor.local import open_run

        open_run(*paths)  # raises NothingFound with the reason
    return code


def _show_dashboard(
    paths: list[str], settings: config.Settings, wait: bool, fresh: bool, reader: Spawned, background: Background
) -> int:
    """Draw the first page, import Textual, and run the dashboard; return its exit code."""
    from tuimon.tui.terminal import capabilities as terminal

    with hidden_modules("ssl"):  # asyncio imports it, the dashboard does not need it
        import asyncio  # noqa: F401
    from tuimon.tui.first_frame import FirstFrame

    _check_tables(settings)  # report invalid ones before the dashboard opens; the reader works meanwhile
    monitor = live_monitor(paths, settings, spawned=reader)
    monitor.start(detect=False)
    try:
        with FirstFrame(monitor, settings, fresh, background) as first:
            first.import_textual()
            from tuimon.tui.launch import run

            theme = terminal.theme_on(background.theme())
            pictures = terminal.pictures(settings.pictures, background.has_sixel)
            settings = settings.with_changes(theme=theme, pictures=pictures)
            return run(monitor, settings, wait, fresh, first, background)
    finally:
        monitor.close()


class _Themes(tuple[str, ...]):
    """Themes that shells complete. Others are valid, too: the settings, which are loaded later, may define them."""

    __slots__ = ()

    def __contains__(self, name: object) -> bool:
        return True


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


def _check_tables(settings: config.Settings) -> None:
    """Raise UsageError for an invalid table of config.toml, and define its themes."""
    where = str(config.config_path())
    if settings.keys:
        from tuimon.tui.actions import with_user_keys

        with_user_keys(settings.keys)
    if settings.notify:
        from tuimon.notify import channels_of

        channels_of(settings.notify, lambda text: None)
    if settings.dashboard:
        from tuimon.panels import parse_dashboard

        parse_dashboard(settings.dashboard, where)
    if settings.themes:
        from tuimon.tui.themes import define

        define(settings.themes, where)
    if settings.detectors or settings.rules:
        from tuimon.detectors import Checker

        Checker(settings.detectors, settings.rules, where)


def _once(paths: list[str], options: argparse.Namespace, settings: config.Settings) -> int:
    from tuimon.draw.ascii import ascii_text
    from tuimon.exports.dashboard import dashboard
    from tuimon.monitor.local import open_run
    from tuimon.tui.dashboard_file import load_dashboard
    from tuimon.tui.terminal import capabilities as terminal

    _check_tables(settings)
    if options.wait:
        _wait_for_logs(paths, settings.interval)
    own, _ = load_dashboard(settings, paths)
    snapshot = open_run(*paths)
    for message in setting_warnings(paths, snapshot.runs, rules=False):
        print_status(message)
    try:
        columns, lines = os.get_terminal_size(sys.stdout.fileno())
    except OSError:
        columns, lines = 100, 40
    width, height = options.width or columns, options.height or max(10, lines - 1)
    symbols = terminal.symbols(settings.symbols)
    for text in dashboard(snapshot, max(1, width), max(1, height), time.time(), symbols, own):
        print(ascii_text(text) if symbols == "ascii" else text)
    return ExitCode.OK


def _print_changes(paths: list[str], interval: float, poll: bool) -> None:
    """Print what is there, and then each change, until interrupted.

    While a slow consumer blocks the output, nothing is read, so the memory does not grow; afterwards the changes since
    are printed at once. No point is left out, but a state that has passed meanwhile is.
    """
    from tuimon.exports.changes import ChangeLog
    from tuimon.monitor.local import LocalMonitor
    from tuimon.sources.watch import Watcher

    changes = ChangeLog()
    monitor, watcher = LocalMonitor(paths), Watcher(poll=poll, interval=interval)
    try:
        while True:
            monitor.update()
            for line in changes.lines(monitor.snapshot(), time.time()):
                sys.stdout.write(line)
            sys.stdout.flush()
            watcher.set_directories(monitor.collector.directories)
            watcher.wait(interval)
    finally:
        watcher.close()


_CELLS = {"type": whole(1, MAX_CELLS)}
_VALUES = {"--theme": {"choices": _Themes(config.THEMES)}, "--width": _CELLS, "--height": _CELLS}
_HELP = "open the live dashboard (same as `tuimon PATH`)"
COMMAND = Command("watch", _HELP, _OPTIONS, _run, values=_VALUES, exclusive=(("--once", "--json"),))
