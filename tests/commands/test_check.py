"""`tuimon check` and `tuimon line` as subprocesses on real logs."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace
from support.made_run import START, snapshot_of
from support.programs import run, write_rows

from tuimon.draw.ascii import ascii_text
from tuimon.exports.line import line
from tuimon.model.alerts import Alert

DATA = Path(__file__).parent.parent / "data"
NOW = START + 86400
NAN = str(DATA / "json" / "hf_trainer_nan")


def growing(path: Path, values: list[float], pace: float = 1.0) -> Path:
    """Write a log of rewards, `pace` seconds apart, whose last point has the current time."""
    now = time.time()
    rows = [
        {"step": step, "timestamp": now - (len(values) - step) * pace, "reward": value, "loss": 0.5}
        for step, value in enumerate(values, 1)
    ]
    write_rows(path, rows)
    return path


def test_nan_is_an_alert_of_its_run_with_the_reason() -> None:
    text = run("check", NAN, expect=4).stdout
    assert re.search("^critical  [^:]+: grad_norm is NaN since step", text, re.MULTILINE), "with one run, too"
    assert "go back to an earlier checkpoint" in text
    assert re.match(r"\d active alerts? in", text.splitlines()[-1])
    tables = run("check", str(DATA / "csv" / "keras"), expect=4).stdout
    assert "critical  training_nan.csv: loss is NaN since epoch 3; 1 of 4 points" in tables


def test_a_healthy_run_exits_with_0() -> None:
    document = json.loads(run("check", str(DATA / "csv" / "sb3"), "--json").stdout)
    assert (document["schema"], document["standing"], document["alerts"]) == (1, 0, [])


def test_json_contains_every_alert_and_run(tmp_path: Path) -> None:
    dropped = growing(tmp_path / "a", [0.9] * 5 + [0.05] * 20 + [0.9] * 5)
    growing(tmp_path / "b", [0.9] * 10 + [0.05] * 10)
    done = run("check", str(tmp_path), "--json", "--rule", "reward < 0.1 for 3 steps", "--severity", "info", expect=4)
    document = json.loads(done.stdout)
    names = {run["id"]: Path(run["path"]).name for run in document["runs"]}
    assert set(names.values()) == {"a", "b"}
    assert document["standing"] == len(document["alerts"]) == 1
    (active,) = document["alerts"]
    (resolved,) = (alert for alert in document["past"] if alert["rule"].startswith("reward <"))
    assert (names[active["run"]], active["step"], active["until"]) == ("b", 11, None)
    assert (names[resolved["run"]], resolved["step"], resolved["until"]) == (dropped.name, 6, 25)
    assert active["message"] == "reward < 0.1 for 3 steps: reward has reached 0.05 since step 11"


def test_severity_sets_the_exit_code_and_past_adds_resolved_alerts(tmp_path: Path) -> None:
    path = str(growing(tmp_path / "run", [0.9] * 5 + [0.05] * 20 + [0.9] * 20 + [0.05] * 5))
    rule = ("--rule", "reward < 0.1 for 3 points")
    assert run("check", path, *rule, "--severity", "critical").stdout.startswith(
        "no critical alerts in 1 run; 1 warning; 1 resolved"
    )
    done = run("check", path, *rule, "--past", expect=4)
    assert ": reward < 0.1 for 3 points: reward reached 0.05 from step 6 to 25" in done.stdout
    assert "since step 46" in done.stdout


def test_rules_and_detectors_of_the_settings_file_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(growing(tmp_path / "run", [0.05] * 30))
    config = tmp_path / "config.toml"
    config.write_text('[[rules]]\nrule = "reward < 0.1 for 20 steps"\nseverity = "critical"\n')
    monkeypatch.setenv("TUIMON_CONFIG", str(config))
    done = run("check", path, expect=4)
    assert done.stdout.startswith("critical  ")
    assert ": reward < 0.1 for 20 steps: reward has reached 0.05 since step 1" in done.stdout
    config.write_text("[detectors]\nnothing = false\n")
    done = run("check", path, expect=2)
    assert f"{config}: no detector 'nothing'" in done.stderr


@pytest.mark.parametrize(
    ("options", "symbols", "printed"),
    [
        ((), "braille", "grpo-1.5b 30  ● running  reward 0.25  loss 0.5  "),
        (("--width", "37"), "braille", "grpo-1.5b 30  ● running  reward 0.25\n"),
        (("--width", "30"), "braille", "grpo-1.5b 30  ● running\n"),
        (("--width", "5"), "braille", "grpo…\n"),
        (("--width", "25"), "ascii", "grpo-1.5b 30  o running\n"),
    ],
)
def test_line_prints_what_fits_the_width(
    options: tuple[str, ...], symbols: str, printed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(growing(tmp_path / "grpo-1.5b", [0.25] * 30, pace=2.0))
    monkeypatch.setenv("TUIMON_SYMBOLS", symbols)
    assert run("line", path, *options).stdout.startswith(printed)


def alert(run: int, severity: str, message: str) -> Alert:
    return Alert("rule", severity, run, "kl", 3, message)


def test_line_has_a_sign_for_warnings_a_sentence_and_the_other_runs() -> None:
    series = {"reward": ((1, 2), (0.1, 0.5)), "loss": ((1, 2), (3.0, 2.0))}
    snapshot = snapshot_of(series, series, series)
    newest = snapshot.newest_run
    head = f"{newest.name} 2  – ended  reward 0.5"
    first, second = (run.id for run in snapshot.runs if run.id != newest.id)
    warning = replace(alert(newest.id, "warning", ""), what="above", value=12.0, limit=10.0, count=2, points=2)
    lost = replace(alert(newest.id, "critical", ""), metric="loss", step=2, what="nan")
    longer = replace(lost, metric="train_history/loss")
    others = (alert(first, "warning", "x"), alert(second, "info", "y"))
    for alerts, width, printed in (
        ((warning, *others), 88, f"!1 {head}  kl is above 10 since step 3  +2 runs, !1  loss 2"),
        ((warning, *others), 62, f"!1 {head}  kl is above 10  +2 runs, !1"),
        ((warning, *others), 50, f"!1 {head}  kl is above 10"),
        ((warning, lost), 60, f"✗2 {head.replace('–', '✗')}  loss is NaN  +2 runs  loss 2"),
        ((longer,), 62, f"✗1 {head.replace('–', '✗')}  train_history/loss is NaN"),
    ):
        assert line(replace(snapshot, alerts=alerts), NOW, width) == printed
    assert ascii_text(line(replace(snapshot, alerts=(lost,)), NOW, 60)).startswith(f"x1 {newest.name} 2  x ended")


def test_line_leaves_out_the_reward_before_it_cuts_the_name() -> None:
    """The name of the reward is shortened before that, and a value that is not finite is written as elsewhere."""
    series = {"train/reward": ((1, 2), (0.1, math.nan)), "train/reward_mean": ((1, 2), (0.1, 0.5))}
    snapshot = snapshot_of(series)
    assert line(snapshot, NOW, 80).startswith("run0 2  – ended  train/reward NaN")
    assert line(snapshot, NOW, 30) == "run0 2  – ended  reward NaN"
    assert line(snapshot, NOW, 20) == "run0 2  – ended"
    lost = snapshot_of({"loss": ((1, 2), (3.0, math.nan))})
    assert line(lost, NOW, 30) == "run0 2  – ended  loss NaN"
    nan = Alert("nonfinite", "critical", 0, "loss", 2, "loss is NaN since step 2")
    assert "loss is NaN since step 2" in line(replace(lost, alerts=(nan,)), NOW, 80)


def test_line_has_the_run_with_the_most_severe_alert() -> None:
    """Of several the running one; a warning of an ended run does not hide a running one."""

    first_steps = (1, 86_370, 52)
    snapshot = snapshot_of(*({"reward": (range(s, s + 30 + s % 7), [0.5] * (30 + s % 7))} for s in first_steps))
    old, running, late = (run.id for run in snapshot.runs)
    names = {run.id: run.name for run in snapshot.runs}

    def chosen(*alerts: Alert) -> str:
        text = line(replace(snapshot, alerts=alerts), NOW, 80)
        return next(name for name in names.values() if f"{name} " in text)

    bad, warned = partial(alert, severity="critical", message="x"), partial(alert, severity="warning", message="y")
    assert chosen() == names[running]
    assert chosen(warned(old)) == names[running]
    assert chosen(bad(old), warned(late), warned(running)) == names[old]
    assert chosen(bad(old), bad(late)) == names[late]
    assert chosen(bad(old), bad(running), bad(late)) == names[running]


def test_alerts_name_step_and_state_are_on_every_line() -> None:
    for width in (40, 66, 80):
        printed = run("line", NAN, "--width", str(width)).stdout.rstrip("\n")
        assert re.match(r"✗\d+ hf_trainer_nan [\d,/]+( \d+%)?  ✗ \w+", printed)
        assert len(printed) <= width


def test_line_follow_prints_a_line_after_a_change(tmp_path: Path) -> None:
    path = growing(tmp_path / "run", [0.25] * 30)
    process = subprocess.Popen(
        [sys.executable, "-m", "tuimon", "line", "--follow", str(path)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert "30  ● running  reward 0.25" in process.stdout.readline()
        growing(path, [0.25] * 30 + [0.75])
        assert any("31  ● running  reward 0.75" in process.stdout.readline() for _ in range(20))
    finally:
        process.terminate()
        process.wait(timeout=60)
        process.stdout.close()
