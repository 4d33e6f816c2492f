"""Preference learner: DPO of a log-linear policy over a fixed set of responses to each prompt, in numpy.

The policy scores the response v to the prompt x with e_v · A x. The chosen and the rejected response of a pair have
similar embeddings, so that an update that only makes the latter less probable moves the probability of both to others.
"""

from __future__ import annotations

import numpy as np

from support.labelled.policy import Injection, log_softmax

PROMPTS, RESPONSES, WIDTH = 32, 30, 40
BATCH, BETA, RATE = 16, 0.1, 0.002
TOKENS = 30
"""Factor of the logged log-probabilities: that of a text is a sum over its tokens."""


def run(seed: int, injection: Injection, steps: int = 300) -> dict[str, list[tuple[int, float]]]:
    """Train for `steps` steps and return metric -> [(step, value), …]."""
    rng = np.random.default_rng([seed, 11])
    prompts = rng.standard_normal((PROMPTS, WIDTH)) / np.sqrt(WIDTH)
    embeddings = rng.standard_normal((PROMPTS, RESPONSES, WIDTH)) / np.sqrt(WIDTH)
    embeddings[:, 1] = 0.95 * embeddings[:, 0] + 0.3 * embeddings[:, 1]
    weights = np.zeros((WIDTH, WIDTH))
    for _ in range(100):  # supervised training on both texts of the pairs
        missing = -np.exp(_log_probs(weights, prompts, embeddings))
        missing[:, :2] += 0.5
        weights += 5.0 * np.einsum("nv,nvi,nj->ij", missing, embeddings, prompts)
    pace = rng.uniform(0.5, 1.5)
    reference = _log_probs(weights, prompts, embeddings)
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    metrics: dict[str, list[tuple[int, float]]] = {}
    for step in range(1, steps + 1):
        batch = rng.choice(PROMPTS, BATCH, replace=False)
        logs = _log_probs(weights, prompts[batch], embeddings[batch])
        gains = BETA * TOKENS * (logs[:, :2] - reference[batch, :2])
        margins = gains[:, 0] - gains[:, 1]
        slope = -1 / (1 + np.exp(np.clip(margins, -50, 50)))
        difference = embeddings[batch, 0] - embeddings[batch, 1]
        if injection.now("displaces", step):  # the loss hardly holds the chosen texts in place
            difference = 0.3 * embeddings[batch, 0] - embeddings[batch, 1]
        gradient = BETA * TOKENS * np.einsum("n,ni,nj->ij", slope, difference, prompts[batch]) / BATCH
        rate = pace * RATE * min(1.0, step / 20) * (1 - step / (steps + 1))
        if injection.now("displaces", step):
            rate *= 100.0
        first += 0.1 * (gradient - first)
        second += 0.01 * (gradient * gradient - second)
        weights = weights - rate * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
        row = {
            "loss": float(np.logaddexp(0, -margins).mean()),
            "grad_norm": float(np.sqrt(np.vdot(gradient, gradient))),
            "learning_rate": rate,
            "rewards/chosen": float(gains[:, 0].mean()),
            "rewards/rejected": float(gains[:, 1].mean()),
            "rewards/margins": float(margins.mean()),
            "rewards/accuracies": float((margins > 0).mean()),
            "logps/chosen": float(TOKENS * logs[:, 0].mean()),
            "logps/rejected": float(TOKENS * logs[:, 1].mean()),
        }
        for name, value in row.items():
            metrics.setdefault(name, []).append((step, value))
    return metrics


def _log_probs(weights: np.ndarray, prompts: np.ndarray, embeddings: np.ndarray) -> np.ndarray:
    """Return the log-probabilities (prompts, responses)."""
    return log_softmax(np.einsum("nvi,ij,nj->nv", embeddings, weights, prompts))
