"""GRPO: advantages relative to a group of responses to one prompt, PPO's clipped objective, a KL penalty.

Group-relative advantages: Shao et al. 2024 (arXiv 2402.03300); the clipped objective: Schulman et al. 2017
(arXiv 1707.06347). All gradients are exact and by hand, in the logits; `policy.backward` takes them further.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tuimon.demo.policy import Array, Params, backward, entropy, forward, initial, kl_divergence, unroll
from tuimon.demo.task import demonstrations, draw_prompts


@dataclass(frozen=True)
class Settings:
    """Settings of a run; written to training_log.json unchanged."""

    max_steps: int = 400
    seed: int = 0
    batch_size: int = 32
    """Prompts a step."""
    num_generations: int = 16
    """Responses to each prompt: the group."""
    train_prompts: int = 4096
    val_prompts: int = 128
    hidden_size: int = 256
    max_num_seqs: int = 8
    """Responses that a device writes at once."""
    ppo_epochs: int = 2
    num_minibatches: int = 4
    learning_rate: float = 3e-4
    warmup_ratio: float = 0.05
    clip_range: float = 0.2
    kl_coef: float = 0.04
    entropy_coef: float = 0.002
    max_grad_norm: float = 1.0
    eval_steps: int = 10
    save_steps: int = 10
    pretrain_steps: int = 40
    """Supervised steps on poor demonstrations: where policy and frozen reference begin."""


def learning_rate(step: int, settings: Settings) -> float:
    """Linear warm-up, then a cosine down to a tenth. Steps count from 1."""
    warmup = max(1, round(settings.warmup_ratio * settings.max_steps))
    if step < warmup:
        return settings.learning_rate * step / warmup
    progress = (step - warmup) / max(1, settings.max_steps - warmup)
    return settings.learning_rate * (0.1 + 0.45 * (1 + math.cos(math.pi * min(progress, 1.0))))


def centred(scores: npt.NDArray[np.float64], group: int) -> npt.NDArray[np.float64]:
    """Scores less the mean of their group (`group` neighbouring rows)."""
    groups = scores.reshape(-1, group)
    result: npt.NDArray[np.float64] = (groups - groups.mean(axis=1, keepdims=True)).ravel()
    return result


def advantages(scores: npt.NDArray[np.float64], group: int) -> npt.NDArray[np.float64]:
    """Centred scores over the standard deviation of their group; 0 where all of a group score alike."""
    deviations = scores.reshape(-1, group).std(axis=1).repeat(group)
    result: npt.NDArray[np.float64] = centred(scores, group) / (deviations + 1e-4)
    return result


class Batch(NamedTuple):
    """Inputs of the loss for n generated tokens."""

    tokens: npt.NDArray[np.intp]
    old_log_probs: Array
    """(n,): of the tokens, under the policy before this step."""
    reference: Array
    """(n, WRITABLE): log probabilities under the frozen reference."""
    advantages: Array
    """(n,)"""


class Loss(NamedTuple):
    """Sums over tokens (divide by their number for means), and the gradient of the total in the logits."""

    d_logits: Array
    sums: dict[str, float]


def policy_loss(log_probs: Array, batch: Batch, settings: Settings) -> Loss:
    """-min(r A, clip(r) A) + kl_coef KL(policy || reference) - entropy_coef H, summed over tokens.

    log_probs: (n, WRITABLE) under the policy in training; r is the ratio of new to old probability of the token.
    """
    rows = np.arange(len(batch.tokens))
    probs = np.exp(log_probs)
    log_ratio = log_probs[rows, batch.tokens] - batch.old_log_probs
    ratio = np.exp(log_ratio)
    clipped = np.clip(ratio, 1 - settings.clip_range, 1 + settings.clip_range)
    is_clipped = ratio * batch.advantages > clipped * batch.advantages
    objective = np.minimum(ratio * batch.advantages, clipped * batch.advantages)
    kl, spread = kl_divergence(log_probs, batch.reference), entropy(log_probs)

    slope = np.where(is_clipped, 0, -ratio * batch.advantages)[:, None]  # of the objective in the token's log prob
    d_logits = -slope * probs
    d_logits[rows, batch.tokens] += slope[:, 0]
    d_logits += settings.kl_coef * probs * (log_probs - batch.reference - kl[:, None])
    d_logits += settings.entropy_coef * probs * (log_probs + spread[:, None])

    penalties = settings.kl_coef * kl.sum() - settings.entropy_coef * spread.sum()
    sums = {
        "actor/pg_loss": -objective.sum(),
        "actor/kl_loss": kl.sum(),
        "actor/total_loss": -objective.sum() + penalties,
        "actor/approxkl": (ratio - 1 - log_ratio).sum(),
        "actor/ratio_mean": ratio.sum(),
        "actor/ppo_ratio_clipfrac": is_clipped.sum(),
        "actor/ppo_ratio_high_clipfrac": (is_clipped & (ratio > 1)).sum(),
        "actor/ppo_ratio_low_clipfrac": (is_clipped & (ratio < 1)).sum(),
    }
    return Loss(d_logits, {name: float(value) for name, value in sums.items()})


@dataclass
class Learner:
    """Weights and the state of Adam (Kingma & Ba 2014, arXiv 1412.6980), which clips the gradient by its norm."""

    weights: Params
    first: Params
    second: Params
    updates: int = 0

    @classmethod
    def of(cls, weights: Params) -> Learner:
        """A learner that has not learnt yet."""
        first, second = ({name: np.zeros_like(array) for name, array in weights.items()} for _ in range(2))
        return cls(weights, first, second)

    @property
    def states(self) -> tuple[Params, Params, Params]:
        return self.weights, self.first, self.second

    def update(self, gradient: Params, rate: float, max_norm: float) -> float:
        """Moves the weights in place; returns the norm of the gradient before it was clipped."""
        norm = math.sqrt(sum(float(np.vdot(array, array)) for array in gradient.values()))
        shrink = min(1.0, max_norm / norm) if norm > 0 else 1.0
        self.updates += 1
        unbias1, unbias2 = 1 - 0.9**self.updates, 1 - 0.99**self.updates
        for name, weight in self.weights.items():
            g, m, v = gradient[name] * shrink, self.first[name], self.second[name]
            m += 0.1 * (g - m)
            v += 0.01 * (g * g - v)
            weight -= rate / unbias1 * m / (np.sqrt(v / unbias2) + 1e-8)
        return norm


def pretrained(settings: Settings) -> Params:
    """Return the initial policy, trained briefly on a poor teacher."""
    rng = np.random.default_rng([settings.seed, 0])
    learner = Learner.of(initial(rng, settings.hidden_size))
    for _ in range(settings.pretrain_steps):
        prompts = draw_prompts(rng, 256)
        written = unroll(prompts, demonstrations(rng, prompts))
        seen = forward(learner.weights, written.contexts)
        d_logits = np.exp(seen.log_probs)
        d_logits[np.arange(len(d_logits)), written.tokens] -= 1
        gradient = backward(learner.weights, seen, d_logits / np.float32(len(d_logits)))
        learner.update(gradient, 3e-3, math.inf)
    return learner.weights
