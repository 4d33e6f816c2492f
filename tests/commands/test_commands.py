"""The command line: its helps and examples, and what summary, export and doctor say of a log."""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import re
import shlex
import shutil
import threading
import time
from pathlib import Path

import pytest
from support.programs import run, write_rows

from tuimon.commands import commands, parser_of
from tuimon.commands._options import PATH_OPTIONS


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A run with JSON lines, one of them a NaN, and the JSON document of a Qwen3-VL trainer."""
    rows = [{"step": s, "timestamp": 1.7e9 + s, "train/loss": 1 / (s + 1), "train/lr": 1e-05} for s in range(10)]
    text = "".join(json.dumps(row) + "\n" for row in rows) + '{"step": 10, "train/loss": NaN}\n'
    run = tmp_path / "grpo-7b"
    (run / "logs").mkdir(parents=True)
    (run / "logs" / "metrics.jsonl").write_text(text)
    document = {
        "config": {"model_path": "Qwen/Qwen3-VL-2B", "learning_rate": 1e-05, "nested": {"a": 1}},
        "train_history": [{"step": s, "reward": s / 4, "kl": 0.01} for s in range(0, 12, 2)],
        "val_history": [{"step": 10, "val_reward": 2.5}],
        "best_checkpoint": {"step": 10, "val_reward": 2.5, "path": "outputs/best"},
    }
    (run / "training_log.json").write_text(json.dumps(document))
    return run


# ---------------------------------------------------------------------- help

MOST_OPTIONS, LONGEST_HELP = 90, 40


def test_helps_fit_a_terminal_and_have_few_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    overview, described = run("--help").stdout, list[str]()
    assert "examples:" in overview
    for name, command in commands().items():
        assert name == command.name
        assert name in overview
        text = run(name, "-h").stdout
        assert text.startswith("usage: tuimon")
        assert len(text.splitlines()) <= LONGEST_HELP, name
        options = [own for own in parser_of(command)._actions if own.option_strings and own.dest != "help"]
        described += [own.option_strings[-1] for own in options if own.help != argparse.SUPPRESS]
    assert len(described) <= MOST_OPTIONS, described
    for option in PATH_OPTIONS:
        assert f"\n  {option} " in overview, "described once"
        assert sum(option in parser_of(command)._option_string_actions for command in commands().values()) >= 9


EXAMPLES = [
    (name, shlex.split(words)[1:])
    for name, command in commands().items()
    for line in command.examples.splitlines()
    for words in re.findall(r"tuimon [^|)]*?(?=  |[|)]|$)", line)
]


def test_the_examples_of_commands_run(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert {name for name, _ in EXAMPLES} == commands().keys() - {"watch", "completion", "skill"}
    monkeypatch.chdir(logs.parent)
    for place in ("RUN", "RUN1", "RUN2", "logs/grpo-1.5b", "outputs/a", "outputs/b", "sweep/a", "sweep/b"):
        shutil.copytree(logs, place)
        (Path(place) / "rollouts").mkdir()
        for step in (40, 50):
            row = {"input": "1+1?", "output": "2", "gts": "2", "score": 1.0, "step": step}
            (Path(place) / "rollouts" / f"{step}.jsonl").write_text(json.dumps(row) + "\n")
    steps = {"1200": "1", "1000-1200": "1-2", "150-200": "1-9"}  # the logs end before these steps
    for name, example in EXAMPLES:
        words = [steps.get(word, word) if name in ("summary", "export") else word for word in example]
        options = parser_of(commands()[name]).parse_args(words[1:])
        endless = name in ("demo", "serve", "mcp") or getattr(options, "follow", False)
        if endless or "~/run" in words:  # tested elsewhere, or the path does not exist
            continue
        again = ["--force"] if "-o" in words else []  # the example before has written it, too
        done = run(*words, *again, expect=4 if name == "check" else 0)
        assert done.stdout or again, words


def test_an_invalid_setting_exits_with_2(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUIMON_THEME", "pink")
    assert "theme" in run(str(logs), expect=2).stderr


# ---------------------------------------------------------------------- summary, export, doctor


def test_summary_of_what_was_logged(logs: Path) -> None:
    text = run("summary", str(logs)).stdout
    assert {"Qwen/Qwen3-VL-2B", "nested.a", "outputs/best"} <= set(text.split())
    rows = {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.startswith("  train")}
    assert rows["train/lr"][:3] == ["10", "9", "1.00e-05"]
    assert rows["train/loss"][:3] == ["11", "10", "NaN"]
    assert rows["train_history/reward"][:5] == ["6", "10", "2.500", "2.500", "10"]
    assert "1 NaN" in text
    assert "train/loss is NaN" in text
    without_terminal = run(str(logs))
    assert without_terminal.stdout.splitlines()[2:] == text.splitlines()[2:]
    assert "stdout is not a terminal" in without_terminal.stderr
    document = json.loads(run("summary", "--json", str(logs)).stdout)
    [only] = document["runs"]
    metrics = {metric["name"]: metric for metric in only["metrics"]}
    loss, reward = metrics["train/loss"], metrics["train_history/reward"]
    assert (loss["last"], loss["min"], loss["nan"]) == ("NaN", {"step": 9, "value": 0.1}, 1)
    assert (reward["mean"], only["config"]["learning_rate"]) == (1.25, 1e-05)
    assert only["best_checkpoint"]["path"] == "outputs/best"
    assert [alert["metric"] for alert in document["alerts"]] == ["train/loss"]


def test_once_prints_the_charts(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = run("--once", "--width", "90", "--height", "50", str(logs)).stdout
    assert "reward" in text
    assert any("⠁" <= c <= "⣿" for c in text)
    assert all(len(line) <= 90 for line in text.splitlines())
    monkeypatch.setenv("TUIMON_SYMBOLS", "ascii")
    plain = run("--once", "--width", "60", str(logs)).stdout
    assert "reward" in plain
    assert not any("⠁" <= c <= "⣿" for c in plain)


def exported(logs: Path, *options: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in run("export", str(logs), "--format", "jsonl", *options).stdout.splitlines()]


def test_export_writes_every_point_as_logged(logs: Path, tmp_path: Path) -> None:
    points = exported(logs, "--by-source")
    loss = [p for p in points if p["metric"] == "train/loss"]
    assert [p["step"] for p in loss] == list(range(11))
    assert [p["value"] for p in loss] == [*(1 / (s + 1) for s in range(10)), "NaN"]
    assert [p["wall_time"] for p in loss] == [*(1.7e9 + s for s in range(10)), None]
    assert {p["source"] for p in points} == {"logs/metrics.jsonl", "training_log.json"}
    curves = exported(logs)
    assert {p["run"] for p in curves} == {"grpo-7b"}
    assert [p["value"] for p in curves if p["metric"] == "train_history/reward"] == [0, 0.5, 1, 1.5, 2, 2.5]
    target = tmp_path / "points.csv"
    run("export", str(logs), "--by-source", "-o", str(target))
    rows = [row for row in csv.DictReader(target.read_text().splitlines()) if row["metric"] == "train/loss"]
    assert [float(row["value"]) for row in rows][:10] == [1 / (s + 1) for s in range(10)]
    assert (rows[10]["value"], rows[10]["wall_time"]) == ("nan", "")
    run("export", str(logs), "-o", str(target), expect=2)
    run("export", str(logs), "-o", str(target), "--force")
    assert not list(tmp_path.glob(".tuimon-*"))


def test_a_name_like_a_formula_is_neutralised_and_a_number_is_not(tmp_path: Path) -> None:
    write_rows(tmp_path, [{"step": 1, "=cmd()": -0.5, "@x": 1, 'a,b"c': 1}])
    got = [row[1:4] for row in csv.reader(io.StringIO(run("export", str(tmp_path)).stdout))]
    assert ["'=cmd()", "1", "-0.5"] in got
    assert {"'@x", 'a,b"c'} < {row[0] for row in got}


def test_doctor_lists_read_skipped_and_damaged_files(logs: Path) -> None:
    (logs / "notes.json").write_text('{"a": "b"}')
    os.mkfifo(logs / "training_log.jsonl")
    with (logs / "logs" / "metrics.jsonl").open("ab") as file:
        file.write(b'{"step": 11, {{{\n{"step": 12, "train/loss": 0.05}\n')
    text = run("doctor", str(logs)).stdout
    for said in ("training_log.json  [training_log]", "; all others read", "notes.json: not a metric log", "FIFO"):
        assert said in text
    assert run("doctor", "--strict", str(logs), expect=5).stdout
    assert run("summary", "--strict", str(logs), expect=5).stdout
    assert [p["step"] for p in exported(logs, "--by-source") if p["metric"] == "train/loss"][-2:] == [10, 12]


def test_doctor_names_the_sources_of_a_metric(tmp_path: Path) -> None:
    rows = "".join(json.dumps({"step": step, "loss": 0.5, "kl": 0.1}) + "\n" for step in range(20))
    (tmp_path / "metrics.jsonl").write_text(rows)
    (tmp_path / "metrics.csv").write_text("step,loss\n" + "".join(f"{step},{0.5 + step // 15}\n" for step in range(22)))
    text = run("doctor", str(tmp_path), "--metric", "loss").stdout
    assert "  loss: 22 points drawn, 0 superseded" in text
    assert "    metrics.jsonl: 20 points, drawn\n" in text
    assert "    metrics.csv: 22 points, fills 2 points that the first source lacks" in text
    assert "disagree at 5 step(s), first at step 15: 0.5 (drawn), 1.5 in metrics.csv" in text
    assert "no metric matches speed" in run("doctor", str(tmp_path), "--metric", "speed", expect=2).stderr


def test_doctor_lists_a_text_in_its_own_run_only(tmp_path: Path) -> None:
    for number, start in ((1, 1.0), (2, 3.0)):
        rows = [(step, start + step * number / 7) for step in range(40)]
        (tmp_path / f"train_{number}.log").write_text("".join(f"step {s}/40 - loss: {v:.4f}\n" for s, v in rows))
        lines = "".join(json.dumps({"step": s, "loss": v}) + "\n" for s, v in rows)
        (tmp_path / f"history_{number}.jsonl").write_text(lines)
    text = run("doctor", str(tmp_path)).stdout
    assert [text.count(f"  train_{number}.log  [console]") for number in (1, 2)] == [1, 1]
    assert "superseded" not in text


def test_doctor_and_summary_name_numbers_that_are_not_read(tmp_path: Path) -> None:
    rows = "".join(f'{{"step": {step}, "loss": 0.5, "mem": "{step}GiB"}}\n' for step in range(1, 11))
    (tmp_path / "train.jsonl").write_text(rows)
    assert "      not read: `mem: 1GiB`\n" in run("doctor", str(tmp_path)).stdout
    assert "  not read     `mem: 1GiB` of train.jsonl\n" in run("summary", str(tmp_path)).stdout


# ---------------------------------------------------------------------- waiting, demo


def test_wait_waits_for_the_path(tmp_path: Path) -> None:
    path = tmp_path / "later" / "metrics.jsonl"

    def appear() -> None:
        time.sleep(1.0)
        path.parent.mkdir()
        path.write_text('{"step": 1, "loss": 2}\n')

    thread = threading.Thread(target=appear)
    thread.start()
    assert "loss" in run("--wait", str(path.parent)).stdout
    thread.join()


def test_the_demo_trains_and_shows(tmp_path: Path) -> None:
    text = run("demo", "--once", "--steps", "12", "-o", str(tmp_path / "demo")).stdout
    assert "reward" in text
    assert "GPU memory" in text
    assert (tmp_path / "demo").is_dir()
