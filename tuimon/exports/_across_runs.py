"""Metrics of several runs side by side: which names belong together, and what runs and metrics are called."""

from __future__ import annotations

from collections.abc import Sequence

from tuimon.analysis.aligned_steps import counts_alike
from tuimon.analysis.comparing import aligned, first_name
from tuimon.model.views import SERIES_ROLES
from tuimon.panels import headlines_first
from tuimon.store import Run
from tuimon.vocabulary.names import section_of

MOST_LINES = 3 * len(SERIES_ROLES)
"""Maximum number of lines in a chart of several runs: each colour in three styles."""
Names = tuple[str | None, ...]
"""Name of a metric in each run; None where a run has no such metric."""


def metrics_across(runs: Sequence[Run]) -> list[Names]:
    """Return the names of each metric in all runs, the most important metric first.

    Metrics with steps of their own follow, and belong to those of other runs with steps of their own.
    """
    main = [[name for name in run.metrics if counts_alike(run, name)] for run in runs]
    others = [[name for name in run.metrics if not counts_alike(run, name)] for run in runs]
    order = headlines_first(runs)
    return [*aligned(main, order), *aligned(others, order)]


def logged_names(metrics: Sequence[Names]) -> list[str]:
    """Return the name of each metric in the first run that has it, without the section of a JSON document unless
    another metric then has the same name."""
    full = [first_name(names) for names in metrics]
    short = [section_of(name)[1] for name in full]
    return [brief if short.count(brief) == 1 else name for brief, name in zip(short, full, strict=True)]


def run_labels(runs: Sequence[Run]) -> tuple[str, ...]:
    """Return the names of the runs, made unique."""
    labels: list[str] = []
    for run in runs:
        labels.append(run.name if run.name not in labels else f"{run.name} ({run.id})")
    return tuple(labels)
