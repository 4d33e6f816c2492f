"""`import tuimon`: names, import cost, and runs compared with the logs."""

from __future__ import annotations

import json
import math
import os
import re
import time
from pathlib import Path

import numpy as np
import pytest
from support.rank_jobs import MEMORY, slurm_job, slurm_log, write, write_long_ago

import tuimon
from tuimon import api

DATA = Path(__file__).parent.parent / "data"


def log(path: Path, rows: list[dict[str, object]]) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    with (path / "metrics.jsonl").open("a") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)
    return path


def steps(first: int, last: int, **values: float) -> list[dict[str, object]]:
    return [{"step": step, "timestamp": 1.7e9 + step, "loss": 1 / step, **values} for step in range(first, last + 1)]


# ---------------------------------------------------------------------- names and imports


def test_every_public_name_is_there_and_typed() -> None:
    assert sorted(tuimon.__all__) == tuimon.__all__
    assert set(tuimon.__all__) == {*api.__all__, "__version__"}
    for name in tuimon.__all__:
        value = getattr(tuimon, name)
        assert name in dir(tuimon)
        assert name == "__version__" or value.__doc__
    with pytest.raises(AttributeError, match="no attribute 'open_run'"):
        _ = tuimon.open_run  # type: ignore[attr-defined]


def test_public_classes_document_what_they_offer() -> None:
    for kind in (tuimon.Run, tuimon.Snapshot, tuimon.Metric, tuimon.Follower, tuimon.Table):
        for name, member in vars(kind).items():
            if not name.startswith("_") and callable(getattr(member, "__get__", None)) and name not in ("unit",):
                assert getattr(member, "__doc__", None), f"{kind.__name__}.{name}"


# ---------------------------------------------------------------------- runs


def test_a_run_is_a_mapping_of_its_metrics(tmp_path: Path) -> None:
    log(tmp_path, [*steps(1, 20), {"step": 21, "loss": math.nan}])
    (run,) = tuimon.read(tmp_path)
    assert list(run) == list(run.metrics) == ["loss"]
    assert "loss" in run
    assert "reward" not in run
    metric = run["loss"]
    logged_steps, values, wall_times = metric
    assert logged_steps.tolist() == list(range(1, 22))
    assert values[:20].tolist() == [1 / step for step in range(1, 21)]
    assert np.isnan(values[20])
    assert wall_times[:20].tolist() == [1.7e9 + step for step in range(1, 21)]
    assert np.isnan(wall_times[20])
    assert (metric.name, len(metric), metric.direction, metric.sources) == ("loss", 21, "down", ("metrics.jsonl",))
    assert metric.concept.startswith("loss")
    assert repr(metric) == "<Metric 'loss': 21 points, last nan at step 21>"
    assert (run.step, run.progress.step, run.state) == (21, 21, run.progress.state)
    assert run.path == str(tmp_path)
    assert {name: len(points) for name, points in run.items()} == {"loss": 21}
    with pytest.raises(KeyError, match="reward"):
        run["reward"]


def test_arrays_are_read_only_views(tmp_path: Path) -> None:
    (run,) = tuimon.read(log(tmp_path, steps(1, 100)))
    again = run["loss"]
    for column, same in zip(run["loss"], again, strict=True):
        assert not column.flags.writeable
        assert np.shares_memory(column, same)
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 0


def test_a_later_attempt_supersedes_the_earlier_one(tmp_path: Path) -> None:
    metric = tuimon.read(log(tmp_path, [*steps(1, 30), *steps(21, 40)]))[0]["loss"]
    assert metric.steps.tolist() == list(range(1, 41))
    assert (metric.restarts.tolist(), metric.superseded) == ([20], 10)


def test_runs_are_found_by_number_name_and_path(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        log(tmp_path / name, steps(1, 10))
    runs = tuimon.read(tmp_path)
    assert (len(runs), len(runs[:2])) == (3, 2)
    assert runs["b"] is runs[[run.name for run in runs].index("b")]
    assert runs[str(tmp_path / "c")].name == "c"
    with pytest.raises(KeyError, match="nope"):
        runs["nope"]
    assert {run.name for run in tuimon.read(tmp_path / "a", tmp_path / "b")} == {"a", "b"}


def test_a_missing_target_raises(tmp_path: Path) -> None:
    for target in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(tuimon.NothingFound):
            tuimon.read(target)
    with pytest.raises(TypeError):
        tuimon.read()
    with pytest.raises(TypeError):
        tuimon.follow()


def test_settings_sources_and_samples_of_a_run(tmp_path: Path) -> None:
    log(tmp_path, steps(1, 10))
    (tmp_path / "config.json").write_text(json.dumps({"lr": 0.5, "hf_token": "hf_" + "a" * 34}))
    (tmp_path / "rollouts").mkdir()
    for step in (3, 7):
        row = {"input": "1+1?", "output": f"{step} sk-{'b' * 48}", "gts": "2", "score": 0.5, "step": step}
        (tmp_path / "rollouts" / f"{step}.jsonl").write_text(json.dumps(row) + "\n")
    (run,) = tuimon.read(tmp_path)
    assert run.config == {"lr": 0.5, "hf_token": "[hidden]"}
    source = next(source for source in run.sources if source.format == "jsonl")
    assert (source.name, source.points, source.state) == ("metrics.jsonl", 10, "current")
    assert source.path == str(tmp_path / "metrics.jsonl")
    assert [sample.step for sample in run.samples()] == [3, 7]
    (sample,) = run.samples(7)
    assert (sample.prompt, sample.reward, sample.response[:2]) == ("1+1?", 0.5, "7 ")
    assert "bbbb" not in sample.response
    (tmp_path / "rollouts" / "1.json").write_text("[{")
    with pytest.warns(UserWarning, match="cannot read"):
        assert len(list(run.samples())) == 2


def test_alerts_are_those_of_the_detectors() -> None:
    runs = tuimon.read(DATA / "json" / "hf_trainer_nan")
    assert any(alert.rule == "nonfinite" and "grad_norm is NaN" in alert.message for alert in runs.alerts)
    assert runs[0].alerts == tuple(alert for alert in runs.alerts if alert.run == runs.alerts[0].run)
    assert all(not alert.active for alert in runs.resolved)


def test_ranks_name_the_one_that_failed(tmp_path: Path) -> None:
    slurm_job(tmp_path, 4)
    write(slurm_log(tmp_path, 2), f"[rank2]: {MEMORY}\n")
    write_long_ago(tmp_path)
    log(tmp_path, steps(1, 10))
    (run,) = tuimon.read(tmp_path)
    ranks = run.ranks
    assert (len(ranks.rows), ranks.root_cause.rank) == (4, 2)
    assert tuimon.read(DATA / "exports" / "qwen3vl_grpo")[0].ranks is None


# ---------------------------------------------------------------------- notebooks


def test_html_of_a_run_and_of_runs(tmp_path: Path) -> None:
    import html5lib

    log(tmp_path / "<b>a", [*steps(1, 20, **{"<script>alert(1)</script>": 1.0}), {"step": 21, "loss": math.nan}])
    log(tmp_path / "b", steps(1, 20))
    runs = tuimon.read(tmp_path)
    parser = html5lib.HTMLParser(strict=True)
    for page in (runs["<b>a"]._repr_html_(), runs._repr_html_()):
        parser.parseFragment(page)
        assert "<script" not in page
        assert "&lt;b&gt;a" in page
        assert len(page) < 60_000
    page = runs["b"]._repr_html_()
    assert "<svg" in page
    assert "0.0500" in page  # the last value


def test_html_of_a_run_without_points(tmp_path: Path) -> None:
    (tmp_path / "events.out.tfevents.1700000000.host").write_bytes(b"")
    with tuimon.follow(tmp_path) as follower:
        (run,) = next(follower)
        assert (run.metrics, run.state, len(run.table())) == ((), "unknown", 0)
        assert run
        assert "no point yet" in run._repr_html_()


PAGE = (Path(__file__).parent.parent.parent / "docs" / "library.md").read_text("utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.partition("\n## Plug-ins")[0], re.DOTALL)


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "logs" / "grpo-1.5b"
    (run / "rollouts").mkdir(parents=True)
    rows = [{"step": s, "train/reward": s / 100, "train/loss": 1 / (s + 1)} for s in range(50)]
    (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    row = {"input": "1+1?", "output": "it is 2", "gts": "2", "score": 1.0, "step": 40}
    (run / "rollouts" / "40.jsonl").write_text(json.dumps(row) + "\n")
    long_ago = time.time() - 864_000
    os.utime(run / "metrics.jsonl", (long_ago, long_ago))  # so that the run is not running, and its follower ends
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    needed = {name for example in EXAMPLES for name in re.findall(r"^import (\w+)", example, re.MULTILINE)}
    for name in sorted(needed):
        pytest.importorskip(name)
    for example in EXAMPLES:
        exec(compile(example, "docs/library.md", "exec"), names)
    printed = capsys.readouterr().out
    assert "grpo-1.5b" in printed
    assert "train/reward 49" in printed
    assert "1.0 it is 2" in printed
    assert printed.count("train/loss") == 1


def test_every_public_name_is_described() -> None:
    described = set(re.findall(r"`(?:tuimon\.)?(\w+)", PAGE))
    assert {name for name in tuimon.__all__ if not name.startswith("__")} <= described


def test_every_attribute_of_a_run_is_described() -> None:
    attributes = {name for name in vars(tuimon.Run) if not name.startswith("_")}
    assert attributes <= set(re.findall(r"`(\w+)", PAGE))
