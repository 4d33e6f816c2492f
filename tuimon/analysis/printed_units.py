"""meaning_of(): the meaning of a metric in a run, with the unit that its log prints."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from tuimon.analysis.run_cache import cached_per_run
from tuimon.model.points import Topic
from tuimon.store import Run
from tuimon.text import clean
from tuimon.vocabulary import Meaning, meaning_in

_IN_VOCABULARY = {"%": "pct"}
_MAX_UNIT = 16
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}


@cached_per_run
def printed_units(run: Run) -> Mapping[str, str]:
    """Return the unit that is printed with each metric, by the name of the metric.

    A unit counts only for metrics that are drawn from the source that prints it. It is unknown if the files of a source
    print different units, because their values are joined without conversion.
    """
    printed: dict[tuple[str, str], set[str]] = {}
    for source, fact in run.facts_by_source(Topic.METRICS):
        for metric, known in fact.value.items():
            if isinstance(known, Mapping) and isinstance(unit := known.get("unit"), str):
                printed.setdefault((source, metric), set()).add(unit)
    metrics = frozenset(run.metrics) if printed else frozenset()
    return {
        metric: _IN_VOCABULARY.get(unit, clean(unit, _MAX_UNIT))
        for (source, metric), (unit, *others) in printed.items()
        if not others and metric in metrics and run.provenance(metric)[0][0] == source
    }


def meaning_of(run: Run, metric: str) -> Meaning:
    """Return the meaning of a metric; its unit is the one that the log prints, if any, instead of the vocabulary's."""
    meaning = meaning_in(run.metrics, metric)
    unit = printed_units(run).get(metric)
    return meaning if unit is None else replace(meaning, unit=unit, scale=1.0)


def printed_whole(run: Run, metric: str) -> float | None:
    """Return the whole of which the values of a metric are a part by the log, as in "29.2/32.0GB"; None if unknown."""
    if metric not in printed_units(run):
        return None
    known = [fact.value[metric] for _, fact in run.facts_by_source(Topic.METRICS) if metric in fact.value]
    wholes = {entry.get("whole") for entry in known if isinstance(entry, Mapping)}
    whole = wholes.pop() if len(wholes) == 1 else None
    return whole if isinstance(whole, float) else None


def seconds_of(run: Run, metric: str) -> float:
    """Return the factor from the values of a timer to seconds, by the unit that its log prints or its name contains."""
    unit = printed_units(run).get(metric, "")
    return _SECONDS[unit] if unit in _SECONDS else meaning_in(run.metrics, metric).scale
