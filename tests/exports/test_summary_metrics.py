"""The trend of a metric in summaries, which agrees with what the alerts say about it."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace
from support.stores import store_of

from tuimon.exports.metrics import summarise
from tuimon.exports.summary import trend_text
from tuimon.model.alerts import Alert


def test_trend_of_a_curve_that_has_turned_names_the_step() -> None:
    loss = np.concatenate((np.linspace(1.0, 0.4, 40), np.linspace(0.41, 0.6, 20)))
    run = store_of({"val_loss": loss.tolist()}).snapshot().runs[0]
    metric = summarise(run, "val_loss")
    assert metric.trend.direction == "falling"
    assert (trend_text(metric), trend_text(metric, brief=True)) == ("rising since 400", "↑ since 400")


def test_trend_agrees_with_an_active_alert_that_the_metric_gets_worse() -> None:
    loss = np.concatenate((np.linspace(1.0, 0.4, 40), (0.45, 0.47, 0.49)))
    run = store_of({"val_loss": loss.tolist()}).snapshot().runs[0]
    alert = Alert("overfitting", "warning", run.id, "val_loss", 390, "val_loss has risen by 0.09 since step 390")
    assert trend_text(summarise(run, "val_loss", [alert])) == "rising since 390"
    for other in (replace(alert, until=430), replace(alert, metric="loss"), replace(alert, rule="spikes")):
        assert trend_text(summarise(run, "val_loss", [other])).startswith("falling -")
