"""Values of a metric that its curve does not show, because another source is drawn at their steps.

`hidden_conflict` counts the values that differ from those drawn, `hidden_values` finds NaN and infinities.

Several files of a run can hold one metric. The best of them is drawn, so a NaN of another file would go unnoticed. Two
kinds of values are left out, because they are no failure of the training. Of a source that otherwise agrees with the
curve: values at steps where the curve has a finite one, and empty cells, if they are more than half of its rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from tuimon.model.equal import agree
from tuimon.model.points import Indices
from tuimon.store import Curve, Run


class HiddenValues(Struct, frozen=True):
    """Values of one source that are not finite and not drawn."""

    source: str
    curve: Curve
    """The metric as this source holds it."""
    rows: Indices
    """Rows of that curve, ascending; at least one."""

    @property
    def nan_count(self) -> int:
        return int(np.isnan(self.curve.values[self.rows]).sum())

    @property
    def infinity_count(self) -> int:
        return len(self.rows) - self.nan_count


def hidden_conflict(run: Run) -> str:
    """Return "N values of M files conflict and are hidden" for a run, or "" if all sources agree."""
    if len({view.info.source for view in run.streams if view.point_count}) < 2:
        return ""
    found = [disagreement for metric in run.metrics for disagreement in run.disagreements(metric)]
    values, files = sum(item.steps for item in found), len({item.source for item in found})
    verb = "conflicts and is" if values == 1 else "conflict and are"
    of = f"{values} value{'s' * (values != 1)} of {files} file{'s' * (files != 1)}"
    return f"{of} {verb} hidden" if values else ""


def hidden_values(run: Run, metric: str) -> Iterator[HiddenValues]:
    """Yield the values that are not finite of each source of a metric that the curve does not show.

    Of several sources with such a value at one step the first counts."""
    drawn = run.curve(metric)
    if len(drawn.sources) < 2:
        return
    known = np.empty(0, np.int64)
    for source in dict.fromkeys(run.sources_with_nonfinite(metric)):
        if source == drawn.sources[0]:
            continue
        curve = run.curve_from(metric, source)
        rows = _hidden_rows(drawn, curve)
        rows = rows[~np.isin(curve.steps[rows], known)]
        if len(rows):
            known = np.concatenate((known, curve.steps[rows]))
            yield HiddenValues(source, curve, rows)


def _hidden_rows(drawn: Curve, other: Curve) -> Indices:
    places = np.maximum(np.searchsorted(drawn.steps, other.steps, "right") - 1, 0)
    common = drawn.steps[places] == other.steps
    here, there = drawn.values[places], other.values
    shown = common & np.isfinite(here)
    both = shown & np.isfinite(there)
    hidden = ~np.isfinite(there) & ~(common & ~shown)
    if both.any() and agree(here[both], there[both], is_text=True).mean() >= 0.5:
        hidden &= ~shown
        if 2 * int(hidden.sum()) > len(other):
            hidden[:] = False
    return np.flatnonzero(hidden)
