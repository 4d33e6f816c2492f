"""Facts about a run that many rows ask for, computed once per Run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tuimon.analysis.run_cache import cached_per_run
from tuimon.model.points import Topic
from tuimon.panels._metrics import MetricReading, by_concept, by_relevance, is_secondary, label_of, reading_of
from tuimon.panels.curves import LOSS, REWARD, SUCCESS
from tuimon.redact import redacted
from tuimon.store import Run
from tuimon.vocabulary import meaning_in, meanings

_OF_ONE_RUN = frozenset({"run_id", "run_name", "job", "started", "pid"})
"""Facts about a run that differ between any two runs."""


@cached_per_run
def reward_of(run: Run) -> MetricReading | None:
    """Return the run's reward, or None."""
    return REWARD.reading(run)


@cached_per_run
def loss_of(run: Run) -> MetricReading | None:
    """Return the run's loss, or None."""
    return LOSS.reading(run)


@cached_per_run
def success_of(run: Run) -> MetricReading | None:
    """Return the run's success rate or accuracy, or None."""
    return SUCCESS.reading(run)


@cached_per_run
def objective_of(run: Run) -> MetricReading | None:
    """Return the only metric of a run without reward and loss, such as the value of a trial of a search; else None."""
    return reading_of(run, run.metrics) if len(run.metrics) == 1 and not (reward_of(run) or loss_of(run)) else None


@cached_per_run
def main_of(run: Run) -> MetricReading | None:
    """Return the run's reward, else its loss, else the metric with the most points."""
    return reward_of(run) or loss_of(run) or reading_of(run, run.busiest_metrics[:1])


@cached_per_run
def relevant_metrics(run: Run) -> tuple[str, ...]:
    """Return the metrics of a run by relevance. Of several rewards or losses, the one that all screens show is
    first."""
    return tuple(headlines_first((run,))(run.tracked_metrics))


def headlines_first(runs: Iterable[Run]) -> Callable[[Iterable[str]], list[str]]:
    """Return a function that sorts metrics of these runs by relevance, see `relevant_metrics`."""
    headlines: dict[str, dict[str, None]] = {}
    for run in runs:
        for panel in (REWARD, LOSS):
            if (reading := panel.reading(run)) is not None:
                for concept in panel.concepts:
                    headlines.setdefault(concept, {}).setdefault(reading.metric)

    def ordered(metrics: Iterable[str]) -> list[str]:
        names = tuple(metrics)
        known = frozenset(names)
        result: dict[str, None] = {}
        for name in by_relevance(names):
            for headline in headlines.get(meaning_in(names, name).concept, ()):
                if headline in known:
                    result.setdefault(headline)
            result.setdefault(name)
        return list(result)

    return ordered


def name_of(run: Run, metric: str) -> str:
    """Return the label of a metric ("reward"), or its name if the run has several metrics of the same quantity."""
    known = meanings(run.metrics)
    meaning = meaning_in(run.metrics, metric)
    alike = [
        name
        for name in by_concept(run.tracked_metrics).get(meaning.concept, ())
        if (other := known[name]).split == meaning.split
        and other.facets == meaning.facets
        and other.label == meaning.label
        and not is_secondary(other)
    ]
    return metric if len(alike) > 1 else label_of(meaning) or metric


def heading_of(metrics: Iterable[tuple[Run, str]]) -> str:
    """Return a heading for (run, metric) of one quantity: `name_of` if that is the same for all, else the label."""
    pairs = list(metrics)
    names = {name_of(run, metric) for run, metric in pairs}
    if len(names) == 1:
        return names.pop()
    run, metric = pairs[0]
    return label_of(meaning_in(run.metrics, metric)) or metric


@cached_per_run
def settings_of(run: Run) -> Mapping[str, Any]:
    """Return the run's config without secrets."""
    return redacted(run.config)


def facts_about(run: Run) -> dict[str, Any]:
    """Return what the logs say about the run itself: its tracker, host, program, arguments, git commit, tags."""
    known: dict[str, Any] = {}
    for fact in run.facts(Topic.WRITER):
        known |= {key: value for key, value in fact.value.items() if value not in ("", None) and key != "lag"}
    return {"writer": known.pop("name"), **known} if "name" in known else known


@cached_per_run
def comparable_facts(run: Run) -> Mapping[str, Any]:
    """Return the facts about a run that other runs may share, so not its id or start; without secrets."""
    return redacted({key: value for key, value in facts_about(run).items() if key not in _OF_ONE_RUN})
