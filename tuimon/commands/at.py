"""`tuimon at PATH --step N`: print all metrics around a step, and which of them are unusual there.

`tuimon at PATH --steps FIRST-LAST` prints their means and extremes over a range of steps.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Container

from tuimon.commands import Command
from tuimon.commands._shared import (
    add_json,
    add_metrics,
    add_paths,
    add_samples,
    checked_paths,
    chosen_metrics,
    samples_of,
    step_range,
    terminal_width,
)
from tuimon.commands._stderr import print_status
from tuimon.errors import ExitCode, UsageError
from tuimon.text import clean


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_paths(parser)
    steps = parser.add_mutually_exclusive_group(required=True)
    steps.add_argument("--step", type=int, metavar="N", help="the step")
    over = "print number of points, mean, standard deviation, minimum and maximum over these steps, both included"
    steps.add_argument("--steps", type=step_range, metavar="FIRST-LAST", help=f"{over}; either may be left out")
    unusual = (
        "print only metrics whose value is not finite or 5 robust deviations from the median of the 64 points before it"
        " (or before the begin of an alert that is active)"
    )
    parser.add_argument("--unusual", action="store_true", help=unusual)
    add_metrics(parser)
    add_samples(parser)
    add_json(parser)


def _run(options: argparse.Namespace) -> int:
    from tuimon.analysis.aligned_steps import step_name
    from tuimon.exports import texts
    from tuimon.exports.around import as_json, as_text, has_point
    from tuimon.monitor.local import open_run

    if options.steps:
        return _over_steps(options)
    samples = samples_of(options)
    snapshot = open_run(*checked_paths(options.paths, options=options))
    metrics, code = chosen_metrics(options.metric, snapshot.runs)
    alerts = (*snapshot.alerts, *snapshot.resolved)
    of = _of_metrics(metrics)
    reaching = []
    for run in snapshot.runs:
        word = step_name(run)
        if run.last_step is not None and options.step > run.last_step:
            print_status(f"{clean(run.name)} has no {word} {options.step}: it ends at {word} {run.last_step}")
        elif not has_point(run, options.step, metrics) and texts.of_run(run, options.step, samples) is None:
            print_status(f"{clean(run.name)} has no point{of} at or before {word} {options.step}")
        else:
            reaching.append(run)
    if not reaching:
        return ExitCode.NOTHING_FOUND
    if options.json:
        sys.stdout.write(as_json(tuple(reaching), options.step, samples, alerts, metrics) + "\n")
        return code
    chosen = terminal_width(), options.unusual, samples, alerts, metrics
    print("\n\n".join("\n".join(as_text(run, options.step, *chosen)) for run in reaching))
    return code


def _of_metrics(metrics: Container[str] | None) -> str:
    """Return " of these metrics" for messages if the user has chosen some."""
    return "" if metrics is None else " of these metrics"


def _over_steps(options: argparse.Namespace) -> int:
    """Print the metrics over a range of steps."""
    from tuimon.analysis.aligned_steps import step_name
    from tuimon.exports.over_steps import as_json, as_text, over_steps
    from tuimon.monitor.local import open_run

    if options.unusual:
        raise UsageError("--unusual applies to --step only")
    first, last = options.steps
    results = []
    runs = open_run(*checked_paths(options.paths, options=options)).runs
    metrics, code = chosen_metrics(options.metric, runs)
    for run in runs:
        if entries := over_steps(run, first, last, metrics):
            results.append((run, entries))
        else:
            word = step_name(run)
            where = "" if run.last_step is None else f" in these {word}s; its last {word} is {run.last_step}"
            print_status(f"{clean(run.name)} has no point{_of_metrics(metrics)}{where}")
    if not results:
        return ExitCode.NOTHING_FOUND
    if options.json:
        sys.stdout.write(as_json(results, first, last) + "\n")
        return code
    print("\n\n".join("\n".join(as_text(run, entries, terminal_width())) for run, entries in results))
    return code


_EXAMPLES = """\
  tuimon at RUN --step 1200                      every metric at step 1200, with the values before and after it
  tuimon at RUN --step 1200 --unusual            only metrics that differ clearly from the points before
  tuimon at RUN --step 1200 --metric '*loss'     only metrics that match
  tuimon at RUN --steps 1000-1200                mean, deviation, minimum and maximum of every metric over these steps
"""
COMMAND = Command(
    "at", "print all metrics around one step, or their means over a range of steps", _arguments, _run, _EXAMPLES
)
