"""Where a search for logs does not go: caches, media, and the insides of checkpoints.

A long run leaves thousands of checkpoint directories with thousands of weight files. What a monitor wants of them is
one small JSON file each, so they are listed once, no deeper, and no weight file is asked for its size.
"""

from __future__ import annotations

import re
from enum import Enum


class Place(Enum):
    """How a directory is searched."""

    OPEN = 1
    """Everything below it."""
    STORE = 2
    """It keeps checkpoints: a child that looks like one is one."""
    IN_STORE = 3
    """A child of such a store under a name of its own (a project): a checkpoint if it turns out to hold weights."""
    CHECKPOINT = 4
    """Its own JSON files only."""
    CLOSED = 5
    """Not entered."""


WEIGHTS = (
    *(".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".distcp", ".gguf", ".npz", ".npy", ".h5", ".keras", ".onnx"),
    *(".msgpack", ".orbax", ".pkl", ".index", ".zarr", ".model"),
)
"""Ends of names of files that hold weights, never metrics."""
SAVED = (".ckpt", ".pt", ".pth", ".safetensors")
"""Those of them that are a whole checkpoint in one file, of Lightning and of scripts; what is in them is not asked."""
JSON = (".json", ".jsonl")
OF_A_MODEL = frozenset(
    f"{stem}.json"
    for stem in (
        *("config", "generation_config", "adapter_config", "model_index", "processor_config", "preprocessor_config"),
        *("video_preprocessor_config", "tokenizer", "tokenizer_config", "special_tokens_map", "added_tokens", "vocab"),
        *("chat_template", "model.safetensors.index", "pytorch_model.bin.index", "modules", "sentence_bert_config"),
    )
)
"""What transformers and its like put into each checkpoint beside the weights: it tells how the model is built."""
KEPT_IN_CHECKPOINT = frozenset({"pipeline"})
"""ROLL keeps its metric history in checkpoint-N/pipeline/worker_state_pipeline.json."""

_CLOSED = frozenset(
    {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "site-packages", "media", "rollouts", ".cache"}
    | {".ipynb_checkpoints", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".tox", ".conda"}
)
_CLOSED_PATHS = frozenset({"/proc", "/sys", "/dev"})
_CHECKPOINT = re.compile(r"checkpoint[-_].*|ckpt[-_]?\d+.*|global_step[-_]?\d+")
_STORE = re.compile(r"checkpoints|.*ckpts?", re.IGNORECASE)
_STEP = re.compile(
    r"(.*[-_=.])?(checkpoint|ckpt|global_?step|step|iter|iteration|epoch|batch)[-_=]?\d+.*|\d+|best|last|final|latest",
    re.IGNORECASE,
)


def place(path: str, parent: Place) -> Place:
    """How to search the directory at `path`, found in a directory that is searched as `parent`."""
    name = path.rpartition("/")[2]
    if name in _CLOSED or path in _CLOSED_PATHS:
        return Place.CLOSED
    if parent is Place.CHECKPOINT:
        return Place.CHECKPOINT if name in KEPT_IN_CHECKPOINT else Place.CLOSED
    if _CHECKPOINT.fullmatch(name):
        return Place.CHECKPOINT
    if parent in (Place.STORE, Place.IN_STORE):
        return Place.CHECKPOINT if _STEP.fullmatch(name) else Place.IN_STORE
    return Place.STORE if _STORE.fullmatch(name) else Place.OPEN
