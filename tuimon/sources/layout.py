"""What the name of a directory says about its place in a run. The layouts are those of the libraries named.

facet     one kind of output of a run: tensorboard/, log/, wandb/, checkpoints/ …: belongs to the directory above
session   one start of a writer: wandb's offline-run-…, SwanLab's run-…, a time stamp (HF's runs/Nov21_10-11-12_host)
own       a run of its own among its like, whatever surrounds it: version_0, seed1, lr1e-3, trial_7, a time stamp
role      a part of one run with the tags of the others: Keras' train/ and validation/, Trinity's explorer/ and trainer/
"""

from __future__ import annotations

import re
from functools import lru_cache

FACETS = frozenset(
    {"tensorboard", "tensorboard_log", "tensorboard_logs", "tb", "tb_logs", "tblogs", "tfevents", "runs", "log", "logs"}
    | {"lightning_logs", "wandb", "swanlab", "swanlog", "swanlogs", "mlflow", "mlruns", "trackio", "output", "outputs"}
    | {"csv", "csv_logs", "hparams", "params", "metrics", "monitor", "dvclive", "plots", "results", "files", "console"}
    | {"checkpoints", "ckpt", "ckpts", "converted_ckpts", "pipeline", "best", "final", "best_model", "latest"}
    | {".hydra", ".aim"}
)
CONTAINER = "plots"
"""What lies below it, however deep, belongs to the directory that holds it (dvclive/plots/metrics/train/loss.tsv)."""
WORKERS = "worker_logs"
"""RLinf: worker_logs/<group>/rank_<n>/tensorboard are parts of the run that holds it."""
ROLES = frozenset(
    {"train", "training", "val", "valid", "validation", "eval", "evaluation", "test", "explorer", "trainer", "bench"}
)
GENERIC = FACETS | ROLES | {"run", "exp", "experiment", "experiments", "data", "tmp", "saves", "models", "default", ""}
"""Names that tell a person nothing."""

_STAMP = (
    r"\d{8}[-_T]?\d{2}[:-]?\d{2}[:-]?\d{2}(\D.*)?"  # 20261121-014812, 20261121_014812, 20261121-01:48:12-maniskill
    r"|\d{4}-?\d{2}-?\d{2}([-_T ]\d{2}[-_:]\d{2}([-_:]\d{2})?.*)?"  # 2026-11-21_01-41-19, 2026-11-21
    r"|\d{2}[-:]\d{2}[-:]\d{2}"  # hydra: outputs/2026-11-21/01-41-19
    r"|(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\d{2}_\d{2}-\d{2}-\d{2}.*"  # torch: Nov21_10-11-12_host
    r"|\d{4}_\d{2}_\d{2}_\d{2}_\d{2}(_\d{2})?"  # Beast-Logger
)
_STAMPED = re.compile(_STAMP)
_UNIT = re.compile(r"(offline-)?run-\d{8}_\d{6}-\w+")  # wandb and SwanLab
_MLFLOW_RUN = re.compile(r"[0-9a-f]{32}")
_OWN = re.compile(
    rf"{_STAMP}|(offline-)?run-.*|version_\d+|[0-9a-f]{{32}}"
    r"|(.*[-_.])?(seed|trial|fold|run|rep|try|exp|attempt|job|lr|bs|beta|kl)[-_=]?\d[\d.e+-]*([-_.,].*)?"
    r"|.*\d{5}_\d+(_.*)?",  # Ray Tune: PPO_CartPole-v1_5b4f3_00000_0_lr=0.1_2026-11-21_10-11-12
    re.IGNORECASE,
)
_CHECKPOINT = re.compile(r"checkpoint[-_].*|ckpt[-_]?\d+.*|global_step[-_]?\d+.*|(iter|step|epoch)[-_=]?\d+.*")
_VAGUE = re.compile(r"version_\d+|(seed|trial|fold|run|exp|rep)[-_]?\d+|\d+", re.IGNORECASE)
_FLOAT = re.compile(r"\d{9,10}\.\d+")


@lru_cache(maxsize=65536)
def is_facet(name: str) -> bool:
    """One kind of output of the run that lives in the directory above. Checkpoints are."""
    return name.lower() in FACETS or bool(_CHECKPOINT.fullmatch(name))


def is_session(name: str) -> bool:
    """Named by the time at which a writer was started."""
    return bool(_STAMPED.fullmatch(name) or _UNIT.fullmatch(name))


def is_unit(name: str) -> bool:
    """The directory of one tracker run; what lies below it belongs to it (swanlab/run-…/logs/1/1000.log)."""
    return bool(_UNIT.fullmatch(name) or _MLFLOW_RUN.fullmatch(name))


@lru_cache(maxsize=65536)
def is_own(name: str) -> bool:
    """A run of its own among its like."""
    return bool(_OWN.fullmatch(name)) and not _FLOAT.fullmatch(name)


def is_role(name: str) -> bool:
    """A part of a run that holds the same tags as the other parts."""
    return name.lower() in ROLES


def is_generic(name: str) -> bool:
    """A name that says nothing of the run: "run", "logs", "checkpoint-40"."""
    return name.lower() in GENERIC or is_facet(name)


def is_vague(name: str) -> bool:
    """A name that tells runs apart, but not without the name of the directory above: "version_0", "seed1", a stamp."""
    return is_session(name) or is_unit(name) or bool(_VAGUE.fullmatch(name))
