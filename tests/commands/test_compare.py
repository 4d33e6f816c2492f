"""`tuimon compare`: a golden of the whole text, and numbers worked out from the logs alone."""

from __future__ import annotations

import csv
import itertools
import json
import math
import re
import statistics
import time
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from conftest import DATA
from support.programs import run, write_rows

from tuimon.commands._shared import in_order
from tuimon.exports.compare import as_text, comparison_document
from tuimon.exports.documents import plain
from tuimon.exports.html.comparison import as_html
from tuimon.exports.schemas import schema_text
from tuimon.monitor.local import open_run
from tuimon.panels.lists.comparison import compare
from tuimon.panels.lists.comparison_tables import screen_rows

EXPORTS = DATA / "exports"
LONG_AFTER = 4e9
"""Seconds since the epoch: whenever the files were checked out, their runs are quiet."""
RUNS = ("qwen3vl_grpo", "qwen3vl_grpo_nan", "qwen3vl_dpo")


def text_of(*names: str, width: int | None = None, full: bool = False) -> list[str]:
    paths = [str(EXPORTS / name) for name in names]
    return list(as_text(compare(in_order(open_run(*paths).runs, paths)), LONG_AFTER, width, full))


def json_of(*paths: Path) -> dict[str, Any]:
    runs = in_order(open_run(*paths).runs, [str(path) for path in paths])
    document: dict[str, Any] = plain(comparison_document(compare(runs), time.time()))
    return document


def test_the_whole_text() -> None:
    golden = (EXPORTS / "compare_100.expected").read_text().splitlines()
    lines = text_of(*RUNS, width=100)
    states = ("state", "quiet", "running", "ended", "unknown")  # depend on the age of the files
    assert [line for line in lines if not any(state in line for state in states)] == golden
    assert all(len(line) <= 100 for line in lines if not line.startswith("level:"))
    assert ["batch_size", "1", "1", "1"] in [line.split() for line in text_of(*RUNS, full=True)], "the same in all runs"
    assert json_of(*(EXPORTS / name for name in RUNS))["config"]["same"] == {"batch_size": 1}


def test_a_run_with_a_failure_has_a_remark(tmp_path: Path) -> None:
    for number in range(4):
        losses = [math.nan if number == 2 and step > 50 else 1.0 for step in range(60)]
        rows = ({"step": s, "reward": s * (1 + number) + s % 3, "loss": losses[s]} for s in range(60))
        write_rows(tmp_path / f"run{number}", rows, {"lr": number % 2, "beta": number // 2})
    failure = "loss is NaN since step 51; 9 of 60 points"
    snapshot = open_run(tmp_path)
    comparison = compare(snapshot.runs, alerts=snapshot.alerts)
    lines = list(as_text(comparison, LONG_AFTER))
    assert re.match(r"\S*run3 is ahead of \S*run2: reward ", lines[0])
    assert [line.split()[0][-4:] for line in lines if failure in line] == ["run2"] * 2
    document = plain(comparison_document(comparison, LONG_AFTER))
    assert [run["failure"] for run in document["runs"]] == [None, None, failure, None]
    assert f"<td>{failure}</td>" in as_html(comparison, LONG_AFTER)
    shown = "\n".join("".join(text for text, _ in row) for row in screen_rows(comparison, 0, 200))
    assert "loss is NaN" in shown


def test_the_seeds_of_each_method_are_a_table(tmp_path: Path) -> None:
    """Text, JSON, CSV, LaTeX, HTML and the screen have the same rows; the third seed of grpo is NaN after step 30."""
    levels = {"dapo": (0.70, 0.74, 0.75), "a_b&c": (0.60, 0.62, 0.61), "grpo": (0.50, 0.52, 0.10)}
    for method, values in levels.items():
        for seed, value in enumerate(values):
            lost = 30 if (method, seed) == ("grpo", 2) else 60
            rewards, losses = np.full(60, value), 1 / (1 + np.arange(60))
            rewards[20] += 0.25
            losses[lost + 1 :] = math.nan
            points = ({"step": s, "reward": rewards[s], "loss": losses[s]} for s in range(60))
            write_rows(tmp_path / "runs" / f"{method}_s{seed}", points, {"method": method, "seed": seed})
    snapshot = open_run(tmp_path / "runs")
    comparison = compare(snapshot.runs, {"reward"}, alerts=snapshot.alerts)
    document = plain(comparison_document(comparison, LONG_AFTER))
    jsonschema.validate(document, json.loads(schema_text("compare")))
    rows = document["seeds"]["rows"]
    for row, (name, own) in zip(rows, levels.items(), strict=True):
        assert (row["name"].split()[0], row["n"], row["settings"]) == (name, len(own), {"method": name})
        assert (row["min"], row["max"]) == pytest.approx((min(own), max(own)))
        deviation = statistics.stdev(own)
        expected = statistics.mean(own), deviation, deviation / math.sqrt(len(own))
        assert (row["level"], row["sd"], row["se"]) == pytest.approx(expected)
    assert [row["not_healthy"] for row in rows] == [[], [], ["grpo_s2"]]
    lines = list(as_text(comparison, LONG_AFTER, 100))
    start = lines.index("reward, higher is better, up to step 59")
    dapo = ["dapo", "(3", "runs)", "1", "3", "0.7300", "0.0153", "0.0265", "0.7000", "0.7500"]
    assert lines[start + 1].split()[:6] == ["run", "rank", "n", "mean", "level", "SE"]
    assert lines[start + 2].split()[: len(dapo)] == dapo
    shown = ["".join(text for text, _ in row).split() for row in screen_rows(comparison, 0, 200)]
    assert dapo in [row[: len(dapo)] for row in shown]
    html, others = as_html(comparison, LONG_AFTER), [run for run in snapshot.runs if run.name != "grpo_s2"]
    assert "<td>not healthy: grpo_s2</td>" in html
    assert ">remark<" not in as_html(compare(others, {"reward"}), LONG_AFTER), "no empty column"
    arguments = ["compare", str(tmp_path / "runs"), "--metric", "reward", "-o"]
    run(*arguments, str(tmp_path / "t.csv"))
    written = list(csv.DictReader((tmp_path / "t.csv").read_text().splitlines()))
    assert [float(row["mean"]) for row in written] == [row["level"] for row in rows], "every digit"
    assert [(row["name"], row["method"], row["n"]) for row in written[2:]] == [("grpo (3 runs)", "grpo", "3")]
    run(*arguments, str(tmp_path / "t.tex"))
    latex = (tmp_path / "t.tex").read_text().splitlines()
    assert any(line.startswith(r"a\_b\&c") and "& $0.6100$ & $0.00577$ & $0.0100$ &" in line for line in latex)
    assert "Suffixes: .html, .csv, .tex." in run(*arguments, str(tmp_path / "t.md"), expect=2).stderr
    run(*arguments, str(tmp_path / "best.csv"), "--best")
    written = list(csv.DictReader((tmp_path / "best.csv").read_text().splitlines()))
    assert {row["metric"] for row in written} == {"best(reward)"}
    assert [float(row["mean"]) for row in written] == pytest.approx([row["level"] + 0.25 for row in rows])
    run("compare", str(tmp_path / "runs"), "--metric", "loss", "--best", expect=2)  # neutral in these runs
    asked = compare(snapshot.runs, {"reward"}, reaches=0.6)
    assert plain(comparison_document(asked, LONG_AFTER))["reaches"] == {
        "metric": "reward",
        "value": 0.6,
        "steps": [0] * 6 + [20, 20, None],
        "x": [0] * 6 + [20, 20, None],
    }
    lines = list(as_text(asked, LONG_AFTER))
    start = lines.index("Runs") + 1
    assert "step of reward 0.6" in lines[start]
    assert [line.split()[3] for line in lines[start + 1 : start + 10]] == ["0"] * 6 + ["20", "20", "never"]
    assert '<td class="n">never</td>' in as_html(asked, LONG_AFTER)
    different = [str(tmp_path / "runs" / name) for name in ("dapo_s0", "grpo_s0")]
    verdict = run("compare", *different, "--best").stdout.partition("\n")[0]
    assert verdict.startswith("No run is ahead in best reward: dapo_s0 0.9500, grpo_s0 0.7500")


def test_a_value_is_reached_on_the_axis_that_was_asked_for(tmp_path: Path) -> None:
    for name, batch, rise in (("small_s0", 64, 40), ("large_s0", 256, 20)):
        points = ({"step": s, "samples": s * batch, "reward": 0.1 if s < rise else 0.7} for s in range(1, 60))
        write_rows(tmp_path / name, points)
    paths = [str(tmp_path / name) for name in ("small_s0", "large_s0")]
    asked = compare(in_order(open_run(*paths).runs, paths), {"reward"}, reaches=0.6, x="samples")
    document = plain(comparison_document(asked, LONG_AFTER))
    jsonschema.validate(document, json.loads(schema_text("compare")))
    assert document["reaches"]["steps"] == [40, 20], "the first values"
    assert document["reaches"]["x"] == [40 * 64, 20 * 256]
    lines = list(as_text(asked, LONG_AFTER))
    start = lines.index("Runs") + 1
    assert "samples of reward 0.6" in lines[start]
    assert [line.split()[3] for line in lines[start + 1 : start + 3]] == ["2560", "5120"]
    page = as_html(asked, LONG_AFTER)
    assert "samples of reward 0.6" in page
    assert '<td class="n">5120</td>' in page
    single = ["compare", paths[0], "--metric", "reward", "--reaches"]
    said = run(*single, "0.6", "--x", "samples").stdout
    assert said == "small_s0: reward first reaches 0.6 at samples 2560, step 40\n"
    assert "reward never reaches 0.9" in run(*single, "0.9").stdout
    document = json.loads(run(*single, "0.6", "--json").stdout)
    jsonschema.validate(document, json.loads(schema_text("compare")))
    assert (document["reaches"]["x"], document["seeds"]) == ([40], None)


def test_units_of_metrics(tmp_path: Path) -> None:
    for name, unit in (("a", "GB"), ("b", "MB")):
        lines = (f"step {step} loss: 0.5, step_time: 160ms, gpu_mem: 2.5{unit}\n" for step in range(1, 30))
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.log").write_text("".join(lines))
    compared = compare(open_run(tmp_path / "a", tmp_path / "b").runs)
    metrics = {m["name"]: m for m in plain(comparison_document(compared, LONG_AFTER))["metrics"]}
    assert (metrics["step_time"]["unit"], metrics["gpu_mem"]["unit"]) == ("ms", "")
    assert [run["unit"] for run in metrics["gpu_mem"]["runs"]] == ["GB", "MB"]
    lines = list(as_text(compared, LONG_AFTER))
    assert ["step_time", "160", "ms", "160", "ms", "≈"] in [line.split() for line in lines]
    assert ["gpu_mem", "2.500", "GB", "2.500", "MB"] in [line.split() for line in lines]


def test_metrics_of_one_concept_are_compared_up_to_the_step_that_all_have_reached(tmp_path: Path) -> None:
    logged = {"long": np.linspace(0, 1, 200).tolist(), "short": np.linspace(0, 0.5, 110).tolist()}
    for (name, values), key in zip(logged.items(), ("train/reward", "reward"), strict=True):
        write_rows(tmp_path / name, ({"step": step, key: value, "lr": 1e-4} for step, value in enumerate(values)))
    document = json.loads(run("compare", str(tmp_path), "--metric", "*reward", "--json").stdout)
    (reward,) = document["metrics"]
    assert (reward["name"], reward["concept"], reward["end"]) == ("train/reward", "reward.train", 109)
    rows = {row["name"]: row for row in reward["rows"]}
    for own, ours in zip(document["runs"], reward["runs"], strict=True):
        values = logged[own["name"]]
        assert (ours["last"], ours["best"]["value"], ours["level_points"]) == (values[-1], values[109], 11)
        assert ours["level"] == rows[own["name"]]["level"] == pytest.approx(np.mean(values[99:110]))
        assert ours["se"] == rows[own["name"]]["se"]


def test_rows_have_their_distance_to_a_baseline(tmp_path: Path) -> None:
    levels = {"new": (0.70, 0.74, 0.75), "old": (0.60, 0.62, 0.61)}
    for method, values in levels.items():
        for seed, value in enumerate(values):
            rows = [{"step": step, "reward": value} for step in range(60)]
            write_rows(tmp_path / f"{method}_s{seed}", rows, {"method": method, "seed": seed})
    lines = run("compare", str(tmp_path), "--baseline", "old_s1").stdout.splitlines()
    cells = {line.split()[0]: re.split("  +", line.strip()) for line in lines if re.match("  (new|old) ", line)}
    error = math.hypot(*(statistics.stdev(own) / math.sqrt(3) for own in levels.values()))
    apart = (statistics.mean(levels["new"]) - statistics.mean(levels["old"])) / error
    assert f"{apart:+.1f} SE" in cells["new"]
    assert "baseline" in cells["old"]
    (reward,) = json_of(tmp_path)["metrics"]
    old = reward["rows"][1]
    assert f"{-old['behind'] / old['behind_se']:+.1f} SE" in cells["new"], "the error of the difference in the table"
    assert "no run other is compared" in run("compare", str(tmp_path), "--baseline", "other", expect=2).stderr


def test_episodes_are_not_compared_as_if_they_were_steps(tmp_path: Path) -> None:
    for name, per_episode, gain in (("early", 80, 1.0), ("late", 70, 1.2)):
        (tmp_path / name).mkdir()
        names = ["time/total_timesteps", "rollout/ep_rew_mean", *(f"train/loss_{i}" for i in range(40))]
        rows = [f"{step},{gain * step / 100 + step % 3}" + 40 * ",0.5" for step in range(512, 20_481, 512)]
        (tmp_path / name / "progress.csv").write_text("\n".join([",".join(names), *rows, ""]))
        episodes = [f"{200 / gain + i % 7},{per_episode},{i / 10}" for i in range(20_480 // per_episode)]
        head = ['#{"t_start": 1.7e9, "env_id": "CartPole-v1"}', "r,l,t"]
        (tmp_path / name / "monitor.csv").write_text("\n".join([*head, *episodes, ""]))
    runs = open_run(tmp_path).runs
    document = json_of(tmp_path)
    rewards = {metric["name"]: metric for metric in document["metrics"] if metric["concept"] == "reward.train"}
    assert [(row["name"], row["rank"]) for row in rewards["rollout/ep_rew_mean"]["rows"]] == [("late", 1), ("early", 2)]
    assert [row["rank"] for row in rewards["reward"]["rows"]] == [None, None]
    assert document["verdict"].startswith("late is ahead of early: reward ")
    screen = screen_rows(compare(runs), LONG_AFTER, 200)
    assert screen[0][0][0] == document["verdict"]
    lines = list(as_text(compare(runs), LONG_AFTER, full=True))
    assert any(line.startswith("reward, not ranked: its steps are not those of the run") for line in lines)


def test_many_settings_of_some_runs_are_one_line(tmp_path: Path) -> None:
    own = {f"vllm_option_{i}": i for i in range(75)}
    for name, settings in (("a", {**own, "lr": 0.1}), ("b", {**own, "lr": 0.2}), ("c", {"lr": 0.3, "beta": 1})):
        rows = ({"step": step, "reward": step} for step in range(30))
        write_rows(tmp_path / name, rows, settings)
    comparison = compare(open_run(tmp_path).runs)
    lines = list(as_text(comparison, LONG_AFTER, 100))
    start = next(i for i, line in enumerate(lines) if "Configuration that differs" in line)
    assert [line.split()[0] for line in lines[start + 1 : start + 3]] == ["lr", "beta"]
    text = " ".join(" ".join(lines).split())
    assert "75 settings only in a, b, such as vllm_option_0, vllm_option_1, vllm_option_2 (--all lists them)" in text
    assert sum(line.startswith("  vllm_option") for line in as_text(comparison, LONG_AFTER, full=True)) == 75


def test_a_sweep_has_the_effect_of_each_setting_but_not_of_seeds(tmp_path: Path) -> None:
    for number, (lr, batch, seed) in enumerate(itertools.product((1e-6, 5e-6), (64, 256), (1, 2))):
        level = 0.45 + 0.25 * (lr == 5e-6) + 0.05 * (batch == 256) + 0.002 * (seed == 2)
        rows = [{"step": step, "reward": min(step / 50, 1) * level + 0.001 * (-1) ** step} for step in range(200)]
        write_rows(tmp_path / f"run{number}", rows, {"learning_rate": lr, "batch_size": batch, "seed": seed})
    lines = run("compare", str(tmp_path)).stdout.splitlines()
    start = lines.index("Settings by the difference of reward between runs that are otherwise equal")
    rates, batches = (line.split() for line in lines[start + 2 : start + 4])
    assert (rates[:4], rates[5:]) == (["learning_rate", "5e-06", "1e-06", "+0.2500"], ["4", "yes"])
    assert batches[:4] == ["batch_size", "256", "64", "+0.0500"]
    document = json_of(tmp_path)
    jsonschema.validate(document, json.loads(schema_text("compare")))
    rate, batch = document["effects"]
    assert (rate["setting"], rate["best"], rate["worst"], rate["pairs"]) == ("learning_rate", 5e-6, 1e-6, 4)
    assert (rate["difference"], rate["beyond_noise"]) == (pytest.approx(0.25), True)
    assert (batch["setting"], batch["difference"]) == ("batch_size", pytest.approx(0.05))
    comparison = compare(open_run(tmp_path).runs)
    assert "<td>5e-06</td>" in as_html(comparison, LONG_AFTER)
    assert compare(comparison.runs[:2]).effects == (), "two runs show no effect"


def test_the_page_has_the_curve_of_each_run_also_if_one_was_restarted(tmp_path: Path) -> None:
    for name, steps in (("again", [*range(60), *range(40, 100)]), ("straight", [*range(100)])):
        write_rows(tmp_path / name, ({"step": step, "reward": step + row % 3} for row, step in enumerate(steps)))
    html = as_html(compare(open_run(tmp_path).runs), LONG_AFTER)
    assert re.findall(r'<path class="curve series-\d" data-label="(\w+)"', html) == ["straight", "again"]
    assert '<path class="dots' not in html, "no curve has few points"
