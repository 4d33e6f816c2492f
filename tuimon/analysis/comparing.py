"""Runs side by side: what their settings differ in, how far their metrics lie apart, which are the same but for a seed.

What is said is what was measured: two levels, how far each is spread, over how many points. That a setting differs and
a metric differs does not make the one the cause of the other, and nothing here says so.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tuimon.analysis.statistics import statistics
from tuimon.store import Curve

_DEPTH = 6
_FEWEST = 5
"""Points of a level, where a tenth are fewer."""
SEED_KEYS = frozenset({"seed", "random_seed", "global_seed", "manual_seed", "rng_seed", "data_seed", "train_seed"})
"""Last parts of the names of settings that start a generator of random numbers."""
_SEED_OF_NAME = re.compile(r"(?:^|(?<=[-_./ ]))(?:seed|sd|s)[-_=]?\d+(?=$|[-_./ ])", re.IGNORECASE)
_PARTS = re.compile(r".+?(?:[/_ ]|(?<!\de)-|$)", re.IGNORECASE)
"""A name's parts with the separator behind each; the - of 1e-5 is none."""
ABSENT = "—"
"""Stands where a run has no such setting."""


@dataclass(frozen=True, slots=True)
class SettingDifference:
    """A setting that is not the same in all runs."""

    key: str
    """Dotted: "optim.lr"."""
    values: tuple[Any, ...]
    """One a run; ABSENT where it has none."""


@dataclass(frozen=True, slots=True)
class Level:
    """Where a curve stands towards its end, and how far its points lie apart there."""

    step: int
    """Of the last point that counts."""
    mean: float
    deviation: float
    """Of the sample; 0 for one point."""
    count: int
    """Finite points of the last tenth, over which both are taken."""


@dataclass(frozen=True, slots=True)
class StepDelta:
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


def flat(settings: Mapping[str, Any], prefix: str = "", depth: int = _DEPTH) -> Iterator[tuple[str, Any]]:
    """(dotted name, value) of every setting; mappings deeper than `depth` stay values."""
    for key, value in settings.items():
        if isinstance(value, Mapping) and value and depth:
            yield from flat(value, f"{prefix}{key}.", depth - 1)
        else:
            yield f"{prefix}{key}", value


def setting_differences(configs: Sequence[Mapping[str, Any]]) -> tuple[SettingDifference, ...]:
    """The settings that differ between some runs, in the order in which they are first met.

    1 and 1.0 are the same, NaN is NaN, and a missing setting differs from every value, from None as well. Of configs
    without their secrets (redact.redacted), what is hidden is the same.
    """
    known = [dict(flat(config)) for config in configs]
    found = []
    for key in dict.fromkeys(key for settings in known for key in settings):
        values = tuple(settings.get(key, ABSENT) for settings in known)
        if len({_canonical(value) for value in values}) > 1:
            found.append(SettingDifference(key, values))
    return tuple(found)


def _canonical(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return repr(value)
    return repr(float(value)) if abs(value) < 2**53 else repr(value)


def level(curve: Curve, until: int | None = None) -> Level | None:
    """Mean and deviation over the last tenth of the points (5 at least, where there are so many) up to step `until`.

    Points that are not finite do not count; None when there is no finite one among them.
    """
    end = len(curve) if until is None else int(curve.steps.searchsorted(until, "right"))
    count = min(max(-(-end // 10), _FEWEST), end)
    numbers = statistics(curve.values[end - count : end])
    if not numbers.count:
        return None
    return Level(int(curve.steps[end - 1]), numbers.mean, numbers.deviation, numbers.count)


def common_step(curves: Iterable[Curve]) -> int | None:
    """The last step that all of them have reached; None when there is none, or one of them has no point."""
    ends = [int(curve.steps[-1]) if len(curve) else None for curve in curves]
    return min((end for end in ends if end is not None), default=None) if None not in ends else None


def levels(curves: Sequence[Curve | None]) -> tuple[Level | None, ...]:
    """Of several runs' curves of one metric, each up to the last step that all have reached; None stands for None."""
    until = common_step([curve for curve in curves if curve is not None])
    return tuple(None if curve is None or until is None else level(curve, until) for curve in curves)


def spread_apart(one: Level, other: Level) -> float:
    """The distance of two levels in pooled deviations: Cohen, "Statistical Power Analysis for the Behavioral Sciences",
    1988, d_s. Infinite where neither is spread but they differ; NaN where one has a single point."""
    freedom = one.count + other.count - 2
    if min(one.count, other.count) < 2:
        return math.nan
    pooled = math.hypot(
        one.deviation * math.sqrt((one.count - 1) / freedom), other.deviation * math.sqrt((other.count - 1) / freedom)
    )
    distance = abs(one.mean - other.mean)
    return distance / pooled if pooled else math.inf if distance else 0.0


def delta_to(curve: Curve, base: Curve) -> StepDelta | None:
    """A run's value against a base's, at the last step that both have reached; None where they have none in common."""
    step = common_step((curve, base))
    if step is None or step < max(int(curve.steps[0]), int(base.steps[0])):
        return None
    return StepDelta(step, curve.value_at(step), base.value_at(step))


def seedless(name: str, config: Mapping[str, Any]) -> tuple[object, ...] | None:
    """What runs have in common that differ only in their seed: equal for these, and for these alone.

    A seed is a setting of that name, or a part of the run's name: ppo_seed3, s3/ppo. Texts of the config are taken
    without the run's name and without such parts (an output directory repeats them). None for a run without a seed.
    """
    bare = _SEED_OF_NAME.sub("", name)
    settings = dict(flat(config))
    seeds = [key for key in settings if re.split(r"[./]", key)[-1].lower() in SEED_KEYS]
    if not seeds and bare == name:
        return None
    rest = frozenset((key, _without(settings[key], name)) for key in settings if key not in seeds)
    return (rest, "" if seeds else bare)


def _without(value: object, name: str) -> str:
    if not isinstance(value, str):
        return _canonical(value)
    tail = re.split(r"[/ ]", name)[-1]
    return _SEED_OF_NAME.sub("", value.replace(tail, "") if len(tail) > 1 else value)


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
