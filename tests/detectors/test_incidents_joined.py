"""A collapsed policy is one incident with its cause and onset, on real logs read by the program."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.programs import run
from support.stores import store_of

from tuimon.detectors import Checker


def _check(
    path: Path, *, collapse: int = 3, entropy: float = 0.0, share: float = 1.0, lr: float = 3.0, norm: float = 0.8
) -> dict[str, Any]:
    rows = []
    for step in range(1, 61):
        healthy = step < collapse
        rows.append(
            {
                "step": step,
                "train/reward": 0.3 + step / 200 + 0.01 * (step % 3) if step < 39 else 0.0,
                "train/entropy": 0.8 if healthy else entropy,
                "train/frac_reward_zero_std": 0.1 if healthy else share,
                "train/grad_norm": 0.8 if healthy else norm,
                "train/learning_rate": lr,
            }
        )
    (path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    document: dict[str, Any] = json.loads(run("check", str(path), "--json", expect=4).stdout)
    return document


@pytest.mark.parametrize("collapse", [1, 3])
def test_a_collapse_is_one_incident_with_its_cause(tmp_path: Path, collapse: int) -> None:
    document = _check(tmp_path, collapse=collapse, norm=0.0)
    assert document["standing"] == 1
    headline = document["alerts"][0]
    assert (headline["rule"], headline["severity"], headline["step"]) == ("policy_collapse", "critical", collapse)
    assert "vanishing_gradient" in {alert["rule"] for alert in document["alerts"][1:]}
    named = {change["metric"] for change in headline["related"]}
    assert named == {"train/learning_rate", "train/entropy", "train/frac_reward_zero_std", "train/reward"}
    assert "lower the learning rate" in headline["hint"]
    assert {alert["severity"] for alert in document["alerts"][1:]} == {"info"}


def test_a_fall_of_the_reward_alone_is_no_collapse_and_has_the_step_of_the_fall(tmp_path: Path) -> None:
    (alert,) = _check(tmp_path, entropy=0.8, share=0.1, lr=1e-5)["alerts"]
    assert (alert["rule"], alert["step"]) == ("reward_drop", 39)


@pytest.mark.parametrize(("lr", "expected"), [(3.0, True), (0.01, False)])
def test_an_absurd_learning_rate_is_an_alert(tmp_path: Path, lr: float, expected: bool) -> None:
    rules = {alert["rule"] for alert in _check(tmp_path, entropy=0.8, share=0.1, lr=lr)["alerts"]}
    assert ("learning_rate" in rules) is expected


def _nan_run(path: Path, lr: float) -> None:
    """Write a run whose weights are NaN from step 20 on."""
    rows = []
    for step in range(40):
        row = {"step": step, "train/loss": 1 / (step + 1), "train/grad_norm": 0.5, "train/kl": 0.01, "lr": 1e-5}
        if step >= 20:
            row |= dict.fromkeys(("train/loss", "train/grad_norm", "train/kl"), float("nan")) | {"lr": lr}
        rows.append(row | {"train/reward": 0.5 if step < 22 else 0.0})
    (path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_weights_that_are_nan_are_one_incident(tmp_path: Path) -> None:
    _nan_run(tmp_path, 1e-5)
    document = json.loads(run("check", str(tmp_path), "--json", expect=4).stdout)
    assert document["standing"] == 1
    headline = document["alerts"][0]
    assert (headline["metric"], headline["what"], headline["step"]) == ("train/loss", "nan", 20)
    assert (headline["count"], headline["points"], headline["severity"]) == (20, 40, "critical")
    assert [change["metric"] for change in headline["related"]] == ["train/grad_norm", "train/kl"]
    others = {(alert["metric"], alert["severity"]) for alert in document["alerts"][1:]}
    assert {("train/grad_norm", "info"), ("train/kl", "info")} <= others


def test_an_absurd_learning_rate_is_the_cause(tmp_path: Path) -> None:
    _nan_run(tmp_path, 1e20)
    document = json.loads(run("check", str(tmp_path), "--json", expect=4).stdout)
    assert document["standing"] == 1
    headline = document["alerts"][0]
    assert (headline["metric"], headline["what"], headline["step"]) == ("train/loss", "nan", 20)
    rate = headline["related"][0]
    assert (rate["metric"], rate["what"], rate["value"]) == ("lr", "reached", 1e20)
    assert document["alerts"][0]["hint"].startswith("lower the learning rate")
    lines = run("--once", str(tmp_path)).stdout.splitlines()
    assert "1 critical alert" in lines[0]
    assert sum(line.startswith("! ") for line in lines) == 1


def _sudden_collapse(
    path: Path, *, reward: float = 0.0, kl: float = 2.4, share: float = 1.0, norm: float = 0.0, back: int = 0
) -> dict[str, Any]:
    """Check a run of 36 steps, shaped like a GRPO run whose policy collapses from step 30 to 33; NaN at step 36."""
    rows = []
    for step in range(1, 37 + back):
        bad = 30 <= step <= 33
        row = {
            "step": step,
            "train/reward": reward if bad else 0.5 + 0.1 * (step % 3),
            "train/entropy": [0.46, 0.01, 0.0, 0.0][step - 30] if bad else 3.96 - step / 400,
            "train/kl": kl if bad else 0.6 if step == 29 and kl > 1 else 0.08,
            "train/frac_reward_zero_std": share if bad else 0.0,
            "train/grad_norm": float("nan") if step == 36 and norm == 0 else norm if bad and step > 30 else 0.8,
            "train/learning_rate": 1e-3,
        }
        rows.append(row)
    (path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for step in (10, 20, 35):
        (path / f"checkpoint-{step}").mkdir(exist_ok=True)
        (path / f"checkpoint-{step}" / "config.json").write_text("{}")
    return json.loads(run("check", str(path), "--past", "--json", expect=0 if back else 4).stdout)


def test_a_collapse_of_four_steps_is_one_incident_with_nan_as_its_consequence(tmp_path: Path) -> None:
    document = _sudden_collapse(tmp_path)
    assert document["standing"] == 1
    headline, *others = document["alerts"]
    assert (headline["rule"], headline["severity"], headline["step"]) == ("policy_collapse", "critical", 29)
    parts = [
        (own["metric"].removeprefix("train/"), own["what"], own["usual"], own["value"], own["step"])
        for own in headline["related"]
    ]
    assert parts == [
        ("kl", "risen", 0.08, 2.4, 29),
        ("entropy", "fallen", pytest.approx(3.926, abs=1e-3), 0.0, 30),
        ("reward", "fallen", 0.6, 0.0, 30),
        ("frac_reward_zero_std", "risen", 0.0, 1.0, 30),
        ("grad_norm", "fallen", 0.8, 0.0, 31),
        ("grad_norm", "nan", None, None, 36),
    ]
    assert headline["hint"].startswith("go back to the checkpoint of step 20;")
    assert {alert["severity"] for alert in others} == {"info"}
    summary = " ".join(run("summary", str(tmp_path)).stdout.split())
    assert summary.count("train/grad_norm") == 1 + len(parts[-2:]), "in the table, and as parts of the collapse only"


def test_a_collapse_from_which_the_policy_recovers_is_resolved(tmp_path: Path) -> None:
    document = _sudden_collapse(tmp_path, norm=1e-9, back=12)
    assert document["alerts"] == []
    (collapse,) = [alert for alert in document["past"] if alert["rule"] == "policy_collapse"]
    assert collapse["until"] == 33


def test_entropy_that_falls_without_two_other_signs_is_no_sudden_collapse(tmp_path: Path) -> None:
    rows = [
        {"step": step, "entropy": 2.0 if step < 30 else 0.05, "reward": 0.5, "kl": 0.08, "grad_norm": 0.8}
        for step in range(36)
    ]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert json.loads(run("check", str(tmp_path), "--json").stdout)["alerts"] == []


@pytest.mark.parametrize("behind", [0, 3], ids=["equal", "the second source is behind"])
def test_a_metric_of_two_names_is_one_alert(tmp_path: Path, behind: int) -> None:
    values = [0.3 + step / 50 if step < 60 else math.nan for step in range(80)]
    for file, name, count in (("metrics.jsonl", "charts/episodic_return", 80), ("log.csv", "score", 80 - behind)):
        rows = [{"step": step, name: value} for step, value in enumerate(values[:count])]
        lines = map(json.dumps, rows) if file == "metrics.jsonl" else [f"step,{name}", *map(_row_of, rows)]
        (tmp_path / file).write_text("".join(line + "\n" for line in lines))
    alerts = json.loads(run("check", str(tmp_path), "--json", expect=4).stdout)["alerts"]
    [alert] = alerts
    assert (alert["rule"], alert["step"]) == ("nonfinite", 60)


def _row_of(row: dict[str, float]) -> str:
    return ",".join(map(str, row.values()))


def test_different_metrics_have_their_own_alerts(tmp_path: Path) -> None:
    values = [0.3 + step / 50 for step in range(80)]
    rows = [
        {"step": step, "a_reward": value if step < 60 else None, "b_reward": 2 * value if step < 60 else None}
        for step, value in enumerate(values)
    ]
    text = "".join(json.dumps(row).replace("null", "NaN") + "\n" for row in rows)
    (tmp_path / "metrics.jsonl").write_text(text)
    alerts = json.loads(run("check", str(tmp_path), "--json", expect=4).stdout)["alerts"]
    assert {alert["metric"] for alert in alerts} == {"a_reward", "b_reward"}


def _drifting(*, lost: float = 0.68, drift: int = 150) -> dict[str, list[float]]:
    """Return metrics whose KL grows from row `drift` on; reward, entropy, clip fraction and ratio break at row 180."""
    rows = np.arange(300)
    random = np.random.default_rng(1)
    after = np.maximum(rows - 180, 0)
    reward = np.where(rows < 180, 0.7 * (1 - np.exp(-rows / 50)), 0.68 - lost * (1 - np.exp(-after / 6)))
    series = {
        "critic/rewards/mean": reward + 0.015 * random.standard_normal(300),
        "actor/ppo_kl": np.minimum(0.02 * np.exp(np.maximum(rows - drift, 0) / 12), 3) + 0.002 * random.random(300),
        "actor/entropy": 1.2 - rows / 1000 - np.minimum(0.9, 0.04 * after) + 0.01 * random.standard_normal(300),
        "actor/pg_clipfrac": 0.05 + np.minimum(0.6, 0.03 * after) + 0.005 * random.standard_normal(300),
        "actor/ratio_mean": 1 + np.minimum(2, 0.05 * after) + 0.003 * random.standard_normal(300),
    }
    return {name: values.tolist() for name, values in series.items()}


def test_a_policy_that_moved_too_far_is_one_incident_in_the_order_of_the_onsets() -> None:
    series = _drifting()
    early, late = (
        Checker().check(store_of({name: values[:end] for name, values in series.items()}).snapshot().runs[0])
        for end in (200, 300)
    )
    whole, *parts = late
    assert (whole.rule, whole.severity, whole.metric) == ("policy_collapse", "critical", "actor/ppo_kl")
    assert early[0].key == whole.key, "the same incident when entropy and ratio follow"
    assert whole.related[0].metric == "actor/ppo_kl"
    assert {change.metric for change in whole.related} == series.keys()
    onsets = [change.step // 10 - 1 for change in whole.related]
    assert onsets == sorted(onsets)
    assert abs(onsets[0] - 150) <= 5
    assert all(abs(onset - 180) <= 5 for onset in onsets[1:])
    assert "fewer updates per batch" in whole.hint
    assert [alert.severity for alert in parts if alert.active] == ["info"] * 5


def test_metrics_that_change_at_once_in_the_same_step_have_the_same_onset() -> None:
    random = np.random.default_rng(3)
    after = np.arange(160) >= 100
    series = {
        "reward": np.where(after, 0.02, 0.6) * (1 + 0.05 * random.standard_normal(160)),
        "kl": np.where(after, 0.3, 0.01) * (1 + 0.05 * random.standard_normal(160)),
        "entropy": np.where(after, 0.05, 1.2) * (1 + 0.05 * random.standard_normal(160)),
        "actor/ppo_kl": np.where(after, 0.2, 0.01) * (1 + 0.05 * random.standard_normal(160)),
    }
    for names in (*([name] for name in series), ["reward", "kl"], list(series)):
        run = store_of({name: series[name].tolist() for name in names}).snapshot().runs[0]
        alerts = Checker().check(run)
        assert {alert.step for alert in alerts if alert.metric in series} == {1010}
        assert {change.step for alert in alerts for change in alert.related} <= {1010}
    parts = {change.metric: change for change in alerts[0].related}
    whats = {"reward": "fallen", "kl": "risen", "entropy": "fallen", "actor/ppo_kl": "risen"}
    assert {name: change.what for name, change in parts.items()} == {name: whats[name] for name in parts}
    assert len(parts) >= 3


def test_a_reward_that_falls_before_the_policy_moves_keeps_its_advice() -> None:
    whole = Checker().check(store_of(_drifting(drift=186)).snapshot().runs[0])[0]
    assert whole.rule == "policy_collapse"
    assert whole.related[0].what == "fallen"
    assert whole.related[0].metric in ("actor/entropy", "critic/rewards/mean")
    assert "fewer updates" not in whole.hint


def test_a_fall_of_the_reward_that_is_not_lost_is_no_collapse() -> None:
    series = _drifting(lost=0.0)
    alerts = Checker().check(store_of(series).snapshot().runs[0])
    assert "policy_collapse" not in {alert.rule for alert in alerts}
    assert {alert.severity for alert in alerts if alert.active} == {"warning"}


def test_an_estimate_of_the_entropy_may_scatter_around_0_but_a_continuous_one_falls_below() -> None:
    noise = 0.01 * np.random.default_rng(2).standard_normal(300)
    entropy = np.maximum(1.2 - np.arange(300) / 150, 0) + noise
    assert entropy.min() < 0
    rules = {alert.rule for alert in Checker().check(store_of({"entropy": entropy.tolist()}).snapshot().runs[0])}
    assert "entropy_collapse" in rules
    continuous = (1.2 - np.arange(300) / 150 + noise).tolist()
    assert Checker().check(store_of({"entropy": continuous}).snapshot().runs[0]) == ()


@pytest.mark.parametrize(
    ("metric", "rule", "words"),
    [
        ("actor/ratio_mean", "policy_ratio", "fewer updates per batch"),
        ("val/ratio", "policy_ratio", "fewer updates per batch"),
        ("train/importance_ratio", "policy_ratio", "fewer updates per batch"),
        ("rollout_corr/rollout_is_mean", "engine_mismatch", "the two engines"),
    ],
)
def test_a_ratio_of_policies_is_no_mismatch_of_engines(metric: str, rule: str, words: str) -> None:
    ratio = [1.0] * 60 + [3.0] * 40
    (alert,) = Checker().check(store_of({metric: ratio}).snapshot().runs[0])
    assert alert.rule == rule
    assert words in alert.hint
