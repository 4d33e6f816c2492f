"""The table of runs side by side, its numbers worked out again from what was logged."""

from __future__ import annotations

import json
import math
import re
import shutil
import statistics
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import DATA
from support.dashboard import opened, text, until
from support.made_run import runs_of, snapshot_of
from support.programs import write

from tuimon.analysis.verdict import deciding_metric
from tuimon.model.points import Topic
from tuimon.model.views import Role, Row, Symbols
from tuimon.monitor.local import open_run
from tuimon.panels.lists.compared_runs import compared_deciding_metric, compared_metrics, compared_runs
from tuimon.panels.lists.comparison import ahead, comparison_table


def logged(root: Path, name: str, rewards: list[float], **config: object) -> None:
    (root / name).mkdir(parents=True)
    rows = ({"step": step, "reward": value, "only_" + name: 1.0} for step, value in enumerate(rewards))
    (root / name / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (root / name / "config.json").write_text(json.dumps(config))


def row_of(rows: list[Row], begin: str) -> str:
    result = ["".join(text for text, _ in row) for row in rows]
    return next(row for row in result if row.strip().startswith(begin))


def test_settings_that_differ_and_metrics_with_their_noise(tmp_path: Path) -> None:
    a = [0.01 * s + 0.1 * math.sin(37 * s) for s in range(100)]
    b = [0.03 * s + 0.1 * math.sin(41 * s) for s in range(60)]
    config = {"batch": 8, "optim": {"beta": 0.9}, "api_key": "sk-0123456789abcdefghij"}
    logged(tmp_path, "a", a, optim={"lr": 1e-3, **config["optim"]}, batch=8, api_key="sk-0123456789abcdefghij")  # type: ignore[dict-item]
    logged(tmp_path, "b", b, optim={"lr": 1e-5, **config["optim"]}, batch=8, extra=True)  # type: ignore[dict-item]
    rows = comparison_table(compared_runs(open_run(tmp_path).runs), 1.8e9, Symbols.BRAILLE)
    shown = "\n".join("".join(text for text, _ in row) for row in rows)
    assert row_of(rows, "optim.lr").split() == ["optim.lr", "0.001", "1e-05"]
    assert row_of(rows, "extra").split() == ["extra", "-", "True"]
    assert row_of(rows, "api_key").split() == ["api_key", "[hidden]", "-"]
    assert "sk-0123" not in shown
    assert "batch" not in shown
    assert "2 settings the same" in shown
    until_step = a[:60]
    one, other = statistics.fmean(until_step[-6:]), statistics.fmean(b[-6:])
    displayed = row_of(rows, "reward")
    assert f"{one:.4f} ±" in displayed
    assert f"{other:.3f} ±" in displayed
    assert f"+{other - one:.3f}" in displayed
    assert "≈" not in displayed
    assert displayed.count(", 6") == 2, "the last tenth of 60 points"
    assert "only_a" not in shown, "what only one run has cannot be compared"
    assert "this does not show a cause" in shown
    assert row_of(rows, "step").split() == ["step", "99", "59"]


def test_a_short_run_is_compared_with_what_the_first_run_had_reached_by_then() -> None:
    lengths = 200, 200, 120
    rising = [
        ([*range(end)], [rate * step + step % 3 / 100 for step in range(end)])
        for rate, end in zip((0.01, 0.02, 0.03), lengths, strict=True)
    ]
    for order in ((0, 1, 2), (2, 0, 1)):
        runs = runs_of(*({"reward": rising[index]} for index in order))
        shown = lines_of(comparison_table(compared_runs(runs), 1.8e9, Symbols.BRAILLE))
        [reward] = [line.strip() for line in shown if line.strip().startswith("reward")]
        cells = re.split(r"  +", reward)[1:]
        for place, index in enumerate(order):
            end = min(lengths[order[0]], lengths[index])
            base, own = (float(np.mean(rising[i][1][end - end // 10 : end])) for i in (order[0], index))
            level, *difference = cells[: 1 + (place > 0)]
            cells = cells[1 + (place > 0) :]
            assert float(level.split()[0]) == pytest.approx(own, rel=1e-3)
            if difference:
                assert float(difference[0]) == pytest.approx(own - base, rel=1e-3)
    assert "  compared up to step 119, where run0 ends; run1 reaches 199" in shown


def test_arguments_hosts_and_versions_that_differ_are_a_section_of_their_own(tmp_path: Path) -> None:
    for path in (DATA / "wandb").glob("run-*.wandb"):
        (tmp_path / path.stem).mkdir()
        shutil.copy(path, tmp_path / path.stem)
    runs = open_run(tmp_path).runs
    rows = comparison_table(compared_runs(runs), 1.8e9, Symbols.BRAILLE)
    shown = ["".join(text for text, _ in row) for row in rows]
    begin = next(index for index, row in enumerate(shown) if row.startswith("Run "))
    end = next(index for index, row in enumerate(shown) if row.startswith("Metrics"))
    logged_by = [{key: fact.value.get(key) for fact in run.facts(Topic.WRITER) for key in fact.value} for run in runs]
    assert sorted(row_of(rows, "arguments").split()[1:]) == sorted(
        word for facts in logged_by for word in facts["arguments"].split()
    )
    assert [row.split()[0] for row in shown[begin + 1 : end - 1]] == ["arguments"], "everything else is equal"


def test_a_metric_that_is_only_infinite_is_shown_as_such() -> None:
    infinite = {"odd": ([1, 2], [math.inf, -math.inf]), "fine": ([1], [1.0])}
    rows = comparison_table(compared_runs(runs_of(infinite, infinite)), 1.8e9, Symbols.BRAILLE)
    assert row_of(rows, "odd").split() == ["odd", "-Inf", "-Inf"]


def test_two_runs_fit_into_eighty_columns(tmp_path: Path) -> None:
    name = "rewards/" + "accuracy_reward_" * 3 + "mean"
    for run, factor in (("a", 1.0), ("b", 1.01)):
        (tmp_path / run).mkdir()
        rows = ({"step": step, name: math.sin(37 * step) * factor} for step in range(100))
        (tmp_path / run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    rows = comparison_table(compared_runs(open_run(tmp_path).runs), 1.8e9, Symbols.BRAILLE, 78)
    displayed = row_of(rows, "rewards/")
    assert len(displayed.rstrip()) <= 78
    assert displayed.rstrip().endswith("≈"), "the difference is seen"
    assert ", 10" not in displayed
    assert (
        len(row_of(comparison_table(compared_runs(open_run(tmp_path).runs), 1.8e9, Symbols.BRAILLE), "rewards/")) > 78
    )


def test_differences_within_noise_are_marked(tmp_path: Path) -> None:
    values = [math.sin(37 * s) for s in range(200)]
    logged(tmp_path, "a", values)
    logged(tmp_path, "b", [value + 0.02 for value in reversed(values)])
    rows = comparison_table(compared_runs(open_run(tmp_path).runs), 1.8e9, Symbols.BRAILLE)
    assert "≈" in row_of(rows, "reward")
    plain = comparison_table(compared_runs(open_run(tmp_path).runs), 1.8e9, Symbols.ASCII)
    assert "~" in row_of(plain, "reward")
    assert "".join(text for row in plain for text, _ in row).isascii()


def test_differences_are_coloured_by_the_direction_of_the_metric(tmp_path: Path) -> None:
    logged(tmp_path, "a", [1.0] * 50)
    logged(tmp_path, "b", [2.0] * 50)
    logged(tmp_path, "c", [0.5] * 50)
    rows = comparison_table(compared_runs(open_run(tmp_path).runs), 1.8e9, Symbols.BRAILLE)
    [row] = [row for row in rows if any(text.strip() == "reward" for text, _ in row)]
    roles = {text.strip(): role for text, role in row if text.strip() in ("+1", "-0.5000")}
    assert roles == {"+1": Role.GOOD, "-0.5000": Role.WARNING}


def lines_of(rows: list[Row]) -> list[str]:
    return ["".join(text for text, _ in row) for row in rows]


def test_what_is_long_or_missing_or_ends_early_is_said(tmp_path: Path) -> None:
    names = [f"train/rewards/{kind}_reward_of_the_answer/mean" for kind in ("format", "accuracy")]
    for run, steps, settings in (("lively", 100, {"lr": 1}), ("dead", 40, {"lr": 2}), ("third", 100, {"lr": 3})):
        (tmp_path / run).mkdir()
        values = [settings["lr"] * s + math.sin(s) for s in range(steps)]
        rows = [{"step": s, "reward": value, names[0]: s, names[1]: -s} for s, value in enumerate(values)]
        (tmp_path / run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        more = {"warmup": 5} if run != "third" else {}
        (tmp_path / run / "config.json").write_text(json.dumps({**settings, **more, "seeded_by_the_user": run}))
    shown = lines_of(comparison_table(compared_runs(open_run(tmp_path).runs), 1.8e9, Symbols.BRAILLE, 78))
    verdict = shown[: shown.index("")]
    assert len(verdict) > 1
    assert max(map(len, verdict)) <= 76
    differ = next(i for i, line in enumerate(shown) if line.startswith("Settings that differ"))
    partly = next(i for i, line in enumerate(shown) if line.startswith("Settings only in some runs"))
    metrics = next(i for i, line in enumerate(shown) if line.startswith("Metrics"))
    assert [line.split()[0][:5] for line in shown[differ + 1 : partly - 1]] == ["lr", "seede"]
    assert [line.split()[0] for line in shown[partly + 1 : metrics - 1]] == ["warmup"]
    assert shown[metrics + 1].strip() == "compared up to step 39, where dead ends; lively reaches 99"
    cut = [name for line in shown[metrics + 2 :] if line.strip() and "…" in (name := line.split()[0])]
    assert len(set(cut)) == len(cut) == 2, shown
    assert any("format" in name for name in cut)


async def test_marked_runs_are_compared_by_a_key(tmp_path: Path) -> None:
    for number, name in enumerate(("a_lr1", "b_lr2", "c_lr3"), 1):
        write(tmp_path / "many", name, 20, number / 1000)
    async with opened(tmp_path / "many", size=(120, 30)) as (app, pilot):
        await until(app, pilot, lambda s: "of 3" in s and app.snapshot.progress.caught_up)
        await pilot.press("d")
        await until(app, pilot, lambda s: "Nothing to compare with: in the run list (r)" in s)
        await pilot.press("r", "d")
        await until(app, pilot, lambda s: "Nothing to compare with: space marks a run, A all of them" in s)
        await pilot.press("g", "down", "B", "down", "space", "d")
        shown = await until(app, pilot, lambda s: "Settings that differ" in s and "optim.lr" in s)
        [settings] = [line for line in shown.splitlines() if line.strip().startswith("optim.lr")]
        assert settings.split()[1:] == ["0.002", "0.003"], "the base first"
        [reward] = [line for line in shown.splitlines() if line.strip().startswith("reward")]
        last = [number * s / 1000 for number in (2, 3) for s in range(15, 20)]
        assert f"{statistics.fmean(last[:5]):.4f}" in reward
        assert f"+{statistics.fmean(last[5:]) - statistics.fmean(last[:5]):.4f}" in reward
        await pilot.press("escape")
        await until(app, pilot, lambda s: "3 runs" in s)
        assert "Settings that differ" not in text(app)
        app.state.options = replace(app.state.options, axis="tokens")
        await pilot.press("d")
        await until(app, pilot, lambda s: "compared at equal steps: 2 of 2 runs have no tokens" in s)


async def test_runs_that_do_not_fit_are_counted_and_shown_by_a_key(tmp_path: Path) -> None:
    for number, name in enumerate(("a_lr1", "b_lr2", "c_lr3", "d_lr4"), 1):
        write(
            tmp_path / "many", name, 20, number / 1000, output_dir=f"/srv/train/results/of/the/last/week/{name}/output"
        )
    async with opened(tmp_path / "many", size=(74, 24)) as (app, pilot):
        await until(app, pilot, lambda s: "of 4" in s and app.snapshot.progress.caught_up)
        await pilot.press("r", "A", "d")
        shown = await until(app, pilot, lambda s: "Settings that differ" in s)
        assert "1 of 4 runs not shown: ] shows the next, [ the one before" in shown
        assert "] [ runs" in shown
        base, *others = (f"0.00{'abcd'.index(run.name[0]) + 1}" for run in app.snapshot.runs)
        best, second, third = sorted(others, reverse=True)
        assert lr_of(shown) == [base, *(own for own in others if own != third)], "the best of the others"
        await pilot.press("right_square_bracket")
        shown = await until(app, pilot, lambda s: third in s)
        assert lr_of(shown) == [base, *(own for own in others if own != best)]
        await pilot.press("right_square_bracket", "right_square_bracket", "left_square_bracket")
        assert lr_of(await until(app, pilot, lambda s: second in s)) == [base, *(o for o in others if o != best)]


def lr_of(shown: str) -> list[str]:
    [settings] = [line for line in shown.splitlines() if line.strip().startswith("optim.lr ")]
    return settings.split()[1:]


def test_the_verdict_is_of_all_runs_also_of_those_that_do_not_fit(tmp_path: Path) -> None:
    for name, best in (("a", 1.0), ("b", 2.0), ("c", 3.0)):
        logged(tmp_path, name, [best + s % 3 / 10 for s in range(60)], path="/srv/train/results/of/last/week/" + name)
    runs = open_run(tmp_path).runs
    for skipped, columns in ((0, ["a", "c"]), (1, ["a", "b"]), (9, ["a", "b"])):
        lines = lines_of(comparison_table(compared_runs(runs), 1.8e9, Symbols.BRAILLE, 40, skipped))
        assert lines[0].startswith("c is ahead of b, the next of 3 runs:")
        assert "1 of 3 runs not shown" in lines
        head = next(line for line in lines if "●" in line)
        assert re.findall(r"\b[abc]\b", head) == columns
        assert max(len(line.rstrip()) for line in lines[:6]) <= 40
    assert not any(
        "not shown" in line for line in lines_of(comparison_table(compared_runs(runs), 1.8e9, Symbols.BRAILLE, 200))
    )


def test_a_setting_of_wide_characters_is_shown_whole() -> None:
    series = {"reward": (range(9), [1.0] * 9)}
    runs = snapshot_of(series, series, configs=[{"data": "数学"}, {"data": "代码"}]).runs
    rows = comparison_table(compared_runs(runs), 1.8e9, Symbols.BRAILLE, 80)
    assert row_of(rows, "data").split() == ["data", "数学", "代码"]


def test_words_are_cut_before_runs_are_left_out() -> None:
    steps = range(60)
    rising = ({"reward": (steps, [gain * s + s % 3 / 7 for s in steps])} for gain in (1.0, 2.0, 3.0))
    configs = [{"output": f"/srv/train/results/of/last/week/number/{number}"} for number in range(3)]
    runs = compared_runs(snapshot_of(*rising, configs=configs).runs)
    for width in (140, 78, 66):
        lines = lines_of(comparison_table(runs, 1.8e9, Symbols.BRAILLE, width))
        assert not any("not shown" in line for line in lines)
        assert max(len(line.rstrip()) for line in lines) <= width
        assert "≈: within noise." in " ".join(" ".join(lines).split())
        assert re.findall("run[012]", next(line for line in lines if "●" in line)) == ["run0", "run1", "run2"]
        reward = next(line for line in lines if line.strip().startswith("reward"))
        assert ("±" in reward, ", 6" in reward) == (width > 66, width > 78)
        title = next(line for line in lines if line.startswith("Metrics"))
        assert ("standard error" in title, "points" in title) == (width > 66, width > 78)


def test_which_of_some_runs_is_ahead_on_the_chosen_metric() -> None:
    steps = range(20)
    runs = runs_of(
        *[
            {
                "reward": (steps, [gain * step for step in steps]),
                "val_loss": (steps, [gain + step % 2 for step in steps]),
            }
            for gain in (1.0, 5.0)
        ]
    )
    assert ahead(runs, Symbols.BRAILLE).startswith("run1 is ahead: reward +")
    assert ahead(runs, Symbols.ASCII, "best(val loss)").startswith("run0 is ahead: loss (val) -4.000 +- ")
    assert ahead(runs, Symbols.BRAILLE, "entropy") == ""
    assert ahead(runs[:1], Symbols.BRAILLE) == ""


@pytest.mark.parametrize("left_out", [(), ("reward",), ("reward", "val_loss"), ("reward", "val_loss", "loss")])
def test_the_deciding_metric_is_that_of_all_compared_metrics(left_out: tuple[str, ...]) -> None:
    steps = range(20)
    series = {
        "entropy": (steps, [1.0 + step % 3 for step in steps]),
        "loss": (steps, [2.0 + step % 2 for step in steps]),
        "val_loss": (steps, [3.0 + step % 2 for step in steps]),
        "reward": (steps, [float(step) for step in steps]),
    }
    common = {name: points for name, points in series.items() if name not in left_out}
    runs = runs_of(common, common, {"lr": (steps, [0.1] * 20)})
    deciding, expected = compared_deciding_metric(runs), deciding_metric(compared_metrics(runs))
    assert (deciding and deciding.name) == (expected and expected.name)
    assert (deciding is None) is (len(left_out) == 3)
