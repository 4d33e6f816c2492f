"""judge(): count what tuimon states about a made job: right, wrong and missing statements by kind.

Example: counts[("eta", "right")] is 1 if the time left is known to 20 % or three steps.

- A run that was not found, or was found twice, is wrong as "runs"; nothing else is then judged.
- "alert RULE" counts alerts of a rule, and as missing the planted faults that none of their rules reported.
"""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from tests.jobs.making import NOW, Job, RunTruth
from tests.jobs.trainers import same
from tuimon.analysis.attempts import lost_at_restarts
from tuimon.analysis.progress_inputs import progress_of
from tuimon.detectors import Checker
from tuimon.model.alerts import Alert
from tuimon.monitor.local import LocalMonitor
from tuimon.panels.lists.comparison import Comparison, compare
from tuimon.store import Run, Snapshot

RESULTS = ("right", "wrong", "missing")
_UNLOGGED = frozenset({"time", "_step", "_timestamp", "_runtime", "epoch", "rank", "compute", "compute_time"})
"""Metrics that are no part of the truth: axes, and what ranks log besides the metrics of the job."""
_ETA, _PACE = 0.2, 0.15
"""Largest relative errors of the time left and of the pace."""


class Score:
    """Counts by (kind, result), and a line about each statement that is not right."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self.notes: list[str] = []

    def add(self, kind: str, result: str, said: object = "", truth: object = "") -> None:
        """Count a statement. result: one of RESULTS."""
        self.counts[kind, result] += 1
        if result != "right":
            self.notes.append(f"{kind}: {result}: {said}; truth: {truth}")

    def judge(self, kind: str, is_right: bool, said: object, truth: object) -> None:
        """Count a statement as right or wrong, or as missing if nothing was said."""
        self.add(kind, "right" if is_right else "missing" if said is None else "wrong", said, truth)


def judge(job: Job) -> Score:
    """Read a job and judge every statement about it."""
    score = Score()
    with held_open(job.held):
        monitor = LocalMonitor([job.root], Checker())
        monitor.read()
    snapshot = monitor.snapshot()
    alerts = monitor.checker.check_all(snapshot, NOW)
    pairs = [(truth, run) for truth in job.runs if (run := _found(job, truth, snapshot)) is not None]
    is_complete = len(snapshot.runs) == len(job.runs) == len(pairs)
    names = sorted(run.path.removeprefix(str(job.root)) for run in snapshot.runs)
    score.judge("runs", is_complete, names, [truth.base for truth in job.runs])
    if not is_complete:
        return score
    for truth, run in pairs:
        _judge_points(score, truth, run)
        _judge_restarts(score, truth, run)
        _judge_progress(score, truth, run)
        _judge_alerts(score, job, truth, [alert for alert in alerts if alert.run == run.id])
        _judge_ranks(score, job, run)
    if job.better is not None:
        _judge_comparison(score, job, compare([run for _, run in pairs], alerts=alerts))
    return score


@contextmanager
def held_open(paths: list[Path]) -> Iterator[None]:
    """Let another process hold files open, as the writer of a living job does."""
    files = [path.open("ab") for path in paths]
    numbers = [file.fileno() for file in files]
    writer = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=numbers) if files else None
    for file in files:
        file.close()
    try:
        yield
    finally:
        if writer is not None:
            writer.communicate()


def _found(job: Job, truth: RunTruth, snapshot: Snapshot) -> Run | None:
    """Return the run of a directory; that of the whole job if it has only one."""
    if not truth.base:
        return snapshot.runs[0] if snapshot.runs else None
    directory = str(job.root / truth.base)
    return next((run for run in snapshot.runs if f"{run.path}/".startswith(f"{directory}/")), None)


def _judge_points(score: Score, truth: RunTruth, run: Run) -> None:
    """Judge the points of each metric; its names in two logs may be one curve or two."""
    seen: dict[str, set[int]] = {}
    wrong: dict[str, str] = {}
    for name in run.metrics:
        metric = truth.names.get(name)
        if metric is None:
            if name not in _UNLOGGED:
                score.add("points", "wrong", f"metric {name}", "no such metric")
            continue
        curve = run.curve(name)
        steps = curve.steps.tolist()
        right = truth.points[metric]
        pairs = zip(steps, curve.values.tolist(), strict=True)
        if bad := [(step, value) for step, value in pairs if not any(same(value, own) for own in right.get(step, ()))]:
            wrong[metric] = f"{name}: {len(bad)} of {len(steps)}, first {bad[0]}, logged {right.get(bad[0][0])}"
        if len(set(steps)) < len(steps):
            wrong[metric] = f"{name}: steps twice"
        seen.setdefault(metric, set()).update(steps)
    for metric, points in truth.points.items():
        if metric in wrong:
            score.add("points", "wrong", wrong[metric], "as logged")
        elif lost := points.keys() - seen.get(metric, set()):
            score.add("points", "missing", f"{metric}: {len(lost)} of {len(points)}, first {min(lost)}", "as logged")
        else:
            score.add("points", "right")


def _judge_restarts(score: Score, truth: RunTruth, run: Run) -> None:
    """Judge the first step after each restart, and the checkpoint that it went on from."""
    said = {own.first_step: own.checkpoint for own in lost_at_restarts(run)}
    every, seen = {step for step, _ in truth.restarts}, {step for step, is_seen in truth.restarts if is_seen}
    score.judge("restarts", seen <= said.keys() <= every, said or None if seen else said, truth.restarts)
    saved = {attempt.first: attempt.resumed for attempt in truth.attempts[1:]}
    for first, checkpoint in said.items():
        if checkpoint is not None and first in saved:
            score.judge("checkpoint", checkpoint == saved[first], checkpoint, saved[first])


def _judge_progress(score: Score, truth: RunTruth, run: Run) -> None:
    report = progress_of(run, NOW)
    score.judge("state", report.state in truth.states, f"{report.state}: {report.evidence}", truth.states)
    low, high = truth.last
    score.judge("step", report.step is not None and low <= report.step <= high, report.step, truth.last)
    if truth.total is not None or report.total is not None:
        score.judge("total", report.total == truth.total, report.total, truth.total)
    if truth.pace is not None:
        said = _known(report.seconds_per_step)
        score.judge("pace", said is not None and abs(said / truth.pace - 1) < _PACE, said, truth.pace)
    if truth.eta is not None:
        said, steps = _known(report.eta_seconds), truth.attempts[-1].total - truth.attempts[-1].last
        allowed = (_ETA + 3 / steps) * truth.eta
        score.judge("eta", said is not None and abs(said - truth.eta) < allowed, said, truth.eta)


def _known(seconds: float) -> float | None:
    return seconds if np.isfinite(seconds) else None


def _judge_alerts(score: Score, job: Job, truth: RunTruth, alerts: list[Alert]) -> None:
    """Judge the alerts of a run: those of its fault near the onset, those of its end, and all others."""
    fault, learns = truth.fault, truth.learner
    margin = 10 * truth.attempts[0].log_every + learns.due // 20
    if fault is not None and fault.name in ("reward_hacking", "overfitting"):
        margin += 2 * truth.attempts[0].eval_every
    expected = set(truth.story.alerts)
    if len(truth.attempts) > 1 or job.ranks is not None:
        expected.update(("rank_failure", "liveness", "straggler"))
    reported: set[str] = set()
    false: dict[str, Alert] = {}
    for alert in alerts:
        early = alert.step is not None and alert.step < learns.onset - margin
        if alert.rule == "disk_full":
            continue
        if fault is not None and alert.rule in fault.must and not early:
            reported.add(alert.rule)
        elif alert.rule not in expected and (fault is None or alert.rule not in fault.may or early):
            false[alert.rule] = alert
    for rule in reported:
        score.add(f"alert {rule}", "right")
    for rule, alert in false.items():
        said = f"{alert.severity} at {alert.step}: {alert.message}"
        score.add(f"alert {rule}", "wrong", said, f"{fault.name} from {learns.onset}" if fault else "healthy")
    if fault is None:
        warned = {rule for rule, alert in false.items() if alert.severity != "info"}
        score.judge("healthy run", not warned, warned, "healthy")
    elif not reported:
        others = sorted({alert.rule for alert in alerts})
        score.add(f"alert {fault.must[0]}", "missing", others, f"{fault.name} from {learns.onset}, due {learns.due}")


def _judge_ranks(score: Score, job: Job, run: Run) -> None:
    if (truth := job.ranks) is None:
        return
    if (said := run.ranks) is None:
        score.add("ranks", "missing", None, truth)
        return
    score.judge("ranks", len(said.rows) == truth.count, len(said.rows), truth.count)
    cause = said.root_cause.rank if said.root_cause is not None else None
    score.judge("failed rank", (-1 if cause is None else cause) == truth.failed, cause, truth.failed)
    slow = [own.rank for own in said.stragglers]
    score.judge("slow rank", slow == ([truth.slow] if truth.slow >= 0 else []), slow, truth)


def _judge_comparison(score: Score, job: Job, said: Comparison) -> None:
    """Judge which group of runs is ahead: by the first row."""
    learned = "reward" if job.trainer.domain == "rl" else "loss"
    main, better = said.main, job.better
    if job.layout.part:
        found = sorted(sorted(job.runs[run].group for run in group) for group in said.groups if len(group) > 1)
        truth = [[group] * job.layout.groups.count(group) for group in sorted(set(job.layout.groups))]
        score.judge("groups", found == truth, found, truth)
    if main is None or job.runs[0].names.get(main.name) not in (learned, f"val_{learned}"):
        score.add("comparison", "missing", main.name if main else None, learned)
        return
    kind = "equal runs" if better == -1 else "different runs"
    ranked = main.ranked
    is_ahead = len(ranked) > 1 and not ranked[0].tied
    best = job.runs[ranked[0].runs[0]].group if is_ahead else -1
    score.judge(kind, best == better, best if is_ahead or better == -1 else None, better)


def table(counts: Counter[tuple[str, str]], least: Callable[[str], str] = lambda kind: "") -> str:
    """Return the counts by kind as text, with the share that is right."""
    lines = [f"{'kind':28} {'right':>7} {'wrong':>7} {'missing':>7}   share"]
    for kind in sorted({kind for kind, _ in counts}):
        right, wrong, missing = (counts[kind, result] for result in RESULTS)
        share = right / (right + wrong + missing)
        lines.append(f"{kind:28} {right:7} {wrong:7} {missing:7} {share:7.1%} {least(kind)}")
    return "\n".join(lines)
