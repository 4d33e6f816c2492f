"""W&B's `.wandb` files: files of real versions, split and damaged in every way."""

from __future__ import annotations

import gzip
import json
import math
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support.json_points import facts, series
from support.log_writer import WANDB, damage, decode, field, framed, history, number, wall_times

from tuimon.formats import StreamDecoder, recognise
from tuimon.formats.wandb.run_file import SYSTEM, WandbDecoder
from tuimon.model.points import Fact, Item, Points, SegmentStart

DATA = Path(__file__).parent.parent / "data" / "wandb"
RUNS = ("run-vd7v5k5i.wandb", "run-kbyix5aa.wandb")


def truth(name: str) -> Any:
    with gzip.open(DATA / name, "rt", encoding="utf-8") as file:
        return json.load(file)


@cache
def file(name: str) -> bytes:
    return (DATA / name).read_bytes()


@pytest.mark.parametrize("name", RUNS)
def test_equals_wandbs_own_reader(name: str) -> None:
    items = decode(WandbDecoder(), file(name))
    actual, times = series(items), wall_times(items)
    wanted = {key.partition("::")[2]: points for key, points in truth("truth.json.gz").items() if key.startswith(name)}
    assert set(actual) == set(wanted)
    for metric, points in wanted.items():
        scale = 1000 if metric.startswith(SYSTEM) else 1  # the truth has seconds, the decoder milliseconds
        assert actual[metric] == [(round(step * scale), repr(number(value))) for step, value, _ in points]
        assert times[metric] == pytest.approx([time for _, _, time in points], abs=1e-3)
    assert not damage(items)


def leaves(name: str, value: Any) -> list[tuple[str, float]]:
    if isinstance(value, dict):
        return [leaf for key, inner in value.items() for leaf in leaves(f"{name}.{key}", inner)]
    return [(name, number(value))] if value != "str" else []


@pytest.mark.parametrize("name", ["core_0_17", "python_0_17"])
def test_old_writers(name: str) -> None:
    """wandb 0.17.4: its Go core counts blocks from byte 7, its Python writer stores nested dicts as one JSON value."""
    items = decode(WandbDecoder(), file(f"{name}.wandb"))
    wanted = defaultdict(list)
    for step, row in enumerate(truth(f"{name}.json.gz")):
        for metric, value in (leaf for key, logged in row.items() for leaf in leaves(key, logged)):
            wanted[metric].append((step, repr(value)))
    actual = series(items)
    assert {metric: actual[metric] for metric in wanted} == wanted
    assert set(actual) - set(wanted) == {"_step", "_runtime", "_timestamp"}
    assert not damage(items)
    [writer] = facts(items, "writer")
    assert writer["version"] == "0.17.4"
    assert "32 KiB" in writer["lag"]
    [config] = facts(items, "config")
    assert config == {"lr": 0.1, "m": {"h": 1}}
    assert [state["state"] for state in facts(items, "state")] == ["finished"]


def test_facts_about_the_run() -> None:
    items = decode(WandbDecoder(), file(RUNS[0]))
    [config] = facts(items, "config")
    assert config == {"lr": 0.003, "beta": 0.05, "batch": 256, "model": {"hidden": 64, "act": "tanh"}}
    [writer] = facts(items, "writer")
    assert {"version": "0.31.0", "run_id": "vd7v5k5i", "project": "tiny-rl", "run_name": "run-good"}.items() <= (
        writer.items()
    )
    assert writer["python"] == "CPython 3.11.7"
    assert "15 s" in writer["lag"]
    [final] = facts(items, "final_metrics")
    assert final == {"best_reward": 0.80859375}
    assert Fact("metrics", {"eval/*": {"step_metric": "eval/step"}}) in items
    [state] = facts(items, "state")
    assert state["state"] == "finished"


def test_a_killed_run_has_no_final_state() -> None:
    assert not facts(decode(WandbDecoder(), file(RUNS[1])), "state")


def rows_of(*records: bytes) -> list[Item]:
    return decode(WandbDecoder(), framed(WANDB, records))


def test_values_that_are_not_numbers_are_not_points() -> None:
    row: dict[str | tuple[str, ...], str] = {
        "loss": "1.5",
        "text": '"NaN"',
        "flag": "true",
        "none": "null",
        "list": "[1, 2]",
        ("image", "_type"): '"image-file"',
        ("image", "width"): "64",
        "long": json.dumps("x" * 500),
        "torn": '{"a": ',
        "dict": '{"a": {"b": 2, "c": "no"}, "d": false, "e": NaN}',
    }
    items = rows_of(history(1, row, 0))
    assert series(items) == {
        "loss": [(0, "1.5")],
        "image.width": [(0, "64.0")],
        "dict.a.b": [(0, "2.0")],
        "dict.e": [(0, "nan")],
    }
    assert series(rows_of(history(1, {"text": '"NaN"'}, 0))) == {}


def test_an_item_whose_length_looks_like_the_tag() -> None:
    """An item of 130 bytes has the length 82 01."""
    for length in range(90, 135):
        items = rows_of(history(1, {("k" * length,): "0.25", ("next",): "2"}, 1))
        assert series(items) == {"k" * length: [(1, "0.25")], "next": [(1, "2.0")]}


def test_an_item_without_a_value_is_skipped() -> None:
    record = field(1, 1) + field(2, field(1, field(2, "empty")) + field(1, field(2, "full") + field(16, "7")))
    assert series(rows_of(record)) == {"full": [(0, "7.0")]}


def test_steps_without_a_step_field_come_from_the_row() -> None:
    items = rows_of(history(1, {"loss": "1", "_step": "7"}, None), history(2, {"loss": "2", "_step": "NaN"}, None))
    assert series(items)["loss"] == [(7, "1.0"), (0, "2.0")]


def test_only_summaries_of_the_user_are_read() -> None:
    body = field(1, field(2, "best") + field(2, "loss") + field(16, "0.5"))
    mine = field(1, 3) + field(200, field(1, "id")) + field(3, body)
    items = rows_of(field(1, 1) + field(3, field(1, field(1, "loss") + field(16, "9"))), mine)
    assert facts(items, "final_metrics") == [{"best": {"loss": 0.5}}]
    removed = field(1, 4) + field(200, b"") + field(3, field(2, field(2, "best") + field(2, "loss")))
    assert facts(rows_of(mine, removed), "final_metrics") == [{"best": {}}]


def test_a_changed_config_is_reported_whole() -> None:
    decoder = WandbDecoder()
    first = decoder.feed(framed(WANDB, [field(1, 1) + field(5, field(1, field(1, "lr") + field(16, "0.1")))]))
    second = decoder.feed(framed(b"", [field(1, 2) + field(5, field(1, field(1, "beta") + field(16, "NaN")))]))
    assert facts(first, "config") == [{"lr": 0.1}]
    assert facts(second, "config")[0]["lr"] == 0.1
    assert math.isnan(facts(second, "config")[0]["beta"])


def test_console_lines_are_assembled() -> None:
    def output(text: str, kind: int = 1) -> bytes:
        return field(1, 1) + field(13, field(1, kind) + field(2, field(1, 1_700_000_000)) + field(3, text))

    end = field(1, 9) + field(18, field(1, 137))
    parts = ("step 1", " loss 2", "\n", "\r10%", "\r20%", "\r100%\n", "windows\r\n", "no newline")
    items = rows_of(*map(output, parts), output("a warning\n", 0), end)
    [console] = [item for item in items if isinstance(item, Fact) and item.topic == "console"]
    assert console.value["lines"] == ["step 1 loss 2", "100%", "windows", "a warning", "no newline"]
    assert console.wall_time == 1_700_000_000
    assert facts(items, "state") == [{"state": "crashed", "evidence": "wandb wrote exit code 137"}]


def test_a_resumed_run_begins_a_segment() -> None:
    run = field(1, 1) + field(17, field(1, "id") + field(14, 40) + field(18, 1))
    first, second = (history(step, {"loss": "0.5"}, step) for step in (39, 40))
    kinds = [item for item in rows_of(first, run, second) if isinstance(item, Points | SegmentStart)]
    assert kinds[1] == SegmentStart(40, purge=False)
    assert [series([item]) for item in kinds[::2]] == [{"loss": [(39, "0.5")]}, {"loss": [(40, "0.5")]}]


def test_system_metrics_have_their_own_clock() -> None:
    def stats(seconds: int, nanos: int, text: str) -> bytes:
        time = field(1, seconds) + field(2, nanos)
        return field(1, 1) + field(7, field(2, time) + field(3, field(1, "gpu.0.memoryAllocated") + field(16, text)))

    items = rows_of(stats(100, 0, "10.5"), stats(101, 250_000_000, '"no number"'), stats(102, 500_000_000, "11"))
    assert series(items) == {"system/gpu.0.memoryAllocated": [(0, "10.5"), (2500, "11.0")]}
    assert wall_times(items) == {"system/gpu.0.memoryAllocated": [100.0, 102.5]}


def test_it_is_recognised_by_its_first_bytes() -> None:
    for name in ("run-x.wandb", "renamed.wandb"):
        actual = recognise(name, file(RUNS[0])[:4096])
        assert actual is not None
        assert actual.id == "wandb"
        assert isinstance(actual.decoder(), StreamDecoder)
    assert recognise("run-x.wandb", b"") is None
    assert recognise("run-x.wandb", b"something else") is None


def test_a_damaged_row_is_reported_and_the_others_are_read() -> None:
    """The values of many rows are parsed together."""
    records = [history(index, {"loss": repr(index * 0.5), "kl": repr(index * 0.25)}, index) for index in range(100)]
    broken = bytearray(records[60])
    broken[3] = 0x0A
    broken[4:6] = b"\xff\x7f"  # an item that would reach past the row
    records[60] = bytes(broken)
    items = rows_of(*records)
    assert series(items)["loss"] == [(index, repr(index * 0.5)) for index in range(100) if index != 60]
    assert [entry.reason for entry in damage(items)] == ["record not readable"]
    records[60] = history(60, {"note": "1,[2", "other": "3]"}, 60)  # JSON only when the texts are joined
    records[2:2] = [history(2, {"note": "0.5", "other": "0.25"}, 2)]  # the keys are known
    actual = series(rows_of(*records))
    assert actual["loss"] == [(index, repr(index * 0.5)) for index in range(100) if index != 60]
    assert (set(actual), actual["note"]) == ({"loss", "kl", "note", "other"}, [(2, "0.5")])
