"""Console text: the shapes of metric lines of every trainer."""

from __future__ import annotations

import gzip
import json
import math
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from support.json_points import facts, feed, rows, series

from tuimon.formats.console._decoder import ConsoleDecoder
from tuimon.formats.console.families import number, printed_dict
from tuimon.model.points import Fact, Points, Topic

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


def test_nemo_rl_blocks_use_the_names_of_its_loggers() -> None:
    metrics = read((DATA / "nemo_rl.log").read_bytes())
    assert metrics["train/reward"] == points(*((step, round(0.30 + step / 100, 2)) for step in range(1, 13)))
    assert metrics["timing/train/generation"] == points(*((step, 13.2) for step in range(1, 13)))
    assert set(metrics) == {
        *("train/loss", "train/gen_kl_error", "train/reward", "train/mean_gen_tokens_per_sample"),
        *(f"timing/train/{part}" for part in ("total_step_time", "generation", "policy_training")),
        "timing/train/policy_and_reference_logprobs",
    }


def test_openrlhf_and_slime() -> None:
    metrics = read((DATA / "openrlhf.log").read_bytes())
    assert [round(float(value), 6) for _, value in metrics["policy_loss"]] == [step / 1000 for step in range(1, 13)]
    metrics = read((DATA / "slime.log").read_bytes())
    assert [step for step, _ in metrics["train/loss"]] == list(range(12))
    assert [step for step, _ in metrics["perf/rollout_time"]] == [step for step, _ in metrics["perf/step_time"]]
    assert len(metrics["rollout/raw_reward"]) == 12


def test_keras_epochs_count_from_0_as_in_its_other_logs() -> None:
    metrics = read((DATA / "keras.out").read_bytes())
    assert metrics["val_loss"] == points((0, 1.7214), (1, 1.5060), (2, 1.3252), (3, 1.1687), (4, 1.0396))
    redrawn = (
        "Epoch 1/2\n1/8 - 0s 4ms/step - loss: 9.0\b\b\b\r8/8 [====] - 0s 4ms/step - loss: 0.5"
        "\r8/8 [====] - 0s 5ms/step - loss: 0.5 - val_loss: 0.7\n"
        "Epoch 2/2\n\x1b[1m8/8\x1b[0m \x1b[32m━━━━\x1b[0m\x1b[37m\x1b[0m \x1b[1m0s\x1b[0m 4ms/step - loss: nan\n"
    )
    assert read(redrawn) == {"loss": points((0, 0.5), (1, math.nan)), "val_loss": points((0, 0.7))}


def test_rlinf_run_log() -> None:
    metrics = read((DATA / "rlinf_run.log").read_bytes())
    assert metrics["rollout_time"][:2] == points((1, 0.055), (2, 0.009))
    assert len(metrics["loss"]) == 60
    assert read((DATA / "plain.log").read_bytes())["reward"][-1] == (149, "0.688")


# ---------------------------------------------------------------- shapes


def test_nanotron() -> None:
    text = (
        "11/05/2026 10:00:02 [INFO|DP=0|PP=0|TP=0|node1]: iteration: 400 / 500 | consumed_tokens: 210M"
        " | tokens_per_sec_per_gpu: 8.15K | lm_loss: 2.05 | lr: 0.0003 | hd_used_memory_tb: 41.2G\n"
        "\x1b[2;3m11/05 10:00:04 [INFO|Train]\x1b[0m: iteration: 401 / 500 | consumed_tokens: 1.05T | lm_loss: nan\n"
    )
    items = feed(ConsoleDecoder(), text.encode())
    assert series(items) == {
        "consumed_tokens": points((400, 210e6), (401, 1.05e12)),
        "tokens_per_sec_per_gpu": points((400, 8150)),
        "lm_loss": points((400, 2.05), (401, math.nan)),
        "lr": points((400, 0.0003)),
        "hd_used_memory_tb": points((400, 41.2e9)),
    }
    assert facts(items, "progress") == [{"step": 400, "total": 500}]
    assert facts(items, "units") == [{"hd_used_memory_tb": {"unit": "B"}}]
    times = {item.wall_times[0] for item in items if isinstance(item, Points)}
    assert times == {datetime(2026, 11, 5, 10, 0, 2).timestamp()}


@pytest.mark.parametrize("start", ["Trainer is initialized", "Training starts at step 1,"])
def test_the_total_of_torchtitan(start: str) -> None:
    head = "[titan] 2026-08-21 21:30:01,123 - root - INFO - "
    text = f"{head}{start} with local batch size 1, sequence length 8192, total steps 1000 (warmup 200).\n"
    items = feed(ConsoleDecoder(), f"{text}{head}step:  1  loss:  8.00000  tps: 7,012\n".encode())
    assert facts(items, "progress") == [{"step": 0, "total": 1000}]
    assert series(items) == {"loss": points((1, 8)), "tps": points((1, 7012))}


def test_torchtitan() -> None:
    text = (
        "[titan] 2026-08-21 21:30:01,123 - root - INFO - \x1b[31mstep:  1  \x1b[32mloss:  8.00000  \x1b[38;2;180;60;0m"
        "grad_norm:  0.5000  \x1b[38;2;54;234;195mmemory: 30.12GiB(38.02%)  \x1b[34mtps: 7,012  mfu: 40.95%\x1b[39m\n"
        "[titan] 2026-08-21 21:31:01,123 - root - INFO - validate step:  1  loss:  7.5000\n"
        "[titan] 2026-08-21 21:32:01,123 - root - INFO - step:\x1b[0m  2  step_time: 1.234s  "
        "data_loading: 0.012 s (1.0%)  \x1b[36mtime_metrics/end_to_end(s): \x1b[1m1.25\x1b[0m  A-b@k: -1e-3  lag: nan\n"
    )
    items = feed(ConsoleDecoder(), text.encode())
    assert series(items) == {
        "loss": points((1, 8)),
        "grad_norm": points((1, 0.5)),
        "memory(GiB)": points((1, 30.12)),
        "memory(%)": points((1, 38.02)),
        "tps": points((1, 7012)),
        "mfu": points((1, 40.95)),
        "validation_metrics/loss": points((1, 7.5)),
        "step_time": points((2, 1.234)),
        "data_loading": points((2, 0.012)),
        "data_loading(%)": points((2, 1)),
        "time_metrics/end_to_end(s)": points((2, 1.25)),
        "A-b@k": points((2, -0.001)),
        "lag": points((2, math.nan)),
    }
    units = [item.value for item in items if isinstance(item, Fact) and item.topic == Topic.UNITS]
    assert {name: printed["unit"] for fact in units for name, printed in fact.items()} == {
        "mfu": "%",
        "step_time": "s",
        "data_loading": "s",
    }
    assert float(rows(items)[0][3]) == datetime(2026, 8, 21, 21, 30, 1, 123000).timestamp()


@pytest.mark.parametrize(
    "prefix",
    [
        "\x1b[36m(TaskRunner pid=31337)\x1b[0m ",
        "(TaskRunner pid=31337, ip=10.0.0.2) ",
        "2026-08-21 21:30:01,123 - trainer - INFO - ",
        "[2026-08-21 21:30:01][rank0] [INFO] ",
        "2026-01-29 12:01:00.123 | INFO     | a.b.c:train:1051 - ",
        "INFO 08-13 19:01:45 trainer.py:547] ",
        "\ufeff",
    ],
)
@pytest.mark.parametrize(
    "line", ["step:3 - loss:0.5", "{'loss': '0.5', 'step': '3'}", "Step 3: {'loss': 0.5}", "Step 3: loss=0.5"]
)
def test_prefixes_are_removed(prefix: str, line: str) -> None:
    assert read(f"{prefix}{line}\n") == {"loss": points((3, 0.5))}
    assert read(f"{prefix}{line} [repeated 3x across cluster]\n") == {"loss": points((3, 0.5))}


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


@pytest.mark.parametrize(
    ("line", "metrics"),
    [
        ("step 250: train loss 2.0123, val loss 2.1234", {"train loss": 2.0123, "val loss": 2.1234}),
        (
            "step   10/1000 | loss 4.300000 (+1.23z)| norm 1.2000 (+0.50z)| lr 1.00e-04 | 100.00 ms | 50.1% bf16 MFU",
            {"loss": 4.3, "norm": 1.2, "lr": 1e-4, "bf16 MFU": 50.1},
        ),
        ("step 10: saving checkpoint 3, model 4", {}),
        ("step 3 of 10 took 5.5 s, and we go on", {}),
    ],
)
def test_names_of_several_words_between_commas_or_bars(line: str, metrics: dict[str, float]) -> None:
    """Formats of nanoGPT and llm.c; prose gives no metrics."""
    step = 250 if "250" in line else 10
    assert read(line + "\n") == {name: points((step, value)) for name, value in metrics.items()}
