"""Normalize names: reducer suffixes, sections of JSON documents, prefixes of training and evaluation."""

from __future__ import annotations

from tuimon import lazy_re as re
from tuimon.vocabulary._document import compiled

_SPLIT_PREFIX = re.compile(r"(?:eval|val|test)[_/]")
_KERAS_EPOCH = re.compile(r"(train|validation)/epoch_(?=.)")
_AT = re.compile(r"@|_at_(?=\d)")


def without_reducer(name: str) -> str:
    """Remove a reducer suffix: "actor/pg_loss@sum" gives "actor/pg_loss"; "mean@8" and "TGC@1" are not changed."""
    return re.sub(compiled()["names"]["reducer_suffix"], "", name) if "@" in name else name


def section_of(name: str) -> tuple[str, str]:
    """Return (split, rest) of a name in a section: "train_history/loss" gives ("train", "loss").

    Any other name gives ("", name).
    """
    head, slash, rest = name.partition("/")
    split = compiled()["names"]["sections"].get(head, "") if slash else ""
    return (split, rest) if split and rest else ("", name)


def merge_key(name: str) -> str:
    """Return a key that is equal for all spellings of one metric by a trainer's back ends.

    The Hugging Face trainers write eval_loss to the console and to trainer_state.json, eval/loss to TensorBoard,
    and loss as train/loss, rewards/x/mean as train/rewards/x/mean; ROLL's log keeps the reducer that its trackers
    remove; MLflow writes "@" as "_at_", tensorboardX as "_". Keras writes validation/epoch_loss to TensorBoard and
    val_loss elsewhere. Two names in one *source* are always different metrics: use this key only to join names of
    different sources.
    """
    if epoch := _KERAS_EPOCH.match(name):
        return f"{'train' if epoch[1] == 'train' else 'val'}/{name[epoch.end() :]}"
    split, rest = section_of(without_reducer(name))
    rest = _AT.sub("_", rest)
    prefixed = _SPLIT_PREFIX.match(rest)
    if prefixed:
        return f"{prefixed[0][:-1]}/{rest[prefixed.end() :]}"
    if split:
        return f"{split}/{rest}"
    return rest if rest.startswith("train/") else f"train/{rest}"
