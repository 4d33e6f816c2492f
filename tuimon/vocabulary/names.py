"""Spellings of one name: reducer suffixes, sections of JSON documents, the prefixes of train and eval."""

from __future__ import annotations

import re
from functools import cache

from tuimon.vocabulary._document import document

_SPLIT_PREFIX = re.compile(r"(?:eval|val|test)[_/]")
_MLFLOW_AT = re.compile(r"_at_(?=\d)")


@cache
def _reducer() -> re.Pattern[str]:
    return re.compile(document()["names"]["reducer_suffix"])


@cache
def _sections() -> dict[str, str]:
    found: dict[str, str] = document()["names"]["sections"]
    return found


def without_reducer(name: str) -> str:
    """The name without a reducer suffix: "actor/pg_loss@sum" is "actor/pg_loss"; "mean@8" and "TGC@1" are names."""
    return _reducer().sub("", name) if "@" in name else name


def section_of(name: str) -> tuple[str, str]:
    """(split, rest) of a name from a section of a JSON document: "train_history/loss" gives ("train", "loss").

    ("", name) for any other name.
    """
    head, slash, rest = name.partition("/")
    split = _sections().get(head, "") if slash else ""
    return (split, rest) if split and rest else ("", name)


def merge_key(name: str) -> str:
    """The same key for the same number written under several spellings by one trainer's back ends.

    The Hugging Face trainers write eval_loss to the console and to trainer_state.json, eval/loss to TensorBoard, and
    loss as train/loss, rewards/x/mean as train/rewards/x/mean; ROLL's log keeps the reducer that its trackers cut;
    MLflow cannot write "@". Two names of one *source* never mean the same: only names of different sources may be
    joined by this key.
    """
    split, rest = section_of(without_reducer(name))
    rest = _MLFLOW_AT.sub("@", rest)
    prefixed = _SPLIT_PREFIX.match(rest)
    if prefixed:
        return f"{prefixed[0][:-1]}/{rest[prefixed.end() :]}"
    if split:
        return f"{split}/{rest}"
    return rest if rest.startswith("train/") else f"train/{rest}"
