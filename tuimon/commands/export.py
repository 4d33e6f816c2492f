"""`tuimon export PATH -o WHERE`: write points, tables and pictures of runs."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from itertools import chain
from typing import TYPE_CHECKING

from tuimon.commands import Command
from tuimon.commands._options import FORCE, METRICS, SOME_PATHS, STRICT, between
from tuimon.commands._output import FILE_SUFFIX, directory, open_output
from tuimon.commands._shared import checked_paths, chosen_metrics, in_order
from tuimon.commands._stderr import ProgressBar, count_of, interruptible, print_status
from tuimon.errors import ExitCode, TuimonError, UsageError
from tuimon.exports.job import Job
from tuimon.registry import EXPORTS, note_failure
from tuimon.text import clean

if TYPE_CHECKING:
    from tuimon.exports.files import Export, File
    from tuimon.exports.points import Batch
    from tuimon.monitor.local import LocalMonitor
    from tuimon.reader import Collector
    from tuimon.store import Run, Snapshot


_OPTIONS = f"""\
{SOME_PATHS}-o WHERE  output file or directory (default: -, standard output)
{FORCE}--by-source  every point of every source in file order, not curves
{METRICS}--steps FIRST-LAST  only points of these steps, both included
--smooth W  smoothing of pictures (as TensorBoard's), from 0 to below 1 (default: 0)
--seeds  draw runs that differ only in their seed as one line
{STRICT}"""


def _add_formats(parser: argparse.ArgumentParser) -> None:
    """Add --format, whose choices are those of the plug-ins, and their descriptions."""
    from tuimon.exports.files import all_exports

    exports = all_exports()
    named: dict[str, list[str]] = {}
    for export in exports.values():
        named.setdefault(export.help, []).append(export.name)
    lines = (f"  {', '.join(names):<13} {text}\n" for text, names in named.items())
    parser.epilog = f"formats:\n{''.join(lines)}{_EPILOG}"
    text = "see below; may be repeated"
    parser.add_argument("--format", action="append", choices=tuple(exports), metavar="FORMAT", help=text)


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
    exports = _formats(options)
    _check_options(options, exports)
    job = _ExportJob(options)
    written = 0
    try:
        for export in exports:
            is_one, files = _output_files(export, options.output, len(exports))
            try:
                for name, write in files(job):
                    path = options.output if is_one else os.path.join(options.output, name)
                    if not is_one:
                        directory(os.path.dirname(path))
                    with open_output(path, options.force) as stream:
                        write(stream)
                    written += 1
            except (TuimonError, OSError, MemoryError):
                raise
            except Exception as error:  # of a format of an installed package
                raise TuimonError(note_failure(EXPORTS, export, error)) from error
    finally:
        job.progress.close()
    if not written and (options.steps or options.metric):
        what = "in these steps" if options.steps else f"matches {clean(', '.join(options.metric))}"
        raise UsageError(f"nothing to write {what}", "`tuimon summary` shows steps and metrics of a run.")
    if not is_one:
        print_status(f"wrote {count_of(written, 'file')} to {clean(options.output)}")
    elif options.output != "-" and not exports[0].is_renewed:
        print_status(f"wrote {clean(options.output)}")
    if job.partly_read:
        print_status("some records could not be read; run `tuimon doctor` for details")
    return ExitCode.PARTLY_READ if job.partly_read and options.strict else job.code


def _check_options(options: argparse.Namespace, exports: list[Export]) -> None:
    """Raise UsageError for options that apply to none of the formats, and for several files on standard output."""
    for export in exports:
        if options.steps and not export.in_steps:
            raise UsageError(f"--steps does not apply to {export.name}", "It selects points.")
    if options.smooth and not any(export.smooths for export in exports):
        names = ", ".join(export.name for export in exports)
        raise UsageError(f"--smooth applies to pictures only, not to {names}", "Leave it out for the logged values.")
    is_one, files = _output_files(exports[0], options.output, len(exports))
    if options.seeds and (not is_one or files is not exports[0].one_file):
        raise UsageError("--seeds needs a picture of several runs", "Name one: -o NAME.png, NAME.svg or NAME.pdf.")
    if options.output == "-" and not is_one:
        names = " and ".join(export.name for export in exports)
        raise UsageError(f"cannot write {names} to standard output: several files", "Name a directory: -o DIR.")


def _output_files(export: Export, output: str, formats: int) -> tuple[bool, Callable[[Job], Iterator[File]]]:
    """Return whether the output is a single file, and the function that yields the files. formats: their number."""
    if formats > 1 or _is_folder(output):
        return False, export.files
    if not export.suffix and export.one_file is not None and _suffix(output) == f".{export.name}":
        return True, export.one_file
    return bool(export.suffix), export.files


def _formats(options: argparse.Namespace) -> list[Export]:
    from tuimon.exports.files import all_exports

    exports = all_exports()
    if options.format:
        return [exports[name] for name in dict.fromkeys(options.format)]
    if options.output == "-":
        return [exports["csv"]]
    suffix = _suffix(options.output)
    if suffix and not _is_folder(options.output):
        of_suffix = {f".{export.name}": export for export in exports.values() if export.one_file}
        for export in exports.values():
            of_suffix.setdefault(export.suffix or suffix + "?", export)
        if suffix in of_suffix:
            return [of_suffix[suffix]]
        if FILE_SUFFIX.fullmatch(suffix):
            raise UsageError(
                f"cannot write {clean(options.output)}: no format has the suffix {clean(suffix)}",
                f"Suffixes: {', '.join(name for name in of_suffix if '?' not in name)}. A name that ends with / is a"
                " directory. HTML: `tuimon report`.",
            )
    has_pictures = find_spec("matplotlib") is not None
    if not has_pictures:
        print_status(
            "matplotlib is not installed, so no PNG is written: pip install 'tuimon[plots]'; `tuimon report` has charts"
        )
    return [exports[name] for name in ("history", "csv", *(("png",) if has_pictures else ()))]


def _suffix(output: str) -> str:
    return os.path.splitext(output)[1].lower()


def _is_folder(name: str) -> bool:
    return name.endswith("/") or os.path.isdir(name)  # noqa: PTH112


class _ExportJob(Job):
    """Reads the logs when the formats ask for them, and in the way they need."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._paths = checked_paths(options.paths, options=options)
        self._monitor: LocalMonitor | None = None
        self.progress = ProgressBar("reading")
        self.partly_read = False
        self.code = ExitCode.OK
        """Exit code of the choice of metrics."""
        self._selected: set[str] | None = None
        self.owner = "source" if options.by_source else "run"
        self.patterns, self.smooth = tuple(options.metric), options.smooth
        self.steps, self.seeds = options.steps, options.seeds
        self.now = time.time()
        self.on_terminal = options.output == "-" and sys.stdout.isatty()

    def snapshot(self) -> Snapshot:
        return self._read().snapshot()

    def runs(self) -> Sequence[Run]:
        return in_order(self.snapshot().runs, self._paths)

    def checked(self) -> Snapshot:
        self._read().check()
        return self.snapshot()

    def wanted(self, name: str) -> bool:
        """Return whether a metric is to be exported. Raise UsageError if none is."""
        if self.patterns and self._selected is None:
            runs = self.snapshot().runs
            self._selected, self.code = chosen_metrics(self.patterns, runs, self._options.by_source)
        return self._selected is None or name in self._selected

    def on_progress(self, label: str, done: int, total: int, unit: str) -> None:
        """Show the progress of a format; a new label has a new bar."""
        if label != self.progress.label:
            self.progress.close()
            self.progress = ProgressBar(label, at_once=True)
        self.progress.update(done, total, unit)

    def print_status(self, message: str) -> None:
        """Print a message in place of the bar."""
        self.progress.close()
        print_status(message)

    def _read(self) -> LocalMonitor:
        if self._monitor is None:
            from tuimon.monitor.local import LocalMonitor

            self._monitor = monitor = LocalMonitor(self._paths)
            with self.progress:
                monitor.read(lambda done, total: self.progress.update(done, total, " bytes"))
            monitor.collector.require_something()
            self.partly_read |= monitor.collector.partly_unreadable
        return self._monitor

    def batches(self) -> Iterator[Batch]:
        """Return the points. Raise an error at once rather than at the first iteration."""
        self.wanted("")
        if not self._options.by_source:
            wanted = self.wanted if self.patterns else None
            return self._in_steps(self._curves(self.snapshot(), wanted))
        from tuimon.monitor import load_settings
        from tuimon.reader import Collector

        collector = Collector(self._paths, load_settings().console_patterns)
        for _ in collector.find():
            pass
        collector.require_something()
        return self._in_steps(self._sources(collector, self._wanted_series() if self.patterns else None))

    def _wanted_series(self) -> set[tuple[str, str]]:
        """Return (source, name in its file) of every series that is merged into a chosen metric."""
        monitor = self._read()
        sources = {followed.found.stream: followed.own_source for followed in monitor.collector.followed}
        return {
            (sources[stream], name)
            for run in monitor.snapshot().runs
            for metric in filter(self.wanted, run.metrics)
            for stream, name in run.names_in_files(metric)
        }

    def _in_steps(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Return the batches, or those of the chosen steps. Raise UsageError at once if there is no such step."""
        if not self.steps:
            return batches
        from tuimon.exports.points import in_steps

        first, last = self.steps
        chosen = in_steps(batches, first, last)
        begin = next(chosen, None)
        if begin is None:
            end = f" to {last}" if last < sys.maxsize else " on"
            raise UsageError(f"no point has a step from {first}{end}", "`tuimon summary` shows the steps of a run.")
        return chain([begin], chosen)

    def _sources(self, collector: Collector, wanted: set[tuple[str, str]] | None) -> Iterator[Batch]:
        from tuimon.exports.points import source_batches

        for batch in source_batches(collector.in_file_order(), wanted):
            yield batch
            self.on_progress("writing", *collector.progress(), " bytes")
        self.partly_read |= collector.partly_unreadable

    def _curves(self, snapshot: Snapshot, wanted: Callable[[str], bool] | None) -> Iterator[Batch]:
        from tuimon.exports.points import curve_batches

        done, total = 0, sum(run.point_count for run in snapshot.runs)
        for batch in curve_batches(snapshot, wanted):
            yield batch
            done += len(batch)
            self.on_progress("writing", done, total, " points")


_VALUES = {"-o": {"default": "-"}, "--smooth": {"type": between(0, 1), "default": 0.0}}
_HELP = "write points, tables and pictures: CSV, JSON lines, Parquet, PNG …"
COMMAND = Command("export", _HELP, _OPTIONS, _run, _EXAMPLES, _VALUES, prepare=_add_formats)
