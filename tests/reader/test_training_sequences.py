"""agreement(): a text is compared with the files beside it although their steps are counted differently."""

from __future__ import annotations

import numpy as np
import pytest

from tuimon.reader.training_sequences import Agreement, ValueSequence, agreement, sequence

COUNT = 600
Curves = list[tuple[str, ValueSequence]]


def job(seed: int, top: float = 0.4, start: float = 1.0) -> dict[str, np.ndarray]:
    """Values of a training at each step: a falling loss, a rising reward, and noise."""
    rng, part = np.random.default_rng(seed), np.arange(1, COUNT + 1) / COUNT
    return {
        "loss": start * np.exp(-3 * part) + rng.normal(0.1, 0.01, COUNT),
        "reward": top * part**0.5 + rng.normal(0, 0.01, COUNT),
        "grad_norm": rng.normal(1.5, 0.3, COUNT),
    }


def logged(values: dict[str, np.ndarray], every: int = 1, digits: int = 6, first: int = 0, stride: int = 1) -> Curves:
    """The metrics at each `every`th step. stride: difference of the numbers of entries; 0: steps are logged."""
    curves: Curves = []
    for name, column in values.items():
        steps = np.arange(first, len(column), every)
        numbers = steps if not stride else stride * np.arange(len(steps))
        curve = sequence(zip(numbers.tolist(), column[steps].round(digits).tolist(), strict=True))
        assert curve is not None
        curves.append((name, curve))
    return curves


def means(values: dict[str, np.ndarray], width: int) -> dict[str, np.ndarray]:
    """Means of the last values."""
    return {name: np.convolve(column, np.ones(width) / width)[:COUNT] for name, column in values.items()}


def renamed(curves: Curves, names: dict[str, str]) -> Curves:
    return [(names.get(name, name), curve) for name, curve in curves]


A, ALIKE, OTHER = job(1), job(2), job(3, 0.9, 3.0)
FILE = logged(A, every=5, stride=10)
NAMES = {"loss": "train/total_loss", "reward": "rollout/ep_rew_mean", "grad_norm": "optim/gnorm"}


@pytest.mark.parametrize(
    ("text", "file"),
    [
        (logged(A, every=5), FILE),
        (logged(A, every=5, digits=3), FILE),
        (logged(A, every=50), FILE),
        (logged(A), FILE),
        (logged(A, every=5, first=300), FILE),
        (logged(A, every=5), renamed(FILE, NAMES)),
        (logged(A, every=5), [*logged(OTHER, every=5), *FILE]),
    ],
    ids=["equal", "rounded", "fewer entries", "more entries", "second half", "other names", "two files"],
)
def test_a_text_of_one_training_has_common_values(text: Curves, file: Curves) -> None:
    assert agreement(text, file) == Agreement(common=1.0, different=False)


@pytest.mark.parametrize(
    ("text", "file"),
    [
        (logged(OTHER, every=5), FILE),
        (logged(OTHER, every=5, digits=3), FILE),
        (logged(OTHER), FILE),
        (logged(OTHER, every=5), renamed(FILE, NAMES)),
        (logged(OTHER, every=5)[:1], FILE),
        (logged(ALIKE, every=5, stride=0), logged(A, every=5, stride=0)),
        (logged(ALIKE, every=5, stride=0)[:1], logged(A, every=5, stride=0)),
        (logged(ALIKE, every=5, stride=0, digits=3)[:1], logged(A, every=5, stride=0)),
    ],
    ids=[
        *("equal count", "rounded", "more entries", "other names", "loss only"),
        *("alike at the same steps", "loss only at the same steps", "rounded loss at the same steps"),
    ],
)
def test_a_text_of_another_training_is_different(text: Curves, file: Curves) -> None:
    assert agreement(text, file) == Agreement(common=0.0, different=True)


@pytest.mark.parametrize(
    ("text", "file"),
    [
        (logged(ALIKE, every=5), FILE),
        (logged(means(A, 10), every=5, stride=0), logged(A, every=5, stride=0)),
        (logged(means(A, 50), every=5, stride=0)[:1], logged(A, every=5, stride=0)),
        (logged(ALIKE, every=25, stride=0)[:1], logged(A, every=25, stride=0)),
        (logged(A, every=7), logged(A, every=10)),
        (logged({"loss": 8 * A["loss"]}, every=5), FILE),
        (logged({"loss": OTHER["loss"]}, every=100), FILE),
        (logged({"lr": OTHER["loss"], "step_time": OTHER["reward"]}), FILE),
        (logged({"loss": np.arange(COUNT) % 3.0}), FILE),
        (logged(OTHER, digits=1)[2:], FILE),
    ],
    ids=[
        "alike",
        "means",
        "smooth loss",
        "few like values",
        "other steps",
        "scaled",
        "few values",
        "other metrics",
        "few distinct values",
        "agreement by chance",
    ],
)
def test_other_texts_show_nothing(text: Curves, file: Curves) -> None:
    result = agreement(text, file)
    assert not result.different
    assert not result.common
