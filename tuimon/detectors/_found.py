"""What rules of more than one curve find, and what excuses an incident: functions that the table of rules names."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from msgspec.structs import replace

from tuimon import lazy_re as re
from tuimon.analysis.change import change
from tuimon.analysis.concepts import curves, metrics_of
from tuimon.analysis.device_memory import device_memory
from tuimon.analysis.hidden_values import hidden_values
from tuimon.analysis.printed_units import meaning_of
from tuimon.analysis.progress_inputs import failed_rank, progress_inputs, progress_of, steps_left
from tuimon.analysis.run_states import ACTIVE
from tuimon.analysis.words import duration, silence
from tuimon.detectors._engine import Rule, level_of
from tuimon.detectors._incidents import MOST, Incident, Incidents
from tuimon.detectors._scores import Beginning, Limit
from tuimon.model.alerts import Alert, Change
from tuimon.ranks.advice import of_scheduler, of_used_memory
from tuimon.store import Curve, Run
from tuimon.vocabulary import BYTES, TRAINING_CONCEPTS, Meaning, classify, memory_of, pair_key, unit_text

CHECKED_PANELS = frozenset({"reward", "success", "loss", "kl", "policy", "length"})
"""Panels of the metrics that are checked for NaN."""
_CRITICAL = frozenset({"loss.total", "loss.value", "grad_norm"})
"""Concepts in which NaN or Inf means that the weights are damaged."""
_FOLLOWING = 10
"""Number of values after an incident of which one must not be 0 if the weights are intact."""
_NEWEST_VALIDATIONS = 1024
_LEAST_LOSS = 0.01
"""Part of the first validation below which no difference counts: a loss that has reached 1e-7 often multiplies."""
_START = 20
"""Points whose median is the start of a reward or length."""


def nonfinite(run: Run, rule: Rule, s: Mapping[str, Any]) -> Iterator[Alert]:
    """Yield the alerts of metrics that are not finite, also in a log that is not drawn."""
    for metric in run.metrics:
        meaning = classify(metric)
        if meaning.panel not in CHECKED_PANELS:
            continue
        curve = run.curve(metric)
        for own in _nonfinite_incidents(curve, meaning, s["clear_after"]):
            yield _nonfinite_alert(run, rule, meaning, curve, own)
        for hidden in hidden_values(run, metric) if len(curve.sources) > 1 else ():
            for own in _nonfinite_incidents(hidden.curve, meaning, s["clear_after"]):
                if ((hidden.rows >= own.first) & (hidden.rows <= own.last)).any():
                    alert = _nonfinite_alert(run, rule, meaning, hidden.curve, own)
                    yield replace(alert, source=hidden.source)


def _nonfinite_incidents(curve: Curve, meaning: Meaning, clear_after: int) -> Iterator[Incident]:
    """Yield runs of values that are not finite, joined if fewer than `clear_after` finite ones separate them.

    NaN at the start is left out: an episode has not ended yet. Not of losses and gradients.
    """
    starts, ends = curve.tally.bad_starts, curve.tally.bad_ends
    if len(starts) and starts[0] == 0 and ends[0] < len(curve) and meaning.concept not in _CRITICAL:
        starts, ends = starts[1:], ends[1:]
    if not len(starts):
        return
    heads = np.concatenate(([0], np.flatnonzero(starts[1:] - ends[:-1] >= clear_after) + 1))
    tails = np.concatenate((heads[1:], [len(starts)])) - 1
    for head, tail in zip(heads[-MOST:].tolist(), tails[-MOST:].tolist(), strict=True):
        cleared = int(ends[tail]) + clear_after - 1
        first, last = int(starts[head]), int(ends[tail]) - 1
        yield Incident(first, first, last, cleared if cleared < len(curve) else None, Beginning(first, None, math.nan))


def _nonfinite_alert(run: Run, rule: Rule, meaning: Meaning, curve: Curve, own: Incident) -> Alert:
    starts, ends = curve.tally.bad_starts, curve.tally.bad_ends
    inside = (starts >= own.first) & (starts <= own.last)
    count = int((ends[inside] - starts[inside]).sum())
    end = len(curve) if own.cleared is None else own.last + 1
    is_bad_now = own.cleared is None and not math.isfinite(curve.values[end - 1])
    kind = "nan" if math.isnan(curve.values[own.first]) else "infinite"
    first, last = int(curve.steps[own.first]), int(curve.steps[own.last])
    hint = rule.hint
    if meaning.concept in _CRITICAL:
        if curve.values[own.last + 1 : own.last + 1 + _FOLLOWING].any():
            hint = f"a bad batch or reward: look at {progress_inputs(run).step_name} {first}"
        else:
            hint = f"the weights are NaN from the first such update on: go back to {_checkpoint_before(run, first)}"
    return Alert(
        rule.id,
        "critical" if is_bad_now and meaning.concept in _CRITICAL else "warning",
        run.id,
        curve.metric,
        first,
        hint=hint,
        until=last if own.cleared is not None else None,
        what=kind if is_bad_now and count == end - own.first else f"some {kind}",
        count=count,
        points=len(curve),
    )


def _checkpoint_before(run: Run, step: int) -> str:
    """Return words for the last checkpoint on disk before a step: "the checkpoint of step 20"."""
    earlier = [own for own in run.checkpoints if own < step]
    return f"the checkpoint of {progress_inputs(run).step_name} {earlier[-1]}" if earlier else "an earlier checkpoint"


def overfitting(run: Run, rule: Rule, s: Mapping[str, Any]) -> Iterator[Alert]:
    """Yield the alerts of validation losses beside the training loss."""
    for metric in metrics_of(run, "loss.val", "val"):
        train = _training_loss(run, metric)
        if train is not None:
            yield from _validation(run, rule, s, run.curve(train), run.curve(metric), rises=False)


def reward_hacking(run: Run, rule: Rule, s: Mapping[str, Any]) -> Iterator[Alert]:
    """Yield the alerts of validation rewards beside the training reward."""
    train = next(curves(run, "reward.train"), None)
    concept = "reward.val" if metrics_of(run, "reward.val", "val") else "success.val"
    if train is not None and len(train) >= 2 * _START:
        for validation in curves(run, concept, "val"):
            yield from _validation(run, rule, s, train, validation, rises=True)


def _validation(
    run: Run, rule: Rule, s: Mapping[str, Any], train: Curve, validation: Curve, rises: bool
) -> Iterator[Alert]:
    """Yield the alerts of a validation that is worse than its best while the training is better than it was then.

    Worse by `part` of its gain (a loss: of its lowest value) and by three typical differences of its neighbours, and
    of a few more. It begins at the best one; of several incidents after one best value only the last counts.
    """
    offset = max(0, len(validation) - _NEWEST_VALIDATIONS)
    values, sign = validation.values[offset:], 1.0 if rises else -1.0
    if len(values) < s["points"] + 2 or not np.isfinite(values).all():
        return
    better = sign * values
    best_values = np.maximum.accumulate(better)
    best = np.maximum.accumulate(
        np.where(np.append(True, best_values[1:] > best_values[:-1]), np.arange(len(values)), 0)
    )
    ends = np.searchsorted(train.steps, validation.steps[offset:], "right").tolist()
    learned = sign * np.array([level_of(train, end) for end in ends])
    lost, typical = best_values - better, float(np.median(np.abs(np.diff(values)))) * (1 + 4 / len(values))
    changes = np.abs(np.diff(train.values))
    changes = changes[np.isfinite(changes)]
    noise = float(np.median(changes)) if len(changes) else 0.0
    whole = best_values - np.minimum.accumulate(better) if rises else np.abs(best_values)
    with np.errstate(divide="ignore", invalid="ignore"):
        worse = (lost > 3 * typical) & (lost > _LEAST_LOSS * abs(values[0])) & (learned - learned[best] > noise)
        scores = np.where(worse & (whole > 0), lost / whole, 0.0)
    alerts: dict[int, Alert] = {}
    score = Limit(limit=s["part"], raise_after=s["points"], clear_after=s["points"])
    for own in Incidents().extended(scores, score).incidents:
        first, is_over = int(best[own.raised]), own.cleared is not None
        before, now = (abs(float(learned[row])) for row in (first, own.last))
        alerts[first] = Alert(
            rule.id,
            "warning",
            run.id,
            validation.metric,
            int(validation.steps[offset + first]),
            hint=rule.hint,
            until=int(validation.steps[offset + own.last]) if is_over else None,
            what="fallen" if rises else "risen",
            value=float(values[own.last]),
            usual=float(values[first]),
            related=(Change(train.metric, "risen" if rises else "fallen", now, before),),
        )
    yield from alerts.values()


def _training_loss(run: Run, validation: str) -> str | None:
    """Return the training loss with the same stem; else the first one, unless only one of the two is a part of one."""
    losses = [name for concept in TRAINING_CONCEPTS["loss.val"] for name in metrics_of(run, concept, all_names=True)]
    key = pair_key(validation)
    if same := next((name for name in losses if pair_key(name) == key), None):
        return same
    if not losses or "component" in classify(validation).facets or "component" in classify(losses[0]).facets:
        return None
    return losses[0] if classify(losses[0]).concept != "loss.part" else None


_PERCENT = re.compile(r"system[/.]gpu\.\d+\.memoryAllocated")
"""Memory in use in percent of the device, as W&B measures it."""


def is_no_share(run: Run, curve: Curve, own: Incident) -> bool:
    """Return whether values above 1 show that a metric called a share is something else, as a ratio of limits."""
    highest = curve.max
    return highest is not None and highest.value > 1


def has_no_unit(run: Run, curve: Curve, own: Incident) -> bool:
    """Return whether a metric that is called memory has no unit of memory."""
    return meaning_of(run, curve.metric).unit not in BYTES


def when_full(run: Run, curve: Curve, alert: Alert) -> Alert:
    """Return the alert of memory that grows with its unit, and the steps until the device is full, before the end."""
    tag, device = memory_of(curve.metric), device_memory(run, curve.metric)
    scale = 100 * tag.scale if tag is not None and tag.fraction else 1.0
    is_percent = scale != 1 or _PERCENT.fullmatch(curve.metric) is not None
    before, now = scale * (alert.usual or 0.0), scale * (alert.value or 0.0)
    size = 100.0 if is_percent else device.size if device is not None else None
    rate = (now - before) / max(int(curve.steps[-1]) - (alert.step or 0), 1)
    soon = round((size - now) / rate) if size and alert.active and rate > 0 and size > now else None
    left = steps_left(run)
    if soon is not None and left is not None and soon > left:
        soon = None
    unit = "% of the device" if is_percent else unit_text(meaning_of(run, curve.metric).logged_unit)
    limit = size if soon is not None else None
    return replace(alert, value=now, usual=before, unit=unit, limit=limit, extreme=None, reached_in=soon)


def of_ranks(run: Run, rule: Rule, s: Mapping[str, Any]) -> Iterator[Alert]:
    """Yield the problems of the ranks of a run that a rule reports, from the report that the reader made of them."""
    for problem in run.ranks.problems if run.ranks is not None else ():
        if problem.rule == rule.id:
            yield Alert(rule.id, problem.severity, run.id, "", problem.step, problem.message, problem.hint)


def disk_full(run: Run, rule: Rule, s: Mapping[str, Any], now: float) -> Iterator[Alert]:
    """Yield an alert while the disk is nearly full and the run goes on on this machine."""
    disk = run.machine.disk_of(run.path) if run.machine is not None else None
    if disk is not None and disk.nearly_full(s["part"], s["gibibytes"]) and progress_of(run, now).state in ACTIVE:
        left = f"{disk.free / 2**30:.1f} GiB ({disk.free / disk.total * 100:.1f} %)"
        yield Alert(rule.id, "warning", run.id, "", None, f"{left} are left on the disk of the run", rule.hint)


_NEWS = 86400.0
"""Time (s) for which an end is a warning: later, directories hold many runs that were stopped on purpose."""
_ENDS = {
    "quiet": ("warning", "silent",
              "look at the processes and the console of the run: a hung collective, a wait for data, a full disk"),
    "ended": ("warning", "ended early",
              "see the end of its console, the scheduler and the kernel log (out of memory)"),
    "crashed": ("critical", "crashed", "see the end of its console log"),
}  # fmt: skip
"""State: severity, word, hint."""


def liveness(run: Run, rule: Rule, s: Mapping[str, Any], now: float) -> Iterator[Alert]:
    """Yield the alert of a state.

    - A crash whose rank is known is that of rank_failure.
    - Silence is an alert if a process has the log open, or before the end: the run may just have finished.
    """
    progress = progress_of(run, now)
    state = progress.state
    is_alert = not failed_rank(run) if state == "crashed" else progress.is_early or progress.reason == "open"
    if state not in _ENDS or not is_alert:
        return
    severity, word, hint = _ENDS[state]
    if state == "crashed" and (tip := of_used_memory(progress.evidence) or of_scheduler(progress.evidence)):
        hint = f"{tip}; {hint}"
    if state == "ended" and not progress.age <= _NEWS:
        severity = "info"
    yield Alert(rule.id, severity, run.id, "", progress.step, f"{word}: {progress.evidence}", hint)


def silent(run: Run, rule: Rule, s: Mapping[str, Any], now: float) -> Iterator[Alert]:
    """Yield an alert if the newest point, or file if points have no time, is older than `limit` seconds.

    Unlike liveness it knows no exceptions but runs that have finished: a run that has "ended" may have been killed.
    """
    progress = progress_of(run, now)
    if progress.state == "finished" or progress.reason == "not understood":
        return
    if progress.age > s["limit"]:
        limit = duration(s["limit"])
        message = f"no point for {silence(progress.age)}, longer than {limit}; its state is {progress.state}"
        yield Alert(rule.id, "warning", run.id, "", progress.step, message, rule.hint)
    elif math.isnan(progress.age):
        message = "when its newest point was logged is not known: neither its points nor its files have a usable time"
        yield Alert(rule.id, "info", run.id, "", progress.step, message)


_NEAR = 0.9
"""Part of the maximum from which on a reward is near it."""


def is_solved(run: Run, curve: Curve, own: Incident) -> bool:
    """Return whether the level of the reward was at least 90 % of the maximum when an incident was raised.

    Little is left to explore then. The maximum is 1 for success rates, and for rewards that all lie between 0 and 1;
    otherwise it is unknown.
    """
    step = int(curve.steps[own.raised])
    for concept in ("success.train", "reward.train"):
        for reward in curves(run, concept):
            lowest, highest = reward.min, reward.max
            within = lowest is not None and highest is not None and lowest.value >= 0 and highest.value <= 1
            if concept == "success.train" or within:
                return level_of(reward, int(reward.steps.searchsorted(step, "right"))) >= _NEAR
    return False


def is_no_collapse(run: Run, curve: Curve, own: Incident) -> bool:
    """Return whether a low entropy is that of a solved task, or of continuous actions, which may be negative.

    Estimates of an entropy that is lost scatter around 0, so that slightly negative values say nothing.
    """
    lowest, highest = curve.min, curve.max
    known = lowest is not None and highest is not None and not classify(curve.metric).sign_auto
    is_continuous = not known or lowest.value < min(0.0, -0.05 * highest.value)  # type: ignore[union-attr]
    return is_continuous or may_be_rounded(run, curve, own) or is_solved(run, curve, own)


def may_be_rounded(run: Run, curve: Curve, own: Incident) -> bool:
    """Return whether zeros were read from console text, which may print 1e-06 as 0.000.

    Zeros are meant so after a value of ten times the smallest step between two values so far.
    """
    consoles = {stream.info.source for stream in run.streams if stream.info.format == "console"}
    if not curve.sources or curve.sources[0] not in consoles or curve.values[own.last] != 0:
        return False
    if own.first == 0:
        return True
    smallest = min((step for step in np.abs(np.diff(curve.values[: own.first])).tolist() if step > 0), default=0.0)
    return bool(curve.values[own.first - 1] < 10 * smallest)


def is_of_episodes(run: Run, curve: Curve, own: Incident) -> bool:
    """Return whether a length is that of episodes in an environment, which a good policy may extend."""
    return classify(curve.metric).unit == "steps"


def reward_has_risen(run: Run, curve: Curve, own: Incident) -> bool:
    """Return whether the reward has risen since its start: models learn to reason this way."""
    for reward in curves(run, "reward.train"):
        risen = change(reward.values[: int(reward.steps.searchsorted(curve.steps[own.raised], "right"))], whole=True)
        return risen is not None and risen.direction == "rising"
    return False


def longer_responses(run: Run, curve: Curve, own: Incident) -> bool:
    """Return whether the responses have grown by three quarters as much as a curve has.

    Memory: since the incident began; step times: since the tenth step, as they may have grown slowly before.
    """
    usual, first = own.begun.usual or 0.0, 10 if classify(curve.metric).concept == "time.step" else own.begun.row
    grown = level_of(curve, own.raised + 1) / usual - 1 if usual > 0 else math.inf
    for lengths in curves(run, "length.response"):
        begin, end = lengths.steps.searchsorted(curve.steps[[first, own.raised]], "right").tolist()
        before, now = (level_of(lengths, row) for row in (max(begin, 9), end))
        return before > 0 and now / before - 1 >= 0.75 * grown
    return False
