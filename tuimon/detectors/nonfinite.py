"""NaN or Inf in a reward, loss, KL, policy or length metric: the update that caused it may have damaged the weights.

Rule: any value that is not finite; over when `clear_after` finite values have followed. Critical for a loss or a
gradient norm whose last value is not finite. If finite values follow, the weights are intact, unless these values are
all 0, which is what some frameworks log in place of NaN. In other metrics NaN at the start is ignored: the value is not
known yet (an episode has not ended). If all of these are finite, information is given about the first metric without a
known meaning that is not finite after 100 finite values. Values of all sources of a metric with a known meaning count,
also if another one is drawn (analysis/hidden_values.py).
Source: SageMaker Debugger ExplodingTensor (NaN or Inf); rlwatch loss_nan (critical at once); TRL's PPO docs (a value
loss that is NaN is a failure); verl#2626 (the gradient norm is NaN, then the reward is 0).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tuimon.analysis.hidden_values import hidden_values
from tuimon.analysis.incidents import Incident
from tuimon.analysis.progress_inputs import progress_inputs
from tuimon.detectors._checkpoints import checkpoint_before
from tuimon.detectors._curves import CHECKED_PANELS, fold_rows
from tuimon.model.alerts import Alert
from tuimon.store import Curve, Run
from tuimon.vocabulary import Meaning, classify

_CRITICAL = frozenset({"loss.total", "loss.value", "grad_norm"})
"""Concepts in which NaN or Inf means that the weights are damaged."""
_FOLLOWING = 10
"""Number of values after an incident of which one must not be 0 if the weights are intact."""
_FINITE = 100
"""Finite first values of a metric without a known meaning, in which NaN then does not just mean "no value"."""
_NEWEST = 64
"""Maximum number of incidents of a curve, as for other rules."""


class NonFinite(Struct, frozen=True):
    id: str = "nonfinite"
    title: str = "NaN or Inf"
    clear_after: int = 10
    """Finite values in a row after which the alert is over."""

    def check(self, run: Run) -> Iterator[Alert]:
        alerts = list(self._of_known(run))
        yield from alerts or self._of_unknown(run)

    def _of_known(self, run: Run) -> Iterator[Alert]:
        for metric in run.metrics:
            meaning = classify(metric)
            if meaning.panel not in CHECKED_PANELS:
                continue
            curve = run.curve(metric)
            if curve.nan_count or curve.infinity_count:
                for incident in self._incidents(curve, meaning):
                    yield _alert(run, metric, meaning, curve, incident)
            if len(curve.sources) > 1:
                for hidden in hidden_values(run, metric):
                    for incident in self._incidents(hidden.curve, meaning):
                        if ((hidden.rows >= incident.first) & (hidden.rows <= incident.last)).any():
                            yield _alert(run, metric, meaning, hidden.curve, incident, hidden.source)

    def _of_unknown(self, run: Run) -> Iterator[Alert]:
        """Yield information about the metric without a known meaning that was the first to be not finite."""
        starts = []
        for metric in run.metrics:
            if classify(metric).concept == "other" and run.sources_with_nonfinite(metric):
                curve = run.curve(metric)
                if curve.finite_count < len(curve) and (row := int(curve.tally.bad_starts[0])) >= _FINITE:
                    starts.append((int(curve.steps[row]), metric))
        if starts:
            _, metric = min(starts)
            meaning, curve = classify(metric), run.curve(metric)
            for incident in self._incidents(curve, meaning):
                yield replace(_alert(run, metric, meaning, curve, incident), severity="info")

    def _incidents(self, curve: Curve, meaning: Meaning) -> Iterator[Incident]:
        """Yield runs of values that are not finite, joined if fewer than `clear_after` finite ones separate them."""
        starts, ends = curve.tally.bad_starts, curve.tally.bad_ends
        if starts[0] == 0 and ends[0] < len(curve) and meaning.concept not in _CRITICAL:
            starts, ends = starts[1:], ends[1:]
        if not len(starts):
            return
        heads = np.concatenate(([0], np.flatnonzero(starts[1:] - ends[:-1] >= self.clear_after) + 1))
        tails = np.concatenate((heads[1:], [len(starts)])) - 1
        for head, tail in zip(heads[-_NEWEST:].tolist(), tails[-_NEWEST:].tolist(), strict=True):
            cleared = int(ends[tail]) + self.clear_after - 1
            first, last = int(starts[head]), int(ends[tail]) - 1
            yield Incident(first, first, last, cleared if cleared < len(curve) else None)


def _alert(run: Run, metric: str, meaning: Meaning, curve: Curve, incident: Incident, source: str = "") -> Alert:
    """source: that of the curve if it is not the one drawn."""
    end = len(curve) if incident.cleared is None else incident.last + 1
    nans, infinities = fold_rows(curve, "nonfinite", incident.first, end - 1, lambda *rows: _counted(curve, *rows))
    bad_now = incident.cleared is None and not math.isfinite(curve.values[end - 1])
    kind = "nan" if math.isnan(curve.values[incident.first]) else "infinite"
    step = int(curve.steps[incident.first])
    all_bad = bad_now and nans + infinities == end - incident.first
    severity = "critical" if bad_now and meaning.concept in _CRITICAL else "warning"
    until = int(curve.steps[incident.last]) if incident.cleared is not None else None
    hint = "look at grad norm and loss at that step"
    if meaning.concept in _CRITICAL:
        hint = _recovery(run, curve, incident, nans + infinities)
        hint = hint or f"the weights are NaN from the first such update on: go back to {checkpoint_before(run, step)}"
    return Alert(
        "nonfinite",
        severity,
        run.id,
        metric,
        step,
        hint=hint,
        until=until,
        what=kind if all_bad else f"some {kind}",
        count=nans + infinities,
        points=len(curve),
        source=source,
    )


def _recovery(run: Run, curve: Curve, incident: Incident, count: int) -> str:
    """Return the hint for `count` bad values that finite values follow; "" if none do, or all of them are 0."""
    begin = incident.last + 1
    if not curve.values[begin : begin + _FOLLOWING].any():
        return ""
    first, last = int(curve.steps[incident.first]), int(curve.steps[incident.last])
    cause = "one bad batch or reward" if count == 1 else "bad batches or rewards"
    word = progress_inputs(run).step_name
    where = f"{word} {first}" if first == last else f"{word}s {first} to {last}"
    again = "" if incident.cleared is not None else f"finite again from {word} {int(curve.steps[begin])}: "
    return f"{again}{cause}; look at {where}"


def _counted(curve: Curve, known: tuple[int, int] | None, begin: int, end: int) -> tuple[int, int]:
    """Add the (NaN, infinities) of the rows begin … end - 1 to the known counts."""
    values, (nans, infinities) = curve.values[begin:end], known or (0, 0)
    return nans + int(np.isnan(values).sum()), infinities + int(np.isinf(values).sum())


DETECTOR = NonFinite()
