"""Console text of real logs, of the table of trainers and of people's own scripts, beside the cases of console.toml."""

from __future__ import annotations

import gzip
import json
import math
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from support.json_points import feed, rows, series

from tuimon.formats.console._decoder import ConsoleDecoder
from tuimon.formats.console.families import number, printed_dict
from tuimon.formats.console.families.trainers import Trainer, trainers
from tuimon.formats.console.text import LineSteps

DATA = Path(__file__).parent.parent / "data" / "console"
GOLDEN: dict[str, dict[str, Any]] = json.loads((DATA / "golden" / "EXPECTED.json").read_text())


def read(text: str | bytes) -> dict[str, list[tuple[int, str]]]:
    return series(feed(ConsoleDecoder(), text.encode() if isinstance(text, str) else text))


def points(*values: tuple[int, float]) -> list[tuple[int, str]]:
    return [(step, repr(float(value))) for step, value in values]


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_logs(name: str) -> None:
    metrics = read((DATA / "golden" / name).read_bytes())
    for metric, wanted in GOLDEN[name].items():
        if not metric.startswith("_"):
            got = metrics.get(metric) or next(v for k, v in metrics.items() if k.endswith(f"/{metric}"))
            assert got == points(*((step, float(value)) for step, value in wanted)), metric
    kinds = ("allocated", "reserved", "max_reserved", "rss", "device_used")
    for infix, snapshot, *numbers in GOLDEN[name].get("_rows", []):  # memory probes of ROLL
        place = f"memory/{infix}/{snapshot.replace('_', '/')}"
        assert [metrics[f"{place}/{kind}"] for kind in kinds] == [points((0, value)) for value in numbers]


@pytest.mark.parametrize("case", ["hf_resume", "grpo_nan"])
def test_hugging_face_rows_have_their_steps(case: str) -> None:
    with gzip.open(DATA / case / "truth.json.gz", "rt") as file:
        truth = json.load(file)
    wanted: dict[str, dict[str, list[tuple[int, str]]]] = {}
    for key, logged in truth.items():
        name, _, metric = key.partition("::")
        if metric != "total_flos":  # the callback takes it out before it prints
            wanted.setdefault(name, {})[metric] = points(*((p[0], float(p[1])) for p in logged if p[1] is not None))
    for name, metrics in wanted.items():
        assert read((DATA / case / name).read_bytes()) == metrics


@pytest.mark.parametrize("trainer", trainers(), ids=lambda trainer: trainer.id)
def test_an_example_of_a_trainer_gives_its_points(trainer: Trainer) -> None:
    text = trainer.example.strip("\n") if trainer.example.startswith("\n") else trainer.example
    assert read(f"{text}\n") == {name: points((step, value)) for name, (step, value) in trainer.points.items()}


def test_values() -> None:
    assert [number(text) for text in ("np.float32(0.5)", "tensor([2.], device='cuda:0')", "-inf", "1e-05")] == [
        0.5, 2.0, -math.inf, 1e-5,
    ]  # fmt: skip
    assert [number(text) for text in ("None", "null", "True", "1_0", "tensor([1., 2.])", "", "9" * 500)] == [None] * 7
    row = printed_dict("""{'a\\'b': 1, "c": 'x', 'd': [1, {'e': 2}], 'run_id': '7', 'f': nan, 'g': None, }""")
    assert row is not None
    assert repr(row) == repr({"a'b": 1.0, "c": "x", "run_id": "7", "f": math.nan})
    assert printed_dict("{'prompt': 'tell me', 'loss': 1}") == {}
    assert [printed_dict(text) for text in ("{}", "{'a': 1", "{'a' 1}", "{'a': [1}", "x")] == [None] * 5


def test_a_date_that_may_be_either_is_not_read_until_another_decides() -> None:
    days = ["03/04/2026 10:00:00", "03/04/2026 10:00:01", "03/25/2026 10:00:00", "04/05/2026 10:00:00"]
    lines = [f"{day} - INFO - __main__ - step {step}: loss 0.{step}5\n".encode() for step, day in enumerate(days)]
    decoder = ConsoleDecoder()
    times = [time for part in (lines[:2], lines[2:]) for *_, time in rows(feed(decoder, b"".join(part)))]
    assert times == ["nan", "nan", *(repr(datetime(2026, *day, 10).timestamp()) for day in ((3, 25), (4, 5)))]
    assert decoder.remark == "2 times are not read, as month or day may be first: 03/04/2026"


# ---------------------------------------------------------------- several tasks in one log


def test_steps_of_a_part_of_a_labelled_log() -> None:
    steps = LineSteps()
    text = b"0: step 7 loss 0.5\n1: step 7 loss 0.5\n0: step 8 loss 0.5\n"
    steps.feed(text)
    assert [(text[offset:].split(b":")[0], step) for offset, step in steps.rows] == [(b"0", 7), (b"1", 7), (b"0", 8)]


def test_number_of_labels_is_bounded() -> None:
    metrics = read("".join(f"[task{number}]: step 1 loss 0.5\n" for number in range(6000)))
    assert len(metrics) < 4200
    assert sum(map(len, metrics.values())) == 6000
