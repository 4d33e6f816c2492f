"""Ranks that compute longer than the others, by their own time and never by the time of a step.

In synchronous training each rank waits for the slowest, so the time of a step is equal everywhere and names no rank.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tuimon.model.ranks import Straggler

WINDOW, YOUNG_WINDOW = 50, 20
"""Steps that are judged; the shorter one while a job has fewer steps than the longer."""
ENOUGH_STEPS, WARM_UP, BASELINE = 6, 10, 60
MIN_Z, MIN_EXCESS, STEP_EXCESS, STEP_SHARE = 5.0, 0.05, 0.025, 0.6
NOISE_FLOOR = 0.004
FROM_START = 0.2
"""Excess above which a rank counts that was slow from its first steps on, where unequal work is as likely."""
NOISY, LONGEST_WINDOW = 0.03, 200
"""Standard error of a rank's median within the window above which a longer window is judged, and the longest one: the
loads of experts and of long sequences stay on a rank for a while."""
GAP = 3
"""Strides between two steps from which on steps between them are taken as unread."""
EARLY = 5
"""Steps after the warm-up that are its first steps."""


def find_stragglers(own_times: Mapping[int, Mapping[int, float]]) -> list[Straggler]:
    """Return the stragglers, the slowest first. own_times: seconds by rank, by step."""
    ranks = sorted(set[int]().union(*own_times.values()))
    steps = [step for step in sorted(own_times) if len(own_times[step]) * 2 >= len(ranks)]
    if len(ranks) < 3 or len(steps) < ENOUGH_STEPS:
        return []
    steps = steps[min(WARM_UP, len(steps) // 4) :]
    values = np.array([list(map(own_times[step].get, ranks)) for step in steps], float)
    excess = values / np.nanmedian(values, axis=1, keepdims=True) - 1
    window = WINDOW if len(steps) >= WINDOW else YOUNG_WINDOW
    error = _typical_error(excess[-window:])
    if error > NOISY:
        window = min(int(window * (error / NOISY) ** 2), LONGEST_WINDOW)
        if len(steps) < window:
            return []
    recent = excess[-window:]
    typical = _column_medians(recent)
    shift, starts = np.zeros(len(ranks)), np.full(len(ranks), -1)
    for column in range(len(ranks)):
        starts[column] = _change(excess[:, column])
        if 0 <= starts[column] <= EARLY and len(steps) >= 2 * BASELINE:
            baseline = np.nanmedian(excess[:BASELINE, column])
            shift[column] = baseline if 0.02 < baseline < FROM_START else 0
    typical = typical - shift
    middle = np.nanmedian(typical)
    present = np.isfinite(recent).sum(axis=0)
    spread = max(1.4826 * float(np.nanmedian(np.abs(typical - middle))), NOISE_FLOOR, _typical_error(recent))
    z = (typical - middle) / spread
    often = ((recent - shift) > STEP_EXCESS).sum(axis=0) / np.maximum(present, 1) >= STEP_SHARE
    limits = np.where((starts >= 0) & (starts <= EARLY), FROM_START, MIN_EXCESS)
    if len(steps) >= 2 * BASELINE:
        limits[:] = MIN_EXCESS
    slow = (z > MIN_Z) & (typical > limits) & often & (present * 2 >= len(recent))
    stragglers = []
    for column in map(int, np.flatnonzero(slow)):
        start = max(int(starts[column]), 0)
        waited = np.nansum(np.maximum(values[start:, column] - np.nanmedian(values[start:], axis=1), 0))
        stragglers.append(
            Straggler(
                ranks[column],
                float(typical[column]),
                float(z[column]),
                steps[start],
                float(np.nanmedian(values[-window:, column])),
                float(np.nanmedian(values[-window:])),
                float(waited) * (len(ranks) - 1) / 3600,
                _unread_before(steps, start),
            )
        )
    return sorted(stragglers, key=lambda straggler: -straggler.z)


def _unread_before(steps: list[int], start: int) -> int | None:
    """Return the last step known before an unread gap that ends at the index `start`; None without such a gap."""
    stride = float(np.median(np.diff(steps)))
    before = start - 1
    return steps[before] if before >= 0 and steps[start] - steps[before] > GAP * stride else None


def _typical_error(recent: NDArray[np.float64]) -> float:
    """Return the standard error of a rank's median, from the steps' scatter; few ranks can be close by chance."""
    scatter = _column_medians(np.abs(recent - _column_medians(recent)))
    return 1.2533 * 1.4826 * float(np.nanmedian(scatter)) / math.sqrt(len(recent))


def _column_medians(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the median of each column, NaN for a column without values."""
    if np.isfinite(values).all():
        return np.asarray(np.median(values, axis=0))
    return np.array([np.nanmedian(column) if np.isfinite(column).any() else np.nan for column in values.T])


def _change(excess: NDArray[np.float64]) -> int:
    """Return the index of the first step from which on 80 % of five steps exceed the limit; -1 without such a step."""
    high = np.where(np.isfinite(excess), excess > MIN_EXCESS, False).astype(int)
    if len(high) < 5:
        return -1
    sums = np.convolve(high, np.ones(5, int), "valid")
    starts = np.flatnonzero((sums >= 4) & (high[: len(sums)] == 1))
    return int(starts[0]) if len(starts) else -1
