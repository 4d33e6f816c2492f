"""JSON documents: new points of a document that is rewritten, cut documents, damage, and the facts of real ones."""

from __future__ import annotations

import json
import random
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.json_points import DATA, dump, facts, rows, series
from support.json_points import training_history as log

from tuimon.errors import FormatError, Unfinished
from tuimon.formats import recognise
from tuimon.formats.json import log_history
from tuimon.formats.json import rows as json_rows
from tuimon.formats.json._document import RowsDocument
from tuimon.formats.json._shapes import sections_of, step_unit
from tuimon.formats.json._whole_values import WholeValues
from tuimon.model.points import Fact, Replaced

TABLE = tomllib.loads((Path(__file__).parent / "cases" / "json_rows.toml").read_text("utf-8"))
SHAPES = [row[-2] for row in TABLE["rows"] if row[-1]] + [
    case["text"] for case in TABLE["case"] if "format" not in case
]


# Recognition, and what is no log


@pytest.mark.parametrize("text", SHAPES)
def test_a_document_of_rows_is_recognised_under_any_name(text: str) -> None:
    assert json_rows.FORMAT.matches("anything.json", text.encode())
    assert json_rows.TRAINING_LOG.matches("training_log.json", text.encode())


def test_other_documents_are_not_taken() -> None:
    diary = dump([{"date": "2024-11-18", "exercise": "squat", "weight": "2.5", "repetitions": "8"}])
    assert not json_rows.TRAINING_LOG.matches("training_log.json", diary)
    assert json_rows.TRAINING_LOG.matches("training_log.json", b"")
    assert not log_history.matches("state_copy.json", dump({"epoch": 1, "loss": [1, 2]}))
    prompts = {"2882": {"loss": 0.5}, "512": {"loss": 0.25}, "3524": {"loss": 0.1}}
    assert not sections_of(prompts, strict=True), "objects by numbers in any order"


# Facts


def test_training_log_facts() -> None:
    for name, topic in (("qwen3vl_lora", "final_metrics"), ("qwen3vl_grpo", "best_checkpoint")):
        data = (DATA / "training_log_json" / name / "training_log.json").read_bytes()
        items = json_rows.TRAINING_LOG.decoder().load(data)
        assert facts(items, "config") == [json.loads(data)["config"]]
        assert facts(items, topic) == [json.loads(data)[topic]]


def test_trainer_state_facts() -> None:
    items = log_history.FORMAT.decoder().load((DATA / "hf_resume" / "output" / "trainer_state.json").read_bytes())
    assert facts(items, "progress") == [{"step": 120, "total": 120, "epoch": 1.6, "total_epochs": 2}]
    assert facts(items, "best_checkpoint") == []
    for path in ("trainer_state.json", "checkpoint-40/trainer_state.json", "tmp-checkpoint-120/trainer_state.json"):
        assert log_history.supersedes(f"/runs/out/{path}") == "/runs/out"


def test_roll_worker_state() -> None:
    data = (DATA / "roll" / "worker_state_pipeline.json").read_bytes()
    assert recognise("worker_state_pipeline.json", data[:4096]) is log_history.ROLL
    metrics = series(log_history.ROLL.decoder().load(data))
    assert metrics["actor/pg_loss@sum"] == [(0, "1.0"), (1, "0.5"), (2, "0.25")]
    assert metrics["system/step"] == [(0, "0.0"), (1, "1.0"), (2, "2.0")]
    row, other = (f"/o/pipeline/checkpoint-{n}/pipeline/worker_state_pipeline.json" for n in (1, 20))
    assert log_history.ROLL.supersedes is not None
    assert log_history.ROLL.supersedes(row) == log_history.ROLL.supersedes(other)


def test_a_change_of_the_unit_is_reported_once() -> None:
    decoder = RowsDocument(json_rows.layout)
    documents = [
        [{"epoch": 1, "loss": 0.5}],
        [{"epoch": 1, "loss": 0.5}, {"epoch": 2, "loss": 0.25}],
        [{"step": 1, "loss": 1}],
    ]
    units = [facts(decoder.load(dump(rows)), "progress") for rows in documents]
    assert units == [[{"unit": "epoch"}], [], [{"unit": "step"}]]
    assert step_unit(sections_of({"train": [{"epoch": 1, "loss": 0.5}], "eval": []})) == "", "nothing is known of eval"


# New points


def test_only_new_points_are_emitted() -> None:
    decoder = json_rows.TRAINING_LOG.decoder()
    assert len(rows(decoder.load(dump(log(3))))) == 6
    assert decoder.load(dump(log(3))) == []
    best = {"step": 40, "path": "best"}
    items = decoder.load(dump(log(4, 2, best_checkpoint=best)))
    assert series(items) == {
        "train_history/epoch": [(40, "1.0")],
        "train_history/loss": [(40, "0.25")],
        "val_history/val_reward": [(100, "1.0"), (200, "nan")],
    }
    assert [item for item in items if isinstance(item, Fact)] == [Fact("best_checkpoint", best)]
    assert decoder.load(dump(log(4, 2, best_checkpoint=best))) == []


@pytest.mark.parametrize(
    "second",
    [log(2, 2), log(9, 1), log(3, 0), log(5, 2, train_history=[{"step": 10, "epoch": 1, "loss": 7.0}] * 5)],
    ids=["shorter", "fewer validations", "none left", "other values"],
)
def test_document_with_other_content_replaces_all_points(second: dict[str, Any]) -> None:
    decoder = json_rows.TRAINING_LOG.decoder()
    decoder.load(dump(log(3, 2)))
    items = decoder.load(dump(second))
    assert items[0] == Replaced()
    assert series(items) == series(json_rows.TRAINING_LOG.decoder().load(dump(second)))
    assert decoder.load(dump(second)) == []
    assert decoder.load(dump({"config": {}})) == [Replaced()], "it has lost its histories"


# Half-written and damaged


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
    with pytest.raises(Unfinished) as raised:
        decoder.load(data[:cut])
    items = list(raised.value.items)
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


def test_documents_that_are_unfinished_or_invalid() -> None:
    for data in (b"", b"\n", b"\0" * 4096, b"\xef\xbb\xbf", b'{"a": 1}}', b'{"a" 1}', b"[}"):
        with pytest.raises(Unfinished):
            json_rows.TRAINING_LOG.decoder().load(data)
    for data, reason in (
        (b"\x89PNG\r\n", "not JSON"),
        (b"12", "not JSON"),
        (dump(log(1)).decode().encode("utf-16"), "UTF-16"),
        (b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
        (b'"text"', "not JSON"),
        (b"[1]", "no rows"),
    ):
        with pytest.raises(FormatError, match=reason) as raised:
            json_rows.TRAINING_LOG.decoder().load(data)
        assert not isinstance(raised.value, Unfinished)
