"""The settings of a run begin with what its log says about the run itself."""

from __future__ import annotations

import gzip
import sqlite3
from contextlib import closing
from pathlib import Path

from conftest import DATA
from support.made_run import run_of

from tuimon.analysis.words import time_of_day
from tuimon.draw.numbers import format_duration
from tuimon.exports.documents import plain
from tuimon.exports.summary import summary_of
from tuimon.exports.summary_text import as_text
from tuimon.model.points import Fact
from tuimon.monitor.local import open_run
from tuimon.panels.lists.settings import settings_tree


def test_host_program_and_arguments_of_a_wandb_run() -> None:
    run = next(run for run in open_run(DATA / "wandb").runs if run.name == "run-good")
    known = {row.name: row.value for row in settings_tree(run) if row.path[0] == "run"}
    assert (known["writer"], known["host"]) == ("wandb", "vm")
    assert known["program"].endswith("wb.py")
    assert known["arguments"] == "run-good 220 3e-3 -1"
    assert known["directory"] == run.path
    lasted = format_duration(run.last_wall_time - run.first_wall_time)
    assert known["points"].endswith(f"{time_of_day(run.last_wall_time)}, {lasted}")


def test_experiment_or_project_is_displayed(tmp_path: Path) -> None:
    run = tmp_path / "mlruns" / "1" / ("ab" * 16)
    (run / "metrics").mkdir(parents=True)
    (run / "metrics" / "loss").write_text("".join(f"179522614744{step} 0.5 {step}\n" for step in range(9)))
    (run / "meta.yaml").write_text(f"experiment_id: '1'\nrun_id: {run.name}\nstatus: 1\n")
    (run.parent / "meta.yaml").write_text("experiment_id: '1'\nname: llama-ablation\n")
    for name, source in (("mlflow.db", "mlflow"), ("tiny-rl.db", "trackio")):
        (tmp_path / name).write_bytes(gzip.decompress((DATA / source / f"{name}.gz").read_bytes()))
    with closing(sqlite3.connect(tmp_path / "mlflow.db")) as connection, connection:
        connection.execute("create table experiments (experiment_id integer primary key, name varchar(256))")
        connection.execute("insert into experiments values (1, 'sweep')")
    known = {(row.name, row.value) for run in open_run(tmp_path).runs for row in settings_tree(run)}
    assert {("experiment", "llama-ablation"), ("experiment", "sweep"), ("project", "tiny-rl")} < known
    snapshot = open_run(run)
    assert "  experiment   llama-ablation\n" in "\n".join(as_text(snapshot, 0.0))
    [described] = plain(summary_of(snapshot, 0.0))["runs"]
    assert described["about"]["experiment"] == "llama-ablation"


def test_a_commit_is_shown_and_a_secret_is_not() -> None:
    writer = {"name": "wandb", "git_commit": "8a5edab282632443219e051e4ade2d1d5bbc671c", "api_key": "sk-" + "a" * 40}
    known = {row.name: row.value for row in settings_tree(run_of({}, [Fact("writer", writer)]))}
    assert known["git_commit"] == writer["git_commit"]
    assert "aaaa" not in known["api_key"]
    assert settings_tree(run_of({})) == ()


def test_the_best_checkpoint_has_its_step_also_if_only_its_path_names_it() -> None:
    best = {"best_metric": 1.25, "best_model_checkpoint": "out/checkpoint-600"}
    rows = [(row.name, row.value) for row in settings_tree(run_of({}, [Fact("best_checkpoint", best)]))]
    assert rows == [("best checkpoint", ""), ("step", "600"), ("best_metric", "1.25"), tuple(best.items())[1]]
    with_step = {**best, "best_global_step": 600}
    rows = [(row.name, row.value) for row in settings_tree(run_of({}, [Fact("best_checkpoint", with_step)]))]
    assert [name for name, _ in rows] == ["best checkpoint", *with_step]
