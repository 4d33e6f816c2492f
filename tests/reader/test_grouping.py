"""Grouping of files into runs: layouts of real libraries, and stability of the groups as files appear."""

from __future__ import annotations

import os
import random
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.directories import Directory

from tuimon.formats import all_formats
from tuimon.reader import assembly
from tuimon.reader.grouping import group_runs
from tuimon.sources.grouped_files import GroupedFile, RunLogs
from tuimon.sources.overrides import NO_OVERRIDES, Overrides

TABLE: dict[str, list[Any]] = tomllib.loads(Path(__file__).with_name("grouping.toml").read_text("utf-8"))

ROOT = "/data/project"
EVENTS = "events.out.tfevents.1795226051.vm.25798.0"


def grouped_file(path: str) -> GroupedFile:
    """A file with the format that its name suggests."""
    name = os.path.basename(path)
    if "tfevents" in name:
        return GroupedFile(path, "tensorboard", directory_is_source=True)
    if name.endswith((".log", ".txt")) and name != "1000.log":
        return GroupedFile(path, "console", companion=True)
    return GroupedFile(
        path, {"1000.log": "swanlab_logs", "trainer_state.json": "trainer_state"}.get(name, name.rpartition(".")[2])
    )


def group(
    paths: Sequence[str], root: str = ROOT, roots: Sequence[str] | None = None, overrides: Overrides = NO_OVERRIDES
) -> tuple[RunLogs, ...]:
    return group_runs([grouped_file(f"{root}/{path}") for path in paths], roots or [root], None, overrides)


def as_dict(groups: Sequence[RunLogs], root: str = ROOT) -> dict[str, list[str]]:
    """ "prefix|source" of each member, by path below the root."""
    return {
        os.path.relpath(run.path, root): [f"{m.prefix}|{m.source}" if m.prefix else m.source for m in run.members]
        for run in groups
    }


@pytest.mark.parametrize(("name", "paths", "expected"), TABLE["members"])
def test_members_of_runs(name: str, paths: list[str], expected: dict[str, list[str]]) -> None:
    assert as_dict(group(paths)) == expected, name


@pytest.mark.parametrize(("name", "paths", "expected"), TABLE["directories"])
def test_directories_of_runs(name: str, paths: list[str], expected: list[str]) -> None:
    assert list(as_dict(group(paths))) == expected, name


@pytest.mark.parametrize(("name", "paths", "expected"), TABLE["names"])
def test_names_of_runs(name: str, paths: list[str], expected: list[str]) -> None:
    assert [run.name for run in group(paths)] == expected, name


def test_the_given_path_is_a_file_or_a_facet() -> None:
    root = f"{ROOT}/run/tensorboard"
    (run,) = group([EVENTS], root=root)
    assert (run.path, run.name, run.members[0].source) == (root, "project/tensorboard", ".")
    (run,) = group(["a.jsonl"], roots=[f"{ROOT}/a.jsonl"])
    assert (run.path, run.members[0].source) == (ROOT, "a.jsonl")


SWANLAB = "run-20261121_015410-inv7vpk4"
MLFLOW = "mlruns/1/8282d2c3bc304811a21a7d45c0e7a05b"


@pytest.mark.parametrize(
    ("format_id", "paths", "roots"),
    [
        ("swanlab-log", [f"swanlog/{SWANLAB}/logs/{kid}/1000.log" for kid in (1, 2)], [f"swanlog/{SWANLAB}"]),
        ("swanlab-log", [f"{SWANLAB}/logs/{kid}/1000.log" for kid in (1, 2)], [f"{SWANLAB}/logs"]),
        ("mlflow-file", [f"{MLFLOW}/metrics/{name}" for name in ("lr", "odd/inf", "time/rollout")], [MLFLOW]),
        ("mlflow-file", [f"{MLFLOW}/metrics/{name}" for name in ("lr", "odd/inf")], [f"{MLFLOW}/metrics"]),
        ("dvclive", [f"dvclive/plots/metrics/{name}.tsv" for name in ("lr", "odd/inf")], ["dvclive/plots"]),
        ("dvclive", [f"dvclive/plots/metrics/{name}.tsv" for name in ("lr", "odd/inf")], ["dvclive/plots/metrics"]),
    ],
)
def test_files_of_metrics_below_a_given_directory_of_a_tracker_run_are_one_run(
    format_id: str, paths: list[str], roots: list[str]
) -> None:
    [log_format] = [log_format for log_format in all_formats() if log_format.id == format_id]
    assert log_format.source_path is not None
    files = [
        GroupedFile(f"{ROOT}/{path}", format_id, source=log_format.source_path(f"{ROOT}/{path}")) for path in paths
    ]
    assert [run.path for run in group_runs(files, [f"{ROOT}/{root}" for root in roots])] == [f"{ROOT}/{roots[0]}"]


def test_two_paths_given() -> None:
    groups = group(["a/x.jsonl", "b/y.jsonl", "a/sub/z.csv"], roots=[f"{ROOT}/a", f"{ROOT}/b", f"{ROOT}/a/sub"])
    assert [(run.name, [member.source for member in run.members]) for run in groups] == [
        ("a", ["x.jsonl"]),
        ("sub", ["z.csv"]),
        ("b", ["y.jsonl"]),
    ]


class TestOverrides:
    def test_paths_joined_by_hand_are_one_run_at_the_first(self) -> None:
        files = [f"logs/a/{EVENTS}", f"logs/b/{EVENTS}", "logs/b/train.log", f"logs/c/{EVENTS}"]
        join = ((f"{ROOT}/logs/b", f"{ROOT}/logs/a"),)
        groups = group(files, overrides=Overrides(join=join))
        assert as_dict(groups) == {
            "logs/b": ["logs/a", "logs/b", "logs/b/train.log"],
            "logs/c": ["logs/c"],
        }
        assert [member.rule for member in groups[0].members if member.path.startswith(f"{ROOT}/logs/a/")] == [
            "joined with b"
        ]

    def test_each_log_of_a_split_directory_is_a_run(self) -> None:
        files = ["slurm/1.log", "slurm/2.log", "slurm/metrics.jsonl", "other/metrics.jsonl"]
        groups = group(files, overrides=Overrides(split=(f"{ROOT}/slurm",)))
        assert as_dict(groups) == {
            "other": ["other/metrics.jsonl"],
            **{f"slurm/{name}": [f"slurm/{name}"] for name in ("1.log", "2.log", "metrics.jsonl")},
        }

    def test_files_of_no_log_change_nothing(self) -> None:
        files = [f"a/{EVENTS}"]
        assert group(files, overrides=Overrides((("/none", "/none/b"),), ("/none",))) == group(files)


class TestTrackerIds:
    def test_directories_with_one_id_are_attempts_of_one_run(self) -> None:
        first, second = "wandb/run-20261121_013347-vd7v5k5i", "wandb/run-20261121_023347-vd7v5k5i"
        (run,) = group([f"{second}/run-vd7v5k5i.wandb", f"{first}/run-vd7v5k5i.wandb", "train.log"])
        assert [(member.source, member.joined, member.attempt) for member in run.members if not member.joined] == [
            ("train.log", "", 0),
            (f"{first}/run-vd7v5k5i.wandb", "", 0),
        ]
        (later,) = [member for member in run.members if member.attempt]
        assert (later.source, later.joined) == (f"{second}/run-vd7v5k5i.wandb", f"{first}/run-vd7v5k5i.wandb")


directories = st.lists(
    st.sampled_from(
        [
            *("exp", "runs", "logs", "tensorboard", "wandb", "train", "validation", "seed0", "seed1", "version_0", "a"),
            *("offline-run-20261121_013347-vd7v5k5i", "Nov21_10-11-12_host", "checkpoint-10", "worker_logs", "plots"),
            *("1795225692.1190825", "20261121-014812", "output", "b²", "0" * 32),
        ]
    ),
    max_size=5,
)
names = st.sampled_from(
    [EVENTS, "metrics.csv", "trainer_state.json", "train.log", "ppo_seed0.jsonl", "ppo_seed1.jsonl"]
)
trees = st.sets(st.builds(lambda parts, name: "/".join([*parts, name]), directories, names), min_size=1, max_size=12)


@given(trees, st.randoms(use_true_random=False))
def test_every_file_is_in_one_run_whatever_the_order(tree: set[str], order: random.Random) -> None:
    files = sorted(tree)
    groups = group(files)
    members = [member.path for run in groups for member in run.members]
    assert sorted(members) == sorted(f"{ROOT}/{path}" for path in files)
    assert len({run.path for run in groups}) == len({run.name for run in groups}) == len(groups)
    order.shuffle(files)
    assert group(files) == groups  # whenever each file appeared


def test_the_only_session_of_a_tracker_is_of_the_directory_that_holds_the_settings() -> None:
    settings = GroupedFile(f"{ROOT}/job/config.json", "config-json", companion=True, beside=True)
    events = [f"{ROOT}/{job}/runs/Nov21_10-11-12_host/events.out.tfevents.1.host.1.0" for job in ("job", "other")]
    groups = group_runs([settings, *map(grouped_file, events)], [ROOT])
    assert {run.name: len(run.members) for run in groups} == {"job": 2, "other/Nov21_10-11-12_host": 1}


def test_measurements_of_a_machine_are_of_the_run_above_their_directory() -> None:
    measured = GroupedFile(f"{ROOT}/job/gpu/smi.csv", "nvidia-smi", companion=True, beside=True)
    logs = [grouped_file(f"{ROOT}/{job}/metrics.jsonl") for job in ("job", "other")]
    assert {run.name: len(run.members) for run in group_runs([measured, *logs], [ROOT])} == {"job": 2, "other": 1}


def test_many_texts_that_become_runs_are_grouped_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Grouping goes through all files, so once for each of them would grow with their square."""
    files = {
        "evaluation/metrics.jsonl": ['{"step": 0, "loss": 0.5}'],
        "sweep/job_{0..39}/train.log": ["step 7 loss 0.5"],
    }
    directory = Directory(tmp_path / "root")
    directory.change({"files": files})
    calls: list[int] = []
    really_group = assembly.group_runs
    monkeypatch.setattr(assembly, "group_runs", lambda *given: calls.append(1) or really_group(*given))  # type: ignore[func-returns-value]
    assert len(directory.look({}).snapshot().runs) == 41
    assert len(calls) <= 3
