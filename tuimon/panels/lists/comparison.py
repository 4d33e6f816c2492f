"""compare(): runs side by side, as one struct from which the screen, text, JSON and HTML are made.

compare(runs).first_line     "a is ahead of b: reward 0.7471 against 0.6965; one run each"
compare(runs).main.rows      the runs, or groups of runs that differ only in their seed, the best first
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from tuimon.analysis.aligned_steps import counts_alike
from tuimon.analysis.comparing import (
    aligned,
    compared_settings,
    distinct_names,
    first_name,
    flat,
    is_seed,
    seed_groups,
)
from tuimon.analysis.comparison_axis import ComparisonAxis, Place, comparison_axis
from tuimon.analysis.comparison_rows import Measured, MetricRows, compare_rows, first_line, main_metric
from tuimon.analysis.run_states import failures_of
from tuimon.analysis.setting_effects import SettingEffect, setting_effects
from tuimon.model.alerts import Alert
from tuimon.panels._charts.overlay_lines import seed_group_key
from tuimon.panels._metrics import MetricReading, reading_of
from tuimon.panels._run_facts import comparable_facts, headlines_first, settings_of
from tuimon.store import Run
from tuimon.text import clean
from tuimon.vocabulary import unit_text

MOST = 24
"""Maximum number of runs that the screen compares."""
Names = tuple[str | None, ...]
"""Name of a metric in each run; None where a run has no such metric."""


class Comparison(Struct, frozen=True, eq=False):
    """Runs side by side. Lists by run have the order of the runs."""

    runs: tuple[Run, ...]
    labels: tuple[str, ...]
    """Names of the runs, made unique."""
    failures: tuple[str, ...]
    """What casts doubt on the results of each run, see `failures_of`; "" for a healthy run."""
    groups: tuple[tuple[int, ...], ...]
    """Positions of the runs of each row: those that differ only in their seed, or one run."""
    is_by_name: bool
    """Whether no setting is the seed, so that the groups are those of the names."""
    differences: tuple[tuple[str, tuple[Any, ...]], ...]
    """Settings that differ, as (name, value in each run, or MISSING)."""
    same: tuple[tuple[str, Any], ...]
    """Settings that all runs share, as (name, value)."""
    about: tuple[tuple[str, tuple[Any, ...]], ...]
    """What else differs between the runs: host, program, arguments, git commit, versions, as the settings."""
    metrics: tuple[MetricRows, ...]
    """The most important first."""
    axis: ComparisonAxis
    """Axis along which the runs are compared."""
    reaches: float | None = None
    """Value of the main metric of which the first step is asked for."""

    @property
    def main(self) -> MetricRows | None:
        """The metric that decides, or else the first one; None without a metric that two runs have."""
        return main_metric(self.metrics)

    @property
    def has_groups(self) -> bool:
        """Whether some of the runs differ only in their seed."""
        return any(len(group) > 1 for group in self.groups)

    @property
    def first_line(self) -> str:
        """What the first two rows of the main metric show, in one sentence; "" if nothing can be compared."""
        return first_line(self.main)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is said above the tables: the first line, and along which axis the runs are compared."""
        return tuple(filter(None, (self.first_line, self.axis.sentence)))

    @property
    def effects(self) -> tuple[SettingEffect, ...]:
        """The settings that differ with the paired differences of the main metric, the largest first."""
        main = self.main
        if main is None or len(self.runs) < 3:
            return ()
        results = [None if own is None or own.ended_early else own.value for own in main.runs]
        return setting_effects(self.differences, results, main.meaning.direction != "down")

    @property
    def reached(self) -> tuple[tuple[int, Place | None] | None, ...]:
        """(step, position on the axis) of the first value of each run that is at least `reaches`, or at most where
        lower is better.

        None for a run without such a value; () without `reaches`.
        """
        main, wanted = self.main, self.reaches
        if main is None or wanted is None:
            return ()
        sign = -1.0 if main.meaning.direction == "down" else 1.0
        found: list[tuple[int, Place | None] | None] = []
        for own in main.runs:
            reaching = own is not None and sign * own.factor * own.curve.values >= sign * wanted
            if own is None or not np.any(reaching):
                found.append(None)
            else:
                row = int(np.argmax(reaching))
                found.append((int(own.curve.steps[row]), None if own.places is None else own.places[row].item()))
        return tuple(found)

    def labels_of(self, runs: Iterable[int]) -> tuple[str, ...]:
        """Return the names of the runs at these positions."""
        return tuple(self.labels[run] for run in runs)


def compare(
    runs: Sequence[Run],
    selected: Collection[str] | None = None,
    alerts: Iterable[Alert] = (),
    reaches: float | None = None,
    x: str = "step",
    best: bool = False,
    is_brief: bool = False,
) -> Comparison:
    """Compare runs.

    selected: names of the metrics to compare; None: all metrics. alerts: those of the runs. reaches: see `Comparison`.
    x: axis along which they are compared, see `comparison_axis`. best: compare the best value of each run in place of
    its level. is_brief: shorten the names of the runs, as far as they stay distinct.
    """
    axis = comparison_axis(runs, x)
    differences, same = compared_settings(list(map(settings_of, runs)))
    about, _ = compared_settings(list(map(comparable_facts, runs)))
    failures = tuple(failures_of([run.id for run in runs], alerts))
    labels = distinct_names([clean(run.name) for run in runs]) if is_brief else run_labels(runs)
    groups = _groups(runs)
    seeds = [name for run in runs for name, _ in flat(run.config) if is_seed(name)]
    metrics = []
    for found in metrics_across(runs):
        if selected is not None and not any(name in selected for name in found):
            continue
        readings = [reading_of(run, [name]) if name else None for run, name in zip(runs, found, strict=True)]
        known = next((reading for reading in readings if reading is not None), None)
        if known is None:
            continue
        meaning = next((r.meaning for r in readings if r is not None and r.meaning.direction), known.meaning)
        metrics.append(
            compare_rows(
                first_name(found),
                meaning,
                _measured(readings),
                groups,
                labels,
                failures=failures,
                axis=axis,
                in_steps=all(counts_alike(run, name) for run, name in zip(runs, found, strict=True) if name),
                kind="best" if best and meaning.direction in ("up", "down") else "level",
            )
        )
    return Comparison(
        tuple(runs),
        tuple(labels),
        failures,
        groups,
        not seeds,
        differences,
        same,
        about,
        tuple(metrics),
        axis,
        reaches,
    )


def metrics_across(runs: Sequence[Run]) -> list[Names]:
    """Return the names of each metric in all runs, the most important metric first.

    Metrics with steps of their own follow, and belong to those of other runs with steps of their own.
    """
    main = [[name for name in run.metrics if counts_alike(run, name)] for run in runs]
    others = [[name for name in run.metrics if not counts_alike(run, name)] for run in runs]
    order = headlines_first(runs)
    return [*aligned(main, order), *aligned(others, order)]


def run_labels(runs: Sequence[Run]) -> tuple[str, ...]:
    """Return the names of the runs, made unique."""
    labels: list[str] = []
    for run in runs:
        labels.append(run.name if run.name not in labels else f"{run.name} ({run.id})")
    return tuple(labels)


def _groups(runs: Sequence[Run]) -> tuple[tuple[int, ...], ...]:
    """Return the positions of the runs of each row, in the order of their first runs."""
    groups = seed_groups([seed_group_key(run) for run in runs])
    grouped = {run for group in groups for run in group}
    return tuple(sorted((*groups, *((run,) for run in range(len(runs)) if run not in grouped))))


def _measured(readings: Sequence[MetricReading | None]) -> list[Measured | None]:
    """Return the curves with factors and the units of the products: as logged if all runs log one unit."""
    is_one = len({own.meaning.logged_unit for own in readings if own is not None}) == 1

    def measured(own: MetricReading) -> Measured:
        factor, unit = (1.0, own.meaning.logged_unit) if is_one else (own.factor, own.meaning.unit)
        return Measured(own.curve, factor, clean(unit_text(unit or "")))

    return [None if own is None else measured(own) for own in readings]
