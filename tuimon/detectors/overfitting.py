"""The validation loss rises while the training loss falls: the model memorizes the training data.

Rule: at `points` validations in a row the validation loss is above its lowest value by more than `part` of it, and by
more than twice the typical difference of neighbouring validations, while the training loss is lower than it was then.
The two are losses of the same name but for the split: val/cls_loss is compared with train/cls_loss.
The alert begins at the step of the lowest value, whose checkpoint is the best.
Source: SageMaker Debugger Overfit, ratio_threshold 0.1, patience 1. A patience of 1 fires on noise, and a constant
distance between the two losses is not overfitting, so a rise is required here.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from tuimon.analysis.concepts import metrics_of
from tuimon.analysis.rules import Threshold
from tuimon.analysis.windows import medians
from tuimon.detectors._curves import alert
from tuimon.detectors._validation import newest_validations
from tuimon.model.alerts import Alert, Change
from tuimon.store import Curve, Run
from tuimon.vocabulary import TRAINING_CONCEPTS, classify, pair_key

_HINT = "the checkpoint at the lowest validation loss is better; use more data, fewer epochs or more regularisation"


class Overfitting(Struct, frozen=True):
    id: str = "overfitting"
    title: str = "Overfitting"
    part: float = 0.1
    """Rise of the validation loss, relative to its lowest value."""
    points: int = 3
    """Validations in a row."""

    def check(self, run: Run) -> Iterator[Alert]:
        for validation in metrics_of(run, "loss.val", "val"):
            train = _counterpart(run, validation)
            if train is not None:
                yield from self._compare(run, run.curve(train), run.curve(validation))

    def _compare(self, run: Run, train: Curve, validation: Curve) -> Iterator[Alert]:
        newest = newest_validations(train, validation, self.points + 1, higher_is_better=False)
        if newest is None:
            return
        values, best, ends = newest.values, newest.best, newest.train_ends
        losses = medians(train.values, np.concatenate(([0], ends[:-1])), ends, 64)
        risen = values - values[best]
        with np.errstate(divide="ignore", invalid="ignore"):
            overfits = (risen > 2 * newest.typical_change) & (losses < losses[best])
            scores = np.where(overfits, risen / np.abs(values[best]), 0.0)
        rule = Threshold(self.part, 0.5 * self.part, self.points, self.points)
        alerts: dict[int, Alert] = {}
        for incident, first, last in newest.incidents(scores, rule):
            from_best = incident._replace(first=newest.offset + first)
            loss = Change(train.metric, "fallen", float(losses[last]), float(losses[first]))
            now, before = float(values[last]), float(values[first])
            # Of several incidents after one best value, only the last: an alert is identified by its step.
            alerts[first] = alert(
                run, validation, from_best, self.id, "warning", "risen", now, before, hint=_HINT, related=(loss,)
            )
        yield from alerts.values()


def _counterpart(run: Run, validation: str) -> str | None:
    """Return the training loss with the same stem; else the first one, unless only one of the two is a part of a loss.

    The validation loss of a data set is compared with the training loss.
    """
    losses = [name for concept in TRAINING_CONCEPTS["loss.val"] for name in metrics_of(run, concept, all_names=True)]
    key = pair_key(validation)
    if same := next((name for name in losses if pair_key(name) == key), None):
        return same
    if not losses or "component" in classify(validation).facets or "component" in classify(losses[0]).facets:
        return None
    return losses[0] if classify(losses[0]).concept != "loss.part" else None


DETECTOR = Overfitting()
