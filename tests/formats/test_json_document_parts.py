"""Large documents are parsed in parts, with the same result as a whole parse."""

from __future__ import annotations

import json
import random
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.json_points import rows

from tuimon.errors import FormatError, Unfinished
from tuimon.formats import Format
from tuimon.formats.json import _document, _parts, _salvage, trainer_state, training_log
from tuimon.formats.json import rows as json_rows
from tuimon.model.points import Fact, Points, Replaced
from tuimon.reader.collect import Collector

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
            found: tuple[Format, Any] = trainer_state.FORMAT, {"global_step": 7, "log_history": table, "max_steps": 9}
        case 1:
            found = training_log.FORMAT, {"config": {"a": "]"}, "train_history": table, "val_history": table[::2]}
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


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=True), st.integers(1, 400), st.sampled_from([0, 100, 1 << 20]))
def test_parts_give_what_the_whole_document_gives(rng: random.Random, part: int, small: int) -> None:
    """Any split of any shape, of versions that grow, change or are damaged."""
    log_format, first = document(rng, rng.randrange(1, 30))
    versions = [first, first, damage(rng, first), first, document(rng, 20)[1], damage(rng, first)]
    by_part, whole = log_format.decoder(), log_format.decoder()
    for data in versions:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_document, "SUFFIX_FROM", rng.choice([0, 1 << 30]))
            expected = outcome(whole, data)
            for module in (_document, _salvage):
                patch.setattr(module, "STREAM_FROM", rng.choice([0, len(data) // 2]))
            patch.setattr(_parts, "PART", part)
            patch.setattr(_parts, "_SMALL", small)
            assert outcome(by_part, data) == expected


def test_memory_is_that_of_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the document only a part of it is held as objects and points; a whole parse takes twice as much as this
    allows."""
    monkeypatch.setattr(_document, "STREAM_FROM", 1 << 20)
    monkeypatch.setattr(_parts, "PART", 1 << 16)
    monkeypatch.setattr(_parts, "_SMALL", 1 << 16)
    data = json.dumps({"log_history": [{"step": n, "loss": n / 7} for n in range(60_000)], "max_steps": 9}).encode()
    decoder = trainer_state.FORMAT.decoder()
    tracemalloc.start()
    try:
        points = sum(len(item) for item in decoder.load(data) if isinstance(item, Points))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert points == 60_000
    assert peak < len(data)


def test_large_document_of_another_shape_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("STREAM_FROM", "MAX_WHOLE"):
        monkeypatch.setattr(_document, limit, 10)
    monkeypatch.setattr(_parts, "_SMALL", 10)
    (tmp_path / "history.json").write_text(json.dumps({"loss": [0.5, 0.4, 0.3], "val_loss": [0.6, 0.5, 0.4]}))
    collector = Collector([str(tmp_path)])
    list(collector.find())
    list(collector.read())
    status = collector.followed[0].status()
    assert (status.state, status.message) == ("unreadable", _parts.TOO_LARGE)
