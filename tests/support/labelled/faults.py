"""Faults, and the detectors that must or may report them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from support.labelled import policy, preference, supervised
from support.labelled.policy import Injection
from tuimon.model.events import Columns, FactFound, MetricsFound, RunFound, StreamFound
from tuimon.model.points import Fact
from tuimon.store import Run, Store

STEPS = 300
_LEARNERS = {"policy": policy.run, "supervised": supervised.run, "preference": preference.run}


@dataclass(frozen=True)
class Fault:
    """learner: a key of `_LEARNERS`. musts: detectors that must report it. mays: detectors of its real side effects."""

    name: str
    learner: str
    kind: str
    musts: tuple[str, ...]
    mays: tuple[str, ...] = ()
    from_start: bool = False


_UNSTABLE = (
    "reward_drop", "kl_runaway", "entropy_collapse", "divergence", "spikes", "approx_kl", "clip_fraction", "length",
    "truncation", "zero_variance", "vanishing_gradient", "explained_variance", "reward_hacking",
    "step_drift", "engine_mismatch", "degenerate_text", "policy_ratio",
)  # fmt: skip
"""Effects of an unstable policy."""
_STILL = ("zero_variance", "vanishing_gradient")

FAULTS = (
    Fault("NaN", "policy", "nan", ("nonfinite",), _UNSTABLE),
    Fault("NaN, supervised", "supervised", "nan", ("nonfinite",), ("divergence", "spikes")),
    Fault("one bad batch", "policy", "bad_batch", ("spikes",)),
    Fault("one bad batch, supervised", "supervised", "bad_batch", ("spikes",), ("divergence",)),
    Fault("divergence", "supervised", "diverges", ("divergence",), ("spikes", "overfitting")),
    Fault("growing gradients", "supervised", "growing", ("divergence",), ("spikes", "overfitting")),
    Fault("KL penalty with the wrong sign", "policy", "wrong_kl", ("kl_runaway",), _UNSTABLE),
    Fault("updates too large", "policy", "too_far", ("approx_kl", "clip_fraction"), _UNSTABLE),
    Fault("entropy bonus with the wrong sign", "policy", "wrong_entropy", ("entropy_collapse",), _UNSTABLE),
    Fault("learning rate a hundredfold", "policy", "rate", ("entropy_collapse",),
          ("learning_rate", *_UNSTABLE)),
    Fault("broken weight sync", "policy", "broken_sync", ("reward_drop",), _UNSTABLE),
    Fault(
        "reward hacking", "policy", "hacking", ("reward_hacking",),
        ("length", "truncation", "step_drift", "entropy_collapse", "kl_runaway", "spikes", "divergence",
         "degenerate_text", *_STILL),
    ),
    Fault(
        "reward too coarse", "policy", "coarse", ("zero_variance",),
        ("reward_drop", "vanishing_gradient", "explained_variance", "spikes"),
    ),
    Fault(
        "length rewarded", "policy", "length", ("length", "truncation"),
        ("explained_variance", "reward_hacking", "step_drift", "entropy_collapse", "kl_runaway", "spikes", "divergence",
         "degenerate_text", *_STILL),
    ),
    Fault(
        "repetition rewarded", "policy", "repetition", ("degenerate_text",),
        ("explained_variance", "reward_hacking", "step_drift", "entropy_collapse", "kl_runaway", "spikes", "divergence",
         "length", "truncation", *_STILL),
    ),
    Fault("loss without the weights", "supervised", "detached", ("vanishing_gradient",), ("divergence", "overfitting")),
    Fault("few data", "supervised", "few_data", ("overfitting",), (), True),
    Fault("learning rate 0", "supervised", "zero_rate", ("learning_rate",), (), True),
    Fault("learning rate becomes 0", "policy", "zero_rate", ("learning_rate",)),
    Fault("critic with the wrong sign", "policy", "critic", ("explained_variance",), ("divergence", "spikes")),
    Fault("slow steps", "policy", "slow", ("step_drift",)),
    Fault("memory leak", "policy", "leak", ("memory_creep",)),
    Fault("two engines", "policy", "mismatch", ("engine_mismatch",), _UNSTABLE),
)  # fmt: skip


@dataclass(frozen=True)
class Labelled:
    """A run with its fault; None if it is healthy."""

    fault: Fault | None
    step: int
    """First step of the fault."""
    metrics: dict[str, list[tuple[int, float]]]

    def run(self, until: int = STEPS) -> Run:
        """Return the run of a snapshot taken after step `until`."""
        store = Store()
        store.apply(RunFound(0, "run", "/run"))
        store.apply(StreamFound(0, 0, "log", "/run/log.jsonl", "jsonl", 30, "", 0))
        store.apply(FactFound(0, Fact("progress", {"total": STEPS})))
        store.apply(MetricsFound(0, 0, tuple(self.metrics)))
        points = [[point for point in series if point[0] <= until] for series in self.metrics.values()]
        counts = np.array([len(series) for series in points], np.uint32)
        steps = np.array([step for series in points for step, _ in series], np.int64)
        values = np.array([value for series in points for _, value in series])
        kept = counts > 0
        store.apply(
            Columns(0, np.arange(len(counts), dtype=np.uint32)[kept], counts[kept], steps, values, 1.7e9 + 20.0 * steps)
        )
        return store.snapshot().runs[0]


def make(fault: Fault | None, seed: int, learner: str = "policy") -> Labelled:
    """Train the run of a seed with a fault; without a fault, with the given learner."""
    step = 1 if fault is not None and fault.from_start else int(np.random.default_rng([seed, 5]).integers(120, 180))
    teach = _LEARNERS[fault.learner if fault else learner]
    return Labelled(fault, step, teach(seed, Injection(fault.kind if fault else "", step), STEPS))
