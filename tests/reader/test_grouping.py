"""Grouping of files into runs: layouts of real libraries, and stability of the groups as files appear."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.event_reading import Watched

from tuimon.formats import all_formats
from tuimon.reader import assembly
from tuimon.reader.grouping import group_runs
from tuimon.sources.grouped_files import GroupedFile, RunLogs
from tuimon.sources.overrides import Overrides

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
    paths: Sequence[str], root: str = ROOT, roots: Sequence[str] | None = None, overrides: Overrides | None = None
) -> tuple[RunLogs, ...]:
    return group_runs([grouped_file(f"{root}/{path}") for path in paths], roots or [root], None, overrides)


def as_dict(groups: Sequence[RunLogs], root: str = ROOT) -> dict[str, list[str]]:
    """ "prefix|source" of each member, by path below the root."""
    return {
        os.path.relpath(run.path, root): [f"{m.prefix}|{m.source}" if m.prefix else m.source for m in run.members]
        for run in groups
    }


def runs(*paths: str) -> dict[str, list[str]]:
    return as_dict(group(paths))


RLINF = "logs/grpo-1.5b"
ROLL = "tensorboard/agentic_sokoban/20261121-014812"
HF = [
    "output/trainer_state.json", "output/checkpoint-40/trainer_state.json", f"output/runs/Nov21_10-11-12_host/{EVENTS}",
    f"output/runs/Nov21_11-11-12_host/{EVENTS}", "console_1.log",
]  # fmt: skip
TRINITY = "checkpoints/proj/name/monitor/tensorboard"
GOOD, KILLED = "wandb/offline-run-20261121_013347-vd7v5k5i", "wandb/offline-run-20261121_013406-kbyix5aa"
MLFLOW_RUNS = [f"mlruns/231623728248466301/{letter * 32}" for letter in "ab"]
TRIALS = [f"exp/PPO_CartPole_5b4f3_0000{i}_{i}_lr=0.{i}_2026-11-21_10-11-12" for i in range(2)]
HYDRA = [f"sweeps/2026-11-21/01-41-19/job_{index}/train.log" for index in range(3)]
TEXTS = ["rank_0/stdout.log", "rank_1/stdout.log", "logs/attempt_0/3/stderr.log"]
VERSIONS = [f"lightning_logs/version_{index}/{EVENTS}" for index in range(2)]

MEMBERS: dict[str, tuple[list[str], dict[str, list[str]]]] = {
    "a lone event file": ([EVENTS], {".": ["."]}),
    "RLinf's workers": (
        [f"exp1/tensorboard/{EVENTS}", f"exp1/worker_logs/actor/rank_0/tensorboard/{EVENTS}"],
        {"exp1": ["exp1/tensorboard", "actor/rank_0/|exp1/worker_logs/actor/rank_0/tensorboard"]},
    ),
    "RLinf's trackers": (
        [f"{RLINF}/tensorboard/{EVENTS}", f"{RLINF}/log/run.log", f"{RLINF}/wandb/{GOOD}/run-vd7v5k5i.wandb",
         f"{RLINF}/wandb/{GOOD}/files/output.log", f"{RLINF}/swanlab/run-20261121_015410-inv7vpk4/logs/1/1000.log"],
        {RLINF: [f"{RLINF}/log/run.log", f"{RLINF}/swanlab/run-20261121_015410-inv7vpk4/logs/1/1000.log",
                 f"{RLINF}/tensorboard", f"{RLINF}/wandb/{GOOD}/files/output.log",
                 f"{RLINF}/wandb/{GOOD}/run-vd7v5k5i.wandb"]},
    ),
    "ROLL": (
        ["console.log", "logs/log_rank_DRIVER_0_1.log", f"{ROLL}/{EVENTS}", f"{ROLL}/1795225692.1190825/{EVENTS}"],
        {ROLL: ["console.log", "logs/log_rank_DRIVER_0_1.log", ROLL, f"1795225692.1190825/|{ROLL}/1795225692.1190825"]},
    ),
    "torch's parts": (
        [f"exp/{EVENTS}", f"exp/compare_train/{EVENTS}", f"exp/compare_loss²/ü x/{EVENTS}", f"exp/hp_0/{EVENTS}"],
        {"exp": ["exp", "compare_loss²/ü x/|exp/compare_loss²/ü x", "compare_train/|exp/compare_train",
                 "hp_0/|exp/hp_0"]},
    ),
    "Keras' roles": (
        [f"logs/fit/train/{EVENTS}", f"logs/fit/validation/{EVENTS}"],
        {"logs/fit": ["train/|logs/fit/train", "validation/|logs/fit/validation"]},
    ),
    "a single role": ([f"logs/fit/train/{EVENTS}"], {"logs/fit": ["logs/fit/train"]}),
    "a role below": ([f"model/{EVENTS}", f"model/eval/{EVENTS}"], {"model": ["model", "eval/|model/eval"]}),
    "Trinity": (
        [f"{TRINITY}/explorer/{EVENTS}", f"{TRINITY}/trainer/{EVENTS}"],
        {"checkpoints/proj/name": [f"explorer/|{TRINITY}/explorer", f"trainer/|{TRINITY}/trainer"]},
    ),
    "Hydra's jobs": (
        ["evaluation/scores.csv", *HYDRA],
        {".": ["evaluation/scores.csv"], **{os.path.dirname(job): [job] for job in HYDRA}},
    ),
    "texts of processes": (["metrics.jsonl", *TEXTS], {".": sorted(["metrics.jsonl", *TEXTS])}),
    "texts above runs": (
        ["slurm-4711.log", "slurm-4712.log", *VERSIONS],
        {".": ["slurm-4711.log", "slurm-4712.log"],
         **{os.path.dirname(path): [os.path.dirname(path)] for path in VERSIONS}},
    ),
}  # fmt: skip
"""Paths, and the members of each run: "prefix|source"."""
PLACES: dict[str, tuple[list[str], list[str]]] = {
    "Hugging Face": (HF, ["."]),
    "two of them": ([f"{name}/{file}" for name in "ab" for file in HF], ["a", "b"]),
    "stamps": (VERSIONS, [os.path.dirname(path) for path in VERSIONS]),
    "stamps of torch": (
        [f"runs/Nov21_10-11-12_host/{EVENTS}", f"runs/Nov22_10-11-12_host/{EVENTS}"],
        ["runs/Nov21_10-11-12_host", "runs/Nov22_10-11-12_host"],
    ),
    "Hydra": (
        ["outputs/2026-11-21/01-41-19/metrics.jsonl", "outputs/2026-11-21/01-50-00/metrics.jsonl"],
        ["outputs/2026-11-21/01-41-19", "outputs/2026-11-21/01-50-00"],
    ),
    **{
        child: ([f"exp/{EVENTS}", f"exp/{child}/{EVENTS}"], ["exp", f"exp/{child}"])
        for child in ("seed1", "ppo_seed0", "version_3", "lr1e-3", "trial_4", "20261121-014812", "run-7")
    },
    "other metric files": (
        [f"exp/{EVENTS}", f"exp/baseline/{EVENTS}", "exp/baseline/progress.csv"], ["exp", "exp/baseline"]
    ),
    "twins of one format": ([f"runs/a/{EVENTS}", f"logs/a/{EVENTS}"], ["logs/a", "runs/a"]),
    "trackers": (
        [f"tensorboard_log/proj/exp1/{EVENTS}", f"tensorboard_log/proj/exp2/{EVENTS}",
         "checkpoints/proj/exp1/trainer_state.json", "logs/proj/exp2/train.log"],
        ["checkpoints/proj/exp1", "tensorboard_log/proj/exp1", "tensorboard_log/proj/exp2"],
    ),
    "W&B": (
        ["console_good.log", f"{GOOD}/run-vd7v5k5i.wandb", f"{GOOD}/logs/debug.log", f"{KILLED}/run-kbyix5aa.wandb"],
        [".", GOOD, KILLED],
    ),
    "MLflow": ([f"{run}/metrics/{name}" for run in MLFLOW_RUNS for name in ("train/loss", "lr")], MLFLOW_RUNS),
    "dvclive": (
        ["dvclive/plots/metrics/train/loss.tsv", "dvclive/plots/metrics/eval/score.tsv", "train.log"], ["."]
    ),
    "Ray Tune": ([f"{trial}/{name}" for trial in TRIALS for name in ("progress.csv", EVENTS)], TRIALS),
}  # fmt: skip
"""Paths, and the directories of the runs."""
NAMES: dict[str, tuple[list[str], list[str]]] = {
    "RLinf": ([f"{RLINF}/tensorboard/{EVENTS}"], ["grpo-1.5b"]),
    "ROLL": ([f"{ROLL}/{EVENTS}"], ["agentic_sokoban/20261121-014812"]),
    "Lightning": (
        [f"logs/{kind}" for n in range(2) for kind in (f"csv/version_{n}/metrics.csv", f"mlp/version_{n}/{EVENTS}")],
        ["project/version_0", "project/version_1", "mlp/version_0", "mlp/version_1"],
    ),
    "SB3": (
        [f"ppo_seed{n}/{name}" for n in range(3) for name in (EVENTS, "progress.csv", "stdout.txt")],
        ["ppo_seed0", "ppo_seed1", "ppo_seed2"],
    ),
    "documents": (
        [f"outputs/qwen3vl_{kind}/training_log.json" for kind in ("dpo", "grpo", "lora")],
        ["qwen3vl_dpo", "qwen3vl_grpo", "qwen3vl_lora"],
    ),
    "W&B": ([f"{GOOD}/run-vd7v5k5i.wandb"], ["project/offline-run-20261121_013347-vd7v5k5i"]),
    **{
        kind: ([f"ant/{kind}/{EVENTS}", *(f"walker/{kind}/{role}/{EVENTS}" for role in ("train", "eval"))],
               ["ant", "walker"])
        for kind in (".guild", "summaries", "logs", "tensorboard", "tb", "events", "runs", "scalars")
    },
    "a sweep": ([f"sweep_lr/job_{index}/train.log" for index in range(2)], ["sweep_lr/job_0", "sweep_lr/job_1"]),
    "generic names": (
        ["grpo_lr1e-3/run/output/trainer_state.json", "grpo_nan/run/output/trainer_state.json",
         f"samples/tb_torch/run/exp/{EVENTS}"],
        ["grpo_lr1e-3", "grpo_nan", "tb_torch"],
    ),
    "equal names": (
        ["a/qwen/t.json", "b/qwen/t.json", "c/run/t.json", "wandb/run/t.json", "logs/t.json"],
        ["project", "a/qwen", "b/qwen", "c", "project/wandb/run"],
    ),
}  # fmt: skip
"""Paths, and the names of the runs."""


@pytest.mark.parametrize(("paths", "expected"), MEMBERS.values(), ids=MEMBERS)
def test_members_of_runs(paths: list[str], expected: dict[str, list[str]]) -> None:
    assert runs(*paths) == expected


@pytest.mark.parametrize(("paths", "expected"), PLACES.values(), ids=PLACES)
def test_directories_of_runs(paths: list[str], expected: list[str]) -> None:
    assert list(runs(*paths)) == expected


@pytest.mark.parametrize(("paths", "expected"), NAMES.values(), ids=NAMES)
def test_names_of_runs(paths: list[str], expected: list[str]) -> None:
    assert [run.name for run in group(paths)] == expected


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


def append(directory: Path, files: dict[str, list[str]]) -> None:
    """Append lines to files."""
    for name, lines in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        with (directory / name).open("a") as file:
            file.writelines(f"{line}\n" for line in lines)


def point(step: int, loss: float = 0.25) -> str:
    return f"step:{step} - actor/loss:{loss} - critic/score/mean:0.5"  # verl's console logger


ROW = '{"step": 0, "loss": 0.5}'


def test_many_texts_that_become_runs_are_grouped_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Grouping goes through all files, so once for each of them would grow with their square."""
    jobs = {f"sweep/job_{job}/train.log": ["loading", point(7)] for job in range(40)}
    append(tmp_path, {"evaluation/metrics.jsonl": [ROW], **jobs})
    calls: list[int] = []
    really_group = assembly.group_runs
    monkeypatch.setattr(assembly, "group_runs", lambda *given: calls.append(1) or really_group(*given))  # type: ignore[func-returns-value]
    assert len(Watched(tmp_path).runs) == 41
    assert len(calls) <= 3
