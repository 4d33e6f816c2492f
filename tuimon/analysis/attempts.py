"""The attempts of a training that have files of their own: which steps each of them logged, and how it ended."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from itertools import groupby

from msgspec import Struct

from tuimon.analysis.run_cache import cached_per_run
from tuimon.model.log_names import log_name
from tuimon.model.points import Topic
from tuimon.store import Curve, Run, StreamView
from tuimon.store.curve_builder import FilePart

_RESUMED = re.compile(
    r"\b(?:resum\w+|continuing)\b.{0,40}?\bfrom (?:global[_ ])?(?:step|iteration)\W{0,3}(\d{1,12})\b", re.IGNORECASE
)
"""The Trainer of transformers ("Continuing training from global step 400"), and scripts ("Resuming from step 400")."""


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
    """Step of the checkpoint from which it went on, as its log says; None if the log does not say it."""


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
    return Attempt(
        os.path.basename(log_name(last.info.path).live),
        min(part.first_step for part in parts),
        max(part.last_step for part in parts),
        sum(part.superseded for part in parts),
        log[0][0].first_wall_time,
        str(state.value.get("evidence") or state.value.get("state") or "") if state is not None else "",
        _resumed_from(run, log[0][0]),
    )


def _resumed_from(run: Run, view: StreamView) -> int | None:
    """Return the step from which a log says that the training goes on, if its text is still known."""
    for fact in run.facts_of_file(view, Topic.CONSOLE):
        for line in fact.value["lines"]:
            if match := _RESUMED.search(line):
                return int(match[1])
    return None


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
