"""Responses of a model that gets better, with rewards, to "Sort 9 0 2 3"."""

from __future__ import annotations

from typing import Any

import numpy as np

PROMPTS, GROUP = 32, 16
"""Prompts of a step, and responses to each of them."""
SHORTEST, LONGEST = 3, 7
"""Digits of a prompt."""
LIMIT = 12
"""Digits after which a response is cut off."""


def write_samples(step: int, skill: float, rng: np.random.Generator) -> list[dict[str, Any]]:
    """Return the responses of a step, a row as verl writes it with `trainer.rollout_data_dir`.

    Example: {"input": "Sort 9 0 2", "output": "0 2 9", "gts": "0 2 9", "score": 1.0, …}. skill: part of the digits that
    are right, from 0 to 1; NaN for a broken model, which writes one digit up to the limit.
    """
    rows: list[dict[str, Any]] = []
    for _ in range(PROMPTS):
        prompt = rng.integers(0, 10, rng.integers(SHORTEST, LONGEST + 1)).tolist()
        answer = sorted(prompt)
        group = [_write_one(prompt, answer, skill, rng) for _ in range(GROUP)]
        scores = np.array([row["score"] for row in group])
        for row, advantage in zip(group, (scores - scores.mean()) / (scores.std() + 1e-4), strict=True):
            rows.append(row | {"step": step, "advantage": float(advantage)})
    return rows


def _write_one(prompt: list[int], answer: list[int], skill: float, rng: np.random.Generator) -> dict[str, Any]:
    if np.isnan(skill):
        written = [int(rng.integers(0, 10))] * LIMIT
    else:
        right = rng.random(len(answer)) < skill
        written = [digit if good else int(rng.integers(0, 10)) for digit, good in zip(answer, right, strict=True)]
        if rng.random() > skill:  # it stops too early or too late
            written = (written + rng.integers(0, 10, 4).tolist())[: int(rng.integers(1, LIMIT))]
    matches = sum(a == b for a, b in zip(written, answer, strict=False))
    return {
        "input": f"Sort {_digit_words(prompt)}",
        "output": _digit_words(written),
        "gts": _digit_words(answer),
        "score": matches / max(len(written), len(answer)),
        "response_length": len(written),
        "is_truncated": len(written) >= LIMIT,
    }


def _digit_words(digits: list[int]) -> str:
    return " ".join(map(str, digits))
