"""A metric of many runs, whichever way each of them spells it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from tuimon import lazy_re as re
from tuimon.analysis.run_cache import cached_per_run
from tuimon.panels._metrics import MetricReading, by_relevance, is_secondary, reading_of
from tuimon.panels._run_facts import loss_of, objective_of, reward_of
from tuimon.store import Run
from tuimon.vocabulary import Meaning, classify, concepts, merge_key

_VAGUE = frozenset({"other", "known.other", "hidden", "loss.part"})
"""Concepts of metrics that measure different things."""
_BEST = "best_"
_STATISTIC_OF = re.compile(r"\s*(best|last)\(\s*(.*?)\s*\)?\s*\Z", re.IGNORECASE)
_HEADLINES: Mapping[str, Callable[[Run], MetricReading | None]] = {"reward": reward_of, "loss": loss_of}
"""Words that are the reward and the loss of a run as all screens show them, even where a run also logs another metric
of that name, such as the reward of each episode."""
_SAMPLE = 200
"""Maximum number of runs whose metrics are offered."""


METRIC = "metric"
"""Id of the column of the metric that the user has chosen."""
RESULTS: Mapping[str, Callable[[Run], MetricReading | None]] = {
    "reward": reward_of,
    "loss": loss_of,
    "objective": objective_of,
}
"""Id of a column with a result -> function that returns the metric of a run in this column."""


def metric_of(run: Run, wanted: str) -> MetricReading | None:
    """Return the metric of a run that has this name, another spelling of it, the same concept (eval/loss for val_loss),
    or this concept ("loss.val", "validation loss"); case is ignored. "best(name)" and "last(name)" are the metric
    `name`, and "reward" and "loss" are those that all screens show for the run. None if it has none."""
    name, _ = split_statistic(wanted)
    if (fact := _HEADLINES.get(name.lower())) is not None and (reading := fact(run)) is not None:
        return reading
    return reading_of(run, (_name_of(run, name),))


def split_statistic(wanted: str) -> tuple[str, str]:
    """Return (metric, "best" or "last") of "best(metric)" and "last(metric)", or else (`wanted` without blanks around
    it, "")."""
    match = _STATISTIC_OF.match(wanted)
    return (match[2], match[1].lower()) if match else (wanted.strip(), "")


def best_of(reading: MetricReading) -> float:
    """Return the lowest value of a metric that should fall, else the highest one; NaN without finite values."""
    curve, is_falling = reading.curve, falls(reading.meaning)
    samples = [sample.value * reading.factor for sample in (curve.min, curve.max) if sample is not None]
    return (min if is_falling else max)(samples, default=math.nan)


def is_name_of_falling(metric: str) -> bool:
    """Return whether lower values are better of the metric with this name, or of the one in "best(name)"."""
    return falls(classify(split_statistic(metric)[0]))


def falls(meaning: Meaning) -> bool:
    """Return whether lower values of a metric are better."""
    return meaning.direction == "down" or meaning.concept.startswith("loss")


def value_of(run: Run, wanted: str) -> float | None:
    """Return the last value of a metric (see `metric_of`), or its best value for "best(name)" and "best_name"; None if
    the run does not have it."""
    name, statistic = split_statistic(wanted)
    reading = metric_of(run, name)
    if reading is None and not statistic and name.startswith(_BEST):
        reading, statistic = metric_of(run, name.removeprefix(_BEST)), "best"
    return None if reading is None else best_of(reading) if statistic == "best" else reading.last


def metric_with_words(runs: Iterable[Run], text: str) -> str:
    """Return the metric of the runs that has this name, or else that `metric_of` finds for the text, or else the most
    relevant one whose name contains all words; "" if there is none. Of "best(text)" it is "best(metric)", and the same
    with "last"."""
    runs, (text, statistic) = list(runs), split_statistic(text)
    metric = _with_words(runs, text)
    return f"{statistic}({metric})" if statistic and metric else metric


def _with_words(runs: list[Run], text: str) -> str:
    words = text.lower().split()
    if not words:
        return ""
    spelled = (_spelled(run, text) for run in runs[:_SAMPLE])
    if name := next(filter(None, spelled), ""):
        return name
    if text.lower() in _HEADLINES and any(metric_of(run, text) is not None for run in runs[:_SAMPLE]):
        return text.lower()
    for run in runs[:_SAMPLE]:
        if name := _name_of(run, text):
            return name
    return next((name for name in common_metrics(runs) if all(word in name.lower() for word in words)), "")


def metric_names(runs: Iterable[Run]) -> tuple[str, ...]:
    """Return the names of the metrics of (some of) the runs, the most relevant first."""
    return common_metrics(list(runs)[:_SAMPLE])


def name_in(run: Run, metric: str) -> str:
    """Return the name of a metric in a run, which may spell it in another way; "" if the run does not have it.

    A reward or loss with another spelling is the one that all screens show for the run: the train/reward of one run is
    the rollout/ep_rew_mean of another one, although that one logs the reward of each episode, too.
    """
    if metric in run.metrics:
        return metric
    if not (name := _by_key(run).get(merge_key(metric), "")):
        return ""
    key = _key(name)
    headlines = (reading.metric for fact in (reward_of, loss_of) if (reading := fact(run)) is not None)
    return next((headline for headline in headlines if _key(headline) == key), name)


def is_renamed(reading: MetricReading, wanted: str) -> bool:
    """Return whether a metric that `metric_of` found for a name has another name than a spelling of it; whether it is
    of the validation, if the name is the word "reward" or "loss"."""
    name, _ = split_statistic(wanted)
    if name.lower() in _HEADLINES:
        return reading.meaning.split == "val"
    return merge_key(reading.metric) != merge_key(name)


def other_names(runs: Iterable[Run], wanted: str) -> tuple[str, ...]:
    """Return the other names that metrics have which `metric_of` finds for a name (see `is_renamed`)."""
    readings = (metric_of(run, wanted) for run in runs)
    return tuple(dict.fromkeys(r.metric for r in readings if r is not None and is_renamed(r, wanted)))


def common_metrics(runs: Iterable[Run]) -> tuple[str, ...]:
    """Return the metrics of the runs by relevance, those that most runs have first; of spellings of one, the first."""
    counts: dict[str, int] = {}
    names: dict[str, str] = {}
    for run in runs:
        for name in run.metrics:
            key = merge_key(name)
            counts[key] = counts.get(key, 0) + 1
            names.setdefault(key, name)
    ranked = by_relevance(tuple(names.values()))
    most = max(counts.values(), default=0)
    return tuple(sorted(ranked, key=lambda name: 2 * counts[merge_key(name)] < most))


def _spelled(run: Run, name: str) -> str:
    """Return the metric of a run with this name, whatever its case; "" if there is none."""
    return name if name in run.metrics else next((own for own in run.metrics if own.lower() == name.lower()), "")


def _name_of(run: Run, wanted: str) -> str:
    """Return the name of a metric in a run, see `metric_of`; "" if the run does not have it."""
    if name := name_in(run, wanted):
        return name
    known, text = _lookup(run), wanted.lower()
    if found := known.get(text) or known.get(_label(text)):
        return found
    meaning = classify(wanted)
    if meaning.concept in _VAGUE or meaning.renamed or is_secondary(meaning):
        return ""
    return known.get(_key(wanted), "")


@cached_per_run
def _lookup(run: Run) -> Mapping[str, str]:
    """Map names in lower case, keys of concepts, and ids and labels of concepts to the preferred metric."""
    labels = {concept.id: (concept.id, _label(concept.label)) for concept in concepts()}
    meanings = {name: classify(name) for name in run.metrics}
    ranked = sorted(run.metrics, key=lambda name: (is_secondary(meanings[name]), meanings[name].preference))
    known: dict[str, str] = {name.lower(): name for name in reversed(run.metrics)}
    for name in ranked:
        meaning = meanings[name]
        if meaning.concept not in _VAGUE and not meaning.renamed:
            known.setdefault(_key(name), name)
            for label in labels.get(meaning.concept, ()):
                known.setdefault(label, name)
    return MappingProxyType(known)


def _key(name: str) -> str:
    """Return a key that names of one quantity share: concept, split and facets."""
    meaning = classify(name)
    facets = ",".join(f"{facet}={value}" for facet, value in sorted(meaning.facets.items()))
    return f"\0{meaning.concept}|{meaning.split}|{facets}"


def _label(text: str) -> str:
    """Return the label of a concept with "validation" in the one spelling that the vocabulary has: "loss (val)"."""
    text = text.lower()
    for word in ("validation ", "val ", "eval "):
        if text.startswith(word):
            return f"{text.removeprefix(word)} (val)"
    return text


@cached_per_run
def _by_key(run: Run) -> dict[str, str]:
    names: dict[str, str] = {}
    for name in run.metrics:
        names.setdefault(merge_key(name), name)
    return names


def repeated_columns(runs: Sequence[Run], metric: str) -> frozenset[str]:
    """Return the ids of the columns of reward, loss and objective that have the levels of a chosen metric for all of
    these runs."""
    metric, statistic = split_statistic(metric)
    if not metric or statistic:
        return frozenset()
    chosen = {run.id: reading.metric for run in runs if (reading := metric_of(run, metric)) is not None}
    shown = {id: [(run, reading) for run in runs if (reading := fact(run))] for id, fact in RESULTS.items()}
    return frozenset(
        id for id, pairs in shown.items() if all(chosen.get(run.id) == reading.metric for run, reading in pairs)
    )
