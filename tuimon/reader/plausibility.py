"""Distinguish the table of a training that has just begun from other small tables: prices, diaries, quiz scores.

A table of more than FEW rows is judged by its format alone. A shorter one needs more evidence, because a home directory
holds many of them: the name of a metric that only trainings have, or a counter of steps in a place where logs lie. It
is examined again when it has grown. So does a JSON document of any length whose only list holds numbers: without an
axis or a second column, the scores of a package or a quiz look like that as well. Lists of numbers deeper in a document
need even more: beside generated texts lie notes with the rewards of the samples of each step, or of each prompt.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from typing import Any

import orjson

from tuimon import lazy_re as re
from tuimon.errors import FormatError
from tuimon.formats import Format
from tuimon.formats.json import rows as json_rows
from tuimon.sources import layout

FEW = 3
"""Number of rows up to which a table needs more evidence."""
REASON = f"a table of at most {FEW} rows that does not look like a training log"
LISTS = "lists of numbers that do not look like a training log"
_MANY = 20
"""Number of values from which on a list in a document is no short list."""
ONE_LIST = "a single list of numbers that does not look like a training log"
_SUFFIXES = (".csv", ".tsv", ".json", ".jsonl")
_RANKS = range(11, 31)
"""Ranks of formats that any program may write: tables and JSON."""
_TERMS = frozenset(
    {"acc", "accuracy", "actor", "advantage", "auc", "auroc", "bleu", "cer", "critic", "dice", "entropy"}
    | {"episode", "episodes", "epoch", "epochs", "eval", "f1", "fid", "gpu", "grad", "iou", "iteration"}
    | {"iterations", "kl", "learning", "loss", "losses", "lr", "mae", "miou", "mse", "perplexity", "policy"}
    | {"ppl", "psnr", "reward", "rewards", "rmse", "rouge", "ssim", "throughput", "timesteps", "tokens", "train"}
    | {"val", "valid", "validation", "wer"}
)
"""Words (lower case) in the names of metrics and counters that only trainings use."""
_COUNTERS = frozenset({"batch", "generation", "iter", "round", "step", "steps", "update", "updates"})
"""Words that other tables use as well."""
_PLACES = frozenset(
    {"history", "log", "logs", "metric", "metrics", "monitor", "progress", "result", "results", "stats"}
    | {"train", "training"}
)
"""Words in the names of files that hold training logs."""
_WORD = re.compile(r"[A-Z]?[a-z]+\d?|[A-Z]+")
_FILE = re.compile(r"/|\.\w{1,7}$")
"""Keys that name a file or a table: their words say nothing about the lists below them."""
_KEY = re.compile(rb'"([^"\\]{1,200})"\s*:')


def doubt(path: str, root: str, log_format: Format, head: bytes, size: int) -> str:
    """Return why a table of a few rows, or lists of numbers, are not read; "" if there is a sign of a training. A file
    that the user named is always read.

    head: its first bytes. size: its size (bytes)."""
    if path == root or log_format.rank not in _RANKS or not path.endswith(_SUFFIXES):
        return ""
    if log_format is json_rows.FORMAT and _has_only_doubtful_lists(path, head, size > len(head)):
        return LISTS
    if (
        size > len(head)
        or log_format.wants_path
        or log_format.source_path
        or log_format.supersedes
        or log_format.joined_source
    ):
        return ""
    is_json = head.lstrip()[:1] in (b"{", b"[")
    names, rows, one_list = _json_content(head) if is_json else _table_content(head)
    if rows > FEW and not one_list:
        return ""
    stem = posixpath.splitext(posixpath.basename(path))[0]
    words = _words(names)
    if words & _TERMS or _words([stem]) & {"loss", "reward", "accuracy"}:
        return ""
    if (one_list or not words or words & _COUNTERS) and _is_place_of_logs(path, root, stem):
        return ""
    return REASON if rows <= FEW else ONE_LIST


def _has_only_doubtful_lists(path: str, head: bytes, is_cut: bool) -> bool:
    """Return whether all that looks like metrics in a JSON document are lists of numbers below its keys, and none of
    them looks like a log."""
    try:
        document, columns = json_rows.without_columns(json_rows.beginning(head))
    except FormatError:
        return False
    name = posixpath.basename(path)
    unjudged = json_rows.SETTINGS if is_cut else ()  # what follows the settings is not known
    if not columns or any(own.path[0] in unjudged if own.path else own.metrics for own in columns):
        return False
    stem = posixpath.splitext(name)[0]
    is_named = bool(_words([stem]) & (_PLACES | _TERMS)) or layout.is_own(stem)
    return not any(_look_like_log(own, is_named) for own in columns) and not json_rows.matches(
        name, orjson.dumps(document)
    )


def _look_like_log(columns: json_rows.Columns, is_named: bool) -> bool:
    """Return whether lists of numbers in an object of a document look like the values of metrics.

    is_named: whether the file is named like a log.
    """
    longest = max(map(len, columns.lists.values()))
    if not columns.metrics:  # the other lists may follow in the part of the document that is not known
        return is_named
    if longest < _MANY and columns.have_one_step():
        return False
    keys = [key for key in columns.path if not _FILE.search(key)]
    is_named = is_named or bool(_words(keys) & (_PLACES | _TERMS))
    if columns.are_parallel() and (is_named or longest > FEW):
        return True
    return is_named or (longest >= _MANY and bool(_words(columns.metrics) & _TERMS))


def _is_place_of_logs(path: str, root: str, stem: str) -> bool:
    if _words([stem]) & _PLACES or layout.is_own(stem):
        return True
    below = posixpath.relpath(posixpath.dirname(path), root).split("/")
    return any(layout.is_facet(name) or layout.is_own(name) or layout.is_role(name) for name in below)


def _words(names: Iterable[str]) -> set[str]:
    return {word.lower() for name in names for word in _WORD.findall(name)}


def _table_content(head: bytes) -> tuple[list[str], int, bool]:
    """Return (names in the header, number of rows, False)."""
    lines = [line for line in head.decode("utf-8", "replace").splitlines() if line.strip() and line[0] != "#"]
    return lines[:1], max(0, len(lines) - 1), False


def _json_content(head: bytes) -> tuple[list[str], int, bool]:
    """Return (keys at any depth, greatest number of rows or values of a list, whether an object's only list holds
    numbers). The rows of JSON lines are its lines."""
    names = [key.decode("utf-8", "replace") for key in _KEY.findall(head)]
    try:
        document = orjson.loads(head)
    except orjson.JSONDecodeError:
        return names, sum(1 for line in head.splitlines() if line.strip()), False
    one_list = isinstance(document, dict) and head.count(b"[") == 1 and _holds_one_column(document)
    return names, _longest(document), one_list


def _holds_one_column(document: dict[str, Any]) -> bool:
    """Return whether a list of an object holds numbers."""
    lists = [value for value in document.values() if isinstance(value, list)]
    return len(lists) == 1 and all(isinstance(item, int | float) for item in lists[0])


def _longest(value: object) -> int:
    """The greatest length of a list at any depth, and of an object of objects (rows by epoch)."""
    if isinstance(value, list):
        return max([len(value), *map(_longest, value)])
    if isinstance(value, dict):
        rows = sum(isinstance(item, dict) for item in value.values())
        return max([rows, *map(_longest, value.values())])
    return 0
