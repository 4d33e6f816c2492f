"""The attempts of a training: where each went on, which steps it logged, how it ended, and the work lost at its end."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from itertools import groupby

import numpy as np
from msgspec import Struct

from tuimon.analysis.run_cache import cached_per_run
from tuimon.analysis.words import duration
from tuimon.model.log_names import log_name
from tuimon.model.points import Topic
from tuimon.store import Curve, Run, StreamView
from tuimon.store.arrays import distinct
from tuimon.store.curve import SupersededPoints
from tuimon.store.curve_builder import FilePart
from tuimon.text import local_time
from tuimon.vocabulary import meanings


class Attempt(Struct, frozen=True):
    """One file of a source that several attempts of a training wrote, one after another."""

    name: str
    """Name of the file."""
    first_step: int
    last_step: int
    superseded: int
    """Number of logged steps that are not drawn, of `attempts_metric`."""
    begin: float
    """Time of the first point (s since the epoch); NaN if unknown."""
    end: str
    """How the attempt ended, as its log says; "" if the log does not say it."""
    resumed_from: int | None = None
    """Result of `resumed_from` for its first step."""


@cached_per_run
def attempts_of(run: Run) -> tuple[Attempt, ...]:
    """Return the attempts of a run, the first one first.

    () if one file has all points of `attempts_metric`. The files of a rotated log are one attempt.
    """
    metric = attempts_metric(run)
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
    metric = attempts_metric(run)
    if metric is None:
        return None
    curve = run.curve(metric)
    row = 0 if curve.ordinal else curve.row_before(first) + 1
    kept = int(curve.steps[row - 1]) if row else None
    logged, saved = _logged_steps(run)
    for step in reversed(logged):
        if step <= first and (kept is None or kept <= step):
            return step
    if kept is None or row not in curve.restarts or curve.steps[row] != first:
        return None
    if kept == first - 1:
        return kept
    possible = [step for step in {*run.checkpoints, *saved} if kept <= step < first]
    return possible[0] if len(possible) == 1 else None


@cached_per_run
def _logged_steps(run: Run) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return (steps from which training went on, steps of saved checkpoints) as the logs of a run name them.

    Cached because every chart names its restarts at each redraw, and the facts of a run with many files take long.
    """
    resumed, saved = (
        tuple(fact.step for fact in run.facts(topic) if fact.step is not None)
        for topic in (Topic.RESUMED, Topic.CHECKPOINT)
    )
    return resumed, saved


def restart_name(run: Run, first: int, word: str = "") -> str:
    """Return "resumed from 400", or "restart at 410" if only the first step of the attempt, `first`, is known.

    word: what the run counts, such as "step", to be written before the number; "" for nothing.
    """
    step = resumed_from(run, first)
    before = f"{word} " if word else ""
    return f"restart at {before}{first}" if step is None else f"resumed from {before}{step}"


class LostWork(Struct, frozen=True):
    """Steps and time lost at the end of an attempt: of the one before the last restart, or of the last one."""

    last_step: int
    """Last step that the attempt logged."""
    checkpoint: int | None
    """Step of the last checkpoint before its end: the one from which training went on, or that the log names."""
    saved: float
    """When that checkpoint was saved (s since the epoch), as the log says; NaN if unknown."""
    steps: int | None
    """Number of steps after that checkpoint; None if it is unknown."""
    seconds: float = math.nan
    """Time from the last point of the attempt to the first of the next one; NaN if unknown, or if there is none."""
    superseded: int = 0
    """Number of logged steps of the attempt that the next one has logged again, or left out."""
    resumed: float = math.nan
    """Wall time of the first point of the next attempt (s since the epoch); NaN if unknown."""
    first_step: int | None = None
    """First step that the next attempt logged; None if there is none."""

    @property
    def is_resumed(self) -> bool:
        """Whether another attempt followed."""
        return self.first_step is not None

    def text(self, word: str) -> str:
        """Return what is known, such as "resumed from step 400 (saved 2026-11-21 10:15), 29 steps lost".

        "" if nothing is known. word: what the run counts, such as "step".
        """
        saved = local_time(self.saved, " (saved %Y-%m-%d %H:%M)") if math.isfinite(self.saved) else ""
        parts = []
        if self.checkpoint is not None:
            name = "resumed from" if self.is_resumed else "last checkpoint at"
            parts.append(f"{name} {word} {self.checkpoint}{saved}")
        if resumed := local_time(self.resumed, "went on at %Y-%m-%d %H:%M:%S"):
            parts.append(resumed)
        if self.steps:
            lost = f"{self.steps} {word}{'s' * (self.steps > 1)} lost"
            logged = f"{self.superseded} logged {word}{'s' * (self.superseded > 1)} superseded"
            parts.append(f"{lost} ({logged})" if 0 < self.superseded != self.steps else lost)
        if math.isfinite(self.seconds):
            parts.append(f"{duration(self.seconds)} without a point before it went on")
        return ", ".join(parts)


def superseded_steps(run: Run) -> int:
    """Return the number of logged steps that later attempts supersede, of `attempts_metric`.

    A step that two attempts logged before the one that is drawn counts twice.
    """
    return sum(work.superseded for work in lost_at_restarts(run))


def lost_work(run: Run, has_died: bool) -> LostWork | None:
    """Return the work lost at the end of a run that has died, or else at the last restart; None without either."""
    cause = run.ranks.root_cause if run.ranks is not None else None
    if not has_died or (cause is not None and cause.resolved):  # the job went on after the end that a log names
        return next(reversed(lost_at_restarts(run)), None)
    metric = attempts_metric(run)
    curve = run.curve(metric) if metric is not None else None
    if curve is None or curve.ordinal or not len(curve):
        return None
    last_step = int(curve.steps[-1])
    checkpoint, saved = _checkpoint_before(run, last_step)
    return LostWork(last_step, checkpoint, saved, None if checkpoint is None else last_step - checkpoint)


@cached_per_run
def lost_at_restarts(run: Run) -> tuple[LostWork, ...]:
    """Return the work lost at each restart of a run, the first one first. It is that of `attempts_metric`.

    An attempt of which nothing is drawn, because a later one began at its first step or before it, has none.
    """
    metric = attempts_metric(run)
    curve = run.curve(metric) if metric is not None else None
    if curve is None or curve.ordinal or not len(curve.restarts):
        return ()
    superseded = curve.superseded_points()
    return tuple(_lost_at(run, curve, row, superseded) for row in curve.restarts.tolist())


@cached_per_run
def attempts_metric(run: Run) -> str | None:
    """Return the metric whose restarts are those of the run.

    It is the one with most points that is no counter. A console may have more points of the epoch, without restarts. Of
    a run with counters only it is the first of them.
    """
    known, names = meanings(run.metrics), run.busiest_metrics
    return next((name for name in names if known[name].panel != "progress"), next(iter(names), None))


def _lost_at(run: Run, curve: Curve, row: int, superseded: SupersededPoints) -> LostWork:
    """Return the work lost at the restart whose first point is in a row of a curve."""
    first = int(curve.steps[row])
    steps, _, times, _, hiding = superseded
    hidden = hiding == first
    last_step = max(int(curve.steps[row - 1]), int(steps[hidden].max(initial=np.iinfo(np.int64).min)))
    end = float(np.fmax.reduce(times[hidden], initial=curve.wall_times[row - 1]))
    begin = float(curve.wall_times[row])
    seconds = begin - end
    checkpoint, saved = resumed_from(run, first), math.nan
    if checkpoint is not None and (before := _checkpoint_before(run, checkpoint))[0] == checkpoint:
        saved = before[1]
    # A log that counts from 0 names the step that comes next, not the last one that was done.
    lost = None if checkpoint is None else last_step - min(checkpoint, first - 1)
    seconds = seconds if seconds > 0 else math.nan
    superseded_count = len(distinct(steps[hidden]))
    return LostWork(last_step, checkpoint, saved, lost, seconds, superseded_count, resumed=begin, first_step=first)


def _checkpoint_before(run: Run, step: int) -> tuple[int | None, float]:
    """Return (step, time) of the last checkpoint up to a step, on disk or named by the log; (None, NaN) without one.

    The time is that in the log, NaN if it does not name the checkpoint.
    """
    facts = [fact for fact in run.facts(Topic.CHECKPOINT) if fact.step is not None and fact.step <= step]
    last = max(facts, key=lambda fact: (fact.step, fact.wall_time or 0.0), default=None)
    on_disk = max((other for other in run.checkpoints if other <= step), default=None)
    if on_disk is not None and (last is None or last.step is None or last.step < on_disk):
        return on_disk, math.nan
    if last is None:
        return None, math.nan
    return last.step, math.nan if last.wall_time is None else last.wall_time
