"""A training step, phase by phase, in the order of ROLL's agentic pipeline and with its metric names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tuimon.demo import texts
from tuimon.demo.devices import DEVICES, Loaded, Metrics, timed, worker_call
from tuimon.demo.learner import Batch, Learner, Settings, advantages, centred, learning_rate, policy_loss, pretrained
from tuimon.demo.policy import (
    Array,
    Params,
    Written,
    backward,
    entropy,
    forward,
    generate,
    kl_divergence,
    nbytes,
    unroll,
)
from tuimon.demo.task import BLANK, END, Tokens, prompt_sets, scores

MICRO_BATCHES = 4
"""Number of parts in which a device computes its share of a forward pass."""
EXPLOSION = 1e24
"""Factor by which an injected fault multiplies the learning rate."""


@dataclass
class Shard:
    """A device's share of the batch, filled as the step goes on."""

    prompts: Tokens
    responses: Tokens
    written: Written
    scores: npt.NDArray[np.float64]
    reference: Array
    policy: Array
    """Log probabilities of every token that could have been written, (n, WRITABLE), before the step's updates."""


class Pipeline:
    """The state of a training run and its step."""

    def __init__(self, settings: Settings, inject_at: int | None = None, reference: Params | None = None) -> None:
        """`inject_at`: the learning rate explodes from that step on, and the gradients with it. `reference`: the
        frozen policy, where it need not be trained first."""
        self.settings = settings
        self.inject_at = inject_at
        self.prompts = prompt_sets(settings.seed, settings.train_prompts, settings.val_prompts)
        self.reference = reference or pretrained(settings)
        self.learner = Learner.of({name: array.copy() for name, array in self.reference.items()})
        self.sampler = half_precision(self.learner.weights)
        self.rng = np.random.default_rng([settings.seed, 2])
        self._last: tuple[list[Shard], npt.NDArray[np.float64]] | None = None

    def step(self, step: int) -> Metrics:
        """Training step `step`, counted from 1: everything but validation and checkpoint."""
        settings, metrics = self.settings, Metrics()
        shards = self.rollout(step, metrics)
        with timed("time/ref_log_probs_values_reward", metrics):
            self._rewards(shards, metrics)
            with worker_call("reference/compute_log_probs", metrics, self.reference) as call:
                for device, shard in enumerate(shards):
                    shard.reference = log_probs(call, device, shard.written.contexts)
        with (
            timed("time/old_log_probs_values", metrics),
            worker_call("actor_train/compute_log_probs", metrics, self.learner.weights) as call,
        ):
            for device, shard in enumerate(shards):
                shard.policy = log_probs(call, device, shard.written.contexts)
        with timed("time/adv", metrics):
            score = np.concatenate([shard.scores for shard in shards])
            advantage = advantages(score, settings.num_generations)
            shares = np.split(advantage, DEVICES)
            batches = [self._batch(shard, share) for shard, share in zip(shards, shares, strict=True)]
        self._last = shards, advantage
        self._train(step, shards, batches, metrics)
        with worker_call("actor_train/model_update", metrics, self.learner.weights) as call:
            self.sampler = half_precision(call.states[0])
            for device in range(DEVICES):
                call.cards.hold(device, nbytes(self.sampler))
        metrics |= summary(shards, score, centred(score, settings.num_generations), advantage)
        metrics["system/samples"] = self.samples(step)
        return metrics

    def texts(self, step: int) -> Iterator[dict[str, Any]]:
        """Yield the rows of the responses of `step`, which must be the last step."""
        if self._last is not None:
            shards, advantage = self._last
            prompts, responses, score = (
                np.concatenate([getattr(shard, name) for shard in shards])
                for name in ("prompts", "responses", "scores")
            )
            yield from texts.rows(step, prompts, responses, score, advantage)

    def samples(self, step: int) -> int:
        """Responses written up to the end of `step`."""
        return step * self.settings.batch_size * self.settings.num_generations

    def tokens(self, metrics: Metrics) -> float:
        """Tokens of the prompts and responses of a step, from its metrics."""
        return self.samples(1) * (metrics["tokens/prompt_length/mean"] + metrics["tokens/response_length/mean"])

    def progress(self, step: int) -> dict[str, int]:
        """Return the fields that identify a step in training_log.json."""
        return {"step": step, "epoch": self.epoch(step), "samples": self.samples(step)}

    def epoch(self, step: int) -> int:
        """Number of the pass over the training prompts, from 1."""
        return 1 + (step - 1) // self._steps_an_epoch

    @property
    def _steps_an_epoch(self) -> int:
        return len(self.prompts.train) // self.settings.batch_size

    def validate(self, metrics: Metrics) -> dict[str, float]:
        """Greedy responses to the held-out prompts: adds val/score/*; returns the mean reward and the fractions of
        responses that ended (format) and that are right throughout (exact)."""
        with timed("time/val", metrics):
            prompts = self.prompts.held_out
            responses = generate(full_precision(self.sampler), prompts, None)
            score = scores(prompts, responses)
            metrics |= spread("val/score", score)
            ended = (responses == END).any(axis=1)
            exact = float((score == 1).mean())
            return {"val_reward": float(score.mean()), "val_format": float(ended.mean()), "val_exact": exact}

    def rollout(self, step: int, metrics: Metrics) -> list[Shard]:
        """Responses to the prompts of a step, a shard for each device, not yet judged."""
        group, size = self.settings.num_generations, self.settings.batch_size
        with timed("time/rollout", metrics):
            part = (step - 1) % self._steps_an_epoch
            shuffle = np.random.default_rng([self.settings.seed, 3, self.epoch(step)])
            order = shuffle.permutation(len(self.prompts.train))
            prompts = self.prompts.train[order[part * size : (part + 1) * size]].repeat(group, axis=0)
            shards = []
            with worker_call("actor_infer/generate", metrics, self.sampler) as call:
                weights = full_precision(call.states[0])
                for device, share in enumerate(np.split(prompts, DEVICES)):
                    call.cards.hold(device, nbytes(weights))
                    responses = self._generate(call, device, weights, share)
                    nothing = np.empty(0)
                    shards.append(Shard(share, responses, unroll(share, responses), nothing, nothing, nothing))
        return shards

    def _generate(self, call: Loaded, device: int, weights: Params, prompts: Tokens) -> Tokens:
        parts = np.array_split(prompts, max(1, len(prompts) // self.settings.max_num_seqs))
        return np.concatenate([generate(weights, p, self.rng, partial(call.cards.uses, device)) for p in parts])

    def _rewards(self, shards: list[Shard], metrics: Metrics) -> None:
        with timed("time/reward/compute_rewards/total", metrics):  # a rule: it takes no device
            for shard in shards:
                shard.scores = scores(shard.prompts, shard.responses)

    def _batch(self, shard: Shard, advantage: npt.NDArray[np.float64]) -> Batch:
        tokens = shard.written.tokens
        old = shard.policy[np.arange(len(tokens)), tokens]
        return Batch(tokens, old, shard.reference, advantage[shard.written.sequences].astype(np.float32))

    def _train(self, step: int, shards: list[Shard], batches: list[Batch], metrics: Metrics) -> None:
        settings, learner = self.settings, self.learner
        rate = learning_rate(step, settings)
        if self.inject_at is not None and step >= self.inject_at:
            rate *= EXPLOSION
        sums: defaultdict[str, float] = defaultdict(float)
        norms, tokens = [], 0
        with worker_call("actor_train/train_step", metrics, *learner.states, write_back=True) as call:
            weights, first, second = call.states
            working = Learner(weights, first, second, learner.updates)
            for _ in range(settings.ppo_epochs):
                parts = [self._minibatches(shard) for shard in shards]
                for rows in zip(*parts, strict=True):
                    count = sum(len(chosen) for chosen in rows)
                    tokens += count
                    gradient: Params = {}
                    for device, chosen in enumerate(rows):
                        batch = Batch(*(array[chosen] for array in batches[device]))
                        seen = forward(working.weights, shards[device].written.contexts[chosen])
                        loss = policy_loss(seen.log_probs, batch, settings)
                        share = backward(working.weights, seen, loss.d_logits / np.float32(count))
                        call.cards.uses(device, nbytes(share) + seen.nbytes + loss.d_logits.nbytes)
                        gradient = {name: gradient.get(name, 0) + array for name, array in share.items()}
                        for name, value in loss.sums.items():
                            sums[name] += value
                    norms.append(working.update(gradient, rate, settings.max_grad_norm))
            learner.updates = working.updates
        metrics |= {name: value / tokens for name, value in sums.items()}
        metrics |= {"actor/lr": rate, "actor_train/grad_norm": float(np.mean(norms))}

    def _minibatches(self, shard: Shard) -> list[npt.NDArray[np.intp]]:
        """Rows of the shard's tokens, by whole responses, in random minibatches."""
        part_of = self.rng.permutation(len(shard.responses)) % self.settings.num_minibatches
        return [np.flatnonzero(part_of[shard.written.sequences] == n) for n in range(self.settings.num_minibatches)]


def log_probs(call: Loaded, device: int, contexts: Tokens) -> Array:
    """Log probabilities of the next token under the call's first state, (n, WRITABLE)."""
    results = []
    for part in np.array_split(contexts, MICRO_BATCHES):
        seen = forward(call.states[0], part)
        call.cards.uses(device, seen.nbytes)
        call.cards.hold(device, seen.log_probs.nbytes)
        results.append(seen.log_probs)
    return np.concatenate(results)


def summary(shards: list[Shard], score: Array, rewards: Array, advantage: Array) -> Metrics:
    """Return the metrics of a batch before the updates: scores, entropy, KL, lengths."""
    policy = np.concatenate([shard.policy for shard in shards])
    reference = np.concatenate([shard.reference for shard in shards])
    tokens = np.concatenate([shard.written.tokens for shard in shards])
    rows = np.arange(len(tokens))
    prompt_lengths, lengths = (
        np.concatenate([(getattr(shard, name) != BLANK).sum(axis=1) for shard in shards])
        for name in ("prompts", "responses")
    )
    return {
        **spread("critic/score", score),
        **spread("critic/rewards", rewards),
        **spread("critic/advantages", advantage),
        **spread("tokens/response_length", lengths),
        **spread("tokens/prompt_length", prompt_lengths),
        "critic/entropy/mean": float(entropy(policy).mean()),
        "critic/kl": float(kl_divergence(policy, reference).mean()),
        "critic/old_log_prob/mean": float(policy[rows, tokens].mean()),
        "critic/ref_log_prob/mean": float(reference[rows, tokens].mean()),
    }


def spread(name: str, values: npt.NDArray[Any]) -> Metrics:
    """Mean, maximum and minimum."""
    return {f"{name}/{kind}": float(getattr(values, kind)()) for kind in ("mean", "max", "min")}


def half_precision(params: Params) -> Params:
    """The sampler's copy of the weights."""
    return {name: array.astype(np.float16) for name, array in params.items()}


def full_precision(params: Params) -> Params:
    """float32 of float16, as numpy multiplies no float16 at speed."""
    return {name: array.astype(np.float32) for name, array in params.items()}
