"""Facts about a run that many rows ask for, computed once per Run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tuimon.analysis.run_cache import cached_per_run
from tuimon.panels._metrics import MetricReading, reading_of
from tuimon.panels.curves import LOSS, REWARD
from tuimon.redact import redacted
from tuimon.store import Run


@cached_per_run
def reward_of(run: Run) -> MetricReading | None:
    """Return the run's reward, or None."""
    return REWARD.reading(run)


@cached_per_run
def loss_of(run: Run) -> MetricReading | None:
    """Return the run's loss, or None."""
    return LOSS.reading(run)


@cached_per_run
def main_of(run: Run) -> MetricReading | None:
    """Return the run's reward, else its loss, else the metric with the most points."""
    return reward_of(run) or loss_of(run) or reading_of(run, run.busiest_metrics[:1])


@cached_per_run
def settings_of(run: Run) -> Mapping[str, Any]:
    """Return the run's config without secrets."""
    return redacted(run.config)
