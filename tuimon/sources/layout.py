"""Classify directory names by their place in a run, after the layouts of the libraries named here.

facet     one kind of output of the run in the directory above: tensorboard/, log/, wandb/, checkpoints/
session   one start of a writer: wandb's offline-run-…, SwanLab's run-…, a time stamp (HF's runs/Nov21_10-11-12_host)
own       a separate run among similar ones: version_0, seed1, lr1e-3, trial_7, a time stamp
role      a part of a run with the same tags as the other parts: Keras' train/ and validation/, Trinity's explorer/
"""

from __future__ import annotations

import posixpath
from functools import lru_cache

from tuimon import lazy_re as re

FACETS = frozenset(
    {"tensorboard", "tensorboard_log", "tensorboard_logs", "tb", "tb_logs", "tblogs", "tfevents", "runs", "log", "logs"}
    | {"lightning_logs", "wandb", "swanlab", "swanlog", "swanlogs", "mlflow", "mlruns", "trackio", "output", "outputs"}
    | {"csv", "csv_logs", "hparams", "params", "metrics", "monitor", "dvclive", "plots", "results", "files", "console"}
    | {"checkpoints", "ckpt", "ckpts", "converted_ckpts", "pipeline", "best", "final", "best_model", "latest"}
    | {".hydra", ".aim", ".guild", "summaries", "summary", "scalars", "events", "tensorboardx", "tf_logs", "texts"}
    | {"rank_metrics", "rank_logs", "per_rank", "ranks", "torchrun_logs", "structured_logs"}
    | {"orchestrator", "rollout", "inference", "generator"}  # programs of one asynchronous job beside its trainer
)
CONTAINERS = frozenset({"plots", "scalars"})
"""Directories whose content, at any depth, belongs to their parents (dvclive/plots/metrics/train/loss.tsv, torchrl's
scalars/train/reward.csv)."""
WORKERS = "worker_logs"
"""RLinf's directory of workers: worker_logs/<group>/rank_<n>/tensorboard are parts of the run in its parent."""
_MONITORS = frozenset({"gpu", "gpus", "gpu_logs", "gpu_stats", "gpu_metrics", "nvidia-smi", "nvidia_smi", "hardware"})
ROLES = frozenset(
    {"train", "training", "val", "valid", "validation", "eval", "evaluation", "test", "explorer", "trainer", "bench"}
    | {"learn"}  # CatBoost
)
GENERIC = (
    FACETS
    | ROLES
    | {"run", "exp", "experiment", "experiments", "data", "tmp", "saves", "models", "default", "out", ""}
    | {"vdl_log", "vdl_logs"}  # VisualDL's examples
) - {"dvclive"}  # its directory is the name of a run only if the run is not the directory above
"""Names (lower case) that do not describe a run."""

_STAMP = (
    r"\d{8}[-_T]?\d{2}[:-]?\d{2}[:-]?\d{2}(\D.*)?"  # 20261121-014812, 20261121_014812, 20261121-01:48:12-maniskill
    r"|\d{4}-?\d{2}-?\d{2}([-_T ]\d{2}[-_:]\d{2}([-_:]\d{2})?.*)?"  # 2026-11-21_01-41-19, 2026-11-21
    r"|\d{2}[-:]\d{2}[-:]\d{2}"  # hydra: outputs/2026-11-21/01-41-19
    r"|(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\d{2}_\d{2}-\d{2}-\d{2}.*"  # torch: Nov21_10-11-12_host
    r"|\d{4}_\d{2}_\d{2}_\d{2}_\d{2}(_\d{2})?"  # Beast-Logger
)
_STAMPED = re.compile(_STAMP)
_UNIT = re.compile(r"(offline-)?run-\d{8}_\d{6}-(?P<id>\w+)")  # wandb and SwanLab
_MLFLOW_RUN = re.compile(r"[0-9a-f]{32}")
_OWN = re.compile(
    rf"{_STAMP}|(offline-)?run-.*|version_\d+|[0-9a-f]{{32}}"
    r"|(.*[-_.])?(seed|trial|fold|run|rep|try|exp|attempt|job|lr|bs|beta|kl)[-_=]?\d[\d.e+-]*([-_.,].*)?"
    r"|.*\d{5}_\d+(_.*)?",  # Ray Tune: PPO_CartPole-v1_5b4f3_00000_0_lr=0.1_2026-11-21_10-11-12
    re.IGNORECASE,
)
_RANK = re.compile(
    r"((local|global|node)[-_]?)?(rank|worker|node|host|gpu|proc|process|attempt)[-_]?\d+", re.IGNORECASE
)
_JOB = re.compile(r"(?:.*?[-_.])??[oe]?(\d{3,}(?:[-_]\d{6})?(?:_\d+)?)(?:[-_.].*)?")
_DIGITS_OF_TIME = 6
"""Digits of the time of day in a time stamp."""
_CHECKPOINT = re.compile(r"checkpoint[-_].*|ckpt[-_]?\d+.*|global_step[-_]?\d+.*|(iter|step|epoch)[-_=]?\d+.*")
_VAGUE = re.compile(
    r"version_\d+|(seed|trial|fold|run|exp|rep|job|task)[-_]?\d+|\d+|dvclive"
    r"|\d\d([-_]\d\d){3,5}",  # 04_29_20_21_32: month, day, time
    re.IGNORECASE,
)
_WEAK = re.compile(r"\w|trial \d+|(study|journal|optuna)\.(db|log|sqlite3?)", re.IGNORECASE)  # Optuna's usual files
_CONTENTS = frozenset(
    {"progress", "monitor", "history", "evaluations", "logging", "log_history", "trainer_log", "trainer_state"}
    | {"training_log", "train_log", "stats", "scores"}
)
"""Names, without suffix, of files that say only what is in them."""
_OUTPUTS = frozenset({"stdin", "stdout", "stderr", "out", "err", "log", "logs", "console", "output", "txt"})
_WORD = re.compile(r"[-_. ]+")
_FLOAT = re.compile(r"\d{9,10}\.\d+")


@lru_cache(maxsize=65536)
def is_facet(name: str) -> bool:
    """Is this one kind of output of the run in the directory above? Checkpoints are."""
    return name.lower() in FACETS or is_checkpoint(name)


def is_checkpoint(name: str) -> bool:
    """Is this the directory of one checkpoint of the run in the directory above?"""
    return bool(_CHECKPOINT.fullmatch(name))


def is_parameters(name: str, holder: str) -> bool:
    """Does the directory hold the settings of the run `holder`: RL Baselines3 Zoo's CartPole-v1_1/CartPole-v1?"""
    number = holder.removeprefix(f"{name}_")
    return number != holder and number.isdecimal()


def is_session(name: str) -> bool:
    """Is the directory named after the time at which its writer was started?"""
    return bool(_STAMPED.fullmatch(name) or _UNIT.fullmatch(name))


def is_unit(name: str) -> bool:
    """Is this the directory of one tracker run? All files below belong to it (swanlab/run-…/logs/1/1000.log)."""
    return bool(_UNIT.fullmatch(name) or _MLFLOW_RUN.fullmatch(name))


def unit_id(name: str) -> str:
    """The id of the tracker run whose directory has this name: abc of run-20261121_013347-abc; "" of others."""
    match = _UNIT.fullmatch(name)
    return match["id"] if match else ""


def is_tracker_run(path: str) -> bool:
    """Does a file hold one run of a tracker, as run-abc.wandb does?"""
    return path.endswith((".wandb", ".swanlab"))


@lru_cache(maxsize=65536)
def is_own(name: str) -> bool:
    """Is this a separate run among similar ones?"""
    return bool(_OWN.fullmatch(name)) and not _FLOAT.fullmatch(name)


def is_monitor(name: str) -> bool:
    """Is this a directory of measurements of the machines on which the run in the directory above runs?"""
    return name.lower() in _MONITORS


def is_role(name: str) -> bool:
    """Is this a part of a run that has the same tags as the other parts?"""
    return name.lower() in ROLES


def is_output(word: str) -> bool:
    """Is this word of a file's name a kind of output: "stderr", "log"?"""
    return word.lower() in _OUTPUTS


def is_rank(name: str) -> bool:
    """Is this the directory of one process of a job: rank_0, node1, torchrun's attempt_0?"""
    return bool(_RANK.fullmatch(name))


def job_number(name: str) -> str:
    """The number of a job or the time stamp in the name of its console log: slurm-4711_2.out; "" without one."""
    match = _JOB.fullmatch(name)
    return match[1] if match else ""


def array_of_task(name: str) -> str:
    """The beginning of the name of a log, if it is that of a task of a job array: slurm-4711 of slurm-4711_2.out."""
    job, _, task = job_number(name).partition("_")
    return name[: name.index(f"{job}_{task}") + len(job)] if job and 0 < len(task) < _DIGITS_OF_TIME else ""


def is_generic(name: str) -> bool:
    """Does the name not describe the run: "run", "logs", "checkpoint-40"?"""
    return name.lower() in GENERIC or is_checkpoint(name)


def is_telling(path: str) -> bool:
    """Does the name of a file describe its run, rather than what is in it: grpo-1.5b.jsonl, but not metrics.jsonl?"""
    stem = posixpath.splitext(posixpath.basename(path))[0].lower()
    words = _WORD.split(stem)
    return not (is_generic(stem) or is_rank(stem) or stem in _CONTENTS or all(map(is_output, words)))


def is_vague(name: str) -> bool:
    """Does the name identify a run only with that of its parent: "version_0", "seed1", a time stamp?"""
    return is_session(name) or is_unit(name) or bool(_VAGUE.fullmatch(name))


def is_weak(name: str) -> bool:
    """Is the name better with that of its parent, if that lies below the given path: "a", "trial 9", "study.db"?"""
    return bool(_WEAK.fullmatch(name))
