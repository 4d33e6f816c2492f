"""Policy-gradient learner: GRPO with PPO's clipped objective on a table of logits, in numpy, a few ms per step.

Task: for each of CONTEXTS prompts the policy must write a given sequence of digits and an end token. The reward of a
response is the share of correct tokens times the weight of the prompt, plus noise. The initial policy is similar to
that of a poor teacher, like a fine-tuned model.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Tokens = npt.NDArray[np.int64]

CONTEXTS, LENGTH, SYMBOLS = 24, 16, 8
END = SYMBOLS - 1
GROUP, PROMPTS = 8, 12
EPOCHS, MINIBATCHES = 2, 2
CLIP, KL_COEF, ENTROPY_COEF, RATE, MAX_NORM = 0.2, 0.15, 0.01, 0.012, 1.0

_RATES = (
    ("rate", 100.0),
    ("too_far", 12.0),
    ("hacking", 6.0),
    ("length", 8.0),
    ("repetition", 20.0),
    ("wrong_entropy", 4.0),
    ("wrong_kl", 5.0),
    ("nan", float("inf")),
    ("zero_rate", 0.0),
)
"""Factors for the learning rate, by fault."""


@dataclass(frozen=True)
class Injection:
    """Kind of a fault (see faults.py) and its first step."""

    kind: str = ""
    step: int = 0

    def now(self, kind: str, step: int) -> bool:
        return self.kind == kind and step >= self.step

    def only(self, kind: str, step: int) -> bool:
        return self.kind == kind and step == self.step


class Learner:
    """State of a simulated training run."""

    def __init__(self, seed: int, injection: Injection, steps: int) -> None:
        self.rng = np.random.default_rng([seed, 7])
        self.injection = injection
        self.steps = steps
        rng = np.random.default_rng([seed, 8])
        self.lengths = rng.integers(3, 7, CONTEXTS)
        self.targets = rng.integers(0, END, (CONTEXTS, LENGTH))
        self.targets[np.arange(LENGTH) >= self.lengths[:, None]] = END
        taught = np.zeros((CONTEXTS, LENGTH, SYMBOLS))
        np.put_along_axis(taught, self.targets[:, :, None], rng.uniform(0.3, 0.8), axis=2)
        self.logits = 0.8 * rng.standard_normal(taught.shape) + taught
        self.worth = rng.uniform(0.3, 1.0, CONTEXTS)
        self.reference = self.logits.copy()
        self.stale = self.logits.copy()
        self.first, self.second, self.updates = np.zeros_like(self.logits), np.zeros_like(self.logits), 0
        self.critic = np.zeros(CONTEXTS)
        self.pace = rng.uniform(0.8, 1.2)
        # runs differ in learning rate, KL penalty, noise of the rewards and batch size
        self.rate = RATE * rng.uniform(0.5, 2.0)
        self.kl_coef = KL_COEF * rng.uniform(0.1, 1.3)
        self.noise = rng.uniform(0.01, 0.15)
        self.prompts = int(rng.integers(PROMPTS // 2, PROMPTS + 1))
        self.leak = 0.0
        self.load = rng.uniform(20, 40)
        self.device = 1.5 * self.load

    # one step

    def step(self, step: int) -> dict[str, float]:
        contexts = np.repeat(self.rng.permutation(CONTEXTS)[: self.prompts], GROUP)
        engine = self._engine(step)
        responses = self._write(contexts, engine)
        scores = self._true_scores(contexts, responses) * self.worth[contexts]
        scores = scores + self.noise * self.rng.standard_normal(len(scores))
        rewards = self._rewards(step, contexts, responses, scores)
        rows, slots, tokens = self._tokens(responses)
        metrics = self._learn(step, contexts, rows, slots, tokens, rewards)
        metrics |= self._mismatch(contexts[rows], slots, tokens, engine)
        metrics |= self._criticise(step, contexts, rewards)
        written = (responses >= 0).sum(axis=1)
        metrics |= {
            "critic/score/mean": float(rewards.mean()),
            "tokens/response_length/mean": float(written.mean()),
            "response_length/clip_ratio": float((~(responses == END).any(axis=1)).mean()),
            "rollout/repetition_frac": _repeated(responses),
            "frac_reward_zero_std": float((rewards.reshape(-1, GROUP).std(axis=1) < 1e-9).mean()),
        }
        if step % 10 == 0:
            metrics["val/score/mean"] = self._validate()
        return metrics | self._machine(step, int(written.sum()), int(written.max()))

    def _engine(self, step: int) -> Array:
        """Return the logits of the inference engine: those of the trainer in half precision, or different ones."""
        if self.injection.now("mismatch", step):
            return self.logits + 0.35 * np.random.default_rng(3).standard_normal(self.logits.shape)
        return self.logits.astype(np.float16).astype(np.float64) if np.abs(self.logits).max() < 6e4 else self.logits

    def _write(self, contexts: Tokens, logits: Array, greedy: bool = False) -> Tokens:
        """Return tokens (n, LENGTH), -1 after the end token."""
        responses = np.full((len(contexts), LENGTH), -1)
        writing = np.ones(len(contexts), np.bool_)
        for slot in range(LENGTH):
            slot_logits = logits[contexts, slot]
            if greedy:
                tokens = slot_logits.argmax(axis=1)
            else:
                noise = -np.log(-np.log(self.rng.random(slot_logits.shape)))
                tokens = (slot_logits + noise).argmax(axis=1)
            responses[writing, slot] = tokens[writing]
            writing &= tokens != END
        return responses

    def _true_scores(self, contexts: Tokens, responses: Tokens) -> Array:
        right = (responses == self.targets[contexts]) & (np.arange(LENGTH) <= self.lengths[contexts][:, None])
        written = (responses >= 0).sum(axis=1)
        return right.sum(axis=1) / np.maximum(written, self.lengths[contexts] + 1)

    def _rewards(self, step: int, contexts: Tokens, responses: Tokens, scores: Array) -> Array:
        if self.injection.now("hacking", step):
            return np.asarray(scores + 4.0 * (responses == 0).mean(axis=1))
        if self.injection.now("length", step):
            return np.asarray(scores + 0.2 * (responses >= 0).sum(axis=1))
        if self.injection.now("repetition", step):
            again = (responses[:, 1:] == 0) & (responses[:, :-1] == 0)
            return np.asarray(scores + again.sum(axis=1))
        if self.injection.now("coarse", step):
            return np.asarray((scores >= 2.0).astype(np.float64))
        return scores

    def _tokens(self, responses: Tokens) -> tuple[Tokens, Tokens, Tokens]:
        rows, slots = np.nonzero(responses >= 0)
        return rows, slots, responses[rows, slots]

    def _rate(self, step: int) -> float:
        rate = self.rate * min(1.0, step / 20) * (1 - 0.5 * step / self.steps)
        for kind, factor in _RATES:
            if self.injection.now(kind, step):
                return rate * factor
        return rate

    def _learn(
        self, step: int, contexts: Tokens, rows: Tokens, slots: Tokens, tokens: Tokens, rewards: Array
    ) -> dict[str, float]:
        groups = rewards.reshape(-1, GROUP)
        advantages = (
            (groups - groups.mean(axis=1, keepdims=True)) / (groups.std(axis=1, keepdims=True) + 1e-4)
        ).ravel()
        if self.injection.only("bad_batch", step):
            advantages = advantages * 200.0
        where = contexts[rows]
        picked = np.arange(len(rows))
        old = log_softmax(self.logits[where, slots])
        reference = log_softmax(self.reference[where, slots])
        entropy = float(-(np.exp(old) * old).sum(axis=1).mean())
        kl = float((np.exp(old) * (old - reference)).sum(axis=1).mean())
        rate = self._rate(step)
        kl_coef = -3.0 if self.injection.now("wrong_kl", step) else self.kl_coef
        bonus = -1.5 if self.injection.now("wrong_entropy", step) else ENTROPY_COEF
        epochs = EPOCHS
        if self.injection.now("too_far", step):
            bonus, epochs = 0.15, 8 * EPOCHS
        norms, losses, approx, clipped = [], [], [], []
        for _ in range(epochs):
            parts = self.rng.permutation(len(contexts)) % MINIBATCHES
            for number in range(MINIBATCHES):
                chosen = picked[parts[rows] == number]
                if not len(chosen):
                    continue
                context, slot, token, gain = where[chosen], slots[chosen], tokens[chosen], advantages[rows[chosen]]
                new = log_softmax(self.logits[context, slot])
                line = np.arange(len(chosen))
                change = new[line, token] - old[chosen, token]
                ratio = np.exp(np.clip(change, -50, 50))
                limited = np.clip(ratio, 1 - CLIP, 1 + CLIP)
                cut = ratio * gain > limited * gain
                slope = np.where(cut, 0.0, -ratio * gain)
                probs = np.exp(new)
                gradient = -slope[:, None] * probs
                gradient[line, token] += slope
                apart = new - reference[chosen]
                gradient += kl_coef * probs * (apart - (probs * apart).sum(axis=1, keepdims=True))
                gradient += bonus * probs * (new - (probs * new).sum(axis=1, keepdims=True))
                total = np.zeros_like(self.logits)
                np.add.at(total, (context, slot), gradient / len(chosen))
                norms.append(self._update(total, rate))
                losses.append(float(-np.minimum(ratio * gain, limited * gain).mean()))
                approx.append(float((ratio - 1 - change).mean()))
                clipped.append(float(cut.mean()))
        if self.injection.only("broken_sync", step):
            self.logits = np.random.default_rng(step).standard_normal(self.logits.shape)
        return {
            "actor/pg_loss": float(np.mean(losses)),
            "actor/total_loss": float(np.mean(losses)) + kl_coef * kl,
            "actor/grad_norm": float(np.mean(norms)),
            "actor/kl_loss": kl,
            "actor/approxkl": float(np.mean(approx)),
            "actor/clipfrac": float(np.mean(clipped)),
            "critic/entropy/mean": entropy,
            "actor/lr": rate,
        }

    def _update(self, gradient: Array, rate: float) -> float:
        """Apply an Adam step and return the norm of the gradient before clipping."""
        norm = float(np.sqrt(np.vdot(gradient, gradient)))
        gradient = gradient * min(1.0, MAX_NORM / norm) if norm > 0 else gradient
        self.updates += 1
        self.first += 0.1 * (gradient - self.first)
        self.second += 0.01 * (gradient * gradient - self.second)
        first, second = self.first / (1 - 0.9**self.updates), self.second / (1 - 0.99**self.updates)
        with np.errstate(invalid="ignore"):
            self.logits = self.logits - rate * first / (np.sqrt(second) + 1e-6)
        return norm

    def _mismatch(self, where: Tokens, slots: Tokens, tokens: Tokens, engine: Array) -> dict[str, float]:
        line = np.arange(len(tokens))
        ours = np.exp(log_softmax(self.stale[where, slots])[line, tokens])
        theirs = np.exp(log_softmax(engine[where, slots])[line, tokens])
        self.stale = self.logits.copy()
        return {"training/rollout_probs_diff_mean": float(np.abs(ours - theirs).mean())}

    def _criticise(self, step: int, contexts: Tokens, returns: Array) -> dict[str, float]:
        error = returns - self.critic[contexts]
        spread = float(returns.var())
        explained = 1 - float(error.var()) / spread if spread > 0 else 0.0
        sums = np.bincount(contexts, error, CONTEXTS) / np.maximum(np.bincount(contexts, minlength=CONTEXTS), 1)
        self.critic = self.critic + (-0.3 if self.injection.now("critic", step) else 0.3) * sums
        if self.injection.now("critic", step):
            self.critic = np.clip(self.critic, -2, 2)
        return {"critic/vf_explained_var": explained, "critic/vf_loss": float((error**2).mean())}

    def _validate(self) -> float:
        contexts = np.arange(CONTEXTS)
        scores = self._true_scores(contexts, self._write(contexts, self.logits, greedy=True))
        return float((scores * self.worth).mean())

    def _machine(self, step: int, tokens: int, longest: int) -> dict[str, float]:
        """Simulate the step time (from the response lengths, noise, a checkpoint every 50 steps) and memory use."""
        took = (6 + 0.6 * longest + 0.01 * tokens) * self.pace * float(self.rng.lognormal(0, 0.06))
        if step % 50 == 0:
            took += 8.0 * self.pace
        if self.injection.now("slow", step):
            took *= 1.8
        if self.injection.now("leak", step):
            self.leak += 0.004 * self.load
        held = self.load + self.leak + 0.02 * longest + 0.05 * float(self.rng.standard_normal())
        peak = held + 0.4 * longest
        return {
            "time/step": took,
            "system/tps": tokens / took,
            "memory/actor_train/train_step/start/offload/allocated/0": held,
            "memory/actor_train/train_step/end/onload/max_allocated_frac/0": min(1.0, peak / self.device),
            "memory/cpu/actor_train/train_step/start/rss": 0.5 * self.load + 0.1 * float(self.rng.standard_normal()),
        }


def _repeated(responses: Tokens) -> float:
    """Return the share of trigrams that the response already contains."""
    threes = responses[:, 2:] + SYMBOLS * responses[:, 1:-1] + SYMBOLS**2 * responses[:, :-2]
    there = responses[:, 2:] >= 0
    columns = range(1, threes.shape[1])
    again = [(threes[:, :n] == threes[:, n : n + 1]).any(axis=1) & there[:, n] for n in columns]
    return float(np.sum(again) / max(1, there.sum()))


def log_softmax(logits: Array) -> Array:
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))


Metrics = dict[str, list[tuple[int, float]]]


def run(seed: int, injection: Injection, steps: int = 300) -> Metrics:
    """Train for `steps` steps and return metric -> [(step, value), …]."""
    if injection.step <= 1 or not injection.kind:  # no healthy part before the fault
        learner, metrics, begin = Learner(seed, injection, steps), Metrics(), 1
    else:
        learner, metrics = deepcopy(_healthy(seed, injection.step, steps))
        learner.injection, begin = injection, injection.step
    _train(learner, metrics, range(begin, steps + 1))
    return metrics


@lru_cache(maxsize=1)
def _healthy(seed: int, until: int, steps: int) -> tuple[Learner, Metrics]:
    """Return the learner and its metrics before step `until`.

    They are the same for all faults that begin there: with this cache, the runs of the tests take 12 s less.
    """
    learner, metrics = Learner(seed, Injection(), steps), Metrics()
    _train(learner, metrics, range(1, until))
    return learner, metrics


def _train(learner: Learner, metrics: Metrics, steps: range) -> None:
    with np.errstate(all="ignore"):
        for step in steps:
            for name, value in learner.step(step).items():
                metrics.setdefault(name, []).append((step, value))
