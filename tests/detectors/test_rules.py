"""Rules of the table on synthetic curves: what they find, what they leave alone, and the fields of their alerts."""

from __future__ import annotations

import json
import math
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from support.stores import store_of

from tuimon.detectors import Checker, _engine
from tuimon.model.alerts import Alert
from tuimon.model.points import Floats
from tuimon.monitor.local import open_run


def alerts(**series: Floats) -> tuple[Alert, ...]:
    """Return the alerts of series at the steps 10, 20, 30 etc. "__" in a name means "/"."""
    run = store_of({name.replace("__", "/"): values.tolist() for name, values in series.items()}).snapshot().runs[0]
    return Checker().check(run)


def only(rule: str, **series: Floats) -> Alert:
    [alert] = (alert for alert in alerts(**series) if alert.rule == rule)
    return alert


def noisy(level: float, count: int, noise: float = 0.02, seed: int = 1) -> Floats:
    return np.asarray(level * (1 + noise * np.random.default_rng(seed).standard_normal(count)))


def test_pauses_for_validation_are_no_slower_steps() -> None:
    times = noisy(10.0, 300, 0.05)
    times[::20] *= 6
    assert alerts(time__step=times) == ()
    slower = np.concatenate((times[:200], 2 * times[200:]))
    alert = only("step_drift", time__step=slower)
    assert (alert.step, alert.what, alert.unit) == (2010, "risen", "s")


def test_a_spike_is_one_point() -> None:
    loss = noisy(0.5, 200)
    loss[120] = 4.0
    alert = only("spikes", loss=loss)
    assert (alert.what, alert.value, alert.usual) == ("jumped", 4.0, np.median(loss[111:120]))
    assert (alert.step, alert.until, alert.extreme) == (1210, 1210, 1210)


@pytest.mark.parametrize(("top", "severity"), [(1.6, "warning"), (4.0, "critical")])
def test_a_supervised_loss_that_rises(top: float, severity: str) -> None:
    falls = np.concatenate((np.linspace(2.0, 0.4, 80), np.full(160, 0.4), np.linspace(0.4, top, 60))) + 0.01
    alert = only("divergence", loss=falls)
    assert (alert.severity, alert.what, alert.value) == (severity, "risen", falls[-1]), "the last logged value"
    assert 2400 <= (alert.step or 0) < 2700
    assert not [a for a in alerts(loss=falls, reward=np.linspace(0, 1, 300)) if a.rule == "divergence"]


def test_a_gradient_norm_that_stays_high() -> None:
    norms = np.concatenate((noisy(0.4, 160), noisy(6.0, 60)))
    alert = only("divergence", grad_norm=norms)
    assert (alert.step, alert.active, alert.value) == (1610, True, norms[-1])
    assert alert.usual == pytest.approx(0.4, rel=0.02)


def test_a_reward_that_falls_and_recovers() -> None:
    reward = np.concatenate((np.linspace(0.1, 0.9, 100), np.full(30, 0.4), np.full(60, 0.9))) + noisy(0.01, 190)
    alert = only("reward_drop", reward=reward)
    assert (alert.what, alert.severity, alert.active) == ("fallen", "warning", False)
    assert alert.step == pytest.approx(1010, abs=60)
    assert alert.value == reward[100:130].min(), "that of an incident that is over is the farthest"
    assert reward[(alert.extreme or 0) // 10 - 1] == alert.value


def test_a_lost_entropy_is_not_reported_for_a_solved_task() -> None:
    entropy = np.concatenate((noisy(2.0, 60), noisy(0.05, 60)))
    alert = only("entropy_collapse", actor__entropy=entropy, critic__score__mean=noisy(0.3, 120))
    assert (alert.step, alert.what, alert.value) == (610, "fallen", entropy[-1])
    solved = np.clip(np.linspace(0.2, 1.5, 120), 0, 0.97)
    assert not [a for a in alerts(actor__entropy=entropy, critic__score__mean=solved) if a.rule == "entropy_collapse"]


def test_longer_responses_are_information_if_the_reward_has_risen() -> None:
    lengths = np.concatenate((noisy(100, 60), noisy(260, 40)))
    flat = only("length", response_length__mean=lengths, critic__score__mean=noisy(0.4, 100))
    assert (flat.severity, flat.step, flat.value) == ("warning", 610, lengths[-1])
    risen = np.linspace(0.1, 0.8, 100)
    assert only("length", response_length__mean=lengths, critic__score__mean=risen).severity == "info"


def test_a_leak_after_a_flat_half_is_found() -> None:
    held = noisy(30, 600, 0.002) + np.concatenate((np.zeros(300), 0.03 * np.arange(300)))
    alert = only("memory_creep", gpu_memory_allocated_gb=held)
    assert (alert.what, alert.unit, alert.value) == ("grows", "GB", held[-1])
    assert alert.step == pytest.approx(3010, abs=300)


def test_alerts_of_one_failure_are_one_row() -> None:
    """The loss diverges from step 3010 on and is NaN from 3610 on; an entropy that is lost much earlier is another."""
    loss = np.concatenate((noisy(0.5, 300), noisy(0.5, 60) * np.exp(0.1 * np.arange(60)), np.full(40, np.nan)))
    norm = np.concatenate((noisy(1.0, 305), noisy(1.0, 55) * np.exp(0.1 * np.arange(55)), np.full(40, np.nan)))
    found = [alert for alert in alerts(loss=loss, grad_norm=norm) if alert.severity != "info"]
    assert [(alert.rule, alert.severity, alert.step) for alert in found] == [("nonfinite", "critical", 3610)]
    assert {change.metric for change in found[0].related} == {"loss", "grad_norm"}


def test_many_points_are_examined_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    loss = np.concatenate((noisy(0.5, 700), noisy(1.5, 300)))
    loss[120] = 4.0
    whole = alerts(loss=loss, grad_norm=loss[::-1])
    assert whole
    monkeypatch.setattr(_engine, "_AT_ONCE", 50)
    assert alerts(loss=loss, grad_norm=loss[::-1]) == whole
    monkeypatch.undo()
    tracemalloc.start()
    alerts(loss=noisy(0.5, 300_000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 150 << 20


@pytest.mark.parametrize(("lr", "expected"), [(30.0, True), (0.01, False)])
def test_an_absurd_learning_rate_is_an_alert(lr: float, expected: bool) -> None:
    assert [alert.rule for alert in alerts(train__learning_rate=np.full(60, lr))] == ["learning_rate"] * expected


@pytest.mark.parametrize(
    ("before", "found_in_console"),
    [([], False), ([0.003, 0.002, 0.001], False), ([0.5] * 9, True), ([0.903, 0.902, 0.9], True)],
    ids=["zeros only", "falls slowly", "constant", "falls to 0 at once"],
)
def test_zeros_of_console_text_may_be_rounded(tmp_path: Path, before: list[float], found_in_console: bool) -> None:
    rates = [*before, *[0.0] * 40]
    (tmp_path / "train.log").write_text(
        "".join(f"step: {i} - lr: {v:.3f} - loss: {1 / (i + 1):.3f}\n" for i, v in enumerate(rates))
    )
    assert any(alert.rule == "learning_rate" for alert in open_run(tmp_path).alerts) == found_in_console
    (tmp_path / "train.log").unlink()
    rows = (json.dumps({"step": i, "lr": v, "loss": 1 / (i + 1)}) + "\n" for i, v in enumerate(rates))
    (tmp_path / "metrics.jsonl").write_text("".join(rows))
    assert any(alert.rule == "learning_rate" for alert in open_run(tmp_path).alerts)


@pytest.mark.parametrize(("length", "severity"), [(100.0, "warning"), (104.0, "warning"), (250.0, "info")])
def test_slower_steps_are_information_if_the_responses_are_longer(length: float, severity: str) -> None:
    times = np.concatenate((noisy(10.0, 200), noisy(20.0, 100)))
    lengths = np.concatenate((noisy(100.0, 200), noisy(length, 100)))
    assert only("step_drift", time__step=times, response_length__mean=lengths).severity == severity


@pytest.mark.parametrize("behind", [0, 3], ids=["equal", "the second source is behind"])
def test_a_metric_of_two_names_is_one_alert(tmp_path: Path, behind: int) -> None:
    values = [0.3 + step / 50 if step < 60 else math.nan for step in range(80)]
    rows = [{"step": step, "charts/episodic_return": value} for step, value in enumerate(values)]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    lines = [f"{step},{value}\n" for step, value in enumerate(values[: 80 - behind])]
    (tmp_path / "log.csv").write_text("".join(["step,score\n", *lines]))
    [run] = open_run(tmp_path).runs
    found = Checker().check(run)
    assert {(alert.rule, alert.step) for alert in found} == {("nonfinite", 60)}
    assert [alert.severity for alert in found].count("info") == len(found) - 1


def test_an_estimate_of_the_entropy_may_scatter_around_0_but_a_continuous_one_falls_below() -> None:
    noise = 0.01 * np.random.default_rng(2).standard_normal(300)
    entropy = np.maximum(1.2 - np.arange(300) / 150, 0) + noise
    assert entropy.min() < 0
    assert only("entropy_collapse", entropy=entropy)
    assert alerts(entropy=1.2 - np.arange(300) / 150 + noise) == ()


@pytest.mark.parametrize(
    ("metric", "rule"),
    [
        ("actor/ratio_mean", "policy_ratio"),
        ("val/ratio", "policy_ratio"),
        ("train/importance_ratio", "policy_ratio"),
        ("rollout_corr/rollout_is_mean", "engine_mismatch"),
    ],
)
def test_a_ratio_of_policies_is_no_mismatch_of_engines(metric: str, rule: str) -> None:
    (alert,) = alerts(**{metric.replace("/", "__"): np.repeat([1.0, 3.0], [60, 40])})
    assert alert.rule == rule
