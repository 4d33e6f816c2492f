"""The task: write the digits of a prompt in ascending order, then stop. A rule, not a model, gives the reward."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Tokens = npt.NDArray[np.int8]

DIGITS = 10
END = 10
"""Ends a response; the last of the tokens that can be written."""
BLANK = 11
"""Fills a slot that nothing was written into; never written itself."""
WRITABLE, SYMBOLS = 11, 12
SHORTEST, PROMPT_SLOTS, RESPONSE_SLOTS = 3, 7, 12


class PromptSets(NamedTuple):
    """Disjoint sets of distinct prompts, int8 (n, PROMPT_SLOTS)."""

    train: Tokens
    held_out: Tokens


def draw_prompts(rng: np.random.Generator, count: int) -> Tokens:
    """Prompts of SHORTEST to PROMPT_SLOTS random digits, filled up with BLANK; int8 (count, PROMPT_SLOTS)."""
    prompts = rng.integers(0, DIGITS, (count, PROMPT_SLOTS), dtype=np.int8)
    lengths = rng.integers(SHORTEST, PROMPT_SLOTS + 1, (count, 1))
    prompts[np.arange(PROMPT_SLOTS) >= lengths] = BLANK
    return prompts


def prompt_sets(seed: int, train: int, held_out: int) -> PromptSets:
    """The prompts to train on and those kept for validation."""
    rng = np.random.default_rng([seed, 1])
    distinct = np.unique(draw_prompts(rng, 2 * (train + held_out)), axis=0)
    chosen = rng.permutation(distinct)[: train + held_out]
    return PromptSets(chosen[:train], chosen[train:])


def answer(prompt: list[int]) -> list[int]:
    """Return the correct answer."""
    return [*sorted(token for token in prompt if token < DIGITS), END]


def score(prompt: list[int], response: list[int]) -> float:
    """Reward of a response, 0 to 1: the tokens in their right place, over the longer of response and answer."""
    right = answer(prompt)
    written = [token for token in response if token != BLANK]
    return sum(a == b for a, b in zip(right, written, strict=False)) / max(len(right), len(written))


def scores(prompts: Tokens, responses: Tokens) -> npt.NDArray[np.float64]:
    """`score` of each row, float64 (n,)."""
    return np.array([score(p, r) for p, r in zip(prompts.tolist(), responses.tolist(), strict=True)])


def demonstrations(rng: np.random.Generator, prompts: Tokens, wrong: float = 0.5, rambling: float = 0.5) -> Tokens:
    """Answers of a poor teacher, int8 (n, RESPONSE_SLOTS): a token is random with probability `wrong`, and with
    probability `rambling` random digits follow before the end."""
    responses = np.full((len(prompts), RESPONSE_SLOTS), BLANK, np.int8)
    for row, prompt in zip(responses, prompts.tolist(), strict=True):
        text = [int(rng.integers(WRITABLE)) if rng.random() < wrong else token for token in answer(prompt)]
        if rng.random() < rambling:
            more = int(rng.integers(1, RESPONSE_SLOTS + 2 - len(text)))
            text[-1:] = [*rng.integers(0, DIGITS, more).tolist(), END]
        text = text[: text.index(END) + 1] if END in text else text
        row[: len(text)] = text[:RESPONSE_SLOTS]
    return responses
