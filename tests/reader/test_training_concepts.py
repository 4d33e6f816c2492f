"""relation_by_concepts(): files of different trainers are compared by what their metrics mean."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tuimon.reader.training_concepts import relation_by_concepts
from tuimon.reader.training_values import Beginning, Relation

STEPS = range(10, 210, 10)


def loss(step: int) -> float:
    return round(10.0 / (1 + 0.02 * step), 4)


def slightly_other(step: int) -> float:
    return loss(step) + 0.01 * (step % 30 + 1)


def logged(
    name: str, value: Callable[[int], float], seconds: float = 0.0, start: float = 1e9, total: int | None = None,
    outcome: tuple[str, str] | None = None, last: int = 200,
) -> Beginning:  # fmt: skip
    """seconds: wall time of a step; 0: no time is logged."""
    steps = [step for step in STEPS if step <= last]
    times = {step: start + seconds * step for step in steps if seconds}
    return Beginning(
        {name: {s: value(s) for s in steps}, f"{name} extra": {}}, steps, True, times, total, outcome=outcome
    )


@pytest.mark.parametrize(
    ("other", "relation"),
    [
        (logged("lm loss", lambda step: 30.0 / (step + 5)), Relation.DIFFERENT),
        (logged("validation loss", lambda step: 30.0 / (step + 5)), Relation.UNKNOWN),
        (logged("lm loss", lambda step: round(loss(step), 2)), Relation.UNKNOWN),
        (logged("lm loss", lambda step: round(loss(step), 2), seconds=2.0), Relation.EQUAL),
        (logged("lm loss", loss, seconds=2.0, start=2e9), Relation.UNKNOWN),
        (logged("lm loss", lambda step: 8 * loss(step)), Relation.UNKNOWN),
        (logged("lm loss", slightly_other), Relation.UNKNOWN),
    ],
    ids=[
        "other values",
        "another concept",
        "rounded",
        "rounded, same times",
        "equal, other times",
        "scaled",
        "averaged",
    ],
)
def test_a_loss_is_compared_with_a_loss_of_another_name(other: Beginning, relation: Relation) -> None:
    assert relation_by_concepts(logged("loss", loss, seconds=2.0), other) is relation


@pytest.mark.parametrize(
    ("first", "second", "relation"),
    [
        ({"total": 5000}, {"total": 1000}, Relation.DIFFERENT),
        ({"total": 5000}, {"total": 5000}, Relation.UNKNOWN),
        ({"seconds": 1.0}, {"seconds": 3.0}, Relation.DIFFERENT),
        ({"seconds": 1.0}, {"seconds": 1.0, "start": 1e9 + 7200}, Relation.UNKNOWN),
        ({"outcome": ("crashed", "oom")}, {"outcome": ("crashed", "timeout"), "last": 150}, Relation.DIFFERENT),
        ({"outcome": ("crashed", "oom")}, {"outcome": ("crashed", "timeout")}, Relation.UNKNOWN),
        ({"outcome": ("crashed", "oom")}, {"last": 150}, Relation.UNKNOWN),
    ],
)
def test_like_values_are_of_different_trainings_if_something_else_differs(
    first: dict[str, float], second: dict[str, float], relation: Relation
) -> None:
    here, there = logged("loss", loss, **first), logged("lm loss", slightly_other, **second)  # type: ignore[arg-type]
    assert relation_by_concepts(here, there) is relation
