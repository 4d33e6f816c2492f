"""Shapes of JSON documents that home-made scripts, Keras, Sacred, CatBoost and trackers write, at any cut."""

from __future__ import annotations

import json
import random
from typing import Any

import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.json_points import dump, facts, feed, series

from tuimon.errors import FormatError, Unfinished
from tuimon.formats import recognise
from tuimon.formats.json import lines, log_history
from tuimon.formats.json import rows as json_rows
from tuimon.formats.json._document import RowsDocument
from tuimon.formats.json._shapes import sections_of, step_unit
from tuimon.formats.json._whole_values import WholeValues
from tuimon.model.points import Fact

LOSS, ACCURACY = [0.9, 0.5, 0.25], [0.1, 0.6, 0.7]


def read(document: Any) -> dict[str, list[tuple[int, str]]]:
    return series(json_rows.FORMAT.decoder().load(dump(document)))


def points(values: list[float], steps: list[int] | None = None) -> list[tuple[int, str]]:
    return [(step, str(float(value))) for step, value in zip(steps or range(len(values)), values, strict=True)]


@pytest.mark.parametrize("name", ["training_log.json", "training_history.json", "anything.json"])
@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"loss": LOSS, "val_loss": ACCURACY}, {"loss": points(LOSS), "val_loss": points(ACCURACY)}),
        ({"avg_tour": LOSS, "loss": ACCURACY}, {"avg_tour": points(LOSS), "loss": points(ACCURACY)}),
        ({"loss": LOSS, "epoch": [1, 2, 3]}, {"loss": points(LOSS, [1, 2, 3])}),
        (
            {"episodes": [1, 2, 3], "rewards": LOSS, "eval_episodes": [10, 20], "eval_rewards": [1.0, 2.0]},
            {"rewards": points(LOSS, [1, 2, 3]), "eval_rewards": points([1.0, 2.0], [10, 20])},
        ),
        ({"config": {"lr": 0.1}, "history": {"loss": LOSS}}, {"history/loss": points(LOSS)}),
        (
            {"train": {"loss": LOSS, "acc": ACCURACY}, "val": {"loss": LOSS}},
            {"train/loss": points(LOSS), "train/acc": points(ACCURACY), "val/loss": points(LOSS)},
        ),
        (
            {"history": [{"round": 1, "avg_loss": 0.5}, {"round": 2, "avg_loss": 0.25}]},
            {"history/avg_loss": points([0.5, 0.25], [1, 2])},
        ),
        ([{"episode": 5, "reward": 1.5}, {"episode": 10, "reward": 2.5}], {"reward": points([1.5, 2.5], [5, 10])}),
        (
            [{"epoch": 1.0, "loss": 0.5}, {"epoch": 2.0, "loss": 0.25}],
            {"loss": points([0.5, 0.25], [1, 2])},
        ),
        ({"1": {"loss": 0.5}, "2": {"loss": 0.25}}, {"loss": points([0.5, 0.25], [1, 2])}),
        ({"10": {"loss": 0.5}, "9": {"loss": 0.25}}, {"loss": points([0.25, 0.5], [9, 10])}),
        (
            [{"Epoch": 1, "Val Acc": "50.0%"}, {"Epoch": 2, "Val Acc": "62.5%"}],
            {"Val Acc": points([50.0, 62.5], [1, 2])},
        ),
        ([{"epoch_num": 1, "loss": 0.5}, {"epoch_num": 2, "loss": 0.25}], {"loss": points([0.5, 0.25], [1, 2])}),
        ({"loss": [[5, 0.9], [10, 0.5], [15, 0.25]], "seed": 1}, {"loss": points(LOSS, [5, 10, 15])}),
        ({"epoch_1": {"loss": 0.5}, "epoch_10": {"loss": 0.25}}, {"loss": points([0.5, 0.25], [1, 10])}),
        (
            [{"epoch": 1, "train_loss": 0.5, "dur": 0.1, "batches": [{"train_loss": 0.6, "size": 64}]}],
            {"train_loss": points([0.5], [1]), "dur": points([0.1], [1])},
        ),
    ],
)
def test_document_is_read_under_any_name(name: str, document: Any, expected: Any) -> None:
    data = dump(document)
    assert (json_rows.TRAINING_LOG if name == "training_log.json" else json_rows.FORMAT).matches(name, data[:4096])
    assert read(document) == expected


def test_objects_by_numbers_in_any_order_are_no_rows() -> None:
    """Statistics of prompts by their number."""
    assert not sections_of({"2882": {"loss": 0.5}, "512": {"loss": 0.25}, "3524": {"loss": 0.1}}, strict=True)


def test_sacred_metrics_have_steps_and_utc_times() -> None:
    document = {"loss": {"steps": [0, 10], "values": [0.5, 0.25], "timestamps": ["2026-01-02T00:00:00.5"] * 2}}
    items = json_rows.FORMAT.decoder().load(dump(document))
    assert series(items) == {"loss": points([0.5, 0.25], [0, 10])}
    assert items[0].wall_times.tolist() == [1767312000.5] * 2  # type: ignore[union-attr]


def test_catboost_values_are_named_by_the_meta_section() -> None:
    document = {
        "meta": {"learn_sets": ["learn"], "test_sets": ["test"], "learn_metrics": [{"name": "Logloss"}],
                 "test_metrics": [{"name": "AUC"}, {"name": "Logloss"}]},
        "iterations": [{"learn": [0.6], "test": [0.7, 0.65], "iteration": 0}, {"learn": [0.5], "iteration": 1}],
    }  # fmt: skip
    assert read(document) == {
        "learn/Logloss": points([0.6, 0.5]),
        "test/AUC": points([0.7]),
        "test/Logloss": points([0.65]),
    }


def test_download_of_tensorboard_has_wall_times() -> None:
    items = json_rows.FORMAT.decoder().load(b"[[1795226051.5, 10, 0.5], [1795226052.5, 20, 0.25]]")
    assert series(items) == {"": points([0.5, 0.25], [10, 20])}
    assert items[0].wall_times.tolist() == [1795226051.5, 1795226052.5]  # type: ignore[union-attr]
    assert json_rows.metric_name("/logs/run_loss.json") == "run_loss"


def test_long_rows_of_mlflow_are_one_series_per_key() -> None:
    document = {"metrics": [{"key": key, "value": 0.5, "timestamp": 1795226051000, "step": 3} for key in ("a", "b")]}
    assert read(document) == {f"metrics/{key}": points([0.5], [3]) for key in ("a", "b")}


@pytest.mark.parametrize(
    "document",
    [
        [{"date": "2024-11-18", "exercise": "squat", "weight": "2.5", "repetitions": "8"}],
        {"vocabulary": {"a": 1, "b": 2}, "merges": ["a b"]},
        {"scores": [3]},
        {"width": [1, 2, 3]},
        [1, 2, 3],
        {"questions": [{"id": 1, "text": "why?", "options": ["a", "b"]}]},
        {"prices": [{"date": "2026-01-01", "close": 5.0}]},
        {"a.log::epoch": {"n": 66, "min": 0.1, "first": [2, 0.5], "last": [120, 0.1]}, "a.log::kl": {"n": 2}},
    ],
)
def test_document_without_metrics_is_not_claimed(document: Any) -> None:
    assert not json_rows.matches("data.json", dump(document))


def test_diary_named_as_a_log_is_not_claimed() -> None:
    diary = [{"date": "2024-11-18", "exercise": "squat", "weight": "2.5", "repetitions": "8"}]
    assert not json_rows.TRAINING_LOG.matches("training_log.json", dump(diary))
    assert json_rows.TRAINING_LOG.matches("training_log.json", b"")


def test_trainer_state_under_another_name_keeps_its_totals() -> None:
    state = {"best_metric": None, "epoch": 0.5, "global_step": 20, "is_local_process_zero": True,
             "log_history": [{"step": 10, "loss": 0.5}, {"step": 20, "loss": 0.25}], "max_steps": 40}  # fmt: skip
    assert log_history.matches("state_copy.json", dump(state))
    assert not log_history.matches("state_copy.json", dump({"epoch": 1, "loss": [1, 2]}))
    items = log_history.FORMAT.decoder().load(dump(state))
    assert next(item.value for item in items if isinstance(item, Fact))["total"] == 40


@given(st.integers(0, 2**32))
def test_a_cut_document_gives_its_whole_rows_and_no_other_value(seed: int) -> None:
    chance = random.Random(seed)
    count = chance.randrange(1, 30)
    rows = [{"step": step, "loss": chance.random(), "note": 'a "]},{[ \\'} for step in range(count)]
    document: Any = chance.choice([rows, {"config": {"lr": 0.1}, "train_history": rows, "end": [1]}])
    data = json.dumps(document, indent=chance.choice([None, 1])).encode()
    cut = chance.randrange(1, len(data))
    prefix = "" if isinstance(document, list) else "train_history/"
    decoder = json_rows.FORMAT.decoder()
    try:
        items = decoder.load(data[:cut])
    except Unfinished as error:
        items = list(error.items)
    except FormatError:
        items = []
    note = json.dumps(rows[0]["note"]).encode()
    starts = [data.index(f'"step": {step},'.encode()) for step in range(count)]
    ends = [data.index(b"}", data.index(note, start) + len(note)) + 1 for start in starts]
    whole = sum(end <= cut for end in ends)
    expected = [(row["step"], str(row["loss"])) for row in rows[:whole]]
    assert series(items).get(f"{prefix}loss", []) == expected
    items += decoder.load(data)
    assert series(items)[f"{prefix}loss"] == [(row["step"], str(row["loss"])) for row in rows]


@pytest.mark.parametrize(
    ("data", "document", "damaged_at"),
    [
        (b'{"loss": [1.5, 2.5, 3.', {"loss": [1.5, 2.5]}, 20),
        (b'{"step": [1, 2], "loss": [1.5, 2', {"step": [1, 2]}, 31),
        (b'[{"a": 1}, {"a": [1, 2', [{"a": 1}], 11),
        (b'{"a": 1, "b', {"a": 1}, 9),
        (b'{"a": 1, "b": 2', {"a": 1}, 9),
        (b'{"a": {"b": 1, "c": tru', {"a": {"b": 1}}, 15),
        ('{"ä": 1, "b'.encode(), {"ä": 1}, 10),
        (b'[{"a": ', [], 1),
        (b"", None, 0),
        (b'{"a": 1} trailing', {"a": 1}, 9),
        (b'{"a": 1}\n{"a": 2}', [{"a": 1}, {"a": 2}], None),
        (b'[{"a": 1}, {"b": "x\0\0\0y"}]', [{"a": 1}], 11),
    ],
)
def test_whole_values_of_a_cut_document(data: bytes, document: Any, damaged_at: int | None) -> None:
    values = WholeValues(data)
    assert (values.document, values.damaged_at) == (document, damaged_at)


@pytest.mark.parametrize("orient", ["columns", "split"])
def test_data_frames_of_pandas(orient: str) -> None:
    frame = pandas.DataFrame({"epoch": range(3, 9), "loss": [0.5, None, 0.25, 0.125, 0.1, 0.05]})
    data = frame.to_json(orient=orient).encode()
    assert recognise("history.json", data) is json_rows.FORMAT
    steps = [3, 4, 5, 6, 7, 8]
    values = {step: value for step, value in zip(steps, frame["loss"], strict=True) if value == value}
    assert series(json_rows.FORMAT.decoder().load(data)) == {"loss": [(s, repr(v)) for s, v in values.items()]}


def test_lines_of_one_metric_each() -> None:
    rows = [
        {key: name, "value": step / 8, "step": step, "timestamp": 1.7e9 + step}
        for key in ("metric", "key", "tag", "name")
        for step in range(3)
        for name in (f"{key}/loss", "lr")
    ]
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    assert recognise("metrics.jsonl", data) is lines.FORMAT
    points = series(feed(lines.decoder(), data, range(0, len(data), 7)))
    assert points["tag/loss"] == [(step, repr(step / 8)) for step in range(3)]
    assert len(points["lr"]) == 12


TWO = [0.5, 0.25]


@pytest.mark.parametrize(
    ("document", "unit"),
    [
        ({"loss": TWO, "val_loss": TWO}, "epoch"),
        ({"train_loss": TWO, "val_loss": TWO, "iters": [10, 20]}, "step"),
        ({"loss": TWO, "epoch": [1, 2]}, "epoch"),
        ({"loss": TWO, "epoch": [1, 2], "round": [0.5, 0.5]}, "step"),
        ([{"epoch": 1, "loss": 0.5}, {"epoch": 2, "loss": 0.25}], "epoch"),
        ([{"epoch": 1, "step": 5, "loss": 0.5}], "step"),
        ({"train": [{"epoch": 1, "loss": 0.5}], "eval": [{"epoch": 1, "loss": 0.5}]}, "epoch"),
        ({"train": [{"epoch": 1, "loss": 0.5}], "eval": [{"step": 1, "loss": 0.5}]}, "step"),
        ({"train": [{"epoch": 1, "loss": 0.5}], "eval": []}, ""),
    ],
)
def test_what_the_steps_of_a_document_count(document: Any, unit: str) -> None:
    assert step_unit(sections_of(document)) == unit


def test_a_change_of_the_unit_is_reported_once() -> None:
    decoder = RowsDocument(json_rows.layout)
    documents = [
        [{"epoch": 1, "loss": 0.5}],
        [{"epoch": 1, "loss": 0.5}, {"epoch": 2, "loss": 0.25}],
        [{"step": 1, "loss": 1}],
    ]
    units = [facts(decoder.load(dump(rows)), "progress") for rows in documents]
    assert units == [[{"unit": "epoch"}], [], [{"unit": "step"}]]
