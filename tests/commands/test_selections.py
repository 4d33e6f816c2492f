"""Patterns of commands: what matches nothing is an error with the nearest name, never an empty result."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import DATA
from support.programs import run, write_rows

from tuimon.commands import main

PNG = b"\x89PNG\r\n\x1a\n"
NAMES = ("train/reward", "train/reward_std", "train/loss", "train/loss_scale")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("run")
    rows = ({"step": step, **dict.fromkeys(NAMES, step / 10)} for step in range(30))
    write_rows(path, rows)
    return str(path)


@pytest.mark.parametrize(
    "arguments",
    [
        ("export", "--metric", "rewrd"),
        ("export", "--by-source", "--metric", "rewrd"),
        ("doctor", "--metric", "rewrd"),
        ("check", "--rule", "rewrd < 0.2 for 10 steps"),
    ],
)
def test_a_slip_of_the_pen_is_an_error_with_the_nearest_name(log: str, arguments: tuple[str, ...]) -> None:
    done = run(arguments[0], log, *arguments[1:], expect=2)
    assert "no metric matches rewrd; did you mean" in done.stderr
    assert "reward" in done.stderr.partition("did you mean")[2]


@pytest.mark.parametrize(
    "arguments",
    [
        ("export", "-o", "-"),
        ("summary", "--step", "20"),
        ("compare",),
    ],
)
def test_a_pattern_among_others_that_matches_nothing_is_an_error_after_the_output(
    log: str, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    logs = [log, log.replace("run", "other")] if arguments[0] == "compare" else [log]
    for path in logs[1:]:
        shutil.copytree(log, path)
    command = [arguments[0], *logs, *arguments[1:], "--metric", "scale"]
    assert main(command) == 0
    expected = capsys.readouterr().out
    assert main([*command, "--metric", "lss"]) == 2
    done = capsys.readouterr()
    assert done.out == expected != ""
    assert "no metric matches lss; did you mean train/loss" in done.err


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("reward", NAMES[:2]),
        ("LOSS scale", NAMES[3:]),
        ("train/loss", NAMES[2:3]),
        ("train/loss*", NAMES[2:]),
        ("re:loss$", NAMES[2:3]),
        ("scale|reward std", (*NAMES[1:2], *NAMES[3:])),
        ("scale|", NAMES[3:]),
    ],
)
def test_metrics_are_chosen_by_the_patterns_of_the_screen(log: str, pattern: str, names: tuple[str, ...]) -> None:
    for options in ((), ("--by-source",)):
        rows = csv.DictReader(io.StringIO(run("export", log, "--metric", pattern, *options).stdout))
        assert {row["metric"] for row in rows} == set(names)


def test_only_the_given_rules_are_checked(tmp_path: Path) -> None:
    rows = [{"step": step, "loss": "NaN" if step > 5 else 0.5, "reward": 0.5} for step in range(10)]
    write_rows(tmp_path, rows)
    run("check", str(tmp_path), expect=4)
    rule = ("--only-rules", "--rule")
    done = run("check", str(tmp_path), *rule, "rewar < 0.1")
    assert "no active alerts" in done.stdout
    assert "--rule rewar < 0.1 checks reward" in done.stderr
    done = run("check", str(tmp_path), *rule, "reward < 0.9", expect=4)
    assert "1 active alert in 1 run" in done.stdout
    assert "--only-rules without a rule" in run("check", str(tmp_path), "--only-rules", expect=2).stderr


def test_a_picture_is_one_file_of_that_name(log: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "reward.png"
    run("export", log, "-o", str(path), "--metric", "reward")
    assert path.read_bytes().startswith(PNG)
    assert list(tmp_path.iterdir()) == [path]


def test_without_matplotlib_a_picture_is_a_sentence(log: str, tmp_path: Path) -> None:
    path = tmp_path / "reward.png"
    program = "import sys; sys.modules['matplotlib.figure'] = None; from tuimon.commands import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "export", log, "-o", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert "pictures need matplotlib" in done.stderr
    assert not path.exists()


def test_an_unknown_suffix_is_an_error_and_no_directory(log: str, tmp_path: Path) -> None:
    done = run("export", log, "-o", str(tmp_path / "reward.gif"), expect=2)
    assert "no format has the suffix .gif" in done.stderr
    assert ".png" in done.stderr
    assert not list(tmp_path.iterdir())
    run("export", log, "--format", "history", "-o", str(tmp_path / "grpo-1.5b"))
    assert (tmp_path / "grpo-1.5b").is_dir()


@pytest.mark.parametrize(("name", "fails"), [("r.md", True), ("r.pdf", True), ("r.HTML", False), ("lr-1.5b", False)])
def test_a_report_in_another_format_is_an_error(log: str, tmp_path: Path, name: str, fails: bool) -> None:
    done = run("report", log, "-o", str(tmp_path / name), expect=2 if fails else 0)
    assert (f"no report has the suffix {Path(name).suffix}" in done.stderr) is fails
    assert [path.name for path in tmp_path.iterdir()] == ([] if fails else [name])


def test_a_page_of_a_comparison_in_another_format_is_an_error(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", log, log, "-o", "r.png"]) == 2
    assert "cannot write r.png: a comparison is HTML, CSV or LaTeX" in capsys.readouterr().err


def test_of_several_patterns_what_one_matches_is_written(log: str) -> None:
    done = run("export", log, "--metric", "train/loss", "--metric", "rewrd", expect=2)
    assert {row["metric"] for row in csv.DictReader(io.StringIO(done.stdout))} == {"train/loss"}
    assert "no metric matches rewrd; did you mean train/reward" in done.stderr
    assert "no metric matches rewrd" in run("doctor", log, "--metric", "rewrd", expect=2).stderr


@pytest.mark.parametrize("pattern", ["kl", "train/kl", "k?"])
def test_every_source_of_a_chosen_metric_is_written(tmp_path: Path, pattern: str) -> None:
    """The sources have different names for one metric."""
    history = [{"step": 1, "kl": 0.5, "loss": 2.0}, {"step": 2, "kl": 0.25, "loss": 1.0}]
    (tmp_path / "trainer_state.json").write_text(json.dumps({"global_step": 2, "log_history": history}))
    rows = [{"step": row["step"], "train/kl": row["kl"], "train/loss": row["loss"]} for row in history]
    write_rows(tmp_path, rows)
    output = run("export", str(tmp_path), "--by-source", "--metric", pattern).stdout
    points = {(row["source"], row["metric"], row["step"], row["value"]) for row in csv.DictReader(io.StringIO(output))}
    assert points == {
        (source, name, str(row["step"]), str(row["kl"]))
        for source, name in (("metrics.jsonl", "train/kl"), ("trainer_state.json", "kl"))
        for row in history
    }


def test_histograms_are_chosen_by_their_own_names(tmp_path: Path) -> None:
    source = str(DATA / "tensorboard" / "torch")
    options = ("export", source, "--format", "media", "--metric")
    run(*options, "*weight*", "-o", f"{tmp_path}/some/")
    lines = (tmp_path / "some" / "media.jsonl").read_text().splitlines()
    assert {"weight" in json.loads(line)["tag"] for line in lines} == {True}
    done = run(*options, "wieght", "-o", f"{tmp_path}/none/", expect=2)
    assert "nothing to write matches wieght" in done.stderr


@pytest.mark.parametrize(
    ("steps", "expected"),
    [("10-12", [10, 11, 12]), ("28-", [28, 29]), ("-1", [0, 1]), ("5-5", [5]), ("0-99", list(range(30)))],
)
@pytest.mark.parametrize("options", [(), ("--by-source",), ("--format", "jsonl")])
def test_points_of_a_range_of_steps(log: str, steps: str, expected: list[int], options: tuple[str, ...]) -> None:
    done = run("export", log, f"--steps={steps}", "--metric", "train/loss", *options)
    if "jsonl" in options:
        rows = [json.loads(line) for line in done.stdout.splitlines()]
    else:
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [(int(row["step"]), float(row["value"])) for row in rows] == [(step, step / 10) for step in expected]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--steps", "100-200"), "no point has a step from 100 to 200"),
        (("--steps", "100-"), "no point has a step from 100 on"),
        (("--steps", "9-3"), "invalid range of steps: '9-3'"),
        (("--steps=-",), "invalid range of steps"),
        (("--steps", "100-", "--format", "wide"), "no chosen metric has a point in these steps"),
        (("--steps", "1-2", "--format", "openmetrics"), "--steps does not apply to openmetrics"),
        (("--smooth", "0.9"), "--smooth applies to pictures only, not to csv"),
    ],
)
def test_an_option_without_effect_is_an_error(log: str, options: tuple[str, ...], message: str) -> None:
    assert message in run("export", log, *options, expect=2).stderr


def test_the_file_that_was_written_is_named(log: str, tmp_path: Path) -> None:
    assert f"wrote {tmp_path / 'points.csv'}" in run("export", log, "-o", str(tmp_path / "points.csv")).stderr


def test_an_alert_that_lasts_counts_the_values_that_are_beyond_the_limit(tmp_path: Path) -> None:
    values = [2.0, 1.0, 1.2, 1.6]
    rows = (json.dumps({"step": step, "reward": value}) + "\n" for step, value in enumerate(values))
    (tmp_path / "metrics.jsonl").write_text("".join(rows))
    done = run("check", str(tmp_path), "--only-rules", "--rule", "reward < 1.5", "--json", expect=4)
    [alert] = json.loads(done.stdout)["alerts"]
    assert (alert["value"], alert["step"], alert["until"], alert["count"], alert["points"]) == (1.0, 1, None, 2, 3)
