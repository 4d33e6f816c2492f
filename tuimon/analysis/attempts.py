"""The attempts of a training: where each went on, which steps it logged, and how it ended."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import groupby

from msgspec import Struct

from tuimon.analysis.run_cache import cached_per_run
from tuimon.model.log_names import log_name
from tuimon.model.points import Topic
from tuimon.store import Curve, Run, StreamView
from tuimon.store.curve_builder import FilePart


class Attempt(Struct, frozen=True):
    """One file of a source that several attempts of a training wrote, one after another."""

    name: str
    """Name of the file."""
    first_step: int
    last_step: int
    superseded: int
    """Number of points that are not drawn, of the metric with the most points."""
    begin: float
    """Time of the first point (s since the epoch); NaN if unknown."""
    end: str
    """How the attempt ended, as its log says; "" if the log does not say it."""
    resumed_from: int | None = None
    """Result of `resumed_from` for its first step."""


@cached_per_run
def attempts_of(run: Run) -> tuple[Attempt, ...]:
    """Return the attempts of a run, the first one first; () if one file has all points of its busiest metric.

    The files of a rotated log are one attempt.
    """
    metric = run.busiest_metric
    files = run.files(metric, count_superseded=True) if metric is not None else ()
    logs = [list(group) for _, group in groupby(files, key=lambda file: log_name(file[0].info.path).live)]
    return tuple(_attempt(run, log) for log in logs) if len(logs) > 1 else ()


def _attempt(run: Run, log: Sequence[tuple[StreamView, FilePart]]) -> Attempt:
    parts, (last, _) = [part for _, part in log], log[-1]
    state = next(reversed(run.facts_of_file(last, Topic.STATE)), None)
    first_step = min(part.first_step for part in parts)
    return Attempt(
        os.path.basename(log_name(last.info.path).live),
        first_step,
        max(part.last_step for part in parts),
        sum(part.superseded for part in parts),
        log[0][0].first_wall_time,
        str(state.value.get("evidence") or state.value.get("state") or "") if state is not None else "",
        resumed_from(run, first_step),
    )


def resumed_from(run: Run, first: int) -> int | None:
    """Return the step of the checkpoint from which the attempt went on whose first logged step is `first`.

    It lies between the last step that is drawn before and `first`. It is the one that the log names, or else the only
    step between them, or else that of the only checkpoint there, on disk or in the log. None if none of them is known.
    """
    if run.busiest_metric is None:
        return None
    curve = run.curve(run.busiest_metric)
    row = 0 if curve.ordinal else curve.row_before(first) + 1
    kept = int(curve.steps[row - 1]) if row else None
    for fact in reversed(run.facts(Topic.RESUMED)):
        if fact.step is not None and fact.step <= first and (kept is None or kept <= fact.step):
            return fact.step
    if kept is None or row == curve.gap or row not in curve.restarts or curve.steps[row] != first:
        return None
    if kept == first - 1:
        return kept
    checkpoints = {*run.checkpoints, *(fact.step for fact in run.facts(Topic.CHECKPOINT) if fact.step is not None)}
    possible = [step for step in checkpoints if kept <= step < first]
    return possible[0] if len(possible) == 1 else None


def restart_name(run: Run, first: int, word: str = "") -> str:
    """Return "resumed from 400", or "restart at 410" if only the first step of the attempt, `first`, is known.

    word: what the run counts, such as "step", to be written before the number; "" for nothing.
    """
    step = resumed_from(run, first)
    before = f"{word} " if word else ""
    return f"restart at {before}{first}" if step is None else f"resumed from {before}{step}"


def file_at(run: Run, metric: str, curve: Curve, step: int) -> str:
    """Return the name of the file that has the point of a curve at a step, or the last one before it.

    "" if one file has all points, if several sources or parallel writers have them, or without such a point.
    """
    sample = None if curve.ordinal or len(curve.sources) > 1 else curve.sample_at(step)
    if sample is None:
        return ""
    # Where files overlap in step, the curve takes the later one from its first step on.
    names = [os.path.basename(view.info.path) for view, part in run.files(metric) if part.first_step <= sample.step]
    return names[-1] if names else ""
