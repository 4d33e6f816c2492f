"""Two logs of the run have different values for a metric, so that one of them is wrong or belongs to another run.

Rule: the values of a reward, loss, KL, policy or length metric differ at a step by more than the rounding of either
source. Information only: which of the values is right cannot be known from the logs.
Source: ours; the comparison is that of the notes below the charts (store/compare.py).
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tuimon.detectors._curves import CHECKED_PANELS
from tuimon.model.alerts import Alert
from tuimon.store import Run
from tuimon.vocabulary import classify


class SourceDisagreement(Struct, frozen=True):
    id: str = "source_disagreement"
    title: str = "Sources disagree"

    def check(self, run: Run) -> Iterator[Alert]:
        for metric in run.metrics:
            if classify(metric).panel not in CHECKED_PANELS:
                continue
            curve = run.curve(metric)
            found = curve.disagreement
            if found is not None:
                hint = f"`tuimon doctor --metric {metric}` lists the sources; remove the one that does not belong here"
                yield Alert(
                    self.id,
                    "info",
                    run.id,
                    metric,
                    found.step,
                    hint=hint,
                    what="differs",
                    value=found.here,
                    usual=found.there,
                    source=found.source,
                )


DETECTOR = SourceDisagreement()
