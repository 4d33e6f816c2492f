"""`tuimon doctor PATH`: print what was found, read and skipped, and what the machine supports."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tuimon.commands import Command
from tuimon.commands._options import PATHS, STRICT
from tuimon.commands._shared import checked_paths, chosen_metrics, setting_warnings
from tuimon.errors import ExitCode
from tuimon.text import clean, shown_path

if TYPE_CHECKING:
    from tuimon.monitor.local import LocalMonitor
    from tuimon.reader import Collector
    from tuimon.store import Run

_MAX_SKIPPED = 30
"""Maximum number of skipped files that are named without --all."""


_OPTIONS = f"""\
{PATHS}--metric PATTERN  show which sources contain these metrics and where they differ
--all  name all skipped files
{STRICT}"""


def _run(options: argparse.Namespace) -> int:
    from tuimon.monitor.local import LocalMonitor

    paths = checked_paths(options.paths, options=options)
    monitor = LocalMonitor(paths)
    monitor.update()
    metrics, _ = chosen_metrics([options.metric] if options.metric else [], monitor.snapshot().runs)
    partly_read = _print_runs(monitor, metrics or set())
    _print_skipped(monitor.collector, options.all)
    _print_settings(paths, monitor)
    _print_environment(paths, monitor.collector)
    if not monitor.collector.followed:
        return ExitCode.NOTHING_FOUND
    return ExitCode.PARTLY_READ if options.strict and partly_read else ExitCode.OK


def _print_runs(monitor: LocalMonitor, metrics: set[str]) -> bool:
    """Print the sources of each run; return True if a log was damaged, unreadable or unsupported."""
    from tuimon.analysis.hidden_values import hidden_conflict
    from tuimon.analysis.progress_inputs import not_understood
    from tuimon.draw.numbers import format_bytes, format_count

    collector = monitor.collector
    partly_read = collector.partly_unreadable or bool(collector.problems)
    logs = {log.found.stream: log for log in collector.followed}
    rules = collector.rules()
    snapshot = monitor.snapshot()
    unread = not_understood(snapshot, time.time())
    partly_read |= bool(unread)
    streams = [stream for run in snapshot.runs for stream in run.streams]
    followed = {s.info.path for s in streams if s.status is None or s.status.state != "superseded"}
    for run in snapshot.runs:
        print(f"run  {clean(run.name)}   {shown_path(run.path)}")
        for line in run.join_evidence:
            print(f"  joined: {clean(line)}")
        for stream in run.streams:
            status, info = stream.status, stream.info
            if status and status.state == "superseded" and info.path in followed:
                continue  # the file was moved to another run
            size = format_bytes(status.size) if status else ""
            state = status.state if status else "waiting"
            points = format_count(stream.point_count)
            log = logs.get(info.stream)
            source = info.source if log is None else log.own_source
            joined = f", part of {clean(info.source)}" if source != info.source else ""
            rule = f"; rule: {clean(reason)}" if (reason := rules.get(info.path)) else ""
            print(f"  {state:<12} {clean(source)}  [{clean(info.format)}]  {points} points, {size}{joined}{rule}")
            if status and status.message:
                print(f"      {clean(status.message)}")
            if log is not None and log.unread:
                print(f"      not read: {log.unread}")
            for gap in log.damage if log is not None else ():
                print(f"      damaged at byte {gap.offset}, {format_bytes(gap.length)}: {gap.reason}; all others read")
            partly_read |= bool(status and (status.damaged or status.state in ("unreadable", "unsupported")))
        if conflict := hidden_conflict(run):
            print(f"  {conflict}; --metric NAME shows them")
        if run.id in unread:
            print(f"  not understood: {clean(unread[run.id])}")
        disagreeing = [metric for metric in run.metrics if run.disagreements(metric)]
        if disagreeing:
            print(f"  sources disagree on {clean(', '.join(disagreeing))}; --metric NAME compares them")
        for metric in sorted(metrics.intersection(run.metrics)):
            for line in _sources_of_metric(run, metric):
                print(f"  {line}")
    return partly_read


def _print_skipped(collector: Collector, all_files: bool) -> None:
    from tuimon.commands._remote import hide_mirrors
    from tuimon.commands._stdin import hide_spool_path
    from tuimon.samples.discovery import has_samples, unreadable_files
    from tuimon.sources.other_files import other_files

    if not collector.followed:
        print("no metric log found")
    skipped = [*collector.skipped]
    if all_files or not collector.followed:
        known = {followed.path for followed in collector.followed} | {path for path, _ in skipped}
        skipped += other_files(collector.searched_directories, known)
    named = skipped if all_files else skipped[:_MAX_SKIPPED]
    for path, reason in named:
        shown = hide_mirrors(hide_spool_path(clean(path)))
        if not unreadable_files(path) and has_samples([path]):
            print(f"generated texts: {shown}: tuimon samples prints them")
        else:
            print(f"skipped: {shown}: {hide_mirrors(reason)}")
    if len(named) < len(skipped):
        print(f"skipped: {len(skipped) - len(named)} more files (--all names them)")
    for problem in collector.problems:
        print(
            f"problem: {hide_mirrors(clean(problem.path))}: {problem.reason}"
            + (f"; {problem.hint}" if problem.hint else "")
        )


def _print_settings(paths: list[str], monitor: LocalMonitor) -> None:
    """Print warnings about the settings."""
    for message in setting_warnings(paths, monitor.snapshot().runs, rules=True):
        print(f"settings: {clean(message)}")


def _print_environment(paths: list[str], collector: Collector) -> None:
    from tuimon.commands._remote import keepers
    from tuimon.monitor.piped import StdinPath, remote_among
    from tuimon.registry import installed
    from tuimon.sources.filesystem import kind
    from tuimon.sources.watch import Watcher
    from tuimon.tui.terminal import capabilities as terminal

    watcher = Watcher()
    try:
        watcher.set_directories(collector.directories)
        print(f"watching: {watcher.detail}")
    finally:
        watcher.close()
    for keeper in keepers():
        link = keeper.link
        detail = f" ({link.detail})" if link.detail else ""
        print(f"link: {clean(link.target)}: {link.state}{detail}, {link.here} bytes copied")
    mirrors = remote_among(paths)
    for path in paths:
        if not isinstance(path, StdinPath) and path not in mirrors:
            system = kind(os.path.abspath(path))
            print(f"file system: {clean(path)}: {system.type}, {'network' if system.remote else 'local'}")
    print(f"terminal: {'interactive' if terminal.can_draw() else 'not interactive (summary mode)'}")
    symbols = terminal.symbols("auto")
    print(f"display: TERM={clean(os.environ.get('TERM', ''))}, symbols {symbols.value}, theme {terminal.theme('auto')}")
    print("symbols: braille ⣀⣤⣶⣿  block ▁▃▅▇█  ascii .-=#" if symbols != "ascii" else "symbols: .-=#")
    for plugin in installed():
        print(plugin.sentence)
    print(f"python: {sys.version.split()[0]}")
    textual = terminal.textual_version()
    patched = textual.startswith(terminal.SUPPORTED_TEXTUAL)
    print(f"textual: {textual or 'unknown version'}{'' if patched else ', not patched for speed'}")


def _sources_of_metric(run: Run, metric: str) -> Iterator[str]:
    """Yield the sources of a metric, the drawn one first, and where they disagree."""
    sources, curve = run.provenance(metric), run.curve(metric)
    yield f"{clean(curve.metric)}: {len(curve)} points drawn, {curve.superseded} superseded by a later attempt"
    for index, (source, count) in enumerate(sources):
        use = "drawn" if index == 0 else "kept for comparison"
        if index == 1 and curve.filled:
            use = f"fills {curve.filled} points that the first source lacks, together with the sources below"
        yield f"    {clean(source)}: {count} points, {use}"
    if differences := run.disagreements(metric):
        difference = min(differences, key=lambda difference: difference.step)
        yield (
            f"    the sources disagree at {difference.steps} step(s), first at step {difference.step}: "
            f"{difference.here!r} (drawn), {difference.there!r} in {clean(difference.source)}"
        )


_EXAMPLES = """\
  tuimon doctor RUN                              every log that was found, and why other files are not read
  tuimon doctor RUN --metric loss                which sources contain the metric, and whether they agree
"""
COMMAND = Command("doctor", "print what was found, read and skipped, and why", _OPTIONS, _run, _EXAMPLES)
