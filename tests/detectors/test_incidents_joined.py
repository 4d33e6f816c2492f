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
    path: Path, *, collapse: int = 3, entropy: float = 0.0, share: float = 1.0, lr: float = 30.0, norm: float = 0.8
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


def test_a_fall_of_the_reward_alone_is_no_collapse_and_has_the_step_of_the_fall(tmp_path: Path) -> None:
    (alert,) = _check(tmp_path, entropy=0.8, share=0.1, lr=1e-5)["alerts"]
    assert (alert["rule"], alert["step"]) == ("reward_drop", 39)


@pytest.mark.parametrize(("lr", "expected"), [(30.0, True), (0.01, False)])
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
    assert (headline["what"], headline["step"]) == ("nan", 20)
    assert (headline["count"], headline["points"], headline["severity"]) == (20, 40, "critical")
    metrics = {"train/loss", "train/grad_norm", "train/kl"}
    assert {headline["metric"], *(change["metric"] for change in headline["related"])} == metrics
    others = {alert["metric"] for alert in document["alerts"][1:] if alert["severity"] == "info"}
    assert others | {headline["metric"]} == metrics


@pytest.mark.parametrize("behind", [0, 3], ids=["equal", "the second source is behind"])
def test_a_metric_of_two_names_is_one_alert(tmp_path: Path, behind: int) -> None:
    values = [0.3 + step / 50 if step < 60 else math.nan for step in range(80)]
    for file, name, count in (("metrics.jsonl", "charts/episodic_return", 80), ("log.csv", "score", 80 - behind)):
        rows = [{"step": step, name: value} for step, value in enumerate(values[:count])]
        lines = map(json.dumps, rows) if file == "metrics.jsonl" else [f"step,{name}", *map(_row_of, rows)]
        (tmp_path / file).write_text("".join(line + "\n" for line in lines))
    alerts = json.loads(run("check", str(tmp_path), "--json", expect=4).stdout)["alerts"]
    assert {(alert["rule"], alert["step"]) for alert in alerts} == {("nonfinite", 60)}
    assert [alert["severity"] for alert in alerts].count("info") == len(alerts) - 1


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
