"""What a training learns: the mean of each metric at each step, its noise, and one planted fault or none.

Example: `learner(rng, "rl", 300, fault)` has means["reward"] of 300 steps; `draw(rng)` adds noise for one attempt.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Means = dict[str, Floats]
Range = tuple[float, float]


@dataclass(frozen=True)
class Metric:
    """A metric: its mean is scale * (start + (end - start) * progress).

    - relative: the noise is a share of the mean, and never makes it negative.
    - of: the mean is that of this metric times the scale.
    - validation: it is logged at evaluations only.
    """

    name: str
    scale: Range
    start: Range = (1.0, 1.0)
    end: Range = (1.0, 1.0)
    noise: float = 0.0
    relative: bool = True
    of: str = ""
    validation: bool = False


LEARNED: dict[str, tuple[Metric, ...]] = {
    "rl": (
        Metric("reward", (1, 1), (0.05, 0.3), (0.45, 0.75), 0.04, relative=False),
        Metric("val_reward", (0.8, 0.95), of="reward", noise=0.012, relative=False, validation=True),
        Metric("entropy", (0.4, 2.0), (1, 1), (0.5, 0.8), 0.05),
        Metric("kl", (0.005, 0.05), (0.02, 0.05), (1, 1), 0.15),
        Metric("mismatch_kl", (2e-4, 8e-4), noise=0.2),
        Metric("grad_norm", (0.05, 1.2), (1, 1.8), (1, 1), 0.25),
        Metric("loss", (0.01, 0.03), noise=1.0, relative=False),
        Metric("length", (150, 1500), (1, 1), (0.9, 1.3), 0.04),
        Metric("truncated", (0.01, 0.08), noise=0.2),
        Metric("dead_groups", (0.08, 0.25), noise=0.15),
    ),
    "policy": (
        Metric("approx_kl", (0.001, 0.02), noise=0.3),
        Metric("clip_fraction", (0.02, 0.2), noise=0.05),
        Metric("explained_variance", (1, 1), (0.0, 0.2), (0.5, 0.9), 0.05, relative=False),
        Metric("repetition", (0.01, 0.06), noise=0.2),
        Metric("policy_ratio", (0.98, 1.02), noise=0.02),
        Metric("discarded", (0.05, 0.3), noise=0.15),
    ),
    "sft": (
        Metric("loss", (1, 1), (1.6, 4.0), (0.5, 1.3), 0.03),
        Metric("val_loss", (1.0, 1.08), of="loss", noise=0.008, validation=True),
        Metric("grad_norm", (0.2, 2.0), (1, 3), (1, 1), 0.25),
    ),
}
_SHARP = (0.5, 3, 6, 25)
"""How fast it learns: almost linearly, or with a plateau for most of the run."""
LEARNED["policy"] = (*LEARNED["rl"], *LEARNED["policy"])
EVERYWHERE = (
    Metric("lr", (1e-6, 1e-5)),
    Metric("memory", (20, 55), noise=0.002),
    Metric("step_time", (6, 90), noise=0.05),
)


class Onset:
    """The steps after the first step of a fault.

    - began: whether a step is after the onset.
    - after: number of steps since the onset, 0 before.
    """

    def __init__(self, steps: int, first: int) -> None:
        self.first = first
        self.began = np.arange(1, steps + 1) >= first
        self.after = np.maximum(np.arange(1, steps + 1) - float(first), 0)
        self.share = self.after / (steps - first)

    def ramp(self, width: float) -> Floats:
        """Return 0 before the onset, and then a rise to 1 within a few widths."""
        return np.asarray(self.began * (1 - np.exp(-(self.after + 0.5) / width)))


Plant = Callable[[Means, Onset, np.random.Generator], None]


@dataclass(frozen=True)
class Fault:
    """A planted fault: one of the rules `must` be raised, the rules `may` tell its consequences.

    - metrics: it is planted only where all of these are logged.
    - late: share of the rest of the run after which it must have been noticed.
    """

    name: str
    plant: Plant
    metrics: tuple[str, ...]
    must: tuple[str, ...]
    may: tuple[str, ...] = ()
    late: float = 0.1

    @property
    def is_slower(self) -> bool:
        """Whether the steps after it take longer."""
        return self.name in ("length", "slower_steps")


def _nan(means: Means, onset: Onset, rng: np.random.Generator) -> None:
    for name in ("loss", "grad_norm"):
        means[name][onset.began] = np.nan


def _diverge(means: Means, onset: Onset, rng: np.random.Generator) -> None:
    means["grad_norm"] *= 1 + rng.uniform(15, 50) * onset.ramp(5)
    if "reward" in means:
        _lose_reward(means, 0.8 * onset.ramp(8))
    else:
        for name in ("loss", "val_loss"):
            means[name] += rng.uniform(3, 6) * onset.ramp(10)


def _raise_kl(means: Means, onset: Onset, rng: np.random.Generator) -> None:
    growth = np.exp(np.minimum(onset.after * rng.uniform(0.07, 0.2), np.log(3000)))
    means["kl"] = np.minimum(means["kl"] * growth, 50)
    _lose_reward(means, 0.4 * np.clip(onset.after / 40, 0, 1))


def _collapse_entropy(means: Means, onset: Onset, rng: np.random.Generator) -> None:
    means["entropy"] *= 1 - 0.98 * onset.ramp(rng.uniform(5, 15))
    _stay(means, onset)


def _drop_reward(means: Means, onset: Onset, rng: np.random.Generator) -> None:
    _lose_reward(means, rng.uniform(0.7, 1) * onset.ramp(3))


def _hack_reward(means: Means, onset: Onset, rng: np.random.Generator) -> None:
    means["reward"] += 0.2 * onset.ramp(20)
    value = means["val_reward"]
    value -= rng.uniform(0.6, 1) * (value - value[0]) * np.clip(onset.share / 0.6, 0, 1)


def _lengthen(means: Means, onset: Onset, rng: np.random.Generator) -> None:
    means["length"] *= 1 + rng.uniform(1.8, 3) * onset.ramp(15)
    means["truncated"] += 0.7 * onset.ramp(15)
    means["step_time"] *= 1 + 0.4 * onset.ramp(15)


def _leak(means: Means, onset: Onset, rng: np.random.Generator) -> None:
    means["memory"] *= 1 + rng.uniform(0.25, 0.45) * onset.share


def _slow_down(means: Means, onset: Onset, rng: np.random.Generator) -> None:
    means["step_time"] *= 1 + rng.uniform(0.8, 1.5) * onset.began


def _spike(means: Means, onset: Onset, rng: np.random.Generator) -> None:
    means["grad_norm"][onset.first - 1] *= rng.uniform(25, 60)


def _kill_groups(means: Means, onset: Onset, rng: np.random.Generator) -> None:
    means["dead_groups"] += (rng.uniform(0.85, 0.95) - means["dead_groups"]) * onset.ramp(8)
    _stay(means, onset)


def _overfit(means: Means, onset: Onset, rng: np.random.Generator) -> None:
    means["loss"] *= 1 - 0.6 * onset.share
    value = means["val_loss"]
    value[onset.began] = (value[onset.first - 1] * (1 + rng.uniform(0.4, 0.8) * onset.share))[onset.began]


def _stop_rate(means: Means, onset: Onset, rng: np.random.Generator) -> None:
    means["lr"][onset.began] = 0


def _break_sync(means: Means, onset: Onset, rng: np.random.Generator) -> None:
    means["mismatch_kl"] += rng.uniform(0.15, 0.5) * onset.ramp(10)


def _go_too_far(means: Means, onset: Onset, rng: np.random.Generator) -> None:
    means["approx_kl"] += rng.uniform(0.15, 0.5) * onset.ramp(5)
    means["clip_fraction"] += rng.uniform(0.5, 0.7) * onset.ramp(5)


def _turn_critic(means: Means, onset: Onset, rng: np.random.Generator) -> None:
    means["explained_variance"] -= (means["explained_variance"] + rng.uniform(0.2, 1)) * onset.ramp(10)


def _repeat_text(means: Means, onset: Onset, rng: np.random.Generator) -> None:
    means["repetition"] += rng.uniform(0.3, 0.6) * onset.ramp(15)


def _detach_loss(means: Means, onset: Onset, rng: np.random.Generator) -> None:
    means["grad_norm"][onset.began] = 1e-9


def _keep_old_policy(means: Means, onset: Onset, rng: np.random.Generator) -> None:
    means["policy_ratio"] *= 1 + rng.uniform(1.5, 4) * onset.ramp(5)


def _discard_groups(means: Means, onset: Onset, rng: np.random.Generator) -> None:
    means["discarded"] += (rng.uniform(0.8, 0.95) - means["discarded"]) * onset.ramp(8)


def _stay(means: Means, onset: Onset) -> None:
    for name in ("reward", "val_reward"):
        means[name][onset.began] = means[name][onset.first - 1]


def _lose_reward(means: Means, share: Floats) -> None:
    """Take a share of what was learned away from the rewards."""
    for name in ("reward", "val_reward"):
        means[name] -= share * (means[name] - means[name][0])


_POLICY = (
    "reward_drop", "entropy_collapse", "kl_runaway", "divergence", "spikes", "length", "truncation", "zero_variance",
    "reward_hacking", "vanishing_gradient",
)  # fmt: skip
_SLOWER = ("step_drift",)

FAULTS = (
    Fault("nan", _nan, ("loss", "grad_norm"), ("nonfinite",), _POLICY),
    Fault("divergence", _diverge, ("grad_norm",), ("divergence",), _POLICY),
    Fault("kl_runaway", _raise_kl, ("kl",), ("kl_runaway",), _POLICY, late=0.3),
    Fault("entropy_collapse", _collapse_entropy, ("entropy",), ("entropy_collapse",), _POLICY),
    Fault("reward_drop", _drop_reward, ("reward",), ("reward_drop",), ("reward_hacking",)),
    Fault("reward_hacking", _hack_reward, ("val_reward",), ("reward_hacking",), late=0.6),
    Fault("length", _lengthen, ("length", "truncated"), ("length", "truncation"), _SLOWER, late=0.2),
    Fault("memory_leak", _leak, ("memory",), ("memory_creep",), late=0.6),
    Fault("slower_steps", _slow_down, ("step_time",), _SLOWER),
    Fault("spike", _spike, ("grad_norm",), ("spikes",)),
    Fault("dead_groups", _kill_groups, ("dead_groups",), ("zero_variance",), ("vanishing_gradient",)),
    Fault("overfitting", _overfit, ("val_loss",), ("overfitting",), late=0.6),
    Fault("zero_rate", _stop_rate, ("lr",), ("learning_rate",)),
    Fault("weight_sync", _break_sync, ("mismatch_kl",), ("engine_mismatch",)),
)
POLICY_FAULTS = (
    Fault("too_far", _go_too_far, ("approx_kl", "clip_fraction"), ("approx_kl", "clip_fraction")),
    Fault("critic", _turn_critic, ("explained_variance",), ("explained_variance",), late=0.2),
    Fault("repetition", _repeat_text, ("repetition",), ("degenerate_text",)),
    Fault("detached_loss", _detach_loss, ("grad_norm",), ("vanishing_gradient",)),
    Fault("old_policy", _keep_old_policy, ("policy_ratio",), ("policy_ratio",)),
    Fault("discarded_groups", _discard_groups, ("discarded",), ("discarded_groups",)),
)
"""Faults of learners of the domain "policy", which no job has: only the detectors are judged on them."""


@dataclass(frozen=True)
class Learner:
    """Means of all metrics at the steps 1 … n, and how noise is added.

    - rho: autocorrelation of the noise. tails: degrees of freedom of Student's t, 0 for normal noise.
    - onset: first step of the fault, 0 without one. due: step by which it must have been noticed.
    """

    metrics: tuple[Metric, ...]
    means: Means
    rho: float
    tails: float
    fault: Fault | None = None
    onset: int = 0
    due: int = 0

    def draw(self, rng: np.random.Generator) -> Means:
        """Return values with new noise, as another attempt at the same steps has."""
        return {metric.name: self._noisy(metric, rng) for metric in self.metrics}

    def _noisy(self, metric: Metric, rng: np.random.Generator) -> Floats:
        mean = self.means[metric.name]
        if not metric.noise:
            return mean.copy()
        rho = self.rho if metric.name not in ("step_time", "memory") else 0.0
        noise = metric.noise * colored(rng, len(mean), rho, self.tails)
        if metric.relative:
            return np.asarray(mean * np.exp(np.minimum(noise, 1.5)))
        return mean + noise * (mean[0] if metric.name == "loss" else 1)


def colored(rng: np.random.Generator, count: int, rho: float, tails: float) -> Floats:
    """Return noise of standard deviation 1 with autocorrelation rho; heavy tails are cut at 7."""
    white = rng.standard_normal(count)
    if tails:
        white = np.clip(rng.standard_t(tails, count) / np.sqrt(tails / (tails - 2)), -7, 7)
    noise = np.empty(count)
    last = rng.standard_normal()
    for index, value in enumerate(np.sqrt(1 - rho * rho) * white):
        last = noise[index] = rho * last + value
    return noise


def learner(
    rng: np.random.Generator, domain: str, steps: int, fault: Fault | None = None, gain: float = 0.0
) -> Learner:
    """Return a random learner of a domain.

    - gain: share by which it learns more than another learner drawn from the same state.
    """
    metrics = (*LEARNED[domain], *EVERYWHERE)
    place = np.arange(1, steps + 1) / steps
    sharp, delay = float(rng.choice(_SHARP)), float(rng.choice([0, 0, 0.1]))
    progress = (1 - np.exp(-sharp * np.maximum(place - delay, 0))) / (1 - np.exp(-sharp * (1 - delay)))
    means: Means = {}
    for metric in metrics:
        scale, start, end = (rng.uniform(*bounds) for bounds in (metric.scale, metric.start, metric.end))
        end += gain * (end - start) if metric.name in ("reward", "loss") else 0
        own = means[metric.of] if metric.of else start + (end - start) * progress
        means[metric.name] = scale * own
    if rng.random() < 0.5:
        means["lr"] *= 0.5 * (1 + np.cos(np.pi * place * 0.999))
    if warm := int(steps * rng.choice([0, 0.03, 0.1])):
        means["lr"] *= np.minimum(np.arange(1, steps + 1) / warm, 1)
    if rng.random() < 0.3:  # a cache that grows and is emptied
        means["memory"] *= 1 + 0.06 * (np.arange(steps) % 37 / 37)
    rho, tails = float(rng.choice([0, 0.3, 0.6, 0.9, 0.95])), float(rng.choice([0, 0, 4, 3]))
    if fault is None:
        return Learner(metrics, means, rho, tails)
    onset = Onset(steps, int(steps * rng.uniform(0.4, 0.6)) // 10 * 10)
    fault.plant(means, onset, rng)
    due = onset.first + int(fault.late * (steps - onset.first)) + steps // 20
    return Learner(metrics, means, rho, tails, fault, onset.first, due)
