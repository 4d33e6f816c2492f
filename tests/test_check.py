"""`tuimon check` and `tuimon line`: the real program on real logs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_commands import run

DATA = Path(__file__).parent / "data"
NAN = str(DATA / "json" / "hf_trainer_nan")
HEALTHY = (
    "csv/sb3",
    "csv/keras",
    "csv/lightning",
    "console/rlinf_run.log",
    "exports/qwen3vl_lora",
    "exports/qwen3vl_dpo",
)


def growing(path: Path, values: list[float], pace: float = 1.0) -> Path:
    """A log of rewards whose last point was written now."""
    path.mkdir(exist_ok=True)
    now = time.time()
    rows = [
        {"step": step, "timestamp": now - (len(values) - step) * pace, "reward": value, "loss": 0.5}
        for step, value in enumerate(values, 1)
    ]
    (path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_run_that_is_nan_exits_four_and_says_why() -> None:
    done = run("check", NAN, expect=4)
    assert "critical  grad_norm is NaN since step" in done.stdout
    assert "go back to a checkpoint before it" in done.stdout
    assert done.stdout.splitlines()[-1].startswith(("1 alert stands", "2 alerts stand", "3 alerts stand"))


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_runs_exit_zero(name: str) -> None:
    done = run("check", str(DATA / name), "--json")
    told = json.loads(done.stdout)
    assert (told["schema"], told["standing"], told["alerts"]) == (1, 0, [])


def test_the_json_has_every_alert_and_the_runs(tmp_path: Path) -> None:
    dropped = growing(tmp_path / "a", [0.9] * 5 + [0.05] * 20 + [0.9] * 5)
    growing(tmp_path / "b", [0.9] * 10 + [0.05] * 10)
    done = run("check", str(tmp_path), "--json", "--rule", "reward < 0.1 for 3 steps", "--severity", "info", expect=4)
    told = json.loads(done.stdout)
    names = {one["id"]: Path(one["path"]).name for one in told["runs"]}
    assert set(names.values()) == {"a", "b"}
    assert told["standing"] == len(told["alerts"]) == 1
    (standing,), (past,) = told["alerts"], [one for one in told["past"] if one["rule"].startswith("reward <")]
    assert (names[standing["run"]], standing["step"], standing["until"]) == ("b", 11, None)
    assert (names[past["run"]], past["step"], past["until"]) == (dropped.name, 6, 25)
    assert standing["message"] == "reward < 0.1 for 3 steps: reward came to 0.05 at step 11, since step 11"


def test_severity_decides_what_counts_and_past_is_told_when_asked(tmp_path: Path) -> None:
    path = str(growing(tmp_path / "run", [0.9] * 5 + [0.05] * 20 + [0.9] * 20 + [0.05] * 5))
    rule = ("--rule", "reward < 0.1 for 3 points")
    assert run("check", path, *rule, "--severity", "critical").stdout.startswith("no alert stands in 1 run; 1 milder")
    done = run("check", path, *rule, "--past", expect=4)
    assert "past      reward < 0.1 for 3 points: reward came to 0.05 at step 6, from step 6 to 25" in done.stdout
    assert "since step 46" in done.stdout


def test_the_users_own_rules_and_thresholds(tmp_path: Path) -> None:
    path = str(growing(tmp_path / "run", [0.05] * 30))
    config = tmp_path / "config.toml"
    config.write_text('[[rules]]\nrule = "reward < 0.1 for 20 steps"\nseverity = "critical"\n')
    done = subprocess.run(
        [sys.executable, "-m", "tuimon", "check", path],
        capture_output=True,
        text=True,
        env={**os.environ, "TUIMON_CONFIG": str(config)},
        timeout=60,
    )
    assert done.returncode == 4
    assert done.stdout.startswith("critical  reward < 0.1 for 20 steps: reward came to 0.05 at step 1, since step 1")
    config.write_text("[detectors]\nnothing = false\n")
    done = subprocess.run(
        [sys.executable, "-m", "tuimon", "check", path],
        capture_output=True,
        text=True,
        env={**os.environ, "TUIMON_CONFIG": str(config)},
        timeout=60,
    )
    assert done.returncode == 2
    assert f"{config}: there is no detector 'nothing'" in done.stderr


def test_what_is_no_rule_is_a_mistake_of_usage() -> None:
    done = run("check", NAN, "--rule", "reward below much", expect=2)
    assert "--rule: no rule: reward below much" in done.stderr
    assert done.stdout == ""
    run("check", str(DATA / "nothing"), expect=3)


def test_a_line_for_a_status_bar(tmp_path: Path) -> None:
    path = str(growing(tmp_path / "run", [0.25] * 30, pace=2.0))
    assert run("line", path).stdout.startswith("● running 30  reward 0.25  loss 0.5  ")
    assert run("line", path, "--ascii", "--width", "20").stdout == "* running 30\n"
    assert run("line", path, "--width", "26").stdout == "● running 30  reward 0.25\n"
    assert run("line", path, "--width", "5").stdout.rstrip("\n") in ("● ru…", "● run")
    assert "✗" in run("line", NAN).stdout
    run("line", str(tmp_path / "none"), expect=3)


def test_a_line_that_follows_tells_what_changes(tmp_path: Path) -> None:
    path = growing(tmp_path / "run", [0.25] * 30)
    process = subprocess.Popen(
        [sys.executable, "-m", "tuimon", "line", "--follow", "--interval", "0.2", str(path)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        assert "running 30  reward 0.25" in process.stdout.readline()
        growing(path, [0.25] * 30 + [0.75])
        assert any("running 31  reward 0.75" in process.stdout.readline() for _ in range(20))
    finally:
        process.terminate()
        process.wait(timeout=10)
        process.stdout.close()
