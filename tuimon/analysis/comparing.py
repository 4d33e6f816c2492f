"""Runs side by side: settings that differ, metrics that are the same, deltas at one step, runs that differ in a seed.

That a setting differs and a metric differs does not make the one the cause of the other, and nothing here says so.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from tuimon.store import Curve
from tuimon.vocabulary import classify, merge_key

_DEPTH = 6
SEED_KEYS = frozenset({"seed", "random_seed", "global_seed", "manual_seed", "rng_seed", "data_seed", "train_seed"})
"""Last parts of the names of settings that start a generator of random numbers."""
_SEED_OF_NAME = re.compile(r"(?:^|(?<=[-_./ ]))(?:seed|sd|s)[-_=]?\d+(?=$|[-_./ ])", re.IGNORECASE)
_PARTS = re.compile(r".+?(?:[/_ ]|(?<!\de)-|$)", re.IGNORECASE)
"""A name's parts with the separator behind each; the - of 1e-5 is none."""


class _Missing:
    def __repr__(self) -> str:
        return "-"


MISSING = _Missing()
"""A setting that a run does not have."""


class StepDelta(Struct, frozen=True):
    """A run against another at the same step."""

    step: int
    """The last that both have reached."""
    value: float
    base: float

    @property
    def difference(self) -> float:
        """NaN where one of them is not finite."""
        found = self.value - self.base
        return found if math.isfinite(found) else math.nan


# ---------------------------------------------------------------------- settings


def flat(settings: Mapping[str, Any], prefix: str = "", depth: int = _DEPTH) -> Iterator[tuple[str, Any]]:
    """(dotted name, value) of every setting in it; mappings deeper than `depth` stay values."""
    for key, value in settings.items():
        if isinstance(value, Mapping) and value and depth:
            yield from flat(value, f"{prefix}{key}.", depth - 1)
        else:
            yield f"{prefix}{key}", value


def compared_settings(
    configs: Sequence[Mapping[str, Any]],
) -> tuple[tuple[tuple[str, tuple[Any, ...]], ...], tuple[tuple[str, Any], ...]]:
    """((setting, its value in each run, MISSING where it has none) of what is not the same everywhere, (setting, value)
    of what is), in the order in which they are first met.

    1 and 1.0 are the same, NaN is NaN, 1 and true are not. Give configs without their secrets (redact.redacted): then
    what is hidden is the same.
    """
    known = [dict(flat(config)) for config in configs]
    differences, same = [], []
    for name in dict.fromkeys(name for settings in known for name in settings):
        values = tuple(settings.get(name, MISSING) for settings in known)
        if all(_alike(value, values[0]) for value in values):
            same.append((name, values[0]))
        else:
            differences.append((name, values))
    return tuple(differences), tuple(same)


def _alike(a: Any, b: Any) -> bool:
    if isinstance(a, bool) != isinstance(b, bool):
        return False
    return bool(a == b) or (isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b))


# ---------------------------------------------------------------------- metrics


def aligned(
    metrics: Sequence[Iterable[str]], order: Callable[[Iterable[str]], list[str]] = list
) -> list[tuple[str | None, ...]]:
    """For each metric its name in every run: the same name, or, in runs that share no name, the same meaning.

    order: sorts the rows, by their first names.
    """
    rows: dict[str, list[str | None]] = {}
    for place, names in enumerate(metrics):
        for name in names:
            rows.setdefault(merge_key(name), [None] * len(metrics))[place] = name
    places = {name: place for place, name in enumerate(order(dict.fromkeys(first_name(row) for row in rows.values())))}
    by_meaning: dict[object, list[list[str | None]]] = {}
    found: list[list[str | None]] = []
    for row in sorted(rows.values(), key=lambda row: places[first_name(row)]):
        meaning = classify(first_name(row))
        key = (meaning.concept, meaning.split, meaning.unit, *sorted(meaning.facets.items()))
        alike = by_meaning.setdefault(key, []) if meaning.label and meaning.concept != "known.other" else []
        other = next((one for one in alike if not any(a and b for a, b in zip(one, row, strict=True))), None)
        if other is None:
            alike.append(row)
            found.append(row)
        else:
            other[:] = [a or b for a, b in zip(other, row, strict=True)]
    return [tuple(row) for row in found]


def first_name(row: Iterable[str | None]) -> str:
    """Of the first run that has the metric."""
    return next(name for name in row if name)


def common_step(curves: Sequence[Curve]) -> int | None:
    """The last step that all of them have reached; None where they have none in common, or log no steps."""
    if any(curve.ordinal or not len(curve) for curve in curves):
        return None
    last = min((int(curve.steps[-1]) for curve in curves), default=None)
    return last if last is not None and last >= max(int(curve.steps[0]) for curve in curves) else None


def delta_to(curve: Curve, base: Curve) -> StepDelta | None:
    """A run's value against a base's, at the last step that both have reached; None where they have none in common."""
    step = common_step((curve, base))
    return None if step is None else StepDelta(step, curve.value_at(step), base.value_at(step))


# ---------------------------------------------------------------------- seeds and names


def seedless(name: str, config: Mapping[str, Any]) -> tuple[object, ...] | None:
    """What runs have in common that differ only in their seed: equal for these, and for these alone.

    A seed is a setting of that name, or a part of the run's name: ppo_seed3, s3/ppo. Texts of the config are taken
    without the run's name and without such parts (an output directory repeats them). None for a run without a seed.
    """
    bare = _without_seed(name)
    settings = dict(flat(config))
    seeds = [key for key in settings if re.split(r"[./]", key)[-1].lower() in SEED_KEYS]
    if not seeds and bare == name:
        return None
    rest = frozenset((key, _without(settings[key], name)) for key in settings if key not in seeds)
    return (rest, "" if seeds else bare)


def seedless_name(name: str) -> str:
    """The name without its seed, for the runs that share the rest; the name itself where nothing else is in it."""
    return re.sub(r"[-_. ]+(?=/|$)|^[-_. ]+", "", _without_seed(name)).strip("/") or name


def _without_seed(text: str) -> str:
    return _SEED_OF_NAME.sub("", text)


def _without(value: object, name: str) -> str:
    if not isinstance(value, str):
        return repr(float(value)) if type(value) is int and abs(value) < 2**53 else repr(value)
    tail = re.split(r"[/ ]", name)[-1]
    return _without_seed(value.replace(tail, "") if len(tail) > 1 else value)


def seed_groups(keys: Sequence[tuple[object, ...] | None]) -> tuple[tuple[int, ...], ...]:
    """Positions of the runs with equal `seedless` keys, two at least in a group; in the order of their first ones."""
    found: dict[tuple[object, ...], list[int]] = {}
    for position, key in enumerate(keys):
        if key is not None:
            found.setdefault(key, []).append(position)
    return tuple(tuple(members) for members in found.values() if len(members) > 1)


def telling_names(names: Sequence[str]) -> tuple[str, ...]:
    """Names as short as tells them apart: without the parts that all of them begin or end with."""
    parts = [_PARTS.findall(name) for name in names]
    if len(set(names)) < 2 or len(set(names)) < len(names):
        return tuple(names)
    shortest = min(len(one) for one in parts)
    head = next((i for i in range(shortest) if len({one[i] for one in parts}) > 1), shortest)
    tail = next((i for i in range(shortest - head) if len({one[-1 - i] for one in parts}) > 1), shortest - head)
    short = tuple("".join(one[head : len(one) - tail]).rstrip("/_- ") for one in parts)
    return short if all(short) and len(set(short)) == len(short) else tuple(names)
