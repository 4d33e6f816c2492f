"""The metrics of a step by formulas, named as in ROLL's agentic pipeline (GRPO)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tuimon.demo.samples import write_samples

Metrics = dict[str, float]

DEVICES, CARD_GIB = 4, 80.0
EVERY = 10
"""Steps from one validation and checkpoint to the next."""
EXPLOSION = 1e24
"""Factor by which the injected fault multiplies the learning rate."""
PHASES = (
    ("rollout", "actor_infer/generate", 0.38, 18.0, 19.0),
    ("ref_log_probs_values_reward", "reference/compute_log_probs", 0.12, 15.0, 27.0),
    ("old_log_probs_values", "actor_train/compute_log_probs", 0.11, 15.0, 28.0),
    ("", "actor_train/train_step", 0.30, 45.0, 62.0),
    ("", "actor_train/model_update", 0.02, 16.0, 17.0),
)
"""(timer of the driver or "", call of a worker, part of the step, GiB when it is loaded, GiB at its peak)."""


@dataclass(frozen=True)
class Hyperparameters:
    """Hyperparameters of a run; written to training_log.json unchanged."""

    max_steps: int = 400
    seed: int = 0
    batch_size: int = 32
    num_generations: int = 16
    learning_rate: float = 3e-4
    warmup_ratio: float = 0.05
    clip_range: float = 0.2
    kl_coef: float = 0.04
    max_grad_norm: float = 1.0
    eval_steps: int = EVERY
    save_steps: int = EVERY


class Curves:
    """A made-up training run, step by step."""

    def __init__(self, settings: Hyperparameters, seconds: float, inject_at: int | None = None) -> None:
        """seconds: time of a step. inject_at: the step at which the learning rate explodes."""
        self.settings = settings
        self.samples: list[dict[str, Any]] = []
        """Texts of the last step."""
        self._seconds, self._inject_at = seconds, inject_at
        self._rng = np.random.default_rng(settings.seed)
        self._noise: dict[str, float] = {}

    def step(self, step: int) -> Metrics:
        """Return the metrics of step `step`, counted from 1; each step is to be asked for once, in order."""
        broken = self._inject_at is not None and step > self._inject_at
        skill = math.nan if broken else min(0.97, 0.2 + 0.65 * (1 - math.exp(-step / 70)) + self._wander("skill", 0.02))
        self.samples = write_samples(step, skill, self._rng)
        lengths = [row["response_length"] for row in self.samples]
        metrics = {
            **_spread_of("critic/score", [row["score"] for row in self.samples]),
            **_spread_of("critic/advantages", [row["advantage"] for row in self.samples]),
            **_spread_of("tokens/response_length", lengths),
            **self._of_policy(step),
            **self._times(step, float(np.mean(lengths))),
            **self._memory(step),
        }
        metrics["system/samples"] = step * len(self.samples)
        metrics["system/tps"] = sum(lengths) / metrics["time/step_total"]
        if step % EVERY == 0 or step == self.settings.max_steps:
            metrics |= _spread_of("val/score", [row["score"] for row in write_samples(step, skill + 0.05, self._rng)])
        return metrics

    def _of_policy(self, step: int) -> Metrics:
        """Return learning rate, losses, KL and entropy; NaN after the fault."""
        settings = self.settings
        warmup = max(1, round(settings.warmup_ratio * settings.max_steps))
        done = max(0.0, (step - warmup) / max(1, settings.max_steps - warmup))
        rate = settings.learning_rate * min(1.0, step / warmup) * (0.55 + 0.45 * math.cos(math.pi * done))
        kl = max(0.0, 0.7 * (1 - math.exp(-(step - 1) / 40)) + self._wander("kl", 0.01) * (step > 1))
        entropy = 0.9 + 1.35 * math.exp(-step / 60) + self._wander("entropy", 0.02)
        clipped = 0.02 * math.exp(-step / 100) * math.exp(self._wander("clip", 0.3))
        pg_loss = self._wander("pg_loss", 0.015)
        metrics = {
            "actor/lr": rate,
            "actor/pg_loss": pg_loss,
            "actor/kl_loss": kl,
            "actor/total_loss": pg_loss + settings.kl_coef * kl,
            "actor/approxkl": clipped / 10,
            "actor/ppo_ratio_clipfrac": clipped,
            "actor_train/grad_norm": (0.45 + 0.3 * (1 - math.exp(-step / 30))) * math.exp(self._wander("grad", 0.15)),
            "critic/kl": kl,
            "critic/entropy/mean": entropy,
            "critic/old_log_prob/mean": -entropy + self._wander("old", 0.02),
            "critic/ref_log_prob/mean": -entropy - kl + self._wander("ref", 0.02),
        }
        if self._inject_at is not None and step >= self._inject_at:
            metrics["actor/lr"] *= EXPLOSION
            of_update = [name for name in metrics if name.startswith("actor") and name != "actor/lr"]
            metrics |= dict.fromkeys(metrics.keys() - {"actor/lr"} if step > self._inject_at else of_update, math.nan)
        return metrics

    def _times(self, step: int, length: float) -> Metrics:
        """Return the time of each phase in seconds; longer responses take longer."""
        metrics: Metrics = {}
        for driver, call, part, *_ in PHASES:
            seconds = self._seconds * part * math.exp(self._wander(call, 0.05))
            seconds *= 0.6 + 0.06 * length if driver == "rollout" else 1.0
            metrics |= {f"time/{call}/onload": 0.06 * seconds, f"time/{call}/offload": 0.04 * seconds}
            metrics |= {f"time/{call}/execute": 0.9 * seconds, f"time/{call}/total": seconds}
            if driver:
                metrics[f"time/{driver}"] = seconds
        metrics["time/adv"] = 0.003 * self._seconds
        if step % EVERY == 0:
            metrics["time/val"] = 0.06 * self._seconds
        whole = sum(value for name, value in metrics.items() if name.endswith("/total"))
        metrics["time/step_total"] = whole + metrics["time/adv"] + metrics.get("time/val", 0.0)
        return metrics

    def _memory(self, step: int) -> Metrics:
        """Return the memory of each device in GiB around each call, as ROLL's state_offload_manger names it."""
        metrics: Metrics = {}
        for _, call, _, loaded, peak in PHASES:
            for device in range(DEVICES):
                highest = peak * (1 + 0.02 * math.sin(7 * device + step / 9))
                for at, now, most in (
                    ("start/offload", 0.0, 0.0), ("start/onload", loaded, loaded), ("end/onload", loaded, highest),
                    ("end/offload", 0.0, highest),
                ):  # fmt: skip
                    prefix, blocks = f"memory/{call}/{at}", math.ceil(2 * most) / 2
                    metrics |= {f"{prefix}/allocated/{device}": now, f"{prefix}/max_allocated/{device}": most}
                    metrics |= {f"{prefix}/reserved/{device}": blocks, f"{prefix}/max_reserved/{device}": blocks}
                for kind in ("allocated", "reserved"):
                    share = metrics[f"memory/{call}/end/onload/max_{kind}/{device}"] / CARD_GIB
                    metrics[f"memory/{call}/end/onload/max_{kind}_frac/{device}"] = share
            metrics |= {
                f"memory/cpu/{call}/{at}/rss": 41.5 + self._wander(f"{call}/rss", 0.3) for at in ("start", "end")
            }
        return metrics

    def _wander(self, name: str, deviation: float) -> float:
        """Return noise with an autocorrelation of 0.8 and this standard deviation."""
        shock = float(self._rng.normal(0.0, 0.6 * deviation))
        self._noise[name] = 0.8 * self._noise.get(name, shock) + shock
        return self._noise[name]


def _spread_of(name: str, values: list[float]) -> Metrics:
    """Return mean, maximum and minimum."""
    return {
        f"{name}/mean": float(np.mean(values)),
        f"{name}/max": float(max(values)),
        f"{name}/min": float(min(values)),
    }
