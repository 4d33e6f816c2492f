"""What a run is in brief: how it stands, its reward, its loss, the curve that tells most. Kept while its Run is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tuimon.analysis.comparing import seedless
from tuimon.analysis.progress import ProgressInputs, ProgressReport, report
from tuimon.analysis.progress_inputs import progress_inputs
from tuimon.panels._chart import factor_of
from tuimon.panels._curves import CurvePanel
from tuimon.panels._kept import kept
from tuimon.panels._select import curve_or_none
from tuimon.panels.loss import PANEL as LOSS
from tuimon.panels.reward import PANEL as REWARD
from tuimon.redact import redacted
from tuimon.store import Curve, Run
from tuimon.vocabulary import Meaning, classify


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """One metric of a run."""

    metric: str
    meaning: Meaning
    curve: Curve
    factor: float
    """What logged values are multiplied by to be in the unit and of the sign of the concept."""

    @property
    def last(self) -> float:
        """The last value, finite or not."""
        return float(self.curve.values[-1]) * self.factor


inputs_of = kept(progress_inputs)
"""What is known of a run's progress."""


def progress_of(run: Run, now: float) -> ProgressReport:
    """How the run stands at `now`."""
    known: ProgressInputs = inputs_of(run)
    return report(known, now)


def steps_left(run: Run, now: float) -> int | None:
    """Until the end of the run, in steps as its metrics are logged; None unknown."""
    said = progress_of(run, now)
    return None if said.step is None or said.total is None else max(said.total - said.step, 0) * said.updates


def reading_of(run: Run, panel: CurvePanel) -> Reading | None:
    """The metric that leads a panel in this run; None where it has none with a point."""
    for name in panel.in_order(run):
        curve = curve_or_none(run, name)
        if curve is not None:
            meaning = classify(name)
            return Reading(name, meaning, curve, factor_of(meaning, curve))
    return None


@kept
def reward_of(run: Run) -> Reading | None:
    """Its reward."""
    return reading_of(run, REWARD) if REWARD.relevant(run) else None


@kept
def loss_of(run: Run) -> Reading | None:
    """Its loss."""
    return reading_of(run, LOSS) if LOSS.relevant(run) else None


@kept
def main_of(run: Run) -> Reading | None:
    """Its reward, or else its loss, or else the metric with most points."""
    found = reward_of(run) or loss_of(run)
    if found is None and run.busiest_metric is not None:
        curve = curve_or_none(run, run.busiest_metric)
        found = Reading(run.busiest_metric, classify(run.busiest_metric), curve, 1.0) if curve is not None else None
    return found


@kept
def settings_of(run: Run) -> Mapping[str, Any]:
    """Its config, without secrets."""
    return redacted(run.config)


@kept
def seedless_of(run: Run) -> tuple[object, ...] | None:
    """See comparing.seedless."""
    return seedless(run.name, run.config)


def last_of(reading: Reading | None) -> float:
    """NaN for none."""
    return math.nan if reading is None else reading.last
