"""Large documents, whose rows are not held together, give what a whole parse gives."""

from __future__ import annotations

import json
import random
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.json_points import rows

from tuimon.errors import FormatError, Unfinished
from tuimon.formats import Format
from tuimon.formats.json import _document, log_history
from tuimon.formats.json import rows as json_rows
from tuimon.model.points import Fact, Points, Replaced

NOTES = ["", "}]", '{"log_history": [{', ",", '\\"', "é", "[", None, 1e400, [1, {"a": 2}], {"b": {"c": 0.5}}, "NaN"]
CATBOOST = {"learn_sets": ["learn"], "test_sets": [], "learn_metrics": [{"name": "RMSE"}]}


def logged(rng: random.Random, step: int) -> dict[str, Any]:
    row = {"step": step, "loss": rng.uniform(-9, 9), "lr": rng.choice([0.1, None, float("nan")])}
    return row | ({"note": rng.choice(NOTES)} if rng.random() < 0.2 else {})


def document(rng: random.Random, count: int) -> tuple[Format, bytes]:
    """Return a format and a document of it."""
    table: list[Any] = [logged(rng, step) for step in range(count)]
    if rng.random() < 0.1:
        table.insert(rng.randrange(count + 1), rng.choice([None, [1], "x", 3, {}]))
    dumped = json.JSONEncoder(indent=rng.choice([None, None, 2]), ensure_ascii=rng.random() < 0.5).encode
    match rng.randrange(8):
        case 0:
            found: tuple[Format, Any] = log_history.FORMAT, {"global_step": 7, "log_history": table, "max_steps": 9}
        case 1:
            found = json_rows.TRAINING_LOG, {"config": {"a": "]"}, "train_history": table, "val_history": table[::2]}
        case 2:
            found = json_rows.FORMAT, table
        case 3:
            found = json_rows.FORMAT, [{"epoch": float(n), "loss": n / 3} for n in range(count)]
        case 4:
            found = json_rows.FORMAT, {"run": [{"Epoch": n, "loss": n / 3} for n in range(count)], "args": {"lr": 1}}
        case 5:
            found = json_rows.FORMAT, [{"key": "loss", "value": n / 7, "step": n, "timestamp": 1} for n in range(count)]
        case 6:
            points = [{"iteration": n, "learn": [n / 3]} for n in range(count)]
            found = json_rows.FORMAT, {"meta": CATBOOST, "iterations": points}
        case _:
            objects = [{"step": n, "loss": n / 3, "note": rng.choice(["", "é", "}"])} for n in range(count)]
            return json_rows.FORMAT, rng.choice(["", "\n", " "]).join(map(dumped, objects)).encode()
    return found[0], dumped(found[1]).encode() + rng.choice([b"", b"\n"])


def damage(rng: random.Random, data: bytes) -> bytes:
    """Return the data cut, with a hole, with other bytes or with something behind it."""
    place = rng.randrange(len(data) + 1)
    match rng.randrange(5):
        case 0:
            return data[:place]
        case 1:
            return data[:place] + bytes(rng.randrange(30)) + data[place + rng.randrange(30) :]
        case 2:
            return data[:place] + rng.choice([b'"', b"}", b"]", b",", b"\xff", b"\\", b"x"]) + data[place:]
        case 3:
            return data + rng.choice([data, b"garbage", b"]", b"\0"])
        case _:
            return data[:place] + data[place + rng.randrange(40) :]


def outcome(decoder: Any, data: bytes) -> Any:
    """Return everything that a decoder makes of a document."""
    found: list[Any] = []
    try:
        items = list(decoder.load(data))
    except Unfinished as error:
        items = list(error.items)
        found.append([repr(item) for item in error.damage])
    except FormatError as error:
        return error.message
    facts = [repr(item) for item in items if isinstance(item, Fact)]
    return [*found, Replaced() in items, [repr(row) for row in rows(items)], facts]


@given(st.randoms(use_true_random=True))
def test_large_documents_give_what_a_whole_parse_gives(rng: random.Random) -> None:
    """Any shape, of versions that grow, change or are damaged."""
    log_format, first = document(rng, rng.randrange(1, 30))
    versions = [first, first, damage(rng, first), first, document(rng, 20)[1], damage(rng, first)]
    large, whole = log_format.decoder(), log_format.decoder()
    for data in versions:
        with pytest.MonkeyPatch.context() as patch:
            expected = outcome(whole, data)
            patch.setattr(_document, "MAX_WHOLE", 0)
            patch.setattr(_document, "_ROWS_AT_ONCE", rng.choice([1, 7, 100]))
            assert outcome(large, data) == expected


def test_the_objects_of_a_large_document_are_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole parse takes more than twice the memory that this allows."""
    rows = [{"step": n, "loss": n / 7, "note": "a text that is no point"} for n in range(20_000)]
    data = json.dumps({"log_history": rows, "max_steps": 9}).encode()
    monkeypatch.setattr(_document, "MAX_WHOLE", 0)
    monkeypatch.setattr(_document, "_ROWS_AT_ONCE", 1000)
    decoder = log_history.FORMAT.decoder()
    tracemalloc.start()
    try:
        points = sum(len(item) for item in decoder.load(data) if isinstance(item, Points))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert points == 20_000
    assert peak < 3 * len(data)
