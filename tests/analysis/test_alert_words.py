"""The sentence of an alert for each thing that a metric can do, made from its fields."""

from __future__ import annotations

from typing import Any

import pytest

from tuimon.analysis.alert_words import KINDS, format_factor, message_of, sentence_of
from tuimon.model.alerts import Alert, Change


def alert(what: str, value: float | None = None, usual: float | None = None, **more: Any) -> Alert:
    return Alert("rule", "warning", 0, "kl", 36, what=what, value=value, usual=usual, **more)


@pytest.mark.parametrize(
    ("own", "sentence"),
    [
        (alert("risen", 0.58, 0.0617), "kl has risen from 0.0617 to 0.58 (9.4 times) since step 36"),
        (alert("risen", 0.58, 0.0617, until=40), "kl rose from 0.0617 to 0.58 (9.4 times) from step 36 to 40"),
        (alert("fallen", 0.05, 0.5), "kl has fallen from 0.5 to 0.05 (-90 %) since step 36"),
        (alert("grows", 41.97, 30.0, unit="GiB"), "kl grows from 30 GiB to 41.97 GiB (+40 %) since step 36"),
        (alert("grows", 42e9, 30e9, unit="B"), "kl grows from 30.0 GB to 42.0 GB (+40 %) since step 36"),
        (
            alert("grows", 42.0, 30.0, unit="GB", limit=80.0, reached_in=320),
            "kl grows from 30 GB to 42 GB (+40 %) since step 36; 80 GB in about 320 steps",
        ),
        (
            alert("above", 0.9, limit=0.5, extreme=52, count=36, points=40),
            "kl is above 0.5 at 36 of 40 points since step 36; highest 0.9 at step 52",
        ),
        (
            alert("above", 0.40001, limit=0.4, extreme=52, count=40, points=40),
            "kl is above 0.4 since step 36; highest 0.40001 at step 52",
        ),
        (
            alert("below", -0.5, limit=-0.05, extreme=36, until=36),
            "kl was below -0.05 at step 36; lowest -0.5 at step 36",
        ),
        (
            alert("jumped", 4.0, 0.5, until=38, extreme=37),
            "kl jumped from 0.5 to 4 (8 times) from step 36 to 38; reached at step 37",
        ),
        (alert("condition", 3.0, extreme=36), "rule: kl has reached 3 since step 36"),
        (alert("zero", 0.0), "kl is 0 since step 36"),
        (alert("nan", count=4, points=40), "kl is NaN since step 36; 4 of 40 points"),
        (alert("some infinite", count=2, points=40, until=38), "kl had Inf values from step 36 to 38; 2 of 40 points"),
        (alert("nan", source="log.csv"), "kl is NaN since step 36; in log.csv"),
        (
            alert("nan", related=tuple(map(Change, "abcde"))),
            "kl is NaN since step 36; also a, b, c and 2 more",
        ),
        (
            alert("nan", related=(Change("kl", "risen", 2.0, 0.1, step=36), Change("entropy", "zero"))),
            "kl is NaN since step 36; kl rose from 0.1 to 2 (20 times) since step 36, entropy was 0",
        ),
        (
            alert("nan", related=(Change("grad_norm", "zero", step=36, until=49),)),
            "kl is NaN since step 36; grad_norm was 0 from step 36 to 49",
        ),
        (alert("zero", 0.0, steps="epoch", until=40), "kl was 0 from epoch 36 to 40"),
        (Alert("liveness", "warning", 0, "", 36, "no step for 10 m"), "no step for 10 m"),
    ],
)
def test_sentence(own: Alert, sentence: str) -> None:
    assert message_of(own) == sentence


@pytest.mark.parametrize("what", KINDS)
@pytest.mark.parametrize("until", [None, 40])
def test_every_sentence_says_when(what: str, until: int | None) -> None:
    sentence = sentence_of(alert(what, 2.0, 1.0, limit=1.5, until=until))
    assert sentence.short == f"{sentence.what} {sentence.when}"
    assert sentence.when == ("since step 36" if until is None else "from step 36 to 40")


def test_factors_are_written_without_an_exponent() -> None:
    ratios = (-1.0, 0.25, 0.999, 1.4, 9.417, 99.96, 999.6, 6923.0, 1.23e8)
    words = ["", " (-75 %)", " (-0.1 %)", " (+40 %)", " (9.42 times)", " (100 times)", " (1,000 times)",
             " (6,923 times)", " (1.23e+08 times)"]  # fmt: skip
    assert [format_factor(ratio, 1.0) for ratio in ratios] == words
    assert format_factor(1.0, 0.0) == format_factor(1.0, -1.0) == ""
