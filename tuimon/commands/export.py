"""`tuimon export PATH -o WHERE`: write points, tables and pictures of runs."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import chain
from typing import TYPE_CHECKING

from tuimon.commands import Command
from tuimon.commands._output import FILE_SUFFIX, add_force, directory, open_output
from tuimon.commands._reading import in_order
from tuimon.commands._shared import (
    add_metrics,
    add_paths,
    add_smooth,
    add_strict,
    checked_paths,
    chosen_metrics,
    step_range,
)
from tuimon.commands._stderr import Progress, count_of, interruptible, print_status
from tuimon.errors import ExitCode, TuimonError, UsageError
from tuimon.registry import EXPORTS, note_failure
from tuimon.text import clean

if TYPE_CHECKING:
    from tuimon.exports.files import Export, File, Job
    from tuimon.exports.points import Batch
    from tuimon.monitor.local import LocalMonitor
    from tuimon.reader import Collector
    from tuimon.store import Snapshot


def _arguments(parser: argparse.ArgumentParser) -> None:
    from tuimon.exports.files import all_exports

    exports = all_exports()
    parser.epilog = "formats:\n" + "".join(f"  {e.name:<9} {e.help}\n" for e in exports.values()) + _EPILOG
    add_paths(parser, nargs="+")
    parser.add_argument(
        "--format", action="append", choices=tuple(exports), metavar="FORMAT", help="see below; may be repeated"
    )
    output = "output file or directory (default: -, standard output)"
    parser.add_argument("-o", dest="output", default="-", metavar="WHERE", help=output)
    add_force(parser)
    by_source = "write every point of every source in file order instead of merged curves"
    parser.add_argument("--by-source", action="store_true", help=by_source)
    add_metrics(parser)
    steps = "only points of these steps, both included; either end may be left out"
    parser.add_argument("--steps", type=step_range, metavar="FIRST-LAST", help=steps)
    add_smooth(parser)
    seeds = "one line for runs that differ only in their seed (picture of several runs)"
    parser.add_argument("--seeds", action="store_true", help=seeds)
    add_strict(parser)


_EPILOG = """
Without --format, the suffix of WHERE decides; a name without one is a directory, which gets history, csv and png.
"""
_EXAMPLES = """\
  tuimon export RUN -o exports/                  tables, points and pictures
  tuimon export RUN1 RUN2 -o fig.pdf --metric '*loss'
  tuimon export RUN -o run.prom --force          for the textfile collector of node_exporter
"""


@interruptible("interrupted before the export was complete")
def _run(options: argparse.Namespace) -> int:
    from tuimon.exports.files import all_exports

    exports = _formats(options)
    for export in exports:
        if options.steps and not export.in_steps:
            names = ", ".join(name for name, other in all_exports().items() if other.in_steps)
            raise UsageError(f"--steps does not apply to {export.name}", f"It selects points of {names}.")
    if options.smooth and not any(export.smooths for export in exports):
        pictures = ", ".join(name for name, other in all_exports().items() if other.smooths)
        raise UsageError(
            f"--smooth applies to pictures only, not to {', '.join(export.name for export in exports)}",
            f"Leave it out for the logged values, or write a picture ({pictures}).",
        )
    files = _single(exports, options.output)
    if options.seeds and (files is None or exports[0].one_file is None):
        raise UsageError("--seeds needs a picture of several runs", "Name one: -o NAME.png, NAME.svg or NAME.pdf.")
    reading = _Reading(options, exports)
    with _Writing() as writing:
        job = reading.job(writing)
        if files:
            with _naming_plugin(exports[0]):
                for _, write in files(job):
                    with open_output(options.output, options.force) as stream:
                        write(stream)
        else:
            written = _write_folder(exports, job, options)
    if files:
        if options.output != "-" and not exports[0].is_renewed:
            print_status(f"wrote {clean(options.output)}")
    else:
        print_status(f"wrote {count_of(written, 'file')} to {clean(options.output)}")
    if reading.partly_read:
        print_status("some records could not be read; run `tuimon doctor` for details")
    return ExitCode.PARTLY_READ if reading.partly_read and options.strict else reading.code


def _single(exports: list[Export], output: str) -> Callable[[Job], Iterator[File]] | None:
    """Return the function that yields the only file of the output; None if the output is a directory."""
    if len(exports) > 1 or _is_folder(output):
        return None
    if exports[0].suffix:
        return exports[0].files
    return exports[0].one_file if _suffix(output) == f".{exports[0].name}" else None


def _write_folder(exports: list[Export], job: Job, options: argparse.Namespace) -> int:
    """Write the files of all formats to the directory. Return their number."""
    if options.output == "-":
        names = " and ".join(export.name for export in exports)
        raise UsageError(f"cannot write {names} to standard output: several files", "Name a directory: -o DIR.")
    written = 0
    for export in exports:
        with _naming_plugin(export):
            for name, write in export.files(job):
                path = os.path.join(options.output, name)
                directory(os.path.dirname(path))
                with open_output(path, options.force) as stream:
                    write(stream)
                written += 1
    if options.steps and not written:
        raise UsageError("nothing to write in these steps", "`tuimon summary` shows the steps of a run.")
    if options.metric and not written:
        raise UsageError(f"nothing to write matches {clean(', '.join(options.metric))}", "Choose another --metric.")
    return written


class _Writing:
    """The progress bar of what formats do besides reading points."""

    def __init__(self) -> None:
        self._progress, self._label = Progress(""), ""

    def show(self, label: str, done: int, total: int, unit: str) -> None:
        """Show the progress; see `Job.on_progress`. A new label has a new bar."""
        if label != self._label:
            self._progress.close()
            self._progress, self._label = Progress(label, at_once=True), label
        self._progress.update(done, total, unit)

    def print_status(self, message: str) -> None:
        """Print a message in place of the bar."""
        self._progress.close()
        print_status(message)

    def __enter__(self) -> _Writing:
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.close()


@contextmanager
def _naming_plugin(export: Export) -> Iterator[None]:
    """End the command with a sentence if a format of an installed package raises."""
    try:
        yield
    except (TuimonError, OSError, MemoryError):
        raise
    except Exception as error:
        raise TuimonError(note_failure(EXPORTS, export, error)) from error


def _formats(options: argparse.Namespace) -> list[Export]:
    from tuimon.exports.files import all_exports

    exports = all_exports()
    if options.format:
        return [exports[name] for name in dict.fromkeys(options.format)]
    if options.output == "-":
        return [exports["csv"]]
    suffix = _suffix(options.output)
    if suffix and not _is_folder(options.output):
        whole = [export for export in exports.values() if export.suffix == suffix]
        charts = [export for export in exports.values() if export.one_file and suffix == f".{export.name}"]
        if whole or charts:
            return (charts or whole)[:1]
        if FILE_SUFFIX.fullmatch(suffix):
            known = dict.fromkeys(e.suffix or f".{e.name}" for e in exports.values() if e.suffix or e.one_file)
            raise UsageError(
                f"cannot write {clean(options.output)}: no format has the suffix {clean(suffix)}",
                f"Suffixes: {', '.join(known)}. A name that ends with / is a directory. HTML: `tuimon report`.",
            )
    names = ["history", "csv"]
    if find_spec("matplotlib"):
        names.append("png")
    else:
        print_status(
            "matplotlib is not installed, so no PNG is written: pip install 'tuimon[plots]'; `tuimon report` has charts"
        )
    return [exports[name] for name in names]


def _suffix(output: str) -> str:
    return os.path.splitext(output)[1].lower()


def _is_folder(name: str) -> bool:
    return name.endswith("/") or os.path.isdir(name)  # noqa: PTH112


class _Reading:
    """Reads the logs when the formats ask for them, and in the way they need."""

    def __init__(self, options: argparse.Namespace, exports: list[Export]) -> None:
        self._options = options
        self._has_own_names = any(export.has_own_names for export in exports)
        self._paths = checked_paths(options.paths, options=options)
        self._monitor: LocalMonitor | None = None
        self._progress = Progress("reading")
        self.partly_read = False
        self.code = ExitCode.OK
        """Exit code of the choice of metrics."""
        self._selected: set[str] | None = None

    def _wanted(self, name: str) -> bool:
        """Return whether a metric, or what else has this name, is to be exported. Raise UsageError if none is."""
        patterns = self._options.metric
        if self._has_own_names:
            from tuimon.analysis.metric_filter import chosen

            return not patterns or bool(chosen([name], patterns, titles=False)[0])
        if patterns and self._selected is None:
            runs = self._read().snapshot().runs
            self._selected, self.code = chosen_metrics(patterns, runs, self._options.by_source)
        return self._selected is None or name in self._selected

    def job(self, writing: _Writing) -> Job:
        from tuimon.exports.files import Job

        options = self._options
        return Job(
            snapshot=lambda: self._read().snapshot(),
            runs=lambda: in_order(self._read().snapshot().runs, self._paths),
            checked=self._checked,
            batches=self._batches,
            owner="source" if options.by_source else "run",
            wanted=self._wanted,
            every=not options.metric,
            smooth=options.smooth,
            now=time.time(),
            on_terminal=options.output == "-" and sys.stdout.isatty(),
            print_status=writing.print_status,
            steps=options.steps,
            seeds=options.seeds,
            on_progress=writing.show,
        )

    def _read(self) -> LocalMonitor:
        if self._monitor is None:
            from tuimon.monitor.local import LocalMonitor

            self._monitor = monitor = LocalMonitor(self._paths)
            with self._progress:
                monitor.read(lambda done, total: self._progress.update(done, total, " bytes"))
            monitor.collector.require_something()
            self.partly_read |= monitor.collector.partly_unreadable
        return self._monitor

    def _checked(self) -> Snapshot:
        self._read().check()
        return self._read().snapshot()

    def _batches(self) -> Iterator[Batch]:
        """Return the points. Raise an error at once rather than at the first iteration."""
        self._wanted("")
        if not self._options.by_source:
            wanted = self._wanted if self._options.metric else None
            return self._in_steps(self._curves(self._read().snapshot(), wanted))
        from tuimon.monitor.settings import load as load_settings
        from tuimon.reader import Collector

        collector = Collector(self._paths, load_settings().console_patterns)
        for _ in collector.find():
            pass
        collector.require_something()
        return self._in_steps(self._sources(collector, self._wanted_series() if self._options.metric else None))

    def _wanted_series(self) -> set[tuple[str, str]]:
        """Return (source, name in its file) of every series that is merged into a chosen metric."""
        monitor = self._read()
        sources = {followed.found.stream: followed.own_source for followed in monitor.collector.followed}
        return {
            (sources[stream], name)
            for run in monitor.snapshot().runs
            for metric in filter(self._wanted, run.metrics)
            for stream, name in run.names_in_files(metric)
        }

    def _in_steps(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Return the batches, or those of the chosen steps. Raise UsageError at once if there is no such step."""
        if not self._options.steps:
            return batches
        from tuimon.exports.points import in_steps

        first, last = self._options.steps
        chosen = in_steps(batches, first, last)
        begin = next(chosen, None)
        if begin is None:
            end = f" to {last}" if last < sys.maxsize else " on"
            raise UsageError(f"no point has a step from {first}{end}", "`tuimon summary` shows the steps of a run.")
        return chain([begin], chosen)

    def _sources(self, collector: Collector, wanted: set[tuple[str, str]] | None) -> Iterator[Batch]:
        from tuimon.exports.points import source_batches

        progress = Progress("writing")
        for batch in source_batches(collector.in_file_order(), wanted):
            yield batch
            progress.update(*collector.progress(), " bytes")
        self.partly_read |= collector.partly_unreadable
        progress.close()

    def _curves(self, snapshot: Snapshot, wanted: Callable[[str], bool] | None) -> Iterator[Batch]:
        from tuimon.exports.points import curve_batches

        progress, done = Progress("writing"), 0
        total = sum(run.point_count for run in snapshot.runs)
        for batch in curve_batches(snapshot, wanted):
            yield batch
            done += len(batch)
            progress.update(done, total, " points")
        progress.close()


COMMAND = Command(
    "export", "write points, tables and pictures: CSV, JSON lines, Parquet, PNG …", _arguments, _run, _EXAMPLES
)
