"""The user's own rules, data only: `reward < 0.1 for 20 steps`.

    NAME  <  |  <=  |  >  |  >=   NUMBER  [for N points | steps | s | min | h]

NAME is a metric as it is logged, with * and ? for any part of it; or the id or the label of a concept of the vocabulary
(reward.train, reward, grad norm), whose best series are meant then. Without `for`, one point is enough. It is over with
the first point that is not so; without `for` with the third in a row, as a curve that crosses a limit does so often.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from msgspec import Struct

from tuimon.analysis.concepts import named
from tuimon.analysis.incidents import Incident
from tuimon.analysis.rules import Above, Below
from tuimon.detectors._curves import alert, extreme, incidents, number
from tuimon.errors import UsageError
from tuimon.model.alerts import SEVERITIES, Alert
from tuimon.store import Curve, Run
from tuimon.text import clean
from tuimon.vocabulary import concepts

_RULE = re.compile(
    r"\s*(?P<name>\S.*?)\s*(?P<sign><=|>=|<|>)\s*(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
    r"(?:\s+for\s+(?P<count>\d+(?:\.\d+)?)\s*(?P<unit>points?|steps?|s|min|h))?\s*"
)
_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0}
_EXAMPLE = (
    'a rule is like "reward < 0.1 for 20 steps": a name, < <= > or >=, a number, for N points, steps, s, min or h'
)


class UserRule(Struct, frozen=True):
    """One of them, as a detector."""

    id: str
    """The rule as it was written."""
    title: str
    name: str
    below: bool
    limit: float
    """The last value that fulfils it."""
    count: float
    unit: str
    """points | steps | s."""
    severity: str

    def check(self, run: Run) -> Iterator[Alert]:
        """One alert a time and metric."""
        asked = int(self.count) if self.unit == "points" else 1
        clear = 3 if self.unit == "points" and asked == 1 else 1
        rule = (Below if self.below else Above)(self.limit, self.limit, asked, clear)
        for metric in self._metrics(run):
            curve = run.curve(metric)
            for incident in incidents(curve, rule):
                if self.unit == "points" or _span(curve, incident, self.unit) >= self.count:
                    yield self._alert(run, curve, incident)

    def _alert(self, run: Run, curve: Curve, incident: Incident) -> Alert:
        value, step = extreme(curve, incident, highest=not self.below)
        message = f"{self.id}: {curve.metric} came to {number(value)} at step {step},"
        return alert(run, curve, incident, self.id, self.severity, message)

    def _metrics(self, run: Run) -> list[str]:
        if self.name in run.metrics:
            return [self.name]
        if "*" in self.name or "?" in self.name:
            return [metric for metric in run.metrics if fnmatchcase(metric, self.name)]
        found = []
        for concept in concepts():
            if self.name in (concept.id, concept.label):
                found += named(run, concept.id, "val" if concept.id.endswith(".val") else "train")
        return found


def _span(curve: Curve, incident: Incident, unit: str) -> float:
    """How long it has been: steps, the first counted, or seconds."""
    if unit == "steps":
        return float(curve.steps[incident.last] - curve.steps[incident.first]) + 1
    span = float(curve.wall_times[incident.last] - curve.wall_times[incident.first])
    return span if math.isfinite(span) else 0.0


def detector_of(rule: str | Mapping[str, Any], where: str) -> UserRule:
    """The detector of a rule: its text, or a table with `rule` and `severity`. UsageError when it is none."""
    table = {"rule": rule} if isinstance(rule, str) else rule
    unknown = sorted(set(table) - {"rule", "severity"})
    text, severity = table.get("rule"), table.get("severity", "warning")
    if unknown or not isinstance(text, str):
        told = f"no {clean(repr(unknown[0]))} in it" if unknown else "a rule = text in it"
        raise UsageError(f"{where}: a table of [[rules]] has {told}", "it has rule, and severity if it should")
    if severity not in SEVERITIES:
        raise UsageError(f"{where}: severity is one of {', '.join(SEVERITIES)}, not {severity!r}")
    found = _RULE.fullmatch(text)
    if found is None:
        raise UsageError(f"{where}: no rule: {clean(text)}", _EXAMPLE)
    below, limit = found["sign"].startswith("<"), float(found["number"])
    count, unit = float(found["count"] or 1), found["unit"] or "points"
    unit = unit if unit in _SECONDS else unit.rstrip("s") + "s"
    if not math.isfinite(limit) or count <= 0 or (unit == "points" and count != int(count)):
        raise UsageError(f"{where}: a number out of range: {clean(text)}", _EXAMPLE)
    if not found["sign"].endswith("="):
        limit = float(np.nextafter(limit, -np.inf if below else np.inf))
    count, unit = (count * _SECONDS[unit], "s") if unit in _SECONDS else (count, unit)
    name = " ".join(text.split())
    return UserRule(name, name, found["name"], below, limit, count, unit, severity)
