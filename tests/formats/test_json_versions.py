"""A document of any shape that is rewritten in any way, and read half-written or damaged in between: in the end the
points are those of a fresh read of its last version, also if it is too large for its rows to be held together."""

from __future__ import annotations

import json
import math
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
from tuimon.model.points import Fact, Item, Points, Replaced

Table = list[Any]
"""Rows of a log, nearly all of them objects."""

NOTES = ["", "}]", '{"log_history": [{', ",", '\\"', "é", "[", None, 1e400, [1, {"a": 2}], {"b": {"c": 0.5}}, "NaN"]
ODD = [math.nan, -math.inf, "NaN", "}]", None, -0.0, 10**400, {"a": 1, "}": 0.5}, [1], [{"step": 1}]]
CATBOOST = {"learn_sets": ["learn"], "test_sets": [], "learn_metrics": [{"name": "RMSE"}]}


def logged(rng: random.Random, step: int) -> dict[str, Any]:
    row: dict[str, Any] = {"step": step, "loss": rng.uniform(-9, 9), "epoch": step // 3, "note": rng.choice(NOTES)}
    row |= {key: rng.choice(ODD) for key in ("loss", "note") if rng.random() < 0.1}
    return {key: row[key] for key in rng.sample(list(row), rng.choice([2, 4, 4]))}


def changed(rng: random.Random, table: Table) -> Table:
    """Return the rows as a later version might have them."""
    match rng.randrange(12):
        case 0:
            return table[: rng.randrange(len(table) + 1)]
        case 1:
            table.insert(rng.randrange(len(table) + 1), rng.choice([logged(rng, 7), None, [1], "x", 3, {}]))
        case 2 if table and isinstance(table[-1], dict):
            table[-1]["loss"] = rng.choice([0.5, *ODD])
        case 3:
            pass
        case _:
            table += [logged(rng, len(table) + more) for more in range(1, rng.choice([2, 5, 20]))]
    return table


KINDS: list[tuple[Format, str]] = [
    *((log_history.FORMAT, "log_history"), (json_rows.TRAINING_LOG, "train_history"), (json_rows.FORMAT, "")),
    *((json_rows.FORMAT, kind) for kind in ("floats", "sections", "long", "catboost", "objects")),
]


def content(kind: str, table: Table, extra: Any) -> Any:
    """Return the document that holds these rows, or their numbers where its shape is a fixed one."""
    losses = [row.get("loss") for row in table if isinstance(row, dict)]
    match kind:
        case "log_history" | "train_history":
            return {"config": extra, kind: table, "max_steps": 9, "val_history": table[::2]}
        case "floats":
            return [{"epoch": float(number), "loss": loss} for number, loss in enumerate(losses)]
        case "sections":
            return {"run": [{"Epoch": number, "loss": loss} for number, loss in enumerate(losses)], "args": extra}
        case "long":
            return [{"key": "loss", "value": loss, "step": n, "timestamp": 1} for n, loss in enumerate(losses)]
        case "catboost":
            rounds = [{"iteration": number, "learn": [loss]} for number, loss in enumerate(losses)]
            return {"meta": CATBOOST, "iterations": rounds}
    return table


def damage(rng: random.Random, data: bytes) -> bytes:
    """Return the data cut, with a hole, with other bytes or with something behind it."""
    place = rng.randrange(len(data) + 1)
    match rng.randrange(6):
        case 0:
            return data[:place] + bytes(rng.randrange(30)) + data[place + rng.randrange(30) :]
        case 1:
            return data[:place] + rng.choice([b'"', b"}", b"]", b",", b"\xff", b"\\", b"x"]) + data[place:]
        case 2:
            return data + rng.choice([data, b"garbage", b"]", b"\0"])
        case 3:
            return data[:place] + data[place + rng.randrange(40) :]
    return data[:place]


def outcome(decoder: Any, data: bytes) -> tuple[str, list[Item]]:
    """Return how a decoder takes a document, and the items that it gives."""
    try:
        return "whole", list(decoder.load(data))
    except Unfinished as error:
        return f"unfinished {error.damage}", list(error.items)
    except FormatError as error:
        return error.message, []


def described(items: list[Item]) -> Any:
    return Replaced() in items, rows(items), [repr(item) for item in items if isinstance(item, Fact)]


@given(st.randoms(use_true_random=True), st.sampled_from(KINDS))
def test_points_in_the_end_are_those_of_the_last_version(rng: random.Random, kind: tuple[Format, str]) -> None:
    log_format, shape = kind
    dumped = json.JSONEncoder(indent=rng.choice([None, None, 2]), ensure_ascii=rng.random() < 0.5).encode
    whole, large = log_format.decoder(), log_format.decoder()
    table, known = [logged(rng, 0)], list[Item]()
    for _ in range(rng.choice([2, 12])):
        document = content(shape, table, rng.choice([{"lr": 0.1}, {"lr": rng.random()}, "]", [], [logged(rng, 1)]]))
        text = rng.choice(["", "\n"]).join(map(dumped, document)) if shape == "objects" else dumped(document)
        data = text.encode() + rng.choice([b"", b"\n"])
        if rng.random() < 0.3:
            data = damage(rng, data)
        expected, items = outcome(whole, data)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_document, "MAX_WHOLE", 0)
            patch.setattr(_document, "_ROWS_AT_ONCE", rng.choice([1, 7, 100]))
            actual, others = outcome(large, data)
        assert (actual, described(others)) == (expected, described(items))
        known = items if Replaced() in items else known + items
        fresh, given_now = outcome(log_format.decoder(), data)
        if expected == "whole":  # one that has lost its rows is refused by a decoder that has seen none
            assert fresh == "whole" or "no rows" in fresh
            assert sorted(rows(known)) == sorted(rows(given_now))
        else:
            assert fresh.split()[0] == expected.split()[0]
        table = changed(rng, table)


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
