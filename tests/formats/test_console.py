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

from tuimon.formats.console.families import number, printed_dict
from tuimon.formats.console.text import ConsoleDecoder
from tuimon.model.points import Fact, Points, Topic

DATA = Path(__file__).parent.parent / "data" / "console"
LOGS = sorted(path for path in DATA.rglob("*") if path.suffix in (".log", ".out"))
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


def test_megatron() -> None:
    text = (
        " [2026-08-22 15:22:01.123456] iteration       10/     500 | consumed samples:          640 |"
        " elapsed time per iteration (ms): 1147.6 | learning rate: 1.0E-05 | lm loss: 1.0E+01 | grad norm: nan |\n"
        " validation loss at iteration 10 | lm loss value: 9.5E+00 | lm loss PPL: 1.3E+04 |\n"
        "[Rank 3] (after 10 iterations) memory (MB) | allocated: 9334.5 | max allocated: 10606.5\n"
    )
    assert read(text) == {
        "consumed samples": points((10, 640)),
        "elapsed time per iteration (ms)": points((10, 1147.6)),
        "learning rate": points((10, 1e-5)),
        "lm loss": points((10, 10)),
        "grad norm": points((10, math.nan)),
        "validation/lm loss value": points((10, 9.5)),
        "validation/lm loss PPL": points((10, 13000)),
        "memory (MB)/allocated/3": points((10, 9334.5)),
        "memory (MB)/max allocated/3": points((10, 10606.5)),
    }


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


def test_prime_rl_and_torchtune() -> None:
    text = (
        "16:03:09 SUCCESS Step 3 | 10.21s | Loss 0.0123 | Mismatch KL 0.0012 | Grad. Norm nan | LR 1.00e-06 |"
        " Throughput 8123 tokens/s | MFU 31.2% | Peak Mem. 61.3 GiB\n"
        "16:03:10 SUCCESS Step 3 |  11.50s | Reward 0.4100 | Trainable 480/512 (93.8%)\n"
    )
    assert read(text) == {
        "time/step": points((3, 10.21), (3, 11.5)),
        "loss/mean": points((3, 0.0123)),
        "mismatch_kl/all/mean": points((3, 0.0012)),
        "optim/grad_norm": points((3, math.nan)),
        "optim/lr": points((3, 1e-6)),
        "perf/throughput": points((3, 8123)),
        "perf/mfu": points((3, 31.2)),
        "perf/peak_memory": points((3, 61.3)),
        "reward/all/mean": points((3, 0.41)),
    }
    assert read("Step 4 | loss:nan lr:2e-05 peak_memory_active:10.2 \n") == {
        "loss": points((4, math.nan)),
        "lr": points((4, 2e-5)),
        "peak_memory_active": points((4, 10.2)),
    }


def test_roll_step_logged_in_two_shapes_is_read_once() -> None:
    head = "[2026-08-18 14:00:09] [x.py (1)] [INFO] [DRIVER 0 / 1][PID 7] "
    text = (
        f'{head}metrics_tag: {{"step": 5, "metrics": {{"system/global_step": 5, "actor/loss": NaN, "a": null}}}}\n'
        f'{head}{{"system/global_step": 5, "actor/loss@sum": NaN, "critic/kl@8": 1}}\n'
        f"{head}pipeline step 5 finished\n{head}pipeline step 6 start...\n"
        f"{head}metrics: {{'sft_train/loss': 0.5, 'note': None}}\n{head}val metrics: {{'val/score/mean': 0.25}}\n"
    )
    assert read(text) == {
        "system/global_step": points((5, 5)),
        "actor/loss": points((5, math.nan)),
        "critic/kl@8": points((5, 1)),
        "sft_train/loss": points((6, 0.5)),
        "val/score/mean": points((6, 0.25)),
    }


def test_cut_rlinf_cells_are_ignored() -> None:
    text = (
        "├── Metric Table ──┤\n│ Global Step:    8/10 │ Progress: ░ │\n├── Replay Buffer ──┤\n"
        "│size=128  │a_very_long_na…=0.5  │b=0.1…  │\n├── My Own ──┤\n│x=1 │\n╰──╯\n│y=1 │\n"
    )
    assert read(text) == {"train/replay_buffer/size": points((7, 128)), "my_own/x": points((7, 1))}


def test_sb3_tables_need_a_border() -> None:
    table = "-" * 40 + "\n| rollout/    |    |\n|    rew  | nan |\n| time/  |   |\n|    total_timesteps | 64 |\n"
    assert read(table) == {}
    assert read(table + "-" * 40 + "\n") == {
        "rollout/rew": points((64, math.nan)),
        "time/total_timesteps": points((64, 64)),
    }
    assert read("| a | 1 |\n|---|---|\n| loss | 0.5 |\n") == {}


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("Epoch [2/10], Step [100/600], Loss: 0.5", {"Loss": (700, 0.5), "epoch": (700, 2)}),
        ("Train Epoch: 2 [640/60000 (1%)]\tLoss: 2.25", {"Loss": (60640, 2.25), "epoch": (60640, 2)}),
        ("Epoch 3: Train Loss: 0.5, Val Loss: 0.6", {"Train Loss": (3, 0.5), "Val Loss": (3, 0.6)}),
        ("Epoch 3 | loss=nan | acc: 91.5%", {"loss": (3, math.nan), "acc": (3, 91.5)}),
        ("INFO:root:iter 7: loss 0.5, time 12.5ms", {"loss": (7, 0.5), "time": (7, 12.5)}),
        ("[Val] Step 5: loss = -1e-3", {"val/loss": (5, -0.001)}),
        ("step=12 loss=np.float64(0.5) lr=1e-05", {"loss": (12, 0.5), "lr": (12, 1e-5)}),
        ("Epoch 3 | valid on 'valid' subset | loss 10.25 | ppl 9.5", {"val/loss": (3, 10.25), "val/ppl": (3, 9.5)}),
        ("Epoch 3 Test: loss=0.5", {"test/loss": (3, 0.5)}),
        (
            "Epoch 3 - Train loss=1 acc=2 - Val loss=3 acc=4",
            {"Train loss": (3, 1), "Train acc": (3, 2), "Val loss": (3, 3), "Val acc": (3, 4)},
        ),
        (
            "Epoch 3 | train: loss=1, acc=2 | val: loss=3, acc=4 | lr=5",
            {"train/loss": (3, 1), "train/acc": (3, 2), "val/loss": (3, 3), "val/acc": (3, 4), "lr": (3, 5)},
        ),
        ("step 5: saving checkpoint to runs/ckpt-5", {}),
        ("step 5 of 10", {}),
        ("step 5 took 3 s", {}),
        ("Step 5 started at time: 12:30:01", {}),
        ("step 5 tokens: 1,234,567", {"tokens": (5, 1234567)}),
        ("steps", {}),
        ("Total steps: 1000, lr 1e-4", {}),
        ("Total training steps = 1,000 | batch size: 32 | epochs: 3", {}),
        ("Gradient accumulation steps: 8, loss scale: 1", {}),
        ("Logging steps: 10, save steps: 100", {}),
        ("Epochs: 10, batch_size: 32, lr: 0.001", {}),
        ("LR decay epochs: 30, gamma: 0.1", {}),
        ("Best epoch: 5, val loss: 0.3", {}),
        ("Resuming from step 500, loss 0.5", {}),
        ("Loaded checkpoint from epoch 3, loss=0.2", {}),
        ("Total steps: 5000, episode reward: 12.5", {"episode reward": (5000, 12.5)}),
        ("Steps: 100, loss: 0.5, lr: 1e-4", {"loss": (100, 0.5), "lr": (100, 1e-4)}),
        ("Steps: 100/1000, lr: 1e-4", {"lr": (100, 1e-4)}),
        ("Epoch 3/10", {}),
        (" 10%|#  | Step 5: loss=0.5, 1/10 [00:10<01:30, 10.00s/it, loss=0.5]", {}),
    ],
)
def test_plain_lines(line: str, wanted: dict[str, tuple[int, float]]) -> None:
    assert read(f"{line}\n") == {name: points(value) for name, value in wanted.items()}


def test_lines_about_an_epoch_have_its_last_step() -> None:
    text = "".join(
        f"Epoch [{epoch}/2], Step [{step}/600], Loss: 0.5\n" * 2 + f"Epoch [{epoch}/2] Val Loss: 0.25\n" * (step == 600)
        for epoch in (1, 2)
        for step in (300, 600)
    )
    assert read(text)["Val Loss"] == points((600, 0.25), (1200, 0.25))
    assert read("Epoch 1: Val Loss=0.5\nEpoch 2: Val Loss=0.5\n") == {"Val Loss": points((1, 0.5), (2, 0.5))}


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


def test_dictionary_with_a_ray_prefix_on_each_line() -> None:
    ray = "(Trainer pid=7) "
    lines = ["{'loss': '0.5',", " 'rewards/a': nan,", "hello", " 'note': 'x',", " 'epoch': 0.25}"]
    text = "".join(f"{ray}{line}\n" for line in lines)
    assert read(text) == {"loss": points((1, 0.5)), "rewards/a": points((1, math.nan)), "epoch": points((1, 0.25))}


def test_hugging_face_without_a_bar_counts_rows() -> None:
    text = "{'loss': 2.0, 'epoch': 0.1}\n{'eval_loss': 1.5, 'epoch': 0.1}\n{'loss': nan, 'epoch': 0.2}\n{'lr': 1}\n"
    assert read(text) == {
        "loss": points((1, 2), (2, math.nan)),
        "epoch": points((1, 0.1), (1, 0.1), (2, 0.2)),
        "eval_loss": points((1, 1.5)),
    }


def test_last_row_of_a_hugging_face_burst_has_the_step_of_the_next_bar() -> None:
    bar = "\r 10%|#   | {}/100 [00:10<01:30, 10.00it/s]"
    burst = "".join(f"{{'loss': {step}.0, 'epoch': {step / 100}}}\n" for step in (10, 20, 30))
    cleared = f"\r{40 * ' '}\r"  # as tqdm.write does before a row
    drawn_again = bar.format(4) + cleared + bar.format(4)
    for text in (bar.format(5) + cleared, drawn_again + bar.format(5) + "\n"):
        assert read(text + burst + bar.format(30))["loss"] == points((10, 10), (20, 20), (30, 30))
    killed = (
        bar.format(10) + "\n" + "".join(f"{{'loss': {s}.0}}\n{bar.format(s)}\n" for s in (10, 20)) + "{'loss': 30.0}\n"
    )
    decoder = ConsoleDecoder()
    assert series(feed(decoder, killed.encode()))["loss"] == points((10, 10), (20, 20))
    assert series(decoder.end())["loss"] == points((30, 30))


def test_rows_that_were_buffered_while_the_bar_went_on_have_the_steps_of_their_epochs() -> None:
    """Standard output is a file, so its rows come in pieces of 8 KiB; the bar on standard error is written at once."""
    bar = "\r 10%|#   | {}/100 [00:10<01:30, 10.00it/s]"
    row = "{{'loss': {}.0, 'epoch': '{:.4g}'}}\n"
    text = bar.format(0) + "\n" + "".join(f"{row.format(step, step / 80)}{bar.format(step)}\n" for step in (5, 10))
    late = "".join(row.format(step, step / 80) for step in (15, 20, 25, 30))
    wanted = points(*((step, step) for step in range(5, 35, 5)))
    assert read(text + bar.format(34) + "\n" + late + bar.format(34) + "\n")["loss"] == wanted


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
