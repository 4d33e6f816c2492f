"""What the detectors report of a learner with one planted fault, or none, without logs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from support import made_run

from tests.jobs.learners import EVERYWHERE, FAULTS, LEARNED, POLICY_FAULTS, Fault, Learner, learner
from tests.jobs.trainers import ASYNC, TRAINERS
from tuimon.detectors import Checker
from tuimon.model.points import Fact

STEPS, EVERY = 300, 10
"""Steps of a run, and between two validations."""
CASES = tuple(
    (fault, domain)
    for domain in ("policy", "sft")
    for fault in (*FAULTS, *POLICY_FAULTS)
    if {metric.name for metric in (*LEARNED[domain], *EVERYWHERE)}.issuperset(fault.metrics)
)
"""Each fault with each domain whose learners can have it."""
_CHECKER = Checker()
_SFT = next(own.names for own in TRAINERS if (own.name, own.domain) == ("jsonl", "sft"))
_POLICY = ASYNC["trainer"] | ASYNC["orchestrator"] | {
    "approx_kl": "train/approx_kl", "clip_fraction": "actor/pg_clipfrac", "policy_ratio": "actor/ratio_mean",
    "explained_variance": "critic/vf_explained_var", "repetition": "rollout/repetition_frac",
    "discarded": "rollout/discarded_groups_frac",
}  # fmt: skip


@dataclass(frozen=True)
class Detected:
    """reported: rules of the fault that were raised. delay: rule -> steps from the fault to its alert.

    false: rules that were raised before the fault, or that it does not explain.
    """

    reported: set[str]
    false: set[str]
    delay: dict[str, int]


def detect(fault: Fault | None, domain: str, seed: int, delays: bool = True) -> Detected:
    """Draw the learner of a seed and judge the alerts of its run. delays: whether to measure them."""
    rng = np.random.default_rng([seed, 45])
    learns = learner(rng, domain, STEPS, fault)
    series, onset = _series(learns, rng), learns.onset
    raised = _raised(series, STEPS)
    if fault is None:
        return Detected(set(), raised, {})
    early = _raised(series, onset - 1)
    reported = raised & set(fault.must) - early
    delay = {rule: _first_step(series, rule, onset) - onset for rule in reported} if delays else {}
    return Detected(reported, early | raised - {*fault.must, *fault.may}, delay)


def _series(learns: Learner, rng: np.random.Generator) -> made_run.Series:
    names = _SFT if "val_loss" in learns.means else _POLICY
    values, every = learns.draw(rng), np.arange(1, STEPS + 1)
    validations = {metric.name for metric in learns.metrics if metric.validation}
    steps = {name: every[EVERY - 1 :: EVERY] if name in validations else every for name in values}
    return {own: (steps[name], values[name][steps[name] - 1]) for name, own in names.items()}  # type: ignore[misc]


def _first_step(series: made_run.Series, rule: str, low: int) -> int:
    """Return the first step after which the rule is raised, by bisection: an alert that was raised stays."""
    high = STEPS
    while low < high:
        middle = (low + high) // 2
        if rule in _raised(series, middle):
            high = middle
        else:
            low = middle + 1
    return low


def _raised(series: made_run.Series, until: int) -> set[str]:
    """Return the rules of all alerts after a step."""
    counts = {name: int(np.searchsorted(steps, until, "right")) for name, (steps, _) in series.items()}
    seen = {name: (steps[: counts[name]], values[: counts[name]]) for name, (steps, values) in series.items()}
    run = made_run.run_of(seen, [Fact("progress", {"total": STEPS})])
    return {alert.rule for alert in _CHECKER.check(run)}
