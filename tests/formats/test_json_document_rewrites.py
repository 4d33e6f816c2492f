"""A document that is rewritten in any way, and read half-written in between: in the end the points are those of a
fresh read of its last version."""

from __future__ import annotations

import json
import math
import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from support.json_points import rows

from tuimon.errors import FormatError, Unfinished
from tuimon.formats.json import log_history
from tuimon.formats.json import rows as json_rows
from tuimon.model.points import Item, Replaced

FORMATS = {"log_history": log_history.FORMAT, "train_history": json_rows.TRAINING_LOG, "": json_rows.FORMAT}
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


def row(rng: random.Random, step: int) -> dict[str, Any]:
    row = {"step": step, "loss": rng.uniform(-9, 9), "epoch": step // 3, "note": 0.5}
    row |= {key: rng.choice(ODD) for key in ("loss", "note") if rng.random() < 0.1}
    return {key: row[key] for key in rng.sample(list(row), rng.choice([2, 4, 4]))}


def change(rng: random.Random, document: dict[str, Any], key: str) -> dict[str, Any]:
    history = document[rng.choice([key, key, key, "beside"])]
    kind = rng.randrange(12)
    if kind < 6:
        history += [row(rng, len(history) + more) for more in range(1, rng.choice([2, 5]))]
    elif kind == 6:
        del history[rng.randrange(len(history) + 1) :]
    elif kind == 7 and history:
        history[rng.randrange(len(history))]["loss"] = rng.choice([0.5, *ODD])
    elif kind == 8:
        history.insert(rng.randrange(len(history) + 1), row(rng, 7))
    elif kind == 9:
        document["extra"] = rng.choice([[], [row(rng, 1)], "}]", {"log_history": [{"step": 1}]}])
    elif kind == 10:
        document["config"] = {"lr": rng.random()}
    else:
        return {name: document[name] for name in rng.sample(list(document), len(document))}
    return document


def after_update(known: list[Item], new: list[Item]) -> list[Item]:
    return new if Replaced() in new else known + new


@given(st.randoms(use_true_random=True), st.sampled_from(list(FORMATS)), st.sampled_from([None, 2]))
def test_points_in_the_end_are_those_of_the_last_version(rng: random.Random, key: str, indent: int | None) -> None:
    decoder, known = FORMATS[key].decoder(), list[Item]()
    document: dict[str, Any] = {
        "config": {"lr": 0.1},
        key: [row(rng, 1)],
        "beside": [],
        "note": rng.choice(["", "}]"]),
    }
    for _ in range(rng.choice([2, 12])):
        content = document if key else document[key]
        data = json.dumps(content, indent=indent).encode() + rng.choice([b"", b"\n"])
        if rng.random() < 0.2:
            data = data[: rng.randrange(len(data))]
        result = []
        for reader in (decoder, FORMATS[key].decoder()):
            try:
                result.append(reader.load(data))
            except Unfinished as error:
                result.append(Unfinished)
                if reader is decoder:
                    known = after_update(known, list(error.items))
            except FormatError:
                result.append(FormatError)
        if isinstance(result[0], list) and isinstance(result[1], list):
            known = after_update(known, result[0])
            assert sorted(rows(known)) == sorted(rows(result[1]))
        else:
            assert result[0] == result[1]
        document = change(rng, document, key)
