"""Numbers of console text in every notation: each is read whole or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.json_points import feed, series

from tuimon.formats.console.text import ConsoleDecoder

HEADS = ("step {}: ", "[{:03}/099] ", "Epoch {}/99 - ", "{} | ", "Iter {}, ")
BEFORE = ("name {}", "name: {}", "name={}", "{} name/s", "name {} img/s", "name: {} tok/s", "({} name/s)")
JOINTS = (" ", " | ", ", ", " - ")


def read(text: str) -> dict[str, list[tuple[int, float]]]:
    metrics = series(feed(ConsoleDecoder(), text.encode()))
    return {name: [(step, float(value)) for step, value in points] for name, points in metrics.items()}


@st.composite
def printed(draw: st.DrawFn) -> tuple[str, float]:
    """A number in one of many notations, and its value."""
    whole = draw(st.integers(0, 10**9))
    fraction = draw(st.integers(0, 999))
    notation = draw(st.sampled_from(("comma", "comma and point", "quote", "underscore", "factor", "exponent", "times")))
    if notation == "comma":
        return f"{whole:,}", whole
    if notation == "comma and point":
        return f"{whole:,}.{fraction}", float(f"{whole}.{fraction}")
    if notation == "quote":
        return f"{whole:,}".replace(",", "'"), whole
    if notation == "underscore":
        return f"{whole:_}", whole
    small = whole % 1000
    if notation == "factor":
        factor = draw(st.sampled_from("kKMG"))
        exponent = {"k": 3, "K": 3, "M": 6, "G": 9}[factor]
        return f"{small}.{fraction}{draw(st.sampled_from(('', ' ')))}{factor}", float(f"{small}.{fraction}e{exponent}")
    exponent = draw(st.integers(-9, 9))
    if notation == "exponent":
        return f"{small}.{fraction}{draw(st.sampled_from('eE'))}{exponent:+03}", float(f"{small}.{fraction}e{exponent}")
    return f"{small}.{fraction} x 10^{exponent}", float(f"{small}.{fraction}e{exponent}")


@given(st.sampled_from(HEADS), st.sampled_from(BEFORE), st.sampled_from(JOINTS), printed(), st.booleans())
def test_a_number_is_read_whole_or_not_at_all(
    head: str, before: str, joint: str, number: tuple[str, float], first: bool
) -> None:
    text, value = number
    parts = [before.format(text), "loss 0.25"]
    lines = [head.format(step) + joint.join(parts if first else parts[::-1]) for step in range(1, 4)]
    points = read("\n".join(lines) + "\n")
    others = {name: values for name, values in points.items() if name not in ("loss", "epoch")}
    assert {number for values in others.values() for _, number in values} <= {value}
    assert {number for _, number in points.get("loss", [])} <= {0.25}


@pytest.mark.parametrize(
    ("line", "row"),
    [
        ("[1/5] loss: 1.0 | 1,231 img/s", {"loss": 1.0, "img/s": 1231.0}),
        (
            "[1/5] loss 1.0 | VRAM 9.8/15.9GB (62%) | GPU 97% | 3.11 it/s | ETA 157.9 min",
            {"loss": 1.0, "VRAM": 9.8, "GPU": 97.0, "it/s": 3.11},
        ),
        ("step 1: loss 1.0 | 12,34@ tokens/s", {"loss": 1.0}),
        ("step 1: loss 1.3 12.3K tok/s", {"loss": 1.3, "tok/s": 12300.0}),
        (
            "step 1: loss 1.1 12.1K tok/s 900 samples/s mem 10.1GB",
            {"loss": 1.1, "tok/s": 12100.0, "samples/s": 900.0, "mem": 10.1},
        ),
        ("step 1: loss 1.1, tok/s 16.1K, 3.1M params/s", {"loss": 1.1, "tok/s": 16100.0, "params/s": 3.1e6}),
        ("iter 1: loss 0.93 (1,053 it/s)", {"loss": 0.93, "it/s": 1053.0}),
        ("step 1: loss 0.93, throughput: 12,341 tokens/s", {"loss": 0.93, "throughput": 12341.0}),
        ("step 1: throughput 12,341 tokens/s loss 0.93", {"loss": 0.93, "throughput": 12341.0}),
        ("step 1: loss 0.93, mem 512M", {"loss": 0.93}),
        ("step 1: loss 0.93 | GPU 10.2 GiB", {"loss": 0.93, "GPU": 10.2}),
        ("step 1: tokens 12.3 k loss 0.93", {"loss": 0.93}),
        ("epoch 1: loss 0,812 acc 0,81", {"loss": 0.812, "acc": 0.81}),
        ("epoch 1: loss 2,305 acc 0,81", {"loss": 2.305, "acc": 0.81}),
        ("epoch 1: loss 2,305 acc 1,00", {"acc": 1.0}),
        ("epoch 1: loss 2,305", {}),
        ("epoch 1: loss 0,812 acc 0.81", {"loss": 0.812, "acc": 0.81}),
        ("epoch 1: reward 12,305", {"reward": 12305.0}),
        ("epoch 1: loss=12,344.25", {"loss": 12344.25}),
        ("Epoch 1/10 loss: 0.531 acc=81.2% lr 1e-4 ETA 0:03:12", {"loss": 0.531, "acc": 81.2, "lr": 1e-4}),
        (
            "step 1: loss: 0.89 lr 9.93e-05 tokens 81,920 mem 1.2GB cpu_mem 902MB time 0.120s ETA 0:03:48",
            {"loss": 0.89, "lr": 9.93e-05, "tokens": 81920.0, "mem": 1.2, "cpu_mem": 902.0, "time": 0.12},
        ),
        (
            "step 1/4 loss: 0.3052 VRAM 29.2/32.0GB lr: 1e-4 step_time: 1.2s",
            {"loss": 0.3052, "VRAM": 29.2, "lr": 1e-4, "step_time": 1.2},
        ),
        ("step 1: loss 0.5 VRAM 29.2/32.0GB ETA 0:03:12", {"loss": 0.5, "VRAM": 29.2}),
        ("step 1: loss: 0.5 VRAM: 29.2/32.0GB lr: 3e-4", {"loss": 0.5, "VRAM": 29.2, "lr": 3e-4}),
        ("step 1: loss: 0.5 tokens done 81920 lr: 3e-4", {"loss": 0.5, "lr": 3e-4}),
        ("step 1: loss: 0.5 time: 12 s lr: 3e-4", {"loss": 0.5, "time": 12.0, "lr": 3e-4}),
        ("step 1: loss: 0.5, class 3 dice=0.25", {"loss": 0.5, "class 3 dice": 0.25}),
        ("step 1: loss: 0.5 saved 3 checkpoints", {"loss": 0.5}),
        ("step 1 | loss 0.5 | ETA 12.5 min", {"loss": 0.5}),
        (
            "iter 1: loss 1.89, acc 0.5, 1234 img/s, grad norm 1.10",
            {"loss": 1.89, "acc": 0.5, "grad norm": 1.1, "img/s": 1234.0},
        ),
        (
            "iter 1: loss 1.89, lr 3.0e-04, 1,244 img/s, 3.0k tok/s, grad norm 1.01, elapsed 0m10s",
            {"loss": 1.89, "lr": 3e-4, "grad norm": 1.01, "img/s": 1244.0, "tok/s": 3000.0},
        ),
        ("Step: 1 loss: 1.1 Mem: 12.10GiB 510 tokens/sec", {"loss": 1.1, "Mem": 12.1, "tokens/sec": 510.0}),
        ("Step: 1 loss: 1.1 Mem: 12.10 GiB 510 tokens/sec", {"loss": 1.1, "Mem": 12.1, "tokens/sec": 510.0}),
        (
            "iter 1: loss 1.89, mem 12.3GiB 5010 tokens/sec, acc 0.5",
            {"loss": 1.89, "mem": 12.3, "acc": 0.5, "tokens/sec": 5010.0},
        ),
        ("step 1: loss 1.1 fwd 12 ms 510 it/s", {"loss": 1.1, "fwd": 12.0, "it/s": 510.0}),
        ("Step: 1  Loss: 1.5  |g|: 0.1  LR: 1e-4", {"Loss": 1.5, "|g|": 0.1, "LR": 1e-4}),
        ("step 1 loss=1.5 ||grad||=0.25", {"loss": 1.5, "||grad||": 0.25}),
        (
            "[it 1] loss: 1.5 ‖g‖: 0.5 tokens: 1.2B  tok/s/gpu: 12,345",
            {"loss": 1.5, "‖g‖": 0.5, "tokens": 1.2e9, "tok/s/gpu": 12345.0},
        ),
        ("it 1/9 | loss 2.31 | 412 ms/it | mem 61.3/80 GB", {"loss": 2.31, "ms/it": 412.0, "mem": 61.3}),
        ("it 1/9 | loss 2.31 | 412ms/step | 18.2k tok/s/gpu", {"loss": 2.31, "ms/step": 412.0, "tok/s/gpu": 18200.0}),
        ("it 1 | loss 2.31 | 412 ms | 61.3 GB | mem 61.3 / 80 GB | 1", {"loss": 2.31, "mem": 61.3}),
        (
            "step 1/9 loss=2.31 mem=61.3GiB(77.5%) eta=3:12:00 step_time=0.41s",
            {"loss": 2.31, "mem": 61.3, "mem(%)": 77.5, "step_time": 0.41},
        ),
        ("[1/9] 415 ms  loss 2.31", {"loss": 2.31}),
    ],
)
def test_numbers_with_commas_factors_and_units(line: str, row: dict[str, float]) -> None:
    assert {name: value for name, [(_, value)] in read(line + "\n").items()} == row


def test_an_identifier_that_looks_like_a_number_with_an_exponent_is_no_metric() -> None:
    points = read("step=1 loss=0.5 id=123e4567 grad=inf\nstep=2 loss=inf id=9e999 grad=1e300\n")
    assert points == {"loss": [(1, 0.5), (2, float("inf"))], "grad": [(1, float("inf")), (2, 1e300)]}


def test_a_number_within_a_name_that_changes_gives_no_metric_per_value() -> None:
    lines = [f"step {step}: loss: 0.5 | image {step % 97} score: 0.25\n" for step in range(1, 200)]
    points = read("".join(lines))
    assert len(points["loss"]) == 199
    assert len(points) < 20


def test_metrics_of_numbered_parts_are_read() -> None:
    lines = "".join(f"step {step}: " + ", ".join(f"layer {n} norm={n}.5" for n in range(40)) + "\n" for step in (1, 2))
    assert read(lines) == {f"layer {n} norm": [(1, n + 0.5), (2, n + 0.5)] for n in range(40)}
