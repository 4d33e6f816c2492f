"""Measure how often the straggler rule accuses a rank of a healthy job, and how soon it names a slow one.

    python -m tests.bench.stragglers [JOBS]

Simulated jobs of 8, 64 and 512 ranks and 300 steps are judged every 25 steps, JOBS times each (default 4). Noise:
calm (1 %), tails (3 % of the steps take 1.35 times as long), lengths (sigma 0.15 a rank and step), stage (a quarter of
the ranks always computes 8 % longer), pauses (whole nodes slow for 5 steps), moe (sigma 0.3, experts hot for 20 steps),
mixes (one step in eight has sequences twice as long). Printed: the share of the healthy jobs in which a rank is accused
at any time, and the median steps until a rank that becomes 15 % slower at step 150 is named ("-" if it never is).
"""

from __future__ import annotations

import statistics
import sys

import numpy as np
from numpy.typing import NDArray

from tuimon.ranks.stragglers import find_stragglers

STEPS, EVERY, SLOW_SINCE, SLOW = 300, 25, 150, 1.15
NOISES = ("calm", "tails", "lengths", "stage", "pauses", "moe", "mixes")


def simulate(noise: str, ranks: int, seed: int) -> NDArray[np.float64]:
    """Return own times (s), float64 (STEPS, ranks)."""
    random = np.random.default_rng(seed)
    shape = STEPS, ranks
    times = 0.3 * (1 + 0.01 * random.standard_normal(shape))
    if noise == "tails":
        times *= np.where(random.random(shape) < 0.03, np.exp(0.3), 1)
    elif noise == "lengths":
        times *= np.exp(0.15 * random.standard_normal(shape))
    elif noise == "stage":
        times[:, : ranks // 4] *= 1.08
    elif noise == "pauses":
        for start in range(0, STEPS, 60):
            node = 8 * int(random.integers(max(ranks // 8, 1)))
            times[start : start + 5, node : node + 8] *= 1.5
    elif noise == "moe":
        times *= np.exp(0.3 * random.standard_normal(shape))
        for start in range(0, STEPS, 20):
            times[start : start + 20, random.integers(ranks)] *= 1.3
    elif noise == "mixes":
        times *= np.where(random.random(shape) < 0.125, 2, 1)
    return times


def accused(times: NDArray[np.float64], last: int) -> set[int]:
    """Return the ranks that are named after `last` steps."""
    rows = {step: dict(enumerate(map(float, times[step]))) for step in range(last)}
    return {straggler.rank for straggler in find_stragglers(rows)}


def false_alarm(noise: str, ranks: int, seed: int) -> bool:
    times = simulate(noise, ranks, seed)
    return any(accused(times, last) for last in range(60, STEPS + 1, EVERY))


def delay(noise: str, ranks: int, seed: int) -> int | None:
    times = simulate(noise, ranks, seed)
    times[SLOW_SINCE:, 3] *= SLOW
    ends = range(SLOW_SINCE + 10, STEPS + 1, 10)
    return next((last - SLOW_SINCE for last in ends if 3 in accused(times, last)), None)


def main(jobs: int = 4) -> None:
    print(f"{'noise':10}{'ranks':>6}{'accused':>9}{'delay':>7}")
    for noise in NOISES:
        for ranks in (8, 64, 512):
            count = jobs if ranks < 512 else max(jobs // 4, 1)
            alarms = sum(false_alarm(noise, ranks, seed) for seed in range(count))
            delays = [steps for seed in range(count) if (steps := delay(noise, ranks, seed)) is not None]
            shown = f"{statistics.median(delays):.0f}" if len(delays) * 2 > count else "-"
            print(f"{noise:10}{ranks:6}{alarms / count:9.0%}{shown:>7}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
