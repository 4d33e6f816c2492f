"""Trainings with numbers drawn at random: which metrics, at which steps, and how each number is printed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

START = 1_790_000_000.0
"""Wall time of the first row, seconds since the epoch."""


@dataclass(frozen=True)
class Cell:
    """A number as it is printed."""

    name: str
    text: str
    """The number, without unit and separators."""
    unit: str = ""
    """Unit that is printed after the number by writers that print units."""

    @property
    def value(self) -> float:
        return float(self.text)


@dataclass(frozen=True)
class Row:
    """What is logged together at a step."""

    step: int
    time: float
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Metric:
    """A metric of a training."""

    name: str
    form: str
    """Format specification of the number."""
    level: Callable[[Random, float], float]
    """Value at a part of the training between 0 and 1."""
    unit: str = ""
    is_eval: bool = False


@dataclass
class Training:
    """The rows of each attempt of a training."""

    kind: str
    attempts: list[list[Row]]
    total: int
    """The last step planned."""
    metrics: list[Metric]

    @property
    def rows(self) -> list[Row]:
        return [row for attempt in self.attempts for row in attempt]


def _falling(start: float, end: float, noise: float = 0.03) -> Callable[[Random, float], float]:
    return lambda rng, part: (start + (end - start) * part**0.5) * (1 + rng.gauss(0, noise))


def _rising(start: float, end: float) -> Callable[[Random, float], float]:
    return lambda rng, part: start + (end - start) * part + rng.gauss(0, 0.02 * abs(end - start))


_LOSS = ("loss", "train_loss", "train/loss", "Loss", "total_loss", "training_loss", "loss/train")
_EVAL_LOSS = ("val_loss", "eval_loss", "val/loss", "eval/loss", "valid_loss", "test_loss")
_RATE = ("lr", "learning_rate", "train/lr", "LR", "optim/lr")
_GRAD = ("grad_norm", "gnorm", "train/grad_norm", "actor/grad_norm", "grad-norm")
_REWARD = ("reward", "rewards/mean", "critic/score/mean", "ep_rew_mean", "train/reward", "avg_reward", "score")
_KL = ("kl", "actor/kl", "approx_kl", "kl_div", "objective/kl", "ppo_kl")
_PG = ("actor/pg_loss", "pg_loss", "policy_loss", "loss/policy")
_LENGTH = ("response_length/mean", "completion_length", "resp_len", "mean_length")
_ACC = ("acc", "accuracy", "train_acc", "top1", "train/acc", "Acc@1")
_EVAL_ACC = ("val_acc", "eval_accuracy", "val/acc", "test_acc", "val_accuracy")


def _throughput(rng: Random) -> Metric:
    name = rng.choice(
        ("tok/s", "tokens_per_sec", "tokens_per_second", "tgs", "samples_per_second", "throughput", "tps")
    )
    return Metric(name, rng.choice((".0f", ".1f")), _rising(9000, 14000))


def _time(rng: Random) -> Metric:
    if rng.random() < 0.5:
        name = rng.choice(("step_time_ms", "iter_ms", "fwd_ms", "time/step_ms"))
        return Metric(name, ".1f", _rising(380, 420), "ms")
    return Metric(rng.choice(("step_time", "time_per_step", "data_time", "iter_time")), ".3f", _rising(0.3, 0.5), "s")


def _memory(rng: Random) -> Metric:
    name = rng.choice(("gpu_mem_gb", "mem", "memory_gb", "max_mem", "gpu_memory", "vram"))
    return Metric(name, ".1f", _rising(40, 62), "GB")


def metrics_of(kind: str, rng: Random) -> list[Metric]:
    """Draw the metrics of a training of this kind."""
    choice = rng.choice
    loss_form, rate_form = choice((".4f", ".3f", ".6f", ".4g")), choice((".2e", ".1e", "g", ".3e"))
    rate = Metric(choice(_RATE), rate_form, lambda rng, part: 1e-5 * (1.01 - part))
    grad = Metric(choice(_GRAD), choice((".2f", ".3f", ".4f")), _falling(4, 0.7, 0.2))
    if kind == "RL":
        chosen = [
            Metric(choice(_REWARD), choice((".4f", ".3f")), _rising(-0.5, 0.8)),
            Metric(choice(_KL), choice((".4f", ".5f", ".2e")), _rising(0.001, 0.05)),
            Metric(choice(_PG), ".5f", _rising(-0.02, 0.02)),
            Metric("entropy", ".4f", _falling(1.5, 0.3)),
            Metric(choice(_LENGTH), choice((".1f", ".0f")), _rising(200, 900)),
            grad,
            rate,
        ]
    elif kind == "vision":
        chosen = [
            Metric(choice(_LOSS), loss_form, _falling(2.3, 0.2)),
            Metric(choice(_ACC), choice((".2f", ".1f")), _rising(10, 93), "%"),
            rate,
            Metric(choice(_EVAL_LOSS), loss_form, _falling(2.3, 0.4), is_eval=True),
            Metric(choice(_EVAL_ACC), ".2f", _rising(10, 90), "%", is_eval=True),
        ]
    elif kind == "boosting":
        goal = choice(("logloss", "rmse", "auc", "error"))
        chosen = [
            Metric(f"train-{goal}", ".5f", _falling(0.69, 0.1)),
            Metric(f"{choice(('valid', 'eval', 'test'))}-{goal}", ".5f", _falling(0.69, 0.3)),
        ]
    else:
        chosen = [
            Metric(choice(_LOSS), loss_form, _falling(9, 2.3)),
            grad,
            rate,
            Metric(choice(_EVAL_LOSS), loss_form, _falling(9, 2.5), is_eval=True),
        ]
    if kind != "boosting":
        chosen += [make(rng) for make in (_throughput, _time, _memory) if rng.random() < 0.5]
    kept = [chosen[0]] + [metric for metric in chosen[1:] if rng.random() < 0.8]
    unique = {metric.name.lower(): metric for metric in reversed(kept)}
    return [metric for metric in kept if unique[metric.name.lower()] is metric]


def training(rng: Random) -> Training:
    """Draw a training. Some are resumed, and in some numbers are NaN or infinite."""
    kind = rng.choice(("RL", "SFT", "vision", "boosting"))
    metrics = metrics_of(kind, rng)
    interval = rng.choice((1, 1, 1, 5, 10, 20, 50, 100))
    first = rng.choice((0, 1, interval, 10 * interval, 1000))
    count = rng.choice((6, 10, 17, 30, 60))
    every = rng.choice((2, 5, 10))
    steps = [first + interval * index for index in range(count)]
    attempts = [steps]
    if count >= 10 and rng.random() < 0.3:
        stop = rng.randrange(count // 2, count - 1)
        back = rng.randrange(0, count // 3 + 1)
        attempts = [steps[: stop + 1], steps[stop + 1 - back :]]
    time, pace, rows = START, interval * rng.choice((0.4, 2.0, 31.0)), list[list[Row]]()
    diverges = rng.random() < 0.12
    for attempt in attempts:
        rows.append([])
        for step in attempt:
            part = (step - first) / max(1, steps[-1] - first)
            cells = []
            for metric in metrics:
                if metric.is_eval and (steps.index(step) + 1) % every:
                    continue
                value = metric.level(rng, part)
                if diverges and part > 0.8 and ("loss" in metric.name.lower() or "norm" in metric.name):
                    value = rng.choice((math.nan, math.nan, math.inf))
                cells.append(Cell(metric.name, format(value, metric.form), metric.unit))
            rows[-1].append(Row(step, round(time, 3), tuple(cells)))
            time += pace * rng.uniform(0.9, 1.1)
        time += 600
    return Training(kind, rows, steps[-1], metrics)
