"""Alerts about the ranks of a job, from the report that the reader made of their logs."""

from __future__ import annotations

from collections.abc import Iterator

from tuimon.model.alerts import Alert
from tuimon.store import Run


def alerts_of(run: Run, rule: str) -> Iterator[Alert]:
    """Yield the problems of the ranks of a run that a rule reports."""
    for problem in run.ranks.problems if run.ranks is not None else ():
        if problem.rule == rule:
            yield Alert(rule, problem.severity, run.id, "", problem.step, problem.message, problem.hint)
