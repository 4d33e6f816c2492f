"""A document that is rewritten in any way, and seen half-written between: what is known of it in the end is what a
fresh reading of its last version gives."""

from __future__ import annotations

import json
import math
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from json_points import rows

from tuimon.errors import FormatError, Unfinished
from tuimon.formats import _document, json_rows, trainer_state, training_log
from tuimon.model.points import Item, Replaced

FORMATS = {"log_history": trainer_state.FORMAT, "train_history": training_log.FORMAT, "": json_rows.FORMAT}
ODD = [
    math.nan,
    -math.inf,
    "NaN",
    "}]",
    '{"log_history": [{',
    None,
    -0.0,
    10**400,
    {"a": 1, "}": 0.5},
    [1],
    [{"step": 1}],
]


def row(chance: random.Random, step: int) -> dict[str, Any]:
    row = {"step": step, "loss": chance.uniform(-9, 9), "epoch": step // 3, "note": 0.5}
    row |= {key: chance.choice(ODD) for key in ("loss", "note") if chance.random() < 0.1}
    return {key: row[key] for key in chance.sample(list(row), chance.choice([2, 4, 4]))}


def change(chance: random.Random, document: dict[str, Any], key: str) -> dict[str, Any]:
    history = document[chance.choice([key, key, key, "beside"])]
    kind = chance.randrange(12)
    if kind < 6:
        history += [row(chance, len(history) + more) for more in range(1, chance.choice([2, 5]))]
    elif kind == 6:
        del history[chance.randrange(len(history) + 1) :]
    elif kind == 7 and history:
        history[chance.randrange(len(history))]["loss"] = chance.choice([0.5, *ODD])
    elif kind == 8:
        history.insert(chance.randrange(len(history) + 1), row(chance, 7))
    elif kind == 9:
        document["extra"] = chance.choice([[], [row(chance, 1)], "}]", {"log_history": [{"step": 1}]}])
    elif kind == 10:
        document["config"] = {"lr": chance.random()}
    else:
        return {name: document[name] for name in chance.sample(list(document), len(document))}
    return document


def held(known: list[Item], new: list[Item]) -> list[Item]:
    return new if Replaced() in new else known + new


@settings(max_examples=100)
@given(st.randoms(use_true_random=True), st.sampled_from(list(FORMATS)), st.sampled_from([None, 2]))
def test_what_is_known_in_the_end_is_the_last_version(chance: random.Random, key: str, indent: int | None) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_document, "SUFFIX_FROM", chance.choice([0, 500]))  # small files go the ways of large ones
        decoder, known = FORMATS[key].decoder(), list[Item]()
        document: dict[str, Any] = {
            "config": {"lr": 0.1},
            key: [row(chance, 1)],
            "beside": [],
            "note": chance.choice(["", "}]"]),
        }
        for _ in range(chance.choice([2, 12])):
            content = document if key else document[key]
            data = json.dumps(content, indent=indent).encode() + chance.choice([b"", b"\n"])
            if chance.random() < 0.2:
                data = data[: chance.randrange(len(data))]
            found = []
            for reader in (decoder, FORMATS[key].decoder()):
                try:
                    found.append(reader.load(data))
                except (Unfinished, FormatError) as error:
                    found.append(type(error))
            if isinstance(found[0], list) and isinstance(found[1], list):
                known = held(known, found[0])
                assert sorted(rows(known)) == sorted(rows(found[1]))
            else:
                assert found[0] == found[1]
            document = change(chance, document, key)
