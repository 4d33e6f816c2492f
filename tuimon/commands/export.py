"""`tuimon export PATH -o WHERE`: points, tables and pictures of what was logged."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from tuimon import config
from tuimon.commands import EXIT_OK, EXIT_PARTLY, Command
from tuimon.commands._output import add_force, byte_output, directory
from tuimon.commands._progress import Progress
from tuimon.commands._shared import add_paths, checked_paths, say
from tuimon.errors import UsageError
from tuimon.text import clean

if TYPE_CHECKING:
    from tuimon.exports.files import Export, Job
    from tuimon.exports.points import Batch
    from tuimon.monitor.local import LocalMonitor
    from tuimon.reader import Collector
    from tuimon.store import Snapshot

_SIZE = (120, 40)
"""Cells of a drawing, where there is no terminal."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    from tuimon.exports.files import all_exports

    known = all_exports()
    parser.epilog = "formats:\n" + "".join(f"  {one.name:<9} {one.help}\n" for one in known.values()) + _EPILOG
    add_paths(parser, many="+")
    parser.add_argument(
        "--format",
        action="append",
        choices=tuple(known),
        metavar="FORMAT",
        help=f"{', '.join(known)}; may be repeated",
    )
    parser.add_argument(
        "-o", "--output", default="-", metavar="WHERE", help="a file or a directory; - is standard output (default)"
    )
    add_force(parser)
    parser.add_argument(
        "--by-source",
        action="store_true",
        help="every point of every source in file order, unmerged; without it one curve a metric and run",
    )
    parser.add_argument("--metric", action="append", default=[], metavar="PATTERN", help="only these; may be repeated")
    parser.add_argument("--smooth", type=_weight, default=0.9, metavar="W", help="of pictures: 0 (none) to 0.999 (0.9)")
    parser.add_argument("--size", type=_cells, metavar="WxH", help="of text and screen, in cells (the terminal's)")
    parser.add_argument("--strict", action="store_true", help="exit 5 when a log was damaged or could not be read")


_EPILOG = """
Without --format: what the suffix of WHERE says, or into a directory history, csv and, with matplotlib, png.
"""
_EXAMPLES = """\
  tuimon export RUN                              every point as CSV
  tuimon export RUN -o points.parquet            … as Parquet
  tuimon export RUN -o exports/                  tables, points and pictures
  tuimon export RUN --format png -o plots/ --metric '*reward*'
"""


def _weight(text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = -1.0
    if not 0 <= weight < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no weight from 0 to below 1")
    return weight


def _cells(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"([0-9]{1,4})x([0-9]{1,4})", text)
    if not found or not 1 <= int(found[1]) <= 1000 or not 1 <= int(found[2]) <= 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is no size like 120x40")
    return int(found[1]), int(found[2])


def _run(options: argparse.Namespace) -> int:
    chosen = _formats(options)
    reading = _Reading(options, all(one.once for one in chosen))
    job = reading.job()
    if len(chosen) == 1 and chosen[0].suffix and not _is_folder(options.output):
        for _, write in chosen[0].files(job):
            with byte_output(options.output, options.force) as stream:
                write(stream)
    else:
        _into_folder(chosen, job, options)
    if reading.partly:
        say("tuimon: some records could not be read; `tuimon doctor` names them")
    return EXIT_PARTLY if reading.partly and options.strict else EXIT_OK


def _into_folder(chosen: list[Export], job: Job, options: argparse.Namespace) -> None:
    if options.output == "-":
        raise UsageError(f"{' and '.join(one.name for one in chosen)}: several files", "name a directory: -o DIR")
    written = 0
    for export in chosen:
        for name, write in export.files(job):
            path = os.path.join(options.output, name)
            directory(os.path.dirname(path))
            with byte_output(path, options.force) as stream:
                write(stream)
            written += 1
    say(f"tuimon: {written} file{'s' * (written != 1)} in {clean(options.output)}")


def _formats(options: argparse.Namespace) -> list[Export]:
    from tuimon.exports.files import all_exports

    known = all_exports()
    if options.format:
        return [known[name] for name in dict.fromkeys(options.format)]
    if options.output == "-":
        return [known["csv"]]
    suffix = os.path.splitext(options.output)[1].lower()
    fits = [one for one in known.values() if one.suffix == suffix and suffix]
    if fits and not _is_folder(options.output):
        return fits[:1]
    wanted = ["history", "csv"]
    try:
        import matplotlib.figure  # noqa: F401  only asks whether it is there

        wanted.append("png")
    except ImportError:
        say("tuimon: no pictures, as matplotlib is not there (pip install 'tuimon[plots]')")
    return [known[name] for name in wanted]


def _is_folder(name: str) -> bool:
    return name.endswith("/") or os.path.isdir(name)  # noqa: PTH112


class _Reading:
    """The logs, read when and how the formats ask for them."""

    def __init__(self, options: argparse.Namespace, once: bool) -> None:
        """once: nobody asks for more than to go through the points."""
        self._options = options
        self._once = once
        self._paths = checked_paths(options.paths)
        self._monitor: LocalMonitor | None = None
        self._progress = Progress("reading")
        self.partly = False

    def job(self) -> Job:
        from tuimon.exports.files import Job
        from tuimon.model.views import Size
        from tuimon.tui import terminal

        options = self._options
        patterns: list[str] = options.metric
        wanted: Callable[[str], bool] = (
            (lambda name: any(fnmatchcase(name, pattern) for pattern in patterns)) if patterns else lambda name: True
        )
        width, height = options.size or (shutil.get_terminal_size(_SIZE) if sys.stdout.isatty() else _SIZE)
        return Job(
            snapshot=lambda: self._read().snapshot(),
            checked=self._checked,
            batches=lambda: self._batches(wanted if patterns else None),
            owner="source" if options.by_source else "run",
            wanted=wanted,
            every=not patterns,
            smooth=options.smooth,
            size=Size(width, height),
            symbols=terminal.symbols("auto"),
            now=time.time(),
            on_terminal=options.output == "-" and sys.stdout.isatty(),
            say=say,
        )

    def _read(self) -> LocalMonitor:
        """Once."""
        if self._monitor is None:
            from tuimon.monitor.local import LocalMonitor
            from tuimon.store import Spool

            self._monitor = monitor = LocalMonitor(self._paths, spool=Spool() if self._once else None)
            monitor.read(lambda done, total: self._progress.at(done, total, " bytes"))
            self._progress.close()
            monitor.collector.require_something()
            self.partly |= monitor.collector.partly_unreadable
        return self._monitor

    def _checked(self) -> Snapshot:
        self._read().check()
        return self._read().snapshot()

    def _batches(self, wanted: Callable[[str], bool] | None) -> Iterator[Batch]:
        """Raises NothingFound at once, before anything is written."""
        if not self._options.by_source:
            return self._curves(self._read().snapshot(), wanted)
        from tuimon.reader import Collector

        collector = Collector(self._paths, config.load().console_patterns)
        for _ in collector.find():
            pass
        collector.require_something()
        return self._sources(collector, wanted)

    def _sources(self, collector: Collector, wanted: Callable[[str], bool] | None) -> Iterator[Batch]:
        from tuimon.exports.points import source_batches

        progress = Progress("writing")
        for batch in source_batches(collector.in_file_order(), wanted):
            yield batch
            progress.at(*collector.progress(), " bytes")
        self.partly |= collector.partly_unreadable
        progress.close()

    def _curves(self, snapshot: Snapshot, wanted: Callable[[str], bool] | None) -> Iterator[Batch]:
        from tuimon.exports.points import curve_batches

        progress, done = Progress("writing"), 0
        total = sum(run.point_count for run in snapshot.runs)
        for batch in curve_batches(snapshot, wanted):
            yield batch
            done += len(batch)
            progress.at(done, total, " points")
        progress.close()


COMMAND = Command("export", "points, tables and pictures: CSV, JSON lines, Parquet, PNG …", _arguments, _run, _EXAMPLES)
