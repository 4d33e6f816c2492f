"""The trend of a metric in summaries, which agrees with what the alerts say about it."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace
from support.stores import store_of

from tuimon.exports.metrics import summarise
from tuimon.exports.summary import trend_text
from tuimon.model.alerts import Alert
from tuimon.model.points import Floats


def test_trend_of_a_curve_that_has_turned_names_the_step() -> None:
    loss = np.concatenate((np.linspace(1.0, 0.4, 40), np.linspace(0.41, 0.6, 20)))
    run = store_of({"val_loss": loss.tolist()}).snapshot().runs[0]
    metric = summarise(run, "val_loss")
    assert metric.trend.direction == "falling"
    assert (trend_text(metric), trend_text(metric, brief=True)) == ("rising since 400", "↑ since 400")


@pytest.mark.parametrize(("first", "rest", "long", "short"), [(1.0, 10.0, "+9", "↑ 9"), (10.0, 1.0, "-9", "↓ 9")])
def test_trend_of_a_change_between_two_levels_is_their_difference(
    first: float, rest: float, long: str, short: str
) -> None:
    noise = np.tile([0.01, -0.01, 0.0], 20)
    levels = np.where(np.arange(60) < 15, first, rest) + noise
    metric = summarise(store_of({"loss": levels.tolist()}).snapshot().runs[0], "loss")
    assert (trend_text(metric), trend_text(metric, brief=True)) == (f"jumped {long} at 160", f"{short} at 160")


@pytest.mark.parametrize("curve", [np.linspace(1, 10, 60), 10 / (1 + np.exp(-np.arange(-30, 30) / 4))])
def test_trend_of_a_gradual_rise_is_no_jump(curve: Floats) -> None:
    metric = summarise(store_of({"loss": curve.tolist()}).snapshot().runs[0], "loss")
    assert metric.jump is None
    assert trend_text(metric).startswith("rising +")


def test_trend_agrees_with_an_active_alert_that_the_metric_gets_worse() -> None:
    loss = np.concatenate((np.linspace(1.0, 0.4, 40), (0.45, 0.47, 0.49)))
    run = store_of({"val_loss": loss.tolist()}).snapshot().runs[0]
    alert = Alert("overfitting", "warning", run.id, "val_loss", 390, "val_loss has risen by 0.09 since step 390")
    assert trend_text(summarise(run, "val_loss", [alert])) == "rising since 390"
    for other in (replace(alert, until=430), replace(alert, metric="loss"), replace(alert, rule="spikes")):
        assert trend_text(summarise(run, "val_loss", [other])).startswith("falling -")
