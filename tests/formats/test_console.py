"""Console text: the shapes of metric lines of every trainer."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import pytest
from support.json_points import feed, series

from tuimon.formats.console._decoder import ConsoleDecoder
from tuimon.formats.console.families import number, printed_dict

DATA = Path(__file__).parent.parent / "data" / "console"
GOLDEN: dict[str, dict[str, Any]] = json.loads((DATA / "golden" / "EXPECTED.json").read_text())


def read(text: str | bytes, flush: bool = True) -> dict[str, list[tuple[int, str]]]:
    return series(feed(ConsoleDecoder(), text.encode() if isinstance(text, str) else text, flush=flush))


def points(*values: tuple[int, float]) -> list[tuple[int, str]]:
    return [(step, repr(float(value))) for step, value in values]


# ---------------------------------------------------------------- sample logs


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_logs(name: str) -> None:
    metrics = read((DATA / "golden" / name).read_bytes())
    for metric, wanted in GOLDEN[name].items():
        if not metric.startswith("_"):
            got = metrics.get(metric) or next(v for k, v in metrics.items() if k.endswith(f"/{metric}"))
            assert got == points(*((step, float(value)) for step, value in wanted)), metric


def test_roll_memory_probes_become_metrics() -> None:
    metrics = read((DATA / "golden" / "roll_memory_text.log").read_bytes())
    what = ("allocated", "reserved", "max_reserved", "rss", "device_used")
    for infix, snapshot, *numbers in GOLDEN["roll_memory_text.log"]["_rows"]:
        place = f"memory/{infix}/{snapshot.replace('_', '/')}"
        assert [metrics[f"{place}/{kind}"] for kind in what] == [points((0, value)) for value in numbers]


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


# ---------------------------------------------------------------- shapes


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
