"""The sentence about runs that have counted different amounts at equal steps."""

from __future__ import annotations

import numpy as np
import pytest
from support.stores import add_run, store_of

from tuimon.analysis.equal_counter import at_equal_counter
from tuimon.analysis.level import level_value
from tuimon.draw.numbers import format_value
from tuimon.exports.compare import as_text
from tuimon.exports.comparison import compare
from tuimon.store import Run

COUNT = 200
LOSSES = [2 + np.exp(-np.arange(COUNT) / length) for length in (50.0, 25.0)]


def _runs(*per_step: float, name: str = "num_input_tokens_seen") -> tuple[Run, ...]:
    series = [
        {"loss": loss.tolist(), name: (np.arange(1, COUNT + 1) * amount).tolist()}
        for loss, amount in zip(LOSSES, per_step, strict=True)
    ]
    store = store_of(series[0])
    add_run(store, series[1], 1)
    return store.snapshot().runs


@pytest.mark.parametrize(
    ("name", "word", "unit"), [("num_input_tokens_seen", "tokens", 1024.0), ("epoch", "epoch", 0.005)]
)
def test_levels_where_both_have_counted_as_much(name: str, word: str, unit: float) -> None:
    runs = _runs(unit, 2 * unit, name=name)
    small, large = level_value(LOSSES[0]), level_value(LOSSES[1][: COUNT // 2])
    amount = "204.8 k" if word == "tokens" else "1"
    sentence = f"compared at equal steps; at equal {word} ({amount}) the level of loss is: " + ", ".join(
        f"{run} {format_value(value)}" for value, run in sorted([(small, "small"), (large, "large")])
    )
    comparison = compare(runs)
    assert at_equal_counter(["small", "large"], runs, comparison.deciding) == sentence
    assert f"at equal {word} (" in "\n".join(as_text(comparison, 1.8e9))


def test_no_sentence_where_the_counts_are_equal_or_not_logged() -> None:
    for runs in (_runs(1024.0, 1030.0), _runs(3.0, 5.0, name="other")):
        assert compare(runs).at_equal_counter == ""
