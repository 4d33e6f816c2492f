"""`tuimon compare` against what the seed's own script prints, and against numbers worked out from the logs alone."""

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
from matplotlib.image import imread
from support.programs import same_number

from tuimon.analysis.level import noise
from tuimon.commands import main
from tuimon.commands._reading import in_order
from tuimon.exports.compare import as_text
from tuimon.exports.compare_json import as_json
from tuimon.exports.comparison import compare
from tuimon.exports.html.comparison import as_html
from tuimon.exports.schemas import schema_text
from tuimon.exports.seed_table import _latex_number
from tuimon.model.views import Symbols
from tuimon.monitor.local import open_run
from tuimon.panels.lists.compared_runs import compared_runs
from tuimon.panels.lists.comparison import comparison_table

EXPORTS = DATA / "exports"
LONG_AFTER = 4e9
"""Seconds since the epoch: whenever the files were checked out, their runs are quiet."""
RUNS = ("qwen3vl_grpo", "qwen3vl_grpo_nan", "qwen3vl_dpo")


def text_of(*names: str, width: int | None = None, full: bool = False) -> list[str]:
    paths = [str(EXPORTS / name) for name in names]
    return list(as_text(compare(in_order(open_run(*paths).runs, paths)), LONG_AFTER, width, full))


def json_of(*paths: Path) -> dict[str, Any]:
    runs = in_order(open_run(*paths).runs, [str(path) for path in paths])
    document: dict[str, Any] = json.loads(as_json(compare(runs), time.time()))
    return document


def rows_of(lines: list[str], title: str) -> dict[str, dict[str, str]]:
    """Name -> run -> cell, of a table whose columns are runs."""
    start = next(index for index, line in enumerate(lines) if line.strip().startswith(title))
    cells: dict[str, dict[str, str]] = {}
    head = lines[start]
    ends = {match[0]: match.end() for match in re.finditer(r"qwen3vl_\w+", head)}
    for line in lines[start + 1 :]:
        if not line or "(--all" in line:
            break
        cells[line.split()[0]] = {run: (line[:end].rsplit("  ", 1)[-1]).strip() for run, end in ends.items()}
    return cells


def test_every_fact_that_the_seeds_script_prints_is_in_ours() -> None:
    lines = text_of(*RUNS, full=True)
    config, best = rows_of(lines, "Configuration"), rows_of(lines, "Best checkpoint")
    document = json_of(*(EXPORTS / run for run in RUNS))
    last = {
        (place, entry["name"].partition("/")[2]): entry["last"]
        for metric in document["metrics"]
        for place, entry in enumerate(metric["runs"])
        if entry
    }
    section, run, checked = "", "", 0
    for line in (EXPORTS / "reference" / "compare.expected").read_text().splitlines():
        if line.endswith(":"):
            section, run = (section, line.strip()[:-1]) if line.startswith("  ") else (line[:-1], "")
        elif line.startswith("  ") and section == "Configuration":
            name, *values = line.split()
            for place, value in enumerate(values):
                ours = config[name][RUNS[place]]
                assert ours == "-" if value == "N/A" else same_number(ours, value)
                checked += 1
        elif line.startswith("    ") and "Metrics" in section:
            name, value = line.split()
            assert same_number(str(last[RUNS.index(run), name]), value) or value == "0.0000"
            checked += 1
        elif line.startswith("    "):
            name, value = line.replace(":", "").split()
            assert same_number(best[name.lower()][run], value)
            checked += 1
    assert checked == 24 + 11 + 13 + 11


def test_the_whole_text() -> None:
    golden = (EXPORTS / "compare_100.expected").read_text().splitlines()
    lines = text_of(*RUNS, width=100)
    states = ("quiet", "running", "stalled", "ended")  # depend on the age of the files
    assert [line for line in lines if not any(state in line for state in states)] == golden
    assert all(len(line) <= 100 for line in lines if not line.startswith("level:"))


def test_a_run_with_a_failure_has_a_remark(tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / f"run{number}").mkdir()
        rows = (
            {
                "step": step,
                "reward": step * (1 + number) + step % 3,
                "loss": math.nan if number == 2 and step > 50 else 1.0,
            }
            for step in range(60)
        )
        (tmp_path / f"run{number}" / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (tmp_path / f"run{number}" / "config.json").write_text(json.dumps({"lr": number % 2, "beta": number // 2}))
    failure = "loss is NaN since step 51; 9 of 60 points"
    snapshot = open_run(tmp_path)
    comparison = compare(snapshot.runs, alerts=snapshot.alerts)
    lines = list(as_text(comparison, LONG_AFTER))
    assert lines[0].endswith(f"run2 is not healthy: {failure}")
    assert [line.split()[0][-4:] for line in lines[1:] if failure in line] == ["run2"]
    assert any(line.startswith("Settings and reward, including 1 run that is not healthy: level") for line in lines)
    assert [run["failure"] for run in json.loads(as_json(comparison, LONG_AFTER))["runs"]] == [
        None,
        None,
        failure,
        None,
    ]
    assert f"<td>{failure}</td>" in as_html(comparison, LONG_AFTER)
    table = comparison_table(compared_runs(snapshot.runs, comparison.failures), LONG_AFTER, Symbols.BRAILLE)
    shown = ["".join(text for text, _ in row) for row in table]
    assert failure in shown[0]
    assert any(row.split()[:4] == ["remark", "loss", "is", "NaN"] for row in shown)


def test_the_seeds_of_each_method_are_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Text, JSON, CSV, LaTeX, HTML and the screen have the same rows; the third seed of grpo is NaN after step 30."""
    levels = {"dapo": (0.70, 0.74, 0.75), "a_b&c": (0.60, 0.62, 0.61), "grpo": (0.50, 0.52, 0.10)}
    for method, values in levels.items():
        for seed, value in enumerate(values):
            run = tmp_path / "runs" / f"{method}_s{seed}"
            run.mkdir(parents=True)
            failed = (method, seed) == ("grpo", 2)
            points = (
                {
                    "step": step,
                    "reward": value + 0.25 * (step == 20),
                    "loss": math.nan if failed and step > 30 else 1 / (1 + step),
                }
                for step in range(60)
            )
            (run / "metrics.jsonl").write_text("".join(json.dumps(point) + "\n" for point in points))
            (run / "config.json").write_text(json.dumps({"method": method, "seed": seed}))
    snapshot = open_run(tmp_path / "runs")
    comparison = compare(snapshot.runs, {"reward"}, alerts=snapshot.alerts)
    document = json.loads(as_json(comparison, LONG_AFTER))
    jsonschema.validate(document, json.loads(schema_text("compare")))
    rows = document["seeds"]["rows"]
    for row, (name, own) in zip(rows, (*levels.items(), ("grpo", (0.50, 0.52))), strict=True):
        assert (row["name"].split()[0], row["n"], row["settings"]) == (name, len(own), {"method": name})
        assert (row["min"], row["max"]) == pytest.approx((min(own), max(own)))
        deviation = statistics.stdev(own)
        expected = statistics.mean(own), deviation, deviation / math.sqrt(len(own))
        assert (row["mean"], row["sd"], row["se"]) == pytest.approx(expected)
    assert ([row["not_healthy"] for row in rows], rows[3]["left_out"]) == ([[], [], ["grpo_s2"], []], ["grpo_s2"])
    lines = list(as_text(comparison, LONG_AFTER, 100))
    start = lines.index("reward: mean, SD and SE of the levels of runs that differ only in their seed")
    assert lines[start + 1].split() == ["runs", "n", "mean", "SD", "SE", "min", "max", "method"]
    dapo = ["dapo", "(3", "seeds)", "3", "0.7300", "0.0265", "0.0153", "0.7000", "0.7500"]
    assert lines[start + 2].split() == [*dapo, "dapo"]
    assert lines[start + 5].split()[-3:] == ["grpo", "without", "grpo_s2"]
    table = comparison_table(compared_runs(snapshot.runs, comparison.failures), LONG_AFTER, Symbols.BRAILLE)
    shown = ["".join(text for text, _ in row).split() for row in table]
    assert dapo in shown
    html, others = as_html(comparison, LONG_AFTER), [run for run in snapshot.runs if run.name != "grpo_s2"]
    assert "<td>without grpo_s2</td>" in html
    assert ">remark<" not in as_html(compare(others, {"reward"}), LONG_AFTER), "no empty column"
    arguments = ["compare", str(tmp_path / "runs"), "--metric", "reward", "--table"]
    assert main([*arguments, str(tmp_path / "t.csv")]) == 0
    written = list(csv.DictReader((tmp_path / "t.csv").read_text().splitlines()))
    assert [float(row["mean"]) for row in written] == [row["mean"] for row in rows], "every digit"
    assert [(row["name"], row["method"], row["n"], row["left_out"]) for row in written[2:]] == [
        ("grpo", "grpo", "3", ""),
        ("grpo", "grpo", "2", "grpo_s2"),
    ]
    assert main([*arguments, str(tmp_path / "t.tex")]) == 0
    latex = (tmp_path / "t.tex").read_text().splitlines()
    assert r"a\_b\&c & $3$ & $0.6100$ & $0.0100$ & $0.00577$ & $0.6000$ & $0.6200$ \\" in latex
    assert main([*arguments, str(tmp_path / "t.md")]) == 2
    assert main([*arguments, str(tmp_path / "best.csv"), "--best"]) == 0
    written = list(csv.DictReader((tmp_path / "best.csv").read_text().splitlines()))
    assert {row["metric"] for row in written} == {"best(reward)"}
    assert [float(row["mean"]) for row in written] == pytest.approx([row["mean"] + 0.25 for row in rows])
    assert main(["compare", str(tmp_path / "runs"), "--metric", "loss", "--best"]) == 2, "neutral in these runs"
    asked = compare(snapshot.runs, {"reward"}, reaches=0.6)
    assert json.loads(as_json(asked, LONG_AFTER))["reaches"] == {
        "metric": "reward",
        "value": 0.6,
        "steps": [8] * 6 + [None] * 3,
        "x": [8] * 6 + [None] * 3,
    }
    lines = list(as_text(asked, LONG_AFTER))
    start = next(i for i, line in enumerate(lines) if line.startswith("9 runs"))
    assert "step of reward 0.6" in lines[start]
    assert [line.split()[3] for line in lines[start + 1 : start + 10]] == ["8"] * 6 + ["never"] * 3
    assert '<td class="n">never</td>' in as_html(asked, LONG_AFTER)
    assert "Suffixes: .csv, .tex." in (errors := capsys.readouterr().err)
    assert "--best has no effect" not in errors
    different = [str(run.path) for run in snapshot.runs if run.name in ("dapo_s0", "grpo_s0")]
    assert len(different) == 2
    assert main(["compare", *different, "--best"]) == 0
    assert "--best has no effect: no two of the runs differ" in capsys.readouterr().err


def test_a_value_is_reached_on_the_axis_that_was_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, batch, rise in (("small_s0", 64, 40), ("large_s0", 256, 20)):
        (tmp_path / name).mkdir()
        points = ({"step": s, "samples": s * batch, "reward": 0.1 if s < rise else 0.7} for s in range(1, 60))
        (tmp_path / name / "metrics.jsonl").write_text("".join(json.dumps(point) + "\n" for point in points))
    paths = [str(tmp_path / name) for name in ("small_s0", "large_s0")]
    asked = compare(in_order(open_run(*paths).runs, paths), {"reward"}, reaches=0.6, x="samples")
    document = json.loads(as_json(asked, LONG_AFTER))
    jsonschema.validate(document, json.loads(schema_text("compare")))
    assert document["reaches"]["steps"] == [44, 24], "the fifth of nine points"
    assert document["reaches"]["x"] == [44 * 64, 24 * 256]
    lines = list(as_text(asked, LONG_AFTER))
    start = next(i for i, line in enumerate(lines) if line.startswith("2 runs"))
    assert "samples of reward 0.6" in lines[start]
    assert [line.split()[3] for line in lines[start + 1 : start + 3]] == ["2816", "6144"]
    page = as_html(asked, LONG_AFTER)
    assert "samples of reward 0.6" in page
    assert '<td class="n">6144</td>' in page
    single = ["compare", paths[0], "--metric", "reward"]
    assert main([*single, "--x", "samples", "--reaches", "0.6"]) == 0
    assert (
        capsys.readouterr().out
        == "small_s0: reward first reaches 0.6 at samples 2816, step 44 (median of nine points)\n"
    )
    assert main([*single, "--reaches", "0.9"]) == 0
    assert "reward never reaches 0.9" in capsys.readouterr().out
    assert main([*single, "--reaches", "0.6", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, json.loads(schema_text("compare")))
    assert (document["reaches"]["x"], document["seeds"]) == ([44], None)
    assert main(single) == 2


def test_units_of_metrics(tmp_path: Path) -> None:
    for name, unit in (("a", "GB"), ("b", "MB")):
        lines = (f"step {step} loss: 0.5, step_time: 160ms, gpu_mem: 2.5{unit}\n" for step in range(1, 30))
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.log").write_text("".join(lines))
    compared = compare(open_run(tmp_path / "a", tmp_path / "b").runs)
    metrics = {m["name"]: m for m in json.loads(as_json(compared, LONG_AFTER))["metrics"]}
    assert (metrics["step_time"]["unit"], metrics["gpu_mem"]["unit"]) == ("ms", None)
    assert [run["unit"] for run in metrics["gpu_mem"]["runs"]] == ["GB", "MB"]
    lines = list(as_text(compared, LONG_AFTER))
    assert any(line.startswith("step_time  (step time, in ms, lower is better)") for line in lines)
    assert ["gpu_mem", "2.500", "GB", "2.500", "MB"] in [line.split() for line in lines]


def test_only_the_settings_that_differ() -> None:
    assert set(rows_of(text_of(*RUNS), "Configuration that differs")) == {
        *("model_path", "num_epochs", "learning_rate", "num_generations", "temperature", "kl_coef", "beta"),
        *("output_dir", "gradient_accumulation_steps"),
    }
    assert "  1 setting is the same (--all shows them)" in text_of(*RUNS)
    assert json_of(*(EXPORTS / run for run in RUNS))["config"]["same"] == {"batch_size": 1}


@pytest.mark.parametrize(
    ("cell", "latex"),
    [
        ("-0.4862", "$-0.4862$"),
        ("2.27e-04", r"$2.27 \times 10^{-4}$"),
        ("1.00e+15", r"$1.00 \times 10^{15}$"),
        ("12.3k", r"$12.3\mathrm{k}$"),
        ("-", "--"),
    ],
)
def test_numbers_in_latex(cell: str, latex: str) -> None:
    assert _latex_number(cell) == latex


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Three runs of one job: good and close rise to 0.9 with noise of 0.01, poor to 0.5; poor is half as long and
    twice as slow, and calls its metrics otherwise."""
    random = np.random.default_rng(7)
    for name, height, count, pace, key in (
        ("good", 0.900, 200, 1.0, "train/reward"),
        ("close", 0.8999, 200, 1.0, "train/reward"),
        ("poor", 0.500, 100, 2.0, "reward"),
    ):
        values = height * (1 - np.exp(-np.arange(count) / 10)) + random.normal(0, 0.01, count)
        rows = [
            {"step": step, "timestamp": 1.7e9 + pace * step, key: value, "lr": 1e-4}
            for step, value in enumerate(values)
        ]
        (tmp_path / name).mkdir()
        (tmp_path / name / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def test_runs_share_a_rank_only_with_those_that_noise_can_explain(tmp_path: Path) -> None:
    """Each level is within noise of the next one, but the last is far from the first."""
    noise = np.array([-0.01, 0.01] * 50)
    for number in range(9):
        values = 0.5 + 0.012 * number + noise  # two levels differ from about 0.022 on
        rows = [{"step": step, "val_loss": value} for step, value in enumerate(values)]
        (tmp_path / f"run{number}").mkdir()
        (tmp_path / f"run{number}" / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (metric,) = json_of(tmp_path)["metrics"]
    assert [entry["rank"] for entry in metric["runs"]] == list(range(1, 10))
    assert [entry["joint_rank"] for entry in metric["runs"]] == [1, 1, 3, 3, 5, 5, 7, 7, 9]
    assert [entry["tied"] for entry in metric["runs"]] == [False, True] * 4 + [False]
    shown = [match[1] for line in text_of(str(tmp_path)) if (match := re.search(r"run\d +(\d+=?)  ", line))]
    assert shown == ["1=", "1=", "3=", "3=", "5=", "5=", "7=", "7=", "9"]


def test_ranks_levels_and_values_at_the_same_step_and_time(runs: Path) -> None:
    document = json_of(runs)
    names = [run["name"] for run in document["runs"]]
    reward = next(metric for metric in document["metrics"] if metric["concept"] == "reward.train")
    by_run = dict(zip(names, reward["runs"], strict=True))
    logged = {name: list(map(json.loads, (runs / name / "metrics.jsonl").read_text().splitlines())) for name in names}
    values = {name: [row.get("train/reward", row.get("reward")) for row in logged[name]] for name in names}
    assert by_run["poor"]["rank"] == 3
    assert not by_run["poor"]["tied"]
    assert {by_run["good"]["rank"], by_run["close"]["rank"]} == {1, 2}
    assert by_run["close"]["tied"] or by_run["good"]["tied"]  # 0.0001 apart, noise of 0.01
    assert reward["common_step"] == 99
    assert (reward["unit"], by_run["poor"]["unit"]) == ("1", "1")
    assert reward["common_seconds"] == 198.0
    for name in names:
        ours = by_run[name]
        assert ours["last"] == values[name][-1]
        assert ours["best"]["value"] == max(values[name])
        assert ours["at_common_step"] == values[name][99]
        assert ours["at_common_seconds"] == values[name][198 // (2 if name == "poor" else 1)]
        window = values[name][-10:] if name == "poor" else values[name][-20:]
        assert ours["level"] == pytest.approx(np.mean(window)), "the short run is judged at its own end"
        assert (ours["level_points"], ours["level_step"]) == (len(window), len(values[name]) - 1)
        assert ours["noise"] == pytest.approx(0.01, rel=0.5)
        assert ours["noise"] >= np.std(window, ddof=1) * 0.999
        assert ours["error"] >= ours["noise"] / math.sqrt(len(window)) * 0.999
    assert "until step</th>" in as_html(compare(open_run(runs).runs), LONG_AFTER)


def test_pictures(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "pictures"
    assert main(["compare", str(runs), "--pictures", str(target)]) == 0
    assert {path.name for path in target.iterdir()} == {"comparison_reward.png", "comparison_lr.png"}
    assert imread(target / "comparison_reward.png").shape[:2] == (650, 1170)
    assert capsys.readouterr().out == ""
    assert main(["compare", str(runs), "--pictures", str(target)]) == 2  # it is there already


def test_a_picture_has_the_name_that_all_runs_log(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        rows = [{"step": step, "eval_loss": 1 / (step + 1)} for step in range(5)]
        (tmp_path / name / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["compare", str(tmp_path), "--metric", "eval_loss", "--pictures", str(tmp_path / "out")]) == 0
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["comparison_eval_loss.png"]


def test_patterns_choose_metrics(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(runs), "--metric", "*reward", "--json"]) == 0
    assert [metric["name"] for metric in json.loads(capsys.readouterr().out)["metrics"]] == ["train/reward"]
    assert main(["compare", str(runs), "--metric", "nothing"]) == 2
    assert main(["compare", str(runs / "good")]) == 2


def test_noise_is_found_under_a_trend_and_spikes_do_not_count() -> None:
    random = np.random.default_rng(3)
    values = np.linspace(0, 50, 4000) + random.normal(0, 0.2, 4000)
    assert noise(values) == pytest.approx(0.2, rel=0.1)
    values[::200] += 100
    assert noise(values) == pytest.approx(0.2, rel=0.1)
    assert noise(np.array([1e300, -1e300, 1e300, -1e300])) > 1e299
    assert noise(np.full(10, 0.3)) == 0
    assert math.isnan(noise(np.array([1.0, np.nan, 2.0])))


def test_a_single_point_has_no_rank(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, evaluations, best in (("long", 40, 0.9), ("short", 1, 0.95), ("poor", 40, 0.5)):
        (tmp_path / name).mkdir()
        rows = [{"step": step, "eval/reward": best + step % 3 / 100} for step in range(evaluations)]
        (tmp_path / name / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["compare", str(tmp_path / "long"), str(tmp_path / "short")]) == 0
    lines = capsys.readouterr().out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("eval/reward"))
    shown = {line.split()[0]: line.split()[1] for line in lines[start + 2 : start + 4]}
    assert shown == {"long": "-", "short": "-"}
    assert "1 point" in lines[start + 3]
    assert lines[0].startswith("No run is ahead: reward (val) of short and long is 0.9500 and 0.9000, too few points")
    document = json_of(tmp_path)
    [metric] = document["metrics"]
    ranks = {run["name"]: entry["rank"] for run, entry in zip(document["runs"], metric["runs"], strict=True)}
    assert ranks["short"] is None


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
    assert [entry["rank"] for entry in rewards["rollout/ep_rew_mean"]["runs"]] == [2, 1]
    assert [entry["rank"] for entry in rewards["reward"]["runs"]] == [None, None]
    assert document["verdict"].startswith("late is ahead: reward +")
    screen = comparison_table(compared_runs(runs), LONG_AFTER, Symbols.BRAILLE)
    assert screen[0][0][0] == document["verdict"]
    lines = list(as_text(compare(runs), LONG_AFTER, full=True))
    assert "reward, higher is better; not ranked: its steps are not those of the run" in lines


def test_many_settings_of_some_runs_are_one_line(tmp_path: Path) -> None:
    own = {f"vllm_option_{i}": i for i in range(75)}
    for name, settings in (("a", {**own, "lr": 0.1}), ("b", {**own, "lr": 0.2}), ("c", {"lr": 0.3, "beta": 1})):
        (tmp_path / name).mkdir()
        rows = ({"step": step, "reward": step} for step in range(30))
        (tmp_path / name / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (tmp_path / name / "config.json").write_text(json.dumps(settings))
    comparison = compare(open_run(tmp_path).runs)
    lines = list(as_text(comparison, LONG_AFTER, 100))
    start = next(i for i, line in enumerate(lines) if "Configuration that differs" in line)
    assert [line.split()[0] for line in lines[start + 1 : start + 3]] == ["lr", "beta"]
    folded = "  not in c: vllm_option_0, vllm_option_1, vllm_option_2 … 75 settings (--all lists them)"
    assert lines[start + 3 : start + 5] == ["", folded]
    two = list(as_text(compare(open_run(tmp_path / "a", tmp_path / "c").runs), LONG_AFTER))
    assert folded.replace("not in c", "only in a") in two
    assert sum("vllm_option" in line for line in as_text(comparison, LONG_AFTER, full=True)) == 75


def test_a_sweep_has_the_effect_of_each_setting_but_not_of_seeds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    levels = {}
    for number, (lr, batch, seed) in enumerate(itertools.product((1e-6, 5e-6), (64, 256), (1, 2))):
        level = 0.45 + 0.25 * (lr == 5e-6) + 0.05 * (batch == 256) + 0.002 * (seed == 2)
        levels[number] = level
        (tmp_path / f"run{number}").mkdir()
        rows = [{"step": step, "reward": min(step / 50, 1) * level + 0.001 * (-1) ** step} for step in range(200)]
        (tmp_path / f"run{number}" / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        settings = {"learning_rate": lr, "batch_size": batch, "seed": seed}
        (tmp_path / f"run{number}" / "config.json").write_text(json.dumps(settings))
    assert main(["compare", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2] == "Settings and reward: level ± SE of otherwise equal runs"
    rates, batches, empty = lines[3:6]
    assert re.fullmatch(r"  learning_rate: 0.7260 ± \S+ at 5e-06 \(4 runs\), 0.4760 ± \S+ at 1e-06 \(4 runs\)", rates)
    assert re.fullmatch(r"  batch_size: 0.6260 ± \S+ at 256 \(4 runs\), 0.5760 ± \S+ at 64 \(4 runs\)", batches)
    assert not empty
    document = json_of(tmp_path)
    jsonschema.validate(document, json.loads(schema_text("compare")))
    assert [effect["setting"] for effect in document["effects"]] == ["learning_rate", "batch_size"]
    assert [(effect["noise"], effect["step"]) for effect in document["effects"]] == [("seeds", 199)] * 2
    assert all(effect["beyond_noise"] and effect["metric"] == "reward" for effect in document["effects"])
    [best, worst] = document["effects"][0]["values"]
    assert (best["value"], best["runs"], worst["value"]) == (5e-6, 4, 1e-6)
    assert best["level"] == pytest.approx(statistics.mean(levels[number] for number in (4, 5, 6, 7)))
    assert best["error"] == pytest.approx(math.sqrt(8 * 0.001**2 / 4 / 4), rel=0.01), "of the seeds"
    comparison = compare(open_run(tmp_path).runs)
    assert rates.strip() in as_html(comparison, LONG_AFTER)
    screen = comparison_table(compared_runs(comparison.runs), LONG_AFTER, Symbols.ASCII, 200)
    assert rates.replace("±", "+-") in ["".join(text for text, _ in row) for row in screen]
    pair = compare(comparison.runs[:2])
    assert pair.effects is None, "two runs show no effect"


def test_the_page_has_the_curve_of_each_run_also_if_one_was_restarted(tmp_path: Path) -> None:
    for name, steps in (("again", [*range(60), *range(40, 100)]), ("straight", [*range(100)])):
        (tmp_path / name).mkdir()
        lines = (json.dumps({"step": step, "reward": step + number % 3}) for number, step in enumerate(steps))
        (tmp_path / name / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    html = as_html(compare(open_run(tmp_path).runs), LONG_AFTER)
    assert re.findall(r'<path class="curve series-\d" data-label="(\w+)"', html) == ["straight", "again"]
    assert '<path class="dots' not in html, "no curve has few points"
