"""Supervised learner: softmax regression on random features with Adam and a validation set."""

from __future__ import annotations

import numpy as np

from support.labelled.policy import Array, Injection, log_softmax

CLASSES, FEATURES = 5, 60
BATCH, RATE, WARMUP, EVERY = 32, 0.02, 20, 10
MANY, FEW = 4000, 150
"""Training points of a healthy run, and of one that overfits."""


def run(seed: int, injection: Injection, steps: int = 300) -> dict[str, list[tuple[int, float]]]:
    """Train for `steps` steps and return metric -> [(step, value), …]."""
    rng = np.random.default_rng([seed, 9])
    pace, batch = rng.uniform(0.5, 2.0), int(rng.integers(BATCH // 4, BATCH * 2))  # runs differ
    truth = rng.standard_normal((FEATURES, CLASSES))
    inputs, labels = _data(rng, truth, FEW if injection.kind == "few_data" else MANY)
    held_inputs, held_labels = _data(rng, truth, 1000)
    weights = np.zeros((FEATURES, CLASSES))
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    metrics: dict[str, list[tuple[int, float]]] = {}
    for step in range(1, steps + 1):
        chosen = rng.integers(0, len(inputs), batch)
        x, y = inputs[chosen], labels[chosen]
        if injection.only("bad_batch", step):
            x = 30.0 * x
        loss, gradient = _loss(weights, x, y)
        if injection.now("detached", step):  # a loss that does not depend on the weights
            gradient = np.zeros_like(gradient)
        if injection.now("growing", step):  # as with a loss scale that grows
            gradient = gradient * np.exp((step - injection.step) / 20)
        norm = float(np.sqrt(np.vdot(gradient, gradient)))
        rate = pace * _rate(step, steps, injection)
        first += 0.1 * (gradient - first)
        second += 0.01 * (gradient * gradient - second)
        if injection.now("diverges", step):  # random steps that are far too large
            weights = weights + rate * 8.0 * rng.standard_normal(weights.shape)
        with np.errstate(invalid="ignore"):
            weights = weights - rate * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
        row = {"train/loss": loss, "train/grad_norm": norm, "train/learning_rate": rate}
        if step % EVERY == 0:
            row["eval/loss"] = _loss(weights, held_inputs, held_labels)[0]
        for name, value in row.items():
            metrics.setdefault(name, []).append((step, value))
    return metrics


def _data(rng: np.random.Generator, truth: Array, count: int) -> tuple[Array, np.ndarray]:
    inputs = rng.standard_normal((count, FEATURES))
    noisy = 0.5 * inputs @ truth + 2.0 * rng.gumbel(size=(count, CLASSES))
    return inputs, noisy.argmax(axis=1)


def _loss(weights: Array, inputs: Array, labels: np.ndarray) -> tuple[float, Array]:
    """Return the mean cross-entropy and its gradient."""
    with np.errstate(invalid="ignore"):
        log_probs = log_softmax(inputs @ weights)
    rows = np.arange(len(labels))
    slope = np.exp(log_probs)
    slope[rows, labels] -= 1
    return float(-log_probs[rows, labels].mean()), inputs.T @ slope / len(labels)


def _rate(step: int, steps: int, injection: Injection) -> float:
    if injection.now("zero_rate", step):
        return 0.0
    if injection.now("nan", step):
        return float("inf")
    return RATE * min(1.0, step / WARMUP) * (1 - step / (steps + 1))
