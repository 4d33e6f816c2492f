"""`tuimon summary PATH…`: print the state and the metrics of runs, as text or JSON.

--step N prints all metrics at a step, --steps their means over a range, --ranks the verdict about the ranks of a job,
--media what the logs hold besides numbers.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tuimon.commands import Command
from tuimon.commands._options import JSON, METRICS, PATHS, STRICT
from tuimon.commands._shared import checked_paths, chosen_metrics, existing_paths, read_logs, terminal_width
from tuimon.commands._stderr import ProgressBar, count_of, interruptible, print_status
from tuimon.errors import ExitCode, NothingFound, UsageError
from tuimon.text import clean

if TYPE_CHECKING:
    from tuimon.media.library import Found


_OPTIONS = f"""\
{PATHS}{JSON}--step N  print all metrics at this step
--steps FIRST-LAST  print the metrics over these steps only; either end may be left out
--ranks  print which rank of a job failed or is slow
--media  list histograms, curves, texts, hyperparameters, tables, images, audio and video
{METRICS}--unusual  with --step: only metrics that are not finite, or 8 robust deviations from the points before
--full  print each of several runs in full, below their table
--show-secrets  show API keys and passwords of the config
{STRICT}"""


@interruptible("interrupted before the summary was complete")
def _run(options: argparse.Namespace) -> int:
    at_steps = options.step is not None or options.steps is not None
    if (options.metric and not at_steps) or (options.unusual and options.step is None):
        raise UsageError("--metric applies to --step and --steps, --unusual to --step")
    if options.media:
        return _print_media(options)
    if at_steps:
        return _print_steps(options)
    paths, code = existing_paths(options.paths, options)
    if options.ranks and not options.json:
        from tuimon.exports.ranks import rank_lines

        print("\n".join(rank_lines(read_logs(paths).snapshot())))
        return code
    printed = print_summary(paths, options.json, options.strict, options.show_secrets, options.full)
    return code or printed


def print_summary(
    paths: Sequence[str], as_json: bool, strict: bool = False, show_secrets: bool = False, full: bool = False
) -> int:
    """Print the summary of all runs below the paths to stdout and return the exit code."""
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
        print(dumps(summary_of(snapshot, now, show_secrets)))
    else:
        print("\n".join(as_text(snapshot, now, show_secrets, terminal_width(), full)))
    partly_read = strict and (monitor.collector.partly_unreadable or unread)
    return ExitCode.PARTLY_READ if partly_read else ExitCode.OK


def _print_steps(options: argparse.Namespace) -> int:
    """Print all metrics at the step of --step, or over those of --steps; return the exit code."""
    from tuimon.analysis.aligned_steps import step_name
    from tuimon.exports.around import AroundDocument, as_text, run_around
    from tuimon.exports.documents import dumps
    from tuimon.exports.summary import OverStepsDocument, run_over_steps
    from tuimon.exports.summary_text import over_steps_text
    from tuimon.monitor.local import open_run
    from tuimon.monitor.settings import load as load_settings

    step, steps, width = options.step, options.steps, terminal_width()
    options.texts_copied = 1
    snapshot = open_run(*checked_paths(options.paths, options=options))
    metrics, code = chosen_metrics(options.metric, snapshot.runs)
    alerts, samples = (*snapshot.alerts, *snapshot.resolved), load_settings().samples
    at, over, texts = [], [], []
    for run in snapshot.runs:
        word, last = step_name(run), run.last_step
        if steps:
            part = run_over_steps(run, steps, metrics)
            if part.metrics:
                over.append(part)
                texts.append(over_steps_text(run, part, steps, width))
                continue
        elif last is None or step <= last:
            here = run_around(run, step, samples, metrics)
            if here.metrics or here.texts is not None:
                at.append(here)
                texts.append(as_text(run, here, step, alerts, width, options.unusual))
                continue
        of, where = "" if metrics is None else " of these metrics", f"these {word}s" if steps else f"{word} {step}"
        end = "" if last is None else f"; its last {word} is {last}"
        print_status(f"{clean(run.name)} has no point{of} {'in' if steps else 'at'} {where}{end}")
    if not texts:
        return ExitCode.NOTHING_FOUND
    document = OverStepsDocument(steps=steps, runs=tuple(over)) if steps else AroundDocument(step=step, runs=tuple(at))
    print(dumps(document) if options.json else "\n\n".join(map("\n".join, texts)))
    return code


def _print_media(options: argparse.Namespace) -> int:
    """Print the media below the only path; return the exit code."""
    from tuimon.exports.documents import plain
    from tuimon.exports.media import as_text, media_document
    from tuimon.media.library import read_media

    path, *others = checked_paths(options.paths, options=options)
    if others:
        raise UsageError("--media lists one path at a time")
    with ProgressBar("reading") as progress:

        def show(found: Found) -> None:
            progress.update(found.read, found.size, f" bytes, {count_of(len(found.tags), 'tag')}")

        found = read_media(path, [], on_read=show)
    for problem in found.problems:
        print_status(f"cannot read {clean(problem)}")
    if found.left_out:
        print_status(f"too many tags: {found.left_out} values of further tags are not listed")
    if options.json:
        print(json.dumps(plain(media_document(path, found)), allow_nan=False))  # ASCII: names are those of others
    elif not found.tags:
        searched = count_of(found.files, "file")
        print_status(f"no media at or below {clean(path)}: {searched} of TensorBoard, W&B and SwanLab searched")
        return ExitCode.NOTHING_FOUND
    else:
        sys.stdout.writelines(as_text(found, "utf" not in (sys.stdout.encoding or "").lower()))
    return ExitCode.OK


_EXAMPLES = """\
  tuimon summary logs/grpo-1.5b                  state, settings, and last, best, mean and trend of every metric
  tuimon summary 'outputs/*/training_log.json'   several runs in one table; --full: each run, too
  tuimon summary RUN --json | jq '.runs[].state'
  tuimon summary RUN --step 1200 --unusual       every metric that differs clearly from the points before
  tuimon summary RUN --steps 1000-1200 --metric '*loss'
"""
_HELP = "print state and metrics of runs, as text or JSON"
_WHAT = ("--step", "--steps", "--ranks", "--media")
COMMAND = Command("summary", _HELP, _OPTIONS, _run, _EXAMPLES, exclusive=(_WHAT,))
