"""A metric of many runs, whichever way each of them spells it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from types import MappingProxyType
from typing import TypeAlias

from tuimon import lazy_re as re
from tuimon.analysis.comparison_rows import comparable_step, level_until
from tuimon.analysis.run_cache import cached_per_run
from tuimon.draw.numbers import format_value
from tuimon.model.views import Role, Row, Span
from tuimon.panels._metrics import MetricReading, by_relevance, is_secondary, reading_of
from tuimon.panels._run_facts import loss_of, main_of, objective_of, reward_of
from tuimon.store import Run
from tuimon.text import cell_width
from tuimon.vocabulary import Meaning, classify, merge_key, unit_text

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
    if found := known.get(text):
        return found
    meaning = classify(wanted)
    if meaning.concept in _VAGUE or meaning.renamed or is_secondary(meaning):
        return ""
    return known.get(_key(wanted), "")


@cached_per_run
def _lookup(run: Run) -> Mapping[str, str]:
    """Map names in lower case, and keys and ids of concepts to the preferred metric."""
    meanings = {name: classify(name) for name in run.metrics}
    ranked = sorted(run.metrics, key=lambda name: (is_secondary(meanings[name]), meanings[name].preference))
    known: dict[str, str] = {name.lower(): name for name in reversed(run.metrics)}
    for name in ranked:
        meaning = meanings[name]
        if meaning.concept not in _VAGUE and not meaning.renamed:
            known.setdefault(_key(name), name)
            known.setdefault(meaning.concept, name)
    return MappingProxyType(known)


def _key(name: str) -> str:
    """Return a key that names of one quantity share: concept, split and facets."""
    meaning = classify(name)
    facets = ",".join(f"{facet}={value}" for facet, value in sorted(meaning.facets.items()))
    return f"\0{meaning.concept}|{meaning.split}|{facets}"


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


Reader: TypeAlias = Callable[[Run], "MetricReading | None"]
"""Function that returns a metric of a run, or None if the run does not have it. It is the key of a cached step."""
_NOTES = (
    "  results: mean of the last tenth (level)",
    "  results: mean of last tenth",
    "  mean of last tenth",
    "  levels",
)
"""What the values of a table are, the clearest first."""


class RunLevels:
    """Levels of the metrics of runs (see analysis.level).

    The list of runs has those at the end of each run, which change with each point. A table that compares the runs has
    those up to a step that they have reached (`comparable_step`). Levels at the end are cached per run.
    """

    def __init__(self, compared: Sequence[Run] = ()) -> None:
        """compared: the runs that are compared; without them, each level is that of the end of its run."""
        self._compared = () if compared and compared[0].is_reading else compared
        self._steps: dict[Reader, int | None] = {}

    def level(self, run: Run, reader: Reader) -> float | None:
        """Return the level of the metric that a reader returns, in the unit of the concept."""
        reading = reader(run)
        if reading is None:
            return None
        step = self.last_step(reader)
        if step is not None and step < int(reading.curve.steps[-1]):
            return level_until(reading.curve, step) * reading.factor
        known = _levels_at_end(run)
        if reading.metric not in known:
            known[reading.metric] = level_until(reading.curve, None) * reading.factor
        return known[reading.metric]

    def value(self, run: Run, wanted: str) -> float | None:
        """Return the level of a metric (see `metric_of`), the last value for "last(name)", or the best one for
        "best(name)" and "best_name"; None if the run does not have it."""
        name, statistic = split_statistic(wanted)
        level = None if statistic else self.level(run, reader_of(name))
        return value_of(run, wanted) if level is None else level

    def last_step(self, reader: Reader) -> int | None:
        """Return the step up to which the compared runs are judged; None if they have none in common."""
        if self._compared and reader not in self._steps:
            readings = map(reader, self._compared)
            self._steps[reader] = comparable_step([None if reading is None else reading.curve for reading in readings])
        return self._steps.get(reader)


@lru_cache(maxsize=64)
def reader_of(metric: str) -> Reader:
    """Return the function that looks up a metric by its name, see `metric_of`; the same object for the same name."""
    return partial(metric_of, wanted=metric)


def main_reader(runs: Sequence[Run], chosen: str = "") -> Reader:
    """Return what reads the metric that stands for runs: chosen, reward, loss, or main.

    The loss is taken if no run has a reward, or more than twice as many runs have a loss.
    """
    if chosen:
        return reader_of(chosen)
    rewards, losses = (sum(fact(run) is not None for run in runs) for fact in (reward_of, loss_of))
    if rewards or losses:
        return reward_of if 2 * rewards >= max(losses, 1) else loss_of
    main = next(filter(None, map(main_of, runs)), None)
    return main_of if main is None else reader_of(main.metric)


def level_note(room: int, until: str = "") -> Span:
    """Return what the values of a table are, in at most `room` cells. until: where the longest of the runs is cut."""
    texts = (*(f"{text} up to {until}" for text in _NOTES if until), *_NOTES)
    return next((text for text in texts if len(text) <= room), ""), Role.MUTED


def level_cell(reading: MetricReading | None, width: int, value: float | None) -> Row:
    """Return the cell of a metric. value: of the metric, in its unit.

    It has the colour of an alert if the metric is not finite now, and the step since when if it has no level.
    """
    if reading is None or value is None:
        return ()
    text = format_value(value, unit_text(reading.meaning.unit))
    if not math.isfinite(value):
        text += _since(reading)
    if cell_width(text) > width:
        text = format_value(value)
    return ((text, Role.VALUE if math.isfinite(value) and math.isfinite(reading.last) else Role.CRITICAL),)


def _since(reading: MetricReading) -> str:
    """Return " since 34" for a metric that has not been finite since step 34; "" if it is, or if no step is logged."""
    curve = reading.curve
    if curve.ordinal or math.isfinite(reading.last):
        return ""
    row = 0 if curve.last is None else curve.row_after(curve.last.step)
    return f" since {curve.steps[row]}"


@cached_per_run
def _levels_at_end(run: Run) -> dict[str, float]:
    """Map metrics to their levels at the end of the run, as far as they were needed."""
    return {}
