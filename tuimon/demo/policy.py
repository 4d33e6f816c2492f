"""The policy: two hidden layers that see the prompt and what was written so far, and give the next token.

A context is PROMPT_SLOTS + RESPONSE_SLOTS tokens, each one-hot; the slots not yet written are BLANK, so that the
position needs no input of its own. Parameters are a plain dict of arrays; all mathematics is in functions of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tuimon.demo.task import BLANK, END, PROMPT_SLOTS, RESPONSE_SLOTS, SYMBOLS, WRITABLE, Tokens

Array: TypeAlias = npt.NDArray[np.floating[Any]]
Params: TypeAlias = dict[str, Array]

SLOTS = PROMPT_SLOTS + RESPONSE_SLOTS
_ONE_HOT = np.eye(SYMBOLS, dtype=np.float32)


class Activations(NamedTuple):
    """Intermediate results of a forward pass over n contexts, for the backward pass."""

    inputs: Array
    """(n, SLOTS * SYMBOLS)"""
    hidden1: Array
    hidden2: Array
    """(n, hidden)"""
    log_probs: Array
    """(n, WRITABLE): log probability of each token that could come next, in nats."""

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self)


class Written(NamedTuple):
    """Every token of a set of responses, with the context it was written in. n tokens."""

    contexts: Tokens
    """(n, SLOTS)"""
    tokens: npt.NDArray[np.intp]
    """(n,): the token."""
    sequences: npt.NDArray[np.intp]
    """(n,): which response it belongs to; ascending."""


def nbytes(params: Params) -> int:
    """Bytes of all arrays."""
    return sum(array.nbytes for array in params.values())


def initial(rng: np.random.Generator, hidden: int) -> Params:
    """Random weights (He), zero biases; the last layer small, so that the first policy is close to uniform."""
    sizes = (SLOTS * SYMBOLS, hidden, hidden, WRITABLE)
    scales = ((2 / SLOTS) ** 0.5, (2 / hidden) ** 0.5, 0.3 * (2 / hidden) ** 0.5)  # SLOTS inputs of a context are 1
    params: Params = {}
    for layer, scale in enumerate(scales):
        params[f"w{layer}"] = scale * rng.standard_normal((sizes[layer], sizes[layer + 1]), np.float32)
        params[f"b{layer}"] = np.zeros(sizes[layer + 1], np.float32)
    return params


def forward(params: Params, contexts: Tokens) -> Activations:
    """Log probabilities of the next token for each context, and what the backward pass needs."""
    inputs = _ONE_HOT[contexts].reshape(len(contexts), -1)
    hidden1 = np.maximum(inputs @ params["w0"] + params["b0"], 0)
    hidden2 = np.maximum(hidden1 @ params["w1"] + params["b1"], 0)
    logits = hidden2 @ params["w2"] + params["b2"]
    logits -= logits.max(axis=1, keepdims=True)
    return Activations(inputs, hidden1, hidden2, logits - np.log(np.exp(logits).sum(axis=1, keepdims=True)))


def backward(params: Params, seen: Activations, d_logits: Array) -> Params:
    """Gradient of a loss in the parameters from its gradient in the logits, (n, WRITABLE)."""
    d_hidden2 = d_logits @ params["w2"].T * (seen.hidden2 > 0)
    d_hidden1 = d_hidden2 @ params["w1"].T * (seen.hidden1 > 0)
    return {
        "w0": seen.inputs.T @ d_hidden1,
        "b0": d_hidden1.sum(axis=0),
        "w1": seen.hidden1.T @ d_hidden2,
        "b1": d_hidden2.sum(axis=0),
        "w2": seen.hidden2.T @ d_logits,
        "b2": d_logits.sum(axis=0),
    }


def entropy(log_probs: Array) -> Array:
    """Entropy of each row, in nats."""
    result: Array = -(np.exp(log_probs) * log_probs).sum(axis=1)
    return result


def kl_divergence(log_probs: Array, reference: Array) -> Array:
    """KL(policy || reference) of each row in nats: exact, as it sums over all tokens, not over the one drawn."""
    result: Array = (np.exp(log_probs) * (log_probs - reference)).sum(axis=1)
    return result


def generate(
    params: Params,
    prompts: Tokens,
    rng: np.random.Generator | None,
    uses: Callable[[int], None] = lambda size: None,
) -> Tokens:
    """Writes a response to each prompt, token by token; int8 (n, RESPONSE_SLOTS), END included, BLANK after it.

    Tokens are drawn from the policy, or are the most probable ones without an `rng`.
    `uses` is called with the bytes of the live tensors at each token.
    """
    contexts = np.concatenate([prompts, np.full((len(prompts), RESPONSE_SLOTS), BLANK, np.int8)], axis=1)
    writing = np.arange(len(prompts))
    for slot in range(PROMPT_SLOTS, SLOTS):
        seen = forward(params, contexts[writing])
        uses(contexts.nbytes + seen.nbytes)
        if rng is None:
            tokens = seen.log_probs.argmax(axis=1)
        else:
            below = np.exp(seen.log_probs).cumsum(axis=1)
            tokens = (rng.random((len(writing), 1)) * below[:, -1:] > below).sum(axis=1)
        contexts[writing, slot] = tokens
        writing = writing[tokens != END]
        if not len(writing):
            break
    return contexts[:, PROMPT_SLOTS:]


def unroll(prompts: Tokens, responses: Tokens) -> Written:
    """Each written token with its context."""
    sequences, slots = np.nonzero(responses != BLANK)
    so_far = np.where(np.arange(RESPONSE_SLOTS) < slots[:, None], responses[sequences], np.int8(BLANK))
    contexts = np.concatenate([prompts[sequences], so_far], axis=1)
    return Written(contexts, responses[sequences, slots].astype(np.intp), sequences)
