"""W&B runs whose rows use a training step: transformers and Lightning define one as the axis of all charts."""

from __future__ import annotations

import json
import math
import random
from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.json_points import series
from support.log_writer import WANDB, damage, decode, field, framed, history

from tuimon.formats.wandb.run_file import FORMAT, SYSTEM, WandbDecoder
from tuimon.model.points import Points

_MEASURED = 37
"""Rows between two records of system metrics: enough to be decoded together."""
Row = dict[str, str]
"""Metric -> JSON text."""
Series = dict[str, list[tuple[int, str]]]


def definition(number: int, pattern: str, step_metric: str) -> bytes:
    return field(1, number) + field(12, field(2, pattern) + field(4, step_metric))


def measured(number: int, seconds: int) -> bytes:
    """A record of system metrics."""
    return field(1, number) + field(7, field(2, field(1, seconds)) + field(3, field(1, "cpu") + field(16, "1.5")))


def file_of(rows: list[Row], defined: int, pattern: str = "*", step_metric: str = "train/global_step") -> bytes:
    """A file of the rows, with the definition before the row with this number, and some system metrics."""
    records = []
    for number, row in enumerate(rows):
        if number == defined:
            records.append(definition(len(records), pattern, step_metric))
        if number % _MEASURED == 0:
            records.append(measured(len(records), 1_790_000_000 + number))
        records.append(history(len(records), {**row, "_step": str(number)}, number if number % 3 else None))
    return framed(WANDB, records)


def rows_of_transformers() -> list[Row]:
    actual = []
    for step in range(5, 201, 5):
        actual.append({"train/loss": repr(1 / step), "train/global_step": str(step)})
        if step % 10 == 0:
            actual.append({"eval/loss": repr(2 / step), "train/global_step": str(step)})
    return [*actual, {"profile/seconds": "1.5"}]


@pytest.mark.parametrize("pattern", ["*", "train/*"])
@pytest.mark.parametrize("step_metric", ["train/global_step", "trainer/global_step"])
def test_points_use_the_training_step(pattern: str, step_metric: str) -> None:
    rows = [
        {key.replace("train/global_step", step_metric): text for key, text in row.items()}
        for row in rows_of_transformers()
    ]
    items = decode(WandbDecoder(), file_of(rows, 0, pattern, step_metric))
    actual = series(items)
    assert actual["train/loss"] == [(step, repr(1 / step)) for step in range(5, 201, 5)]
    assert actual["eval/loss"] == [(step, repr(2 / step)) for step in range(10, 201, 10)]
    assert actual["profile/seconds"] == [(200, "1.5")], "as the row before"
    assert [value for _, value in actual["_step"]] == [repr(float(number)) for number in range(len(rows))]
    assert {step for step, _ in actual[f"{SYSTEM}cpu"]} == {1000 * number for number in range(0, len(rows), _MEASURED)}
    assert not damage(items)


@pytest.mark.parametrize("step_metric", ["eval/step", "epoch", "tokens"])
def test_another_step_metric_does_not_change_the_row_numbers(step_metric: str) -> None:
    rows = [{"loss": "0.5", step_metric: str(10 * number)} for number in range(5)]
    actual = series(decode(WandbDecoder(), file_of(rows, 0, "*", step_metric)))
    assert [step for step, _ in actual["loss"]] == [0, 1, 2, 3, 4]


def expected(rows: list[Row], defined: int) -> Series:
    actual: Series = defaultdict(list)
    training_step: int | None = None
    for number, row in enumerate(rows):
        if number >= defined:
            logged = json.loads(row.get("train/global_step", "null"))
            if (
                isinstance(logged, int | float)
                and math.isfinite(logged)
                and logged == int(logged)
                and abs(logged) < 2**53
            ):
                training_step = int(logged)
        step = number if training_step is None else training_step
        for metric, text in {**row, "_step": str(number)}.items():
            value = json.loads(text)
            if value is not None:
                actual[metric].append((step, repr(float(value))))
    return actual


@given(
    st.integers(0, 2**32),
    st.integers(1, 90),
    st.integers(0, 40),
    st.lists(st.integers(0, 1 << 16), max_size=6),
)
def test_any_rows_split_anywhere(seed: int, count: int, defined: int, cuts: list[int]) -> None:
    chance, step = random.Random(seed), 0
    rows: list[Row] = []
    for _ in range(count):
        row = {key: repr(chance.gauss(0, 1)) for key in ("train/loss", "eval/loss", "a", "b") if chance.random() < 0.7}
        step = chance.choice((step, step + 1, step + 10, max(0, step - 30))) if chance.random() < 0.9 else step
        if chance.random() < 0.8:
            row["train/global_step"] = chance.choice([str(step)] * 12 + ["1.5", "NaN", "1e300", "null", f"{step}.0"])
        order = list(row)
        chance.shuffle(order)
        rows.append({key: row[key] for key in order})
    items = decode(WandbDecoder(), file_of(rows, defined), cuts)
    actual = {metric: points for metric, points in series(items).items() if not metric.startswith(SYSTEM)}
    assert actual == expected(rows, defined)
    assert not damage(items)


def test_the_tail_is_omitted_if_rows_may_use_a_training_step() -> None:
    rows = rows_of_transformers() * 40
    assert FORMAT.tail is not None
    data = file_of(rows, 0)
    assert not any(isinstance(item, Points) for item in FORMAT.tail(data[:256], data[32768:]))
    plain = file_of([{key: row[key] for key in row if key != "train/global_step"} for row in rows], 0)
    assert any(isinstance(item, Points) for item in FORMAT.tail(plain[:256], plain[32768:]))
