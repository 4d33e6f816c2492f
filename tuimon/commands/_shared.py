"""Arguments and paths that several subcommands share."""

from __future__ import annotations

import argparse
import glob
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING

from tuimon.commands._remote import attach, hide_mirrors, is_mirror, job_logs, remote_paths, targets_of
from tuimon.commands._stderr import ProgressBar, print_status
from tuimon.errors import ExitCode, NothingFound, UsageError
from tuimon.text import clean

if TYPE_CHECKING:
    from tuimon.config import Settings
    from tuimon.detectors import Checker
    from tuimon.monitor.local import LocalMonitor
    from tuimon.monitor.process import ReaderProcess
    from tuimon.monitor.spawn import Spawned
    from tuimon.remote.targets import Target
    from tuimon.store import Run


_WAIT = "`tuimon --wait PATH`"


def chosen_metrics(
    patterns: Sequence[str], runs: Sequence[Run], by_source: bool = False
) -> tuple[set[str] | None, ExitCode]:
    """Return (names of the metrics that match a pattern of --metric, exit code); (None, OK) without patterns.

    by_source: a metric matches, too, if a source that holds it has another name for it, and this name matches.
    Patterns that match nothing are printed to stderr, and the exit code is then USAGE: a program learns that its output
    lacks a metric. Raise UsageError if none matches, or for an invalid expression.
    """
    if not patterns:
        return None, ExitCode.OK
    from tuimon.analysis.metric_filter import chosen, expression_error, no_match

    for pattern in patterns:
        if message := expression_error(pattern):
            raise UsageError(message)
    names = list(dict.fromkeys(name for run in runs for name in run.metrics))
    selected, unmatched = chosen(names, patterns)
    if by_source:
        metrics_of: dict[str, set[str]] = {}
        for run in runs:
            for metric in run.metrics:
                for _, name in run.names_in_files(metric):
                    metrics_of.setdefault(name, set()).add(metric)
        in_files, not_in_files = chosen(metrics_of, patterns)
        selected = selected.union(*(metrics_of[name] for name in in_files))
        unmatched = [pattern for pattern in unmatched if pattern in not_in_files]
    messages = [no_match(pattern, names) for pattern in unmatched]
    if not selected:
        raise UsageError("; ".join(messages), "`tuimon summary` lists all metrics.")
    for message in messages:
        print_status(message)
    return selected, ExitCode.USAGE if messages else ExitCode.OK


def checked_paths(
    paths: Sequence[str], live: bool = False, can_wait: bool = False, options: argparse.Namespace | None = None
) -> list[str]:
    """Return the paths with quoted patterns expanded, or the current directory. Raise NothingFound if one is missing.

    "-" becomes the path of a file with all of standard input or, with `live`, of a file that is still written to.
    "host:path" becomes the path of a mirror, which is complete or, with `live`, is still being filled.
    can_wait: the command has the option --wait, which the error message names. options: those of `add_remote`.
    """
    paths = [part for path in resolved_paths(paths, live, options) for part in _expanded(path)]
    if (missing := next(filter(_is_missing, paths), None)) is not None:
        raise _not_found(missing, "--wait" if can_wait else _WAIT)
    return list(paths) or ["."]


def existing_paths(paths: Sequence[str], options: argparse.Namespace) -> tuple[list[str], ExitCode]:
    """Return (paths as `checked_paths`, exit code), without those that are missing. Raise NothingFound if all are.

    Missing paths are printed to stderr, and the exit code is then NOTHING_FOUND.
    """
    paths = [part for path in resolved_paths(paths, False, options) for part in _expanded(path)]
    missing = [path for path in paths if _is_missing(path)]
    if missing and len(missing) == len(paths):
        raise _not_found(missing[0], _WAIT)
    for path in missing:
        print_status(_no_such(path))
    existing = [path for path in paths if path not in missing]
    return existing or ["."], ExitCode.NOTHING_FOUND if missing else ExitCode.OK


def _is_missing(path: str) -> bool:
    return not os.path.lexists(path) and not is_mirror(path)


def _not_found(path: str, wait: str) -> NothingFound:
    """Return the error about a missing path. wait: the option, or the command, that waits for it."""
    return NothingFound(f"{_no_such(path)}. Use {wait} to wait until it exists.")


def _no_such(path: str) -> str:
    parent = os.path.dirname(os.path.abspath(path))
    missing = "" if os.path.isdir(parent) else f" (the directory {clean(parent)} is missing, too)"  # noqa: PTH112
    return f"No such file or directory: {clean(path)}{missing}"


def resolved_paths(paths: Sequence[str], live: bool, options: argparse.Namespace | None) -> list[str]:
    """Return the paths with "-" and targets on other machines replaced as in `checked_paths`; others need not exist."""
    joins: list[list[str]] = [join or list(paths) for join in getattr(options, "join", [])]
    parts: dict[str, list[str | list[list[Target]]]] = {}
    for path in dict.fromkeys((*paths, *chain.from_iterable(joins))):
        parts[path] = _parts_of(path, live)
    for join in joins:
        _join_targets(join, parts)
    found = _with_mirrors([part for inside in parts.values() for part in inside], live, options)
    if options is not None and hasattr(options, "join"):
        from tuimon.sources.overrides import set_overrides

        local = [[here for path in join for here in _expanded(path) if not targets_of(path)] for join in joins]
        set_overrides((join for join in local if join), options.split)
    return found


def _parts_of(path: str, live: bool) -> list[str | list[list[Target]]]:
    """Return local paths, and lists of the targets on other machines, each a list of those of one job."""
    if path == "-":
        return list(_standard_input(live))
    if not (targets := targets_of(path)):
        return [path]
    logs = [job_logs(target) for target in targets]
    remote = [target for _, there in logs for target in there]
    jobs = [remote] if any(target.job for target in remote) else [[target] for target in remote]
    return [*(here for local, _ in logs for here in local), *([jobs] if jobs else [])]


def _join_targets(join: Sequence[str], parts: dict[str, list[str | list[list[Target]]]]) -> None:
    """Make the targets on other machines of these paths one job, in place of the first of them."""
    remote = [(path, part) for path in join for part in parts[path] if isinstance(part, list)]
    targets = list(dict.fromkeys(target for _, jobs in remote for job in jobs for target in job))
    if len(join) < 2 and len(targets) < 2:
        raise UsageError("--join needs at least two paths", "gpu[01-04]:path names four.")
    for path, _ in remote:
        parts[path] = [part for part in parts[path] if isinstance(part, str)]
    if remote:
        parts[remote[0][0]].append([targets])


def _with_mirrors(
    parts: Sequence[str | list[list[Target]]], live: bool, options: argparse.Namespace | None
) -> list[str]:
    """Return local paths and those of the mirrors of targets, in the order of the parts."""
    if live:  # the dashboard shows what there is, and the state of each link
        together = [job for part in parts if isinstance(part, list) for job in part]
        required = not any(isinstance(part, str) for part in parts)
        mirrors = iter(remote_paths(together, options, True, required) if together else ())
        return [path for part in parts for path in ([part] if isinstance(part, str) else islice(mirrors, len(part)))]
    found: list[str] = []
    for part in parts:
        found += [part] if isinstance(part, str) else remote_paths(part, options, False) if part else []
    return found


def _standard_input(live: bool) -> list[str]:
    from tuimon.commands._stdin import stdin_spool
    from tuimon.monitor.piped import StdinPath

    path = stdin_spool().follow() if live else stdin_spool().read_all()
    return [StdinPath(path, stdin_spool().ended)]


def _expanded(path: str) -> list[str]:
    if os.path.lexists(path) or not glob.has_magic(path) or is_mirror(path):
        return [path]
    return sorted(glob.glob(path, recursive=True)) or [path]  # noqa: PTH207  the pattern may be absolute


def terminal_width() -> int | None:
    """Return the columns of the terminal, at least 40; None if stdout is not a terminal."""
    return max(shutil.get_terminal_size().columns, 40) if sys.stdout.isatty() else None


def read_logs(paths: Sequence[str]) -> LocalMonitor:
    """Read all logs below the paths once and run the detectors. Raise NothingFound if there is no log."""
    from tuimon.monitor.local import LocalMonitor

    monitor = LocalMonitor(paths)
    with ProgressBar("reading") as progress:
        monitor.update(lambda done, total: progress.update(done, total, " bytes"))
    monitor.collector.require_something()
    return monitor


def print_problems(monitor: LocalMonitor) -> None:
    """Name what cannot be searched or read, with what to do next."""
    from tuimon.commands._stdin import hide_spool_path

    for problem in monitor.collector.problems:
        if problem.hint:
            print_status(hide_mirrors(hide_spool_path(f"{clean(problem.path)}: {problem.reason} ({problem.hint})")))


def live_monitor(
    paths: Sequence[str], settings: Settings, checker: Checker | None = None, spawned: Spawned | None = None
) -> ReaderProcess:
    """Return the monitor of paths that are followed; the caller starts and closes it.

    checker: the detectors; by default those of the settings. spawned: a running reader of these paths.
    """
    from tuimon import config
    from tuimon.detectors import Checker
    from tuimon.monitor.process import ReaderProcess

    if checker is None and (settings.detectors or settings.rules):
        checker = Checker(settings.detectors, settings.rules, str(config.config_path()))
    monitor = ReaderProcess(
        paths,
        poll=settings.poll,
        interval=settings.interval,
        console_patterns=settings.console_patterns,
        checker=checker,
        spawned=spawned,
    )
    if any(map(is_mirror, paths)):
        attach(monitor)
    return monitor


def missing_extra(error: ModuleNotFoundError, what: str, extra: str) -> Exception:
    """Return the error for a user who has not installed an extra; the given one if it is a fault of the program."""
    if (error.name or "").partition(".")[0] == "tuimon":
        return error
    return UsageError(what, f"Run: pip install 'tuimon[{extra}]'")


def in_order(runs: Sequence[Run], paths: Sequence[str]) -> list[Run]:
    """Return the runs in the order of the paths they were found below."""
    from tuimon.monitor.piped import shown_names

    roots = shown_names(paths)

    def position(run: Run) -> int:
        inside = (i for i, root in enumerate(roots) if run.path == root or f"{run.path}/".startswith(f"{root}/"))
        around = (i for i, root in enumerate(roots) if root.startswith(f"{run.path}/"))
        return next(inside, next(around, len(roots)))

    return sorted(runs, key=position)


def setting_warnings(paths: Sequence[str], runs: Sequence[Run], rules: bool) -> Iterator[str]:
    """Yield a sentence for each setting that is probably wrong; for invalid settings their error message.

    rules: also name rules that check no metric.
    """
    from tuimon.monitor import load_settings
    from tuimon.tui.dashboard_file import load_dashboard

    try:
        settings = load_settings()
        own, ignored = load_dashboard(settings, paths)
        if ignored:
            yield ignored
        if settings.keys or settings.rules or own.panels or own.values or own.thresholds:
            from tuimon.tui.settings_check import notices_of

            yield from (notice.message for notice in notices_of(settings, own, runs, rules))
    except UsageError as error:
        yield f"{error.message}. {error.hint}".rstrip(". ") if error.hint else error.message
