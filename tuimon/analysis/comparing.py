"""Compare runs: settings that differ, metrics with the same meaning, deltas at one step, runs that differ in a seed.

Nothing here implies that a different setting is the cause of a different metric.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from tuimon import lazy_re as re
from tuimon.sources.layout import is_generic, is_session
from tuimon.vocabulary import classify, merge_key

_DEPTH = 6
SEED_KEYS = frozenset(
    {
        *("seed", "random_seed", "global_seed", "manual_seed", "rng_seed", "data_seed", "train_seed", "trial_seed"),
        *("split_seed", "replicate", "replicate_id"),
        *("fold", "fold_id", "fold_idx", "fold_index", "fold_number", "cv_fold", "val_fold"),
    }
)
"""Last parts of the names of settings that seed a random number generator, or number a repetition or a fold."""
_OUTPUTS = frozenset({"run_name", "output_dir", "exp_name", "experiment_name", "logging_dir"})
"""Last parts of the names of settings that differ between all runs and explain nothing."""
_SEED_OF_NAME = re.compile(r"(?:^|(?<=[-_./ ]))(?:seed|sd|s|replicate|rep|fold)[-_=]?\d+(?=$|[-_./ ])", re.IGNORECASE)
_NUMBER_AT_END = re.compile(r"(?:^|[-_. ])\d+$")
"""Number of a directory among others of one name."""
_HOST = re.compile(r"^[\w.@-]+:(?=.*/)")
_LEARNING_RATE = re.compile(r"(?:^|[._/-])(?:lr|learning_rate)(?:$|[._/-])", re.IGNORECASE)
_PARTS = re.compile(r".+?(?:[/_ ]|(?<!\de)-|$)", re.IGNORECASE)
"""Parts of a name, each with the separator after it; the - of 1e-5 is not a separator."""
_WORDS = re.compile(r"[^\s/]*[\s/]+|[^\s/]+")
"""Words of a command line and directories of a path, each with the separators after it."""


class _Missing:
    def __repr__(self) -> str:
        return "-"


MISSING = _Missing()
"""Value of a setting that a run does not have."""


# ---------------------------------------------------------------------- settings


def flat(settings: Mapping[str, Any], prefix: str = "", depth: int = _DEPTH) -> Iterator[tuple[str, Any]]:
    """Yield (dotted name, value) of every setting; mappings deeper than `depth` are yielded as values."""
    for key, value in settings.items():
        if isinstance(value, Mapping) and value and depth:
            yield from flat(value, f"{prefix}{key}.", depth - 1)
        else:
            yield f"{prefix}{key}", value


def compared_settings(
    configs: Sequence[Mapping[str, Any]],
) -> tuple[tuple[tuple[str, tuple[Any, ...]], ...], tuple[tuple[str, Any], ...]]:
    """Return (settings that differ, settings that are equal).

    Of the settings that differ, those with several values come first, learning rates before other numbers, numbers
    before texts, paths after other texts, seeds last; then those that are only missing in some runs. Otherwise the
    order is that of their first occurrence.

    A setting that differs is (name, values in each run or MISSING), an equal one (name, value). 1 equals 1.0, NaN
    equals NaN, 1 does not equal true. Pass configs without secrets (redact.redacted), so that hidden values are equal.
    """
    known = [dict(flat(config)) for config in configs]
    differences, same = [], []
    for name in dict.fromkeys(name for settings in known for name in settings):
        values = tuple(settings.get(name, MISSING) for settings in known)
        if all(_equal(value, values[0]) for value in values):
            same.append((name, values[0]))
        else:
            differences.append((name, values))
    return tuple(sorted(differences, key=_importance)), tuple(same)


def is_partly_missing(values: Sequence[Any]) -> bool:
    """Return whether a setting that differs is only missing in some runs and equal in the others."""
    known = [value for value in values if value is not MISSING]
    return len(known) < len(values) and all(_equal(value, known[0]) for value in known)


def _importance(setting: tuple[str, tuple[Any, ...]]) -> tuple[bool, int]:
    name, values = setting
    known = [value for value in values if value is not MISSING]
    only_missing = is_partly_missing(values)
    if _LEARNING_RATE.search(name):
        return only_missing, 0
    if is_seed(name):
        return only_missing, 4
    if all(isinstance(value, int | float) or value is None for value in known):
        return only_missing, 1
    return only_missing, 3 if any(isinstance(value, str) and "/" in value for value in known) else 2


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, bool) != isinstance(b, bool):
        return False
    return bool(a == b) or (isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b))


def differing_words(values: Sequence[Any], longest: int) -> tuple[Any, ...]:
    """Return the values, with "…" for the words and directories that all of them begin or end with if one is longer
    than `longest`.

    An option before the first word that differs is kept: "… --lr 1e-4 …" of "train.py --lr 1e-4 --steps 9".
    """
    if not all(isinstance(value, str) for value in values) or max(map(len, values), default=0) <= longest:
        return tuple(values)
    words = [_WORDS.findall(value) for value in values]
    head, tail = _common_ends(words)
    if head and words[0][head - 1].startswith("-"):
        head -= 1
    before = f"…{words[0][head - 1][-1]}" if head else ""
    parts = ("".join(own[head : len(own) - tail]) for own in words)
    return tuple(f"{before}{part}{'…' if tail else ''}" for part in parts)


# ---------------------------------------------------------------------- metrics


def aligned(
    metrics: Sequence[Iterable[str]], order: Callable[[Iterable[str]], list[str]] = list
) -> list[tuple[str | None, ...]]:
    """Return a row for each metric with its name in every run: the same name, else a name with the same meaning.

    order: sorts the first names of the rows.
    """
    rows: dict[str, list[str | None]] = {}
    for run, names in enumerate(metrics):
        for name in names:
            rows.setdefault(merge_key(name), [None] * len(metrics))[run] = name
    names_in_order = order(dict.fromkeys(first_name(row) for row in rows.values()))
    positions = {name: position for position, name in enumerate(names_in_order)}
    by_meaning: dict[object, list[list[str | None]]] = {}
    result: list[list[str | None]] = []
    for row in sorted(rows.values(), key=lambda row: positions[first_name(row)]):
        meaning = classify(first_name(row))
        key = (meaning.concept, meaning.split, meaning.unit, *sorted(meaning.facets.items()))
        same = by_meaning.setdefault(key, []) if meaning.label and meaning.concept != "known.other" else []
        other = next((known for known in same if not any(a and b for a, b in zip(known, row, strict=True))), None)
        if other is None:
            same.append(row)
            result.append(row)
        else:
            other[:] = [a or b for a, b in zip(other, row, strict=True)]
    return [tuple(row) for row in result]


def first_name(row: Iterable[str | None]) -> str:
    """Return the name in the first run that has the metric."""
    return next(name for name in row if name)


# ---------------------------------------------------------------------- seeds and names


def seedless(name: str, config: Mapping[str, Any], path: str = "") -> tuple[object, ...] | None:
    """Return a key that is equal exactly for runs that differ only in their seed; None for a run without a seed.

    A seed is a setting of that name, or a part of the run's name: ppo_seed3, s3/ppo. The run's name and such parts are
    removed from texts of the config (an output directory repeats them). Runs with such a setting may have any names in
    one project. path: of the run, for its project, see `project_of`.
    """
    bare = without_seed(name)
    settings = dict(flat(config))
    seeded = any(map(is_seed, settings))
    return (settings_key(name, settings), project_of(path) if seeded else bare) if seeded or bare != name else None


def project_of(path: str) -> str:
    """Return the directories that hold a run without host, seeds, dates and numbers: "sft" of sft/2026-11-01/run3.

    Runs in different ones are different trainings even if their settings are equal: the method may be in the name of
    the directory only.
    """
    holders = [part for part in _HOST.sub("", path).split("/") if not is_generic(part)][:-1]
    parts = (_NUMBER_AT_END.sub("", without_seed(part)) for part in holders if not is_session(part))
    return "/".join(filter(None, parts))


def settings_key(name: str, settings: Mapping[str, Any]) -> frozenset[tuple[str, str]]:
    """Return a key that is equal for runs whose flat settings differ only in seeds and texts with the run's name."""
    return frozenset((key, _without(value, name)) for key, value in settings.items() if not is_seed(key))


def is_seed(key: str) -> bool:
    """Return whether a setting is a seed or numbers a repetition or a fold, by the last part of its name."""
    return _last_part(key) in SEED_KEYS


def seedless_name(name: str) -> str:
    """Return the name without its seed; the name itself if nothing else is left."""
    return re.sub(r"[-_. ]+(?=/|$)|^[-_. ]+|(?<=/)/+", "", without_seed(name)).strip("/") or name


def without_seed(text: str) -> str:
    """Return a text without its seeds: "ppo_" of ppo_seed3."""
    return _SEED_OF_NAME.sub("", text)


def _without(value: object, name: str) -> str:
    if not isinstance(value, str):
        return repr(float(value)) if type(value) is int and abs(value) < 2**53 else repr(value)
    tail = re.split(r"[/ ]", name)[-1]
    return without_seed(value.replace(tail, "") if len(tail) > 1 else value)


def is_output(key: str) -> bool:
    """Return whether a setting is the name or directory of what a run writes, by the last part of its name."""
    return _last_part(key) in _OUTPUTS


def _last_part(key: str) -> str:
    """Return the last part of the name of a setting in lower case: "seed" of train.Seed."""
    return re.split(r"[./]", key)[-1].lower()


def number_of(value: Any) -> float | None:
    """Return a number, also of a text: YAML reads 1e-5 as text; None for other values."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def seed_groups(keys: Sequence[tuple[object, ...] | None]) -> tuple[tuple[int, ...], ...]:
    """Return groups of at least two runs with equal `seedless` keys, as positions, ordered by their first run."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for position, key in enumerate(keys):
        if key is not None:
            groups.setdefault(key, []).append(position)
    return tuple(tuple(members) for members in groups.values() if len(members) > 1)


def distinct_names(names: Sequence[str]) -> tuple[str, ...]:
    """Shorten names by removing the parts that all of them begin or end with, as long as they stay distinct."""
    parts = [_PARTS.findall(name) for name in names]
    if len(set(names)) < 2 or len(set(names)) < len(names):
        return tuple(names)
    head, tail = _common_ends(parts)
    short = tuple("".join(name[head : len(name) - tail]).rstrip("/_- ") for name in parts)
    return short if all(short) and len(set(short)) == len(short) else tuple(names)


def _common_ends(parts: Sequence[Sequence[str]]) -> tuple[int, int]:
    """Return how many parts all texts have in common at their beginning, and at their end."""
    shortest = min(map(len, parts))
    head = next((i for i in range(shortest) if len({own[i] for own in parts}) > 1), shortest)
    return head, next((i for i in range(shortest - head) if len({own[-1 - i] for own in parts}) > 1), shortest - head)
