"""`tuimon summary PATH…`: print the state and the metrics of runs, as text or JSON.

--step N prints all metrics at a step, --ranks the verdict about the ranks of a job.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

from tuimon.commands import Command
from tuimon.commands._options import JSON, METRICS, PATHS, STRICT
from tuimon.commands._shared import checked_paths, chosen_metrics, existing_paths, read_logs, terminal_width
from tuimon.commands._stderr import interruptible, print_status
from tuimon.errors import ExitCode, NothingFound, UsageError
from tuimon.text import clean

_OPTIONS = f"""\
{PATHS}{JSON}--step N  print all metrics at this step
--ranks  print which rank of a job failed or is slow
{METRICS}--unusual  with --step: only metrics not finite, or 4 usual distances from the 20 or more points before
--full  print each of several runs in full, below their table
{STRICT}"""


@interruptible("interrupted before the summary was complete")
def _run(options: argparse.Namespace) -> int:
    if (options.metric or options.unusual) and options.step is None:
        raise UsageError("--metric and --unusual apply to --step")
    if options.step is not None:
        return _print_step(options)
    paths, code = existing_paths(options.paths, options)
    if options.ranks and not options.json:
        from tuimon.exports.ranks import rank_lines

        print("\n".join(rank_lines(read_logs(paths).snapshot())))
        return code
    printed = print_summary(paths, options.json, options.strict, options.full)
    return code or printed


def print_summary(paths: Sequence[str], as_json: bool, strict: bool = False, full: bool = False) -> int:
    """Print the summary of all runs below the paths and return the exit code."""
    from tuimon.analysis.progress_inputs import not_understood
    from tuimon.exports.documents import dumps
    from tuimon.exports.summary import summary_of
    from tuimon.exports.summary_text import as_text

    monitor = read_logs(paths)
    snapshot, now = monitor.snapshot(), time.time()
    unread = not_understood(snapshot, now)
    if unread and len(unread) == len(snapshot.runs):
        from tuimon.samples.discovery import has_samples

        if has_samples(paths[:1]):
            raise NothingFound("no metric in the logs")  # the caller names the command that prints the texts
    if as_json:
        print(dumps(summary_of(snapshot, now)))
    else:
        print("\n".join(as_text(snapshot, now, terminal_width(), full)))
    partly_read = strict and (monitor.collector.partly_unreadable or unread)
    return ExitCode.PARTLY_READ if partly_read else ExitCode.OK


def _print_step(options: argparse.Namespace) -> int:
    """Print all metrics at the step of --step; return the exit code."""
    from tuimon.analysis.aligned_steps import step_name
    from tuimon.exports.around import AroundDocument, as_text, run_around
    from tuimon.exports.documents import dumps
    from tuimon.monitor import load_settings
    from tuimon.monitor.local import open_run

    step = options.step
    options.texts_copied = 1
    snapshot = open_run(*checked_paths(options.paths, options=options))
    metrics, code = chosen_metrics(options.metric, snapshot.runs)
    alerts, samples = (*snapshot.alerts, *snapshot.resolved), load_settings().samples
    parts, texts = [], []
    for run in snapshot.runs:
        word, last = step_name(run), run.last_step
        part = None if last is not None and step > last else run_around(run, step, samples, metrics)
        if part is not None and (part.metrics or part.texts is not None):
            parts.append(part)
            texts.append(as_text(run, part, step, alerts, terminal_width(), options.unusual))
            continue
        of = "" if metrics is None else " of these metrics"
        end = "" if last is None else f"; its last {word} is {last}"
        print_status(f"{clean(run.name)} has no point{of} at {word} {step}{end}")
    if not texts:
        return ExitCode.NOTHING_FOUND
    document = AroundDocument(step=step, runs=tuple(parts))
    print(dumps(document) if options.json else "\n\n".join(map("\n".join, texts)))
    return code


_EXAMPLES = """\
  tuimon summary logs/grpo-1.5b                  state, settings, and last, best, mean and trend of every metric
  tuimon summary 'outputs/*/training_log.json'   several runs in one table; --full: each run, too
  tuimon summary RUN --json | jq '.runs[].state'
  tuimon summary RUN --step 1200 --unusual       every metric that differs clearly from the points before
"""
_HELP = "print state and metrics of runs, as text or JSON"
_WHAT = ("--step", "--ranks")
COMMAND = Command("summary", _HELP, _OPTIONS, _run, _EXAMPLES, exclusive=(_WHAT,))
