"""Grouping of files into runs: layouts of real libraries, and stability of the groups as files appear."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuimon.formats import all_formats
from tuimon.sources.grouped_files import GroupedFile, RunGroup
from tuimon.sources.overrides import Overrides
from tuimon.sources.runs import group_runs

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
) -> tuple[RunGroup, ...]:
    return group_runs([grouped_file(f"{root}/{path}") for path in paths], roots or [root], None, overrides)


def as_dict(groups: Sequence[RunGroup], root: str = ROOT) -> dict[str, list[str]]:
    """ "prefix|source" of each member, by path below the root."""
    return {
        os.path.relpath(run.path, root): [f"{m.prefix}|{m.source}" if m.prefix else m.source for m in run.members]
        for run in groups
    }


def runs(*paths: str) -> dict[str, list[str]]:
    return as_dict(group(paths))


def test_a_lone_event_file_in_the_path_itself() -> None:
    assert runs(EVENTS) == {".": ["."]}


def test_rlinf_three_trackers_and_a_log_are_one_run() -> None:
    base = "logs/grpo-1.5b"
    wandb, swan = "wandb/wandb/offline-run-20261121_015409-dqy890h6", "swanlab/run-20261121_015410-inv7vpk4"
    groups = group(
        [
            f"{base}/tensorboard/{EVENTS}",
            f"{base}/log/run.log",
            f"{base}/{wandb}/run-dqy890h6.wandb",
            f"{base}/{wandb}/files/output.log",
            f"{base}/{swan}/run-inv7vpk4.swanlab",
            f"{base}/{swan}/logs/1/1000.log",
            f"{base}/{swan}/logs/2/1000.log",
        ]
    )
    assert [(run.name, os.path.relpath(run.path, ROOT), len(run.members)) for run in groups] == [("grpo-1.5b", base, 7)]
    assert f"{base}/tensorboard" in {member.source for member in groups[0].members}
    assert f"{base}/{swan}/logs/1/1000.log" in {member.source for member in groups[0].members}


def test_rlinf_per_worker_logs_are_parts() -> None:
    assert runs(f"exp1/tensorboard/{EVENTS}", f"exp1/worker_logs/actor/rank_0/tensorboard/{EVENTS}") == {
        "exp1": ["exp1/tensorboard", "actor/rank_0/|exp1/worker_logs/actor/rank_0/tensorboard"]
    }


def test_roll_stamp_hparams_and_driver_log() -> None:
    stamp = "tensorboard/agentic_sokoban/20261121-014812"
    files = [
        "console.log",
        "logs/log_rank_DRIVER_0_1.log",
        f"{stamp}/{EVENTS}",
        f"{stamp}/1795225692.1190825/{EVENTS}",
    ]
    (run,) = group(files)
    assert run.name == "agentic_sokoban/20261121-014812"
    assert as_dict([run]) == {
        stamp: ["console.log", "logs/log_rank_DRIVER_0_1.log", stamp, f"1795225692.1190825/|{stamp}/1795225692.1190825"]
    }
    two = group([*files, f"tensorboard/agentic_sokoban/20261122-000000/{EVENTS}"])
    assert [run.name for run in two] == [
        "project",
        "agentic_sokoban/20261121-014812",
        "agentic_sokoban/20261122-000000",
    ]


def test_hugging_face_output_directory_is_one_run() -> None:
    files = [
        "output/trainer_state.json",
        "output/checkpoint-40/trainer_state.json",
        f"output/runs/Nov21_10-11-12_host/{EVENTS}",
        f"output/runs/Nov21_11-11-12_host/{EVENTS}",
        "console_1.log",
    ]
    assert list(runs(*files)) == ["."]
    assert list(runs(*(f"a/{file}" for file in files), *(f"b/{file}" for file in files))) == ["a", "b"]


def test_stamped_directories_alone_are_separate_runs() -> None:
    assert list(runs(f"runs/Nov21_10-11-12_host/{EVENTS}", f"runs/Nov22_10-11-12_host/{EVENTS}")) == [
        "runs/Nov21_10-11-12_host",
        "runs/Nov22_10-11-12_host",
    ]


def test_hydra() -> None:
    assert list(runs("outputs/2026-11-21/01-41-19/metrics.jsonl", "outputs/2026-11-21/01-50-00/metrics.jsonl")) == [
        "outputs/2026-11-21/01-41-19",
        "outputs/2026-11-21/01-50-00",
    ]


def test_torch_parts_of_one_writer() -> None:
    assert runs(
        f"exp/{EVENTS}", f"exp/compare_train/{EVENTS}", f"exp/compare_loss²/ü x/{EVENTS}", f"exp/hp_0/{EVENTS}"
    ) == {
        "exp": ["exp", "compare_loss²/ü x/|exp/compare_loss²/ü x", "compare_train/|exp/compare_train", "hp_0/|exp/hp_0"]
    }


@pytest.mark.parametrize("child", ["seed1", "ppo_seed0", "version_3", "lr1e-3", "trial_4", "20261121-014812", "run-7"])
def test_separate_runs_below_a_directory_with_events(child: str) -> None:
    assert list(runs(f"exp/{EVENTS}", f"exp/{child}/{EVENTS}")) == ["exp", f"exp/{child}"]


def test_a_directory_with_other_metric_files_is_not_a_part() -> None:
    assert list(runs(f"exp/{EVENTS}", f"exp/baseline/{EVENTS}", "exp/baseline/progress.csv")) == [
        "exp",
        "exp/baseline",
    ]


def test_keras_roles_are_parts_and_a_single_one_has_no_prefix() -> None:
    assert runs(f"logs/fit/train/{EVENTS}", f"logs/fit/validation/{EVENTS}") == {
        "logs/fit": ["train/|logs/fit/train", "validation/|logs/fit/validation"]
    }
    assert runs(f"logs/fit/train/{EVENTS}") == {"logs/fit": ["logs/fit/train"]}
    assert runs(f"model/{EVENTS}", f"model/eval/{EVENTS}") == {"model": ["model", "eval/|model/eval"]}


def test_trinity_explorer_and_trainer_are_one_run() -> None:
    monitor = "checkpoints/proj/name/monitor/tensorboard"
    assert runs(f"{monitor}/explorer/{EVENTS}", f"{monitor}/trainer/{EVENTS}") == {
        "checkpoints/proj/name": [f"explorer/|{monitor}/explorer", f"trainer/|{monitor}/trainer"]
    }


def test_lightning_versions_with_different_names_stay_separate() -> None:
    csv, tb = "logs/csv/version_{}/metrics.csv", "logs/mlp/version_{}/" + EVENTS
    groups = group([csv.format(0), csv.format(1), tb.format(0), tb.format(1)])
    assert [run.name for run in groups] == ["project/version_0", "project/version_1", "mlp/version_0", "mlp/version_1"]


def test_twins_of_one_format_stay_separate() -> None:
    assert list(runs(f"runs/a/{EVENTS}", f"logs/a/{EVENTS}")) == ["logs/a", "runs/a"]


def test_several_trackers_named_by_the_experiment() -> None:
    assert list(
        runs(
            f"tensorboard_log/proj/exp1/{EVENTS}",
            f"tensorboard_log/proj/exp2/{EVENTS}",
            "checkpoints/proj/exp1/trainer_state.json",
            "logs/proj/exp2/train.log",
        )
    ) == ["checkpoints/proj/exp1", "tensorboard_log/proj/exp1", "tensorboard_log/proj/exp2"]


def test_sb3_three_seeds() -> None:
    files = [
        f"ppo_seed{seed}/{name}" for seed in range(3) for name in (EVENTS, "progress.csv", "monitor.csv", "stdout.txt")
    ]
    groups = group(files)
    assert [run.name for run in groups] == ["ppo_seed0", "ppo_seed1", "ppo_seed2"]
    assert [member.source for member in groups[0].members] == [
        "ppo_seed0",
        "ppo_seed0/monitor.csv",
        "ppo_seed0/progress.csv",
        "ppo_seed0/stdout.txt",
    ]


def test_documents_in_their_output_directories() -> None:
    groups = group([f"outputs/qwen3vl_{kind}/training_log.json" for kind in ("dpo", "grpo", "lora", "lora_nan")])
    assert [run.name for run in groups] == ["qwen3vl_dpo", "qwen3vl_grpo", "qwen3vl_lora", "qwen3vl_lora_nan"]
    assert groups[0].members[0].source == "outputs/qwen3vl_dpo/training_log.json"


def test_wandb_runs_of_a_project_directory() -> None:
    good, killed = "wandb/offline-run-20261121_013347-vd7v5k5i", "wandb/offline-run-20261121_013406-kbyix5aa"
    groups = group(
        [
            "console_good.log",
            f"{good}/run-vd7v5k5i.wandb",
            f"{good}/logs/debug.log",
            f"{killed}/run-kbyix5aa.wandb",
        ]
    )
    assert [os.path.relpath(run.path, ROOT) for run in groups] == [".", good, killed]
    assert groups[1].name == "project/offline-run-20261121_013347-vd7v5k5i"
    assert len(groups[1].members) == 2


def test_mlflow_runs() -> None:
    first, second = (f"mlruns/231623728248466301/{letter * 32}" for letter in "ab")
    assert list(runs(f"{first}/metrics/train/loss", f"{first}/metrics/lr", f"{second}/metrics/lr")) == [first, second]


def test_dvclive_files_of_metrics_are_one_run() -> None:
    assert list(runs("dvclive/plots/metrics/train/loss.tsv", "dvclive/plots/metrics/eval/score.tsv", "train.log")) == [
        "."
    ]


def test_ray_tune_trials() -> None:
    trials = [f"exp/PPO_CartPole_5b4f3_0000{i}_{i}_lr=0.{i}_2026-11-21_10-11-12" for i in range(2)]
    assert list(runs(*(f"{t}/progress.csv" for t in trials), *(f"{t}/{EVENTS}" for t in trials))) == trials


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


def test_console_text_in_sibling_directories_stays_apart() -> None:
    jobs = [f"sweeps/2026-11-21/01-41-19/job_{index}/train.log" for index in range(3)]
    assert runs("evaluation/scores.csv", *jobs) == {
        ".": ["evaluation/scores.csv"],
        **{os.path.dirname(job): [job] for job in jobs},
    }


def test_text_of_the_processes_of_a_job_joins_the_run_above() -> None:
    text = ["rank_0/stdout.log", "rank_1/stdout.log", "logs/attempt_0/3/stderr.log"]
    assert runs("metrics.jsonl", *text) == {".": sorted(["metrics.jsonl", *text])}


def test_texts_of_jobs_above_several_runs_stay_together() -> None:
    versions = [f"lightning_logs/version_{index}/{EVENTS}" for index in range(2)]
    texts = ["slurm-4711.log", "slurm-4712.log"]
    assert runs(*texts, *versions)["."] == texts


class TestNames:
    @pytest.mark.parametrize("facet", [".guild", "summaries", "logs", "tensorboard", "tb", "events", "runs", "scalars"])
    def test_a_kind_of_output_is_no_name(self, facet: str) -> None:
        groups = group([f"ant/{facet}/{EVENTS}", f"walker/{facet}/train/{EVENTS}", f"walker/{facet}/eval/{EVENTS}"])
        assert [run.name for run in groups] == ["ant", "walker"]

    def test_a_job_of_a_sweep_is_named_with_its_sweep(self) -> None:
        groups = group([f"sweep_lr/job_{index}/train.log" for index in range(2)])
        assert [run.name for run in groups] == ["sweep_lr/job_0", "sweep_lr/job_1"]

    def test_generic_names_take_their_parent(self) -> None:
        groups = group(
            [f"{case}/run/output/trainer_state.json" for case in ("grpo_lr1e-3", "grpo_nan")]
            + [f"samples/tb_torch/run/exp/{EVENTS}"]
        )
        assert [run.name for run in groups] == ["grpo_lr1e-3", "grpo_nan", "tb_torch"]

    def test_equal_names_are_made_unique(self) -> None:
        groups = group(["a/qwen/t.json", "b/qwen/t.json", "c/run/t.json", "wandb/run/t.json", "logs/t.json"])
        assert {os.path.relpath(run.path, ROOT): run.name for run in groups} == {
            ".": "project",
            "a/qwen": "a/qwen",
            "b/qwen": "b/qwen",
            "c/run": "c",
            "wandb/run": "project/wandb/run",
        }


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
