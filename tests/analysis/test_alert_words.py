"""The sentence of an alert for each thing that a metric can do, made from its fields."""

from __future__ import annotations

from typing import Any

import pytest

from tuimon.analysis.alert_words import KINDS, sentence_of
from tuimon.model.alerts import Alert


def alert(what: str, value: float | None = None, usual: float | None = None, **more: Any) -> Alert:
    return Alert("rule", "warning", 0, "kl", 36, what=what, value=value, usual=usual, **more)


@pytest.mark.parametrize("what", KINDS)
@pytest.mark.parametrize("until", [None, 40])
def test_every_sentence_says_when(what: str, until: int | None) -> None:
    sentence = sentence_of(alert(what, 2.0, 1.0, limit=1.5, until=until))
    assert sentence.short == f"{sentence.what} {sentence.when}"
    assert sentence.when == ("since step 36" if until is None else "from step 36 to 40")
