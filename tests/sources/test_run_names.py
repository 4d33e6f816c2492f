"""Names and order of runs from their paths."""

from __future__ import annotations

from pathlib import Path

import pytest

from tuimon.monitor.local import open_run
from tuimon.sources.run_names import run_names


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/s/samples/wild/visualdl/run/vdl_log", "visualdl"),
        ("/s/samples/dvclive/run", "samples/dvclive"),
        ("/data/cats/dvclive", "cats/dvclive"),
        ("/s/public/baselines_table_epoch/run/04_29_20_21_32", "baselines_table_epoch/04_29_20_21_32"),
        ("/s/wild/optuna/run/study.db/trial 9", "optuna/study.db/trial 9"),
        ("/s/wild/optuna/journal.log/trial 9", "optuna/journal.log/trial 9"),
        ("/data/grpo/a", "a"),
        ("/s/grpo/a", "grpo/a"),
        ("/data/grpo/lightning_logs/version_0", "grpo/version_0"),
        ("/data/grpo/checkpoints", "grpo"),
        ("/logs/grpo-1.5b", "grpo-1.5b"),
        ("/s/my_sweep.db/trial 9", "my_sweep.db/trial 9"),
    ],
)
def test_a_name_says_which_run_it_is(path: str, name: str) -> None:
    assert run_names([path], {path: "/data/grpo" if path.startswith("/data") else "/s"}) == {path: name}


@pytest.mark.parametrize(
    ("roots", "names"),
    [
        (["/s/own/console"], ["own/console"]),
        (["/s/own/eval"], ["own/eval"]),
        (["/s/own/run"], ["own"]),
        (["/s/own/console", "/s/own/keras"], ["own/console", "keras"]),
        (["/s/a/tensorboard", "/s/b/tensorboard"], ["a", "b"]),
        (["/logs"], ["logs"]),
    ],
)
def test_a_given_directory_keeps_its_name(roots: list[str], names: list[str]) -> None:
    assert [*run_names(roots, {root: root for root in roots}).values()] == names


def test_a_directory_below_the_given_one_is_named_by_its_parent() -> None:
    assert run_names(["/s/own/console"], {"/s/own/console": "/s"}) == {"/s/own/console": "own"}


def test_trial_2_is_found_before_trial_10(tmp_path: Path) -> None:
    for number in (1, 2, 10):
        (tmp_path / f"trial_{number}").mkdir()
        (tmp_path / f"trial_{number}" / "metrics.jsonl").write_text('{"step": 1, "loss": 2}\n{"step": 2, "loss": 1}\n')
    assert [run.name.rpartition("/")[2] for run in open_run(str(tmp_path)).runs] == ["trial_1", "trial_2", "trial_10"]
