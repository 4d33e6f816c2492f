"""`tuimon export PATH --format jsonl|csv -o FILE`: every point as it was logged."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from typing import TextIO, cast

from tuimon import config
from tuimon.commands import EXIT_OK, EXIT_PARTLY, Command
from tuimon.commands._shared import add_paths, checked_paths, say
from tuimon.errors import TuimonError, UsageError

FORMATS = ("csv", "jsonl")


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_paths(parser, many="+")
    parser.add_argument("--format", choices=FORMATS, default="csv")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="where to; - is standard output (default)")
    parser.add_argument("--force", action="store_true", help="overwrite FILE")
    parser.add_argument(
        "--by-source",
        action="store_true",
        help="every point of every source in file order, unmerged; without it one curve a metric and run",
    )
    parser.add_argument("--strict", action="store_true", help="exit 5 when a log was damaged or could not be read")


def _run(options: argparse.Namespace) -> int:
    from tuimon.exports import points
    from tuimon.monitor.local import open_run
    from tuimon.reader import Collector

    paths = checked_paths(options.paths)
    partly = False
    if options.by_source:
        collector = Collector(paths, config.load().console_patterns)
        for _ in collector.find():
            pass
        collector.require_something()
        with _output(options.output, options.force) as stream:
            points.write_sources(collector.in_file_order(), stream, options.format)
        partly = collector.partly_unreadable
    else:
        snapshot = open_run(*paths)
        with _output(options.output, options.force) as stream:
            points.write_curves(snapshot, stream, options.format)
        partly = any(s.status and s.status.damaged for run in snapshot.runs for s in run.streams)
    if partly:
        say("tuimon: some records could not be read; `tuimon doctor` names them")
    return EXIT_PARTLY if partly and options.strict else EXIT_OK


@contextlib.contextmanager
def _output(name: str, force: bool) -> Iterator[TextIO]:
    """Standard output, or a file that appears whole or not at all: a temporary one beside it, then renamed."""
    if name == "-":
        yield sys.stdout
        return
    if os.path.lexists(name) and not force:
        raise UsageError(f"{name} exists", "--force overwrites it")
    directory = os.path.dirname(os.path.abspath(name))
    try:
        file = tempfile.NamedTemporaryFile(  # noqa: SIM115  closed below, and renamed
            "w", encoding="utf-8", newline="", dir=directory, prefix=".tuimon-", delete=False
        )
    except OSError as error:
        raise TuimonError(f"{name} cannot be written: {error.strerror}", "choose another -o") from error
    try:
        with file:
            yield cast(TextIO, file)
        os.chmod(file.name, 0o644)  # noqa: PTH101
        os.replace(file.name, name)  # noqa: PTH105
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(file.name)  # noqa: PTH108
        raise


COMMAND = Command("export", "every point, as CSV or JSON lines", _arguments, _run)
