"""What a run is in brief: how it stands, its reward, its loss, the curve that tells most. Kept while its Run is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tuimon.analysis.comparing import seedless
from tuimon.analysis.kept import kept
from tuimon.panels._reading import Reading, reading_of
from tuimon.panels.loss import PANEL as LOSS
from tuimon.panels.reward import PANEL as REWARD
from tuimon.redact import redacted
from tuimon.store import Run


@kept
def reward_of(run: Run) -> Reading | None:
    """Its reward."""
    return REWARD.reading(run)


@kept
def loss_of(run: Run) -> Reading | None:
    """Its loss."""
    return LOSS.reading(run)


@kept
def main_of(run: Run) -> Reading | None:
    """Its reward, or else its loss, or else the metric with most points."""
    return reward_of(run) or loss_of(run) or reading_of(run, run.busiest_metrics[:1])


@kept
def settings_of(run: Run) -> Mapping[str, Any]:
    """Its config, without secrets."""
    return redacted(run.config)


@kept
def seedless_of(run: Run) -> tuple[object, ...] | None:
    """See comparing.seedless."""
    return seedless(run.name, run.config)
