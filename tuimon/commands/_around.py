"""`tuimon summary PATH --step N`: print all metrics around a step, and which of them are unusual there.

`tuimon summary PATH --steps FIRST-LAST` prints their means and extremes over a range of steps.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Container

from tuimon.commands._shared import (
    add_metrics,
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


def add_around(parser: argparse.ArgumentParser) -> None:
    """Add the options for one step, or a range of steps."""
    group = parser.add_argument_group("the metrics at one step, or over a range of steps")
    steps = group.add_mutually_exclusive_group()
    steps.add_argument("--step", type=int, metavar="N", help="print all metrics at this step")
    over = "print number of points, mean, standard deviation, minimum and maximum over these steps, both included"
    steps.add_argument("--steps", type=step_range, metavar="FIRST-LAST", help=f"{over}; either may be left out")
    unusual = (
        "print only metrics whose value is not finite or 5 robust deviations from the median of the 64 points before it"
        " (or before the begin of an alert that is active)"
    )
    group.add_argument("--unusual", action="store_true", help=unusual)
    add_metrics(group)
    add_samples(group)


def print_around(options: argparse.Namespace) -> int:
    """Print the metrics at the step of --step, or over those of --steps; return the exit code."""
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
