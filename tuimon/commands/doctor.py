"""`tuimon doctor PATH`: what was found, read, skipped and why; how growth is noticed; what this terminal can do."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tuimon.commands import EXIT_NOTHING, EXIT_OK, EXIT_PARTLY, Command
from tuimon.commands._shared import add_paths, checked_paths
from tuimon.text import clean, shown_path

if TYPE_CHECKING:
    from tuimon.store import Run

SKIPPED = 30
"""Skipped files that are named without --all."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_paths(parser)
    parser.add_argument("--metric", metavar="NAME", help="which sources hold this metric, and whether they agree")
    parser.add_argument("--all", action="store_true", help="name every file that was skipped")
    parser.add_argument("--strict", action="store_true", help="exit 5 when a log was damaged or could not be read")


def _run(options: argparse.Namespace) -> int:
    from tuimon.commands._stdin import in_words
    from tuimon.draw.numbers import format_bytes, format_count
    from tuimon.monitor.local import LocalMonitor
    from tuimon.monitor.piped import Piped
    from tuimon.sources.filesystem import kind
    from tuimon.sources.watch import Watcher
    from tuimon.tui import terminal

    paths = checked_paths(options.paths)
    monitor = LocalMonitor(paths)
    monitor.update()
    collector, snapshot = monitor.collector, monitor.snapshot()
    partly = False
    damage = {followed.found.stream: followed.damage for followed in collector.followed}
    for run in snapshot.runs:
        print(f"run  {clean(run.name)}   {shown_path(run.path)}")
        for stream in run.streams:
            status, found = stream.status, stream.found
            size = format_bytes(status.size) if status else ""
            state = status.state if status else "waiting"
            print(
                f"  {state:<12} {clean(found.source)}  [{clean(found.format)}]  "
                f"{format_count(stream.point_count)} points, {size}"
            )
            if status and status.message:
                print(f"      {clean(status.message)}")
            for one in damage.get(found.stream, ()):
                print(
                    f"      damaged at byte {one.offset}: {one.reason}; {one.records} record(s) lost, the others kept"
                )
            partly |= bool(status and (status.damaged or status.state in ("unreadable", "unsupported")))
        for line in _provenance(run, options.metric) if options.metric else ():
            print(f"  {line}")
    partly |= collector.partly_unreadable
    if not collector.followed:
        print("no metric log was found")
    shown = collector.skipped if options.all else collector.skipped[:SKIPPED]
    for path, reason in shown:
        print(f"skipped  {in_words(clean(path))}: {reason}")
    if len(shown) < len(collector.skipped):
        print(f"skipped  … and {len(collector.skipped) - len(shown)} more files (--all names them)")
    for problem in collector.problems:
        print(f"problem  {clean(problem.path)}: {problem.reason}" + (f"; {problem.hint}" if problem.hint else ""))
        partly = True
    watcher = Watcher()
    try:
        watcher.set_directories(collector.directories)
        print(f"watch    {watcher.detail}")
    finally:
        watcher.close()
    for path in (path for path in paths if not isinstance(path, Piped)):
        system = kind(os.path.abspath(path))
        print(f"disk     {clean(path)}: {system.type}, {'on a network' if system.remote else 'local'}")
    drawn = "yes" if terminal.can_draw() else "no: the summary is printed instead of a screen"
    print(
        f"screen   TERM={clean(os.environ.get('TERM', ''))}, can draw: {drawn}; "
        f"symbols {terminal.symbols('auto').value}, theme {terminal.theme('auto')}"
    )
    print("symbols  braille ⣀⣤⣶⣿  block ▁▃▅▇█  ascii .-=#" if terminal.symbols("auto") != "ascii" else "symbols  .-=#")
    print(f"python   {sys.version.split()[0]}")
    if not collector.followed:
        return EXIT_NOTHING
    return EXIT_PARTLY if options.strict and partly else EXIT_OK


def _provenance(run: Run, metric: str) -> Iterator[str]:
    """The sources of a metric, the one that is drawn first, and where they disagree."""
    try:
        held, curve = run.provenance(metric), run.curve(metric)
    except KeyError:
        yield f"{clean(metric)}: no source has it"
        return
    yield f"{clean(curve.metric)}: {len(curve)} points drawn, {curve.superseded} superseded by a later attempt"
    for index, (source, count) in enumerate(held):
        use = "drawn" if index == 0 else "kept beside it"
        if index == 1 and curve.filled:
            use = f"with those below fills {curve.filled} points that the first has not"
        yield f"    {clean(source)}: {count} points, {use}"
    if (found := curve.disagreement) is not None:
        yield (
            f"    they disagree about {found.steps} step(s), first at step {found.step}: {found.here!r} as drawn, "
            f"{found.there!r} in {clean(found.source)}"
        )


_EXAMPLES = """\
  tuimon doctor RUN                              every log that was found, and why others are not read
  tuimon doctor RUN --metric loss                which sources hold it, and whether they agree
"""
COMMAND = Command("doctor", "what was found, read, skipped and why", _arguments, _run, _EXAMPLES)
