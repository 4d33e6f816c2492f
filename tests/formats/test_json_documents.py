"""Documents that are rewritten whole: training_log.json, trainer_state.json, ROLL worker state, other lists of rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.json_points import DATA, dump, facts, rows, series, truth
from support.json_points import training_history as log

from tuimon.errors import FormatError, Unfinished
from tuimon.formats import DocumentDecoder, Format, recognise
from tuimon.formats.json import lines as jsonl
from tuimon.formats.json import log_history
from tuimon.formats.json import rows as json_rows
from tuimon.model.points import Fact, Item, Replaced

FORMATS = (json_rows.TRAINING_LOG, log_history.FORMAT, log_history.ROLL, json_rows.FORMAT, jsonl.FORMAT)
DOCUMENTS = sorted(path for path in truth() if path.endswith(("training_log.json", "trainer_state.json")))


def format_of(path: Path) -> Format:
    """Return the JSON format that `recognise` would choose."""
    head = path.read_bytes()[:4096]
    matching = [f for f in FORMATS if f.wants_name(path.name) and f.matches(path.name, head)]
    return max(matching, key=lambda f: f.rank)


def document_decoder(format: Format) -> DocumentDecoder:
    decoder = format.decoder()
    assert isinstance(decoder, DocumentDecoder)
    return decoder


@pytest.mark.parametrize("path", DOCUMENTS)
def test_every_logged_point_is_read(path: str) -> None:
    format = format_of(DATA / path)
    assert format.id == Path(path).stem
    assert series(document_decoder(format).load((DATA / path).read_bytes())) == truth()[path]


def test_training_log_facts() -> None:
    lora = (DATA / "training_log_json" / "qwen3vl_lora" / "training_log.json").read_bytes()
    grpo = (DATA / "training_log_json" / "qwen3vl_grpo" / "training_log.json").read_bytes()
    for data, topic in ((lora, "final_metrics"), (grpo, "best_checkpoint")):
        items = json_rows.TRAINING_LOG.decoder().load(data)
        assert facts(items, "config") == [json.loads(data)["config"]]
        assert facts(items, topic) == [json.loads(data)[topic]]


def test_trainer_state_facts() -> None:
    items = log_history.FORMAT.decoder().load((DATA / "hf_resume" / "output" / "trainer_state.json").read_bytes())
    assert facts(items, "progress") == [{"step": 120, "total": 120, "epoch": 1.6, "total_epochs": 2}]
    assert facts(items, "best_checkpoint") == []
    best = {
        "log_history": [],
        "best_metric": 0.5,
        "best_model_checkpoint": "out/checkpoint-4",
        "best_global_step": None,
    }
    assert facts(log_history.FORMAT.decoder().load(dump(best)), "best_checkpoint") == [
        {"best_metric": 0.5, "best_model_checkpoint": "out/checkpoint-4"}
    ]


def test_progress_is_that_of_the_trainer_state_not_of_its_first_row() -> None:
    """Rows may contain the total too; the first row that does is at another step."""
    history = [{"loss": 0.5, "step": step, "total_steps": 120} for step in (5, 40)]
    items = log_history.FORMAT.decoder().load(dump({"global_step": 40, "max_steps": 120, "log_history": history}))
    assert facts(items, "progress")[-1] == {"step": 40, "total": 120}


@pytest.mark.parametrize(
    "path",
    ["out/trainer_state.json", "out/checkpoint-40/trainer_state.json", "out/tmp-checkpoint-120/trainer_state.json"],
)
def test_checkpoints_of_an_output_directory_supersede_each_other(path: str) -> None:
    assert log_history.supersedes(f"/runs/{path}") == "/runs/out"


def test_roll_worker_state() -> None:
    path = DATA / "roll" / "worker_state_pipeline.json"
    assert format_of(path) is log_history.ROLL
    metrics = series(log_history.ROLL.decoder().load(path.read_bytes()))
    assert metrics["actor/pg_loss@sum"] == [(0, "1.0"), (1, "0.5"), (2, "0.25")]
    assert metrics["system/step"] == [(0, "0.0"), (1, "1.0"), (2, "2.0")]
    row, other = (f"/o/pipeline/checkpoint-{n}/pipeline/worker_state_pipeline.json" for n in (1, 20))
    assert log_history.ROLL.supersedes is not None
    assert log_history.ROLL.supersedes(row) == log_history.ROLL.supersedes(other)


def test_any_list_of_objects_with_a_step_is_a_section() -> None:
    document = log(1, usability_history=[{"step": 5, "avg_iou": 0.5}], names=[{"name": "a"}], numbers=[1, 2])
    metrics = series(json_rows.TRAINING_LOG.decoder().load(dump(document)))
    assert set(metrics) == {"train_history/epoch", "train_history/loss", "usability_history/avg_iou"}


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ([{"step": 1, "loss": 0.5}, 7, {"step": 2, "loss": 0.25}], {"loss": [(1, "0.5"), (2, "0.25")]}),
        ({"args": {"lr": 1}, "eval": [{"epoch": 3, "acc": 0.5}]}, {"eval/acc": [(3, "0.5")]}),
    ],
)
def test_other_documents_of_rows(tmp_path: Path, document: Any, expected: Any) -> None:
    path = tmp_path / "history.json"
    path.write_bytes(dump(document))
    assert format_of(path) is json_rows.FORMAT
    assert series(document_decoder(json_rows.FORMAT).load(path.read_bytes())) == expected


@pytest.mark.parametrize(
    "document",
    [
        [{"role": "user", "content": "hello", "step": 1, "n": 2}],
        {"traceEvents": [{"ts": 1, "pid": 2, "dur": 3}]},
        {"added_tokens": [{"id": 0, "content": "<s>", "special": True}]},
        {"columns": ["step", "loss"], "data": [[1, 0.5]]},
        {"step": 119, "train": {"loss": 0.5}},
        [1, 2, 3],
        {},
    ],
)
def test_documents_that_are_not_recognised(document: Any) -> None:
    assert not json_rows.matches("x.json", dump(document)[:4096])


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
    [
        log(2, 2),
        log(9, 1),
        log(3, 0),
        log(5, 2, train_history=[{"step": 10, "epoch": 1, "loss": 7.0}] * 5),
    ],
    ids=["shorter", "fewer validations", "none left", "other values"],
)
def test_document_with_other_content_replaces_all_points(second: dict[str, Any]) -> None:
    decoder = json_rows.TRAINING_LOG.decoder()
    decoder.load(dump(log(3, 2)))
    items = decoder.load(dump(second))
    assert items[0] == Replaced()
    assert series(items) == series(json_rows.TRAINING_LOG.decoder().load(dump(second)))
    assert decoder.load(dump(second)) == []


def test_document_that_loses_its_histories_is_emptied() -> None:
    decoder = json_rows.TRAINING_LOG.decoder()
    decoder.load(dump(log(3, 2)))
    assert decoder.load(dump({"config": {}})) == [Replaced()]


# Half-written


@pytest.mark.parametrize(
    "document", [dump(log(3, 2)), json.dumps(log(3, 2)).encode(), dump([{"step": 1, "a": 0.5}] * 3)]
)
def test_prefixes_of_a_document_are_unfinished_and_give_their_whole_rows(document: bytes) -> None:
    whole = rows(json_rows.FORMAT.decoder().load(document))
    decoder = json_rows.FORMAT.decoder()
    items: list[Item] = []
    for length in range(len(document)):
        with pytest.raises(Unfinished) as raised:
            decoder.load(document[:length])
        items += raised.value.items
        assert rows(items) == whole[: len(rows(items))]
    assert rows(items)
    items += decoder.load(document)
    assert rows(items) == whole
    for length in range(len(document)):
        with pytest.raises(Unfinished) as raised:
            decoder.load(document[:length])
        assert not rows(list(raised.value.items))
    assert decoder.load(document) == []


@pytest.mark.parametrize("data", [b"", b"\n", b"\0" * 4096, b"\xef\xbb\xbf", b'{"a": 1}}', b'{"a" 1}', b"[}"])
def test_incomplete_documents_are_unfinished(data: bytes) -> None:
    with pytest.raises(Unfinished):
        json_rows.TRAINING_LOG.decoder().load(data)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x89PNG\r\n", "not JSON"),
        (b"12", "not JSON"),
        (dump(log(1)).decode().encode("utf-16"), "UTF-16"),
        (b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
        (b'"text"', "not JSON"),
        (b"[1]", "no rows"),
    ],
)
def test_invalid_documents_are_format_errors(data: bytes, reason: str) -> None:
    with pytest.raises(FormatError, match=reason) as raised:
        json_rows.TRAINING_LOG.decoder().load(data)
    assert not isinstance(raised.value, Unfinished)


def test_byte_order_mark_and_surrounding_blanks_are_ignored() -> None:
    data = b"\xef\xbb\xbf\n " + dump(log(2)) + b"\r\n\0\0"
    assert rows(json_rows.TRAINING_LOG.decoder().load(data)) == rows(
        json_rows.TRAINING_LOG.decoder().load(dump(log(2)))
    )


@pytest.mark.parametrize(("indent", "between"), [(2, "\n"), (None, ""), (4, ""), (None, " ")])
def test_objects_that_follow_one_another_are_rows(indent: int | None, between: str) -> None:
    rows = [{"step": step, "loss": 1 / step, "eval": {"acc": step / 9}, "note": "} {"} for step in range(1, 9)]
    texts = [json.dumps(row, indent=indent) for row in rows]
    data = between.join(texts).encode()
    for head in (data[: len(data) * 2 // 3], data, data + b"\n"):
        assert recognise("results.json", head) is json_rows.FORMAT
    wanted = {
        "loss": [(step, repr(1 / step)) for step in range(1, 9)],
        "eval/acc": [(step, repr(step / 9)) for step in range(1, 9)],
    }
    decoder = json_rows.FORMAT.decoder()
    first = decoder.load(between.join(texts[:3]).encode())
    assert series([*first, *decoder.load(data)]) == wanted
    with pytest.raises(Unfinished):
        decoder.load(data + between.encode() + b'{"step": 9, "lo')


def test_lines_of_one_object_each_are_json_lines() -> None:
    data = b'{"step": 1, "loss": 0.5}\n{"step": 2, "loss": 0.25}\n'
    assert recognise("results.json", data) is jsonl.FORMAT
