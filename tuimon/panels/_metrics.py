"""Metrics of a run: selection by concept, order of relevance, and readings in the unit of their concept."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from types import MappingProxyType

from msgspec import Struct

from tuimon import lazy_re as re
from tuimon.analysis.aligned_steps import aligned
from tuimon.analysis.comparison_rows import comparable_step, level_until
from tuimon.analysis.level import level
from tuimon.analysis.printed_units import meaning_of
from tuimon.analysis.run_cache import cached_until_doubled
from tuimon.registry import discover
from tuimon.store import Curve, Run
from tuimon.vocabulary import BYTES, DATE, TRAINING_CONCEPTS, Meaning, meanings, pair_key

SECONDARY_PANELS = frozenset({"progress", "machine", "hidden"})
"""Panels of metrics that do not measure the quality of a model: they come last."""
_SIDES = frozenset({"max", "min", "std", "diff", "worst", "p50", "p99", "threshold", "clip_ratio"})
"""Statistics that are not drawn as lines of their own beside a mean."""
_NO_CHART = frozenset({"hidden", "machine", "progress", "memory"})
"""Panels of metrics without a chart of their own in an arrangement."""
_TASK = re.compile(r"(?:default|(?:local_)?rank|worker|node|proc(?:ess)?)[-_]?\d+/")
"""Labels of the tasks of a job: those of torchrun, and usual ones."""
_TOTAL = re.compile(r"(?:^|[_/. ])(?:total|num|n)[_/. ]|_(?:params|parameters|flops|size)$", re.IGNORECASE)
_PARTS = ("component", "domain", "kind", "sign")
"""Facets that name a part of a quantity. A data set (ds) of the validation names none."""
PAIR = frozenset({"chosen", "rejected"})
"""Kinds of a metric of preference pairs, which are drawn together."""
FEW_POINTS = 8
"""Every point of a curve with at most this many is drawn as a dot."""
_MOST_EXACT = 2048
"""Number of points up to which each counts for the standard error of a level."""
_NO_CHART_CONCEPTS = frozenset({"reward.range", "throughput.runtime"})


@lru_cache(maxsize=128)
def of_other_tasks(metrics: tuple[str, ...]) -> frozenset[str]:
    """Return the metrics of the tasks of a job, such as "default4/loss", that repeat a metric of the run ("loss")."""
    known = frozenset(metrics)
    return frozenset(name for name in metrics if (task := _TASK.match(name)) and name[task.end() :] in known)


@lru_cache(maxsize=128)
def by_concept(metrics: tuple[str, ...]) -> Mapping[str, tuple[str, ...]]:
    """Map each concept to its metrics, the preferred first, without those that other tasks repeat."""
    groups: dict[str, list[tuple[int, int, str]]] = {}
    repeated = of_other_tasks(metrics)
    for position, (name, meaning) in enumerate(meanings(metrics).items()):
        if name in repeated:
            continue
        groups.setdefault(meaning.concept, []).append((meaning.preference, position, name))
    return MappingProxyType({concept: tuple(name for *_, name in sorted(group)) for concept, group in groups.items()})


@lru_cache(maxsize=512)
def lines_of(metrics: tuple[str, ...], concepts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the metrics of some concepts, those that should be drawn first.

    First the preferred metric of each concept in turn, each with its validation metric, then the others. The values of
    chosen and rejected texts count as one metric, since only their difference says something. The max, min and std of a
    metric are included only if there is no mean.
    """
    known, meaning_of = by_concept(metrics), meanings(metrics)
    first: list[str] = []
    rest: list[tuple[int, int, str]] = []
    for rank, concept in enumerate(concepts):
        names = known.get(concept, ())
        plain = tuple(name for name in names if not is_secondary(meaning_of[name])) or names[:1]
        for split in ("train", "val"):
            of_split = [name for name in plain if meaning_of[name].split == split]
            if split == "val" and len(of_split) > 1:  # the counterpart of a training metric that is drawn
                drawn = {pair_key(name) for name in first}
                of_split.sort(key=lambda name: pair_key(name) not in drawn)
            count = 2 if {meaning_of[name].facets.get("kind") for name in of_split[:2]} == PAIR else 1
            first.extend(of_split[:count])
            rest.extend((meaning_of[name].preference, rank, name) for name in of_split[count:])
    return (*first, *(name for *_, name in sorted(rest)))


def is_counterpart(train: tuple[str, Meaning], validation: tuple[str, Meaning]) -> bool:
    """Whether a (metric, meaning) of the training and one of the validation are the same quantity.

    That is so if their concepts are the same or a pair such as reward.train and reward.val, and neither is a part of
    its concept that the other is not: the loss of boxes is not the counterpart of the whole loss of the validation.
    """
    train_concept, concept = train[1].concept, validation[1].concept
    if concept != train_concept and train_concept not in TRAINING_CONCEPTS.get(concept, ()):
        return False
    if pair_key(train[0]) == pair_key(validation[0]):
        return True
    train_facets, facets = train[1].facets, validation[1].facets
    is_same_part = all(train_facets.get(key) == facets.get(key) for key in _PARTS)
    return is_same_part and train_facets.get("ds") in (None, facets.get("ds"))


def is_secondary(meaning: Meaning) -> bool:
    """Whether the metric is the max, min or spread of something whose mean is more informative."""
    facets = meaning.facets
    return facets.get("q") in _SIDES or facets.get("side") is not None


@lru_cache(maxsize=64)
def leftovers(metrics: tuple[str, ...], shown: frozenset[str]) -> tuple[str, ...]:
    """Return the metrics outside the concepts `shown` that are worth a chart, the unclassified ones first."""
    hidden = shown | _NO_CHART_CONCEPTS
    names: list[tuple[bool, int, str]] = []
    repeated = of_other_tasks(metrics)
    for position, (name, meaning) in enumerate(meanings(metrics).items()):
        if name in repeated or is_speed_of_evaluation(name, meaning):
            continue
        if meaning.concept not in hidden and meaning.panel not in _NO_CHART:
            names.append((meaning.concept == "known.other", position, name))
    return tuple(name for *_, name in sorted(names))


def is_total(run: Run, name: str, meaning: Meaning) -> bool:
    """Whether the metric is a single value that a trainer logs at the end: total_flos, train_samples_per_second."""
    if not is_single(run, name):
        return False
    return meaning.panel == "throughput" or meaning.concept == "known.other" or _TOTAL.search(name) is not None


def is_speed_of_evaluation(name: str, meaning: Meaning) -> bool:
    """Whether the metric is the duration or the throughput of an evaluation, such as eval_runtime of Hugging Face
    trainers, which says nothing about the training."""
    return meaning.split == "val" and (meaning.panel == "throughput" or name.endswith("runtime"))


def is_over(run: Run, name: str) -> bool:
    """Whether a metric was logged once, in the first half of a run with many points: it has no curve to come."""
    return is_single(run, name) and int(run.curve(name).steps[0]) * 2 < (run.last_step or 0)


def is_single(run: Run, name: str) -> bool:
    """Whether a metric was logged once in a run with many points. Cheap: builds no curve."""
    counts = run.point_counts
    return counts[name] == 1 and counts[run.busiest_metric or name] > FEW_POINTS


def by_relevance(metrics: Iterable[str]) -> list[str]:
    """Sort metrics by relevance: in the order of the panels that display their concepts, means before extremes."""
    ranks = _concept_ranks()
    ranked = []
    for name, meaning in meanings(tuple(metrics)).items():
        rank = ranks.get(meaning.concept, len(ranks))
        ranked.append((meaning.panel in SECONDARY_PANELS, rank, is_secondary(meaning), meaning.preference, name))
    return [name for *_, name in sorted(ranked)]


def label_of(meaning: Meaning) -> str:
    """Return a short label of a concept, with its split unless that is the training."""
    label = meaning.label
    return label if not label or meaning.split == "train" or "val" in label else f"val {label}"


@cache
def panel_concepts() -> Mapping[str, tuple[str, ...]]:
    """Map the id of each panel to its concepts; () for a panel without curves."""
    return {panel.id: panel.concepts for panel in discover("tuimon.panels", "PANEL")}


@cache
def _concept_ranks() -> dict[str, int]:
    panels = sorted(discover("tuimon.panels", "PANEL"), key=lambda panel: (panel.order, panel.id))
    shown = (concept for panel in panels for concept in panel.concepts)
    return {concept: rank for rank, concept in enumerate(dict.fromkeys(shown))}


def curve_or_none(run: Run, metric: str) -> Curve | None:
    """Return the curve of a metric, or None if it has no points (any more)."""
    try:
        curve = run.curve(metric)
    except KeyError:
        return None
    return curve if len(curve) else None


def factor_of(meaning: Meaning, curve: Curve) -> float:
    """Return the factor by which logged values are converted to the unit and sign of the concept."""
    first = curve.first if meaning.sign_auto else None
    return -meaning.scale if first is not None and first.value < 0 else meaning.scale


class MetricReading(Struct, frozen=True, eq=False):
    """A metric of a run with at least one point."""

    metric: str
    meaning: Meaning
    curve: Curve
    factor: float
    """Converts logged values to the unit and sign of the concept."""

    @property
    def last(self) -> float:
        """The last value, finite or not, in the unit of the concept."""
        return float(self.curve.values[-1]) * self.factor


def reading_of(run: Run, names: Iterable[str]) -> MetricReading | None:
    """Return the first of these metrics that has a point in the run, or None."""
    curves = ((name, curve_or_none(run, name)) for name in names)
    return next((_reading(run, name, curve) for name, curve in curves if curve is not None), None)


def reading_drawn(run: Run, name: str) -> MetricReading | None:
    """Return a metric on the steps that all charts of the run share; None if it has no points."""
    return None if curve_or_none(run, name) is None else _reading(run, name, aligned(run, name))


def _reading(run: Run, name: str, curve: Curve) -> MetricReading:
    meaning = meaning_of(run, name)
    return MetricReading(name, meaning, curve, factor_of(meaning, curve))


def level_difference(own: MetricReading | None, base: MetricReading | None) -> float | None:
    """Return the difference of the levels of two runs up to the last step that both have reached; None if unknown."""
    if own is None or base is None or own.meaning.concept != base.meaning.concept:
        return None
    step = comparable_step((own.curve, base.curve))
    if step is None or own.meaning.unit != base.meaning.unit:
        return None
    difference = level_until(own.curve, step) * own.factor - level_until(base.curve, step) * base.factor
    return difference if math.isfinite(difference) else None


def difference_error(own: MetricReading, base: MetricReading) -> float:
    """Return the standard error of a difference of `level_difference`; NaN if it is unknown."""
    step = comparable_step((own.curve, base.curve)) or 0
    return math.hypot(*(_level_error(reading.curve, step) * reading.factor for reading in (own, base)))


def _level_error(curve: Curve, step: int) -> float:
    """Return the standard error of the level at a step; of a long curve from means of blocks of points, because charts
    are drawn often."""
    row = curve.row_after(step)
    if row <= _MOST_EXACT:
        return level(curve.values[:row]).error
    return level(curve.block_means(float(curve.steps[0]), step, _MOST_EXACT).values).error


RESULT, PLAIN, USAGE, CONSTANT = range(4)
"""Ranks: measures of quality, other names, measures of resources and counters, curves that do not change."""
_CHECKED = 200
"""Maximum number of curves that are examined for being constant."""
_RANKED = 20_000
"""Names that are ranked by their words; of more, the others count as PLAIN. 200,000 names take 4 s."""
_WORD = re.compile(r"[A-Za-z][a-z]*|[A-Z]+(?![a-z])")
_RESULTS = re.compile(
    r"scores?|acc|accuracy|loss(es)?|cost|err(ors?)?|rewards?|returns?|success|wins?|precision|recall|f1|auc|auroc|map"
    r"|iou|dice|bleu|rouge|wer|cer|psnr|ssim|fid|perplexity|ppl|elbo|nll|objective|fitness|correct|solved|goal"
)
_USAGE = re.compile(
    r"time[rs]?|timing|timeperf|secs?|seconds?|ms|latency|duration|elapsed|passed|remaining|eta|timestamp|date|runtime"
    r"|fps|throughput|memory|mem|ram|rss|vram|cpu|gpu|disk|network|bandwidth|util|utili[sz]ation|bytes|mb|gb|gib"
    r"|sizes?|counts?|counter|num|total|queue|buffer|version|seed|index|idx|id|timesteps?|episodes|epochs?|updates"
    r"|iter(ation)?s?|steps?|skipped|ncols|nrows|width|height"
)


@lru_cache(maxsize=16384)
def rank_of(name: str, unit: str = "1") -> int:
    """Return RESULT, PLAIN or USAGE for a metric by its words and its unit; the last words count most."""
    if unit in ("s", DATE, *BYTES):
        return USAGE
    words = [word.lower() for word in _WORD.findall(name)]
    if words and _RESULTS.fullmatch(words[-1]):
        return RESULT
    if any(map(_USAGE.fullmatch, [*words[:1], *words[-3:]])):
        return USAGE
    return RESULT if any(map(_RESULTS.fullmatch, words)) else PLAIN


def by_telling(run: Run, names: Sequence[str], known: Mapping[str, Meaning]) -> list[tuple[int, str]]:
    """Return (rank, metric) of the metrics in the order of ranks; metrics of one rank keep their order."""
    constant = _constants(run, names)
    ranked = [(CONSTANT if name in constant else rank_of(name, known[name].unit), name) for name in names[:_RANKED]]
    return sorted([*ranked, *((PLAIN, name) for name in names[_RANKED:])], key=lambda item: item[0])


@cached_until_doubled
def _constants(run: Run, names: Sequence[str]) -> frozenset[str]:
    """Return the metrics whose finite values are all equal, of those with more than FEW_POINTS points."""
    return frozenset(name for name in names[:_CHECKED] if _is_constant(run, name))


def _is_constant(run: Run, name: str) -> bool:
    curve = curve_or_none(run, name)
    if curve is None or len(curve) <= FEW_POINTS or curve.nan_count or curve.infinity_count:
        return False
    return curve.min is not None and curve.max is not None and curve.min.value == curve.max.value
