"""The meaning of a metric in a run, with the unit that its log prints.

meaning_of()        the meaning, with the printed unit in place of that of the vocabulary
printed_unit()      the printed unit
printed_whole()     the whole of which the values are a part: 32.0 of "29.2/32.0GB"
seconds_of()        the factor from the values of a timer to seconds
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from tuimon.analysis.run_cache import cached_per_run
from tuimon.model.points import Topic
from tuimon.store import Run
from tuimon.text import clean
from tuimon.vocabulary import SECONDS, Meaning, meaning_in

_IN_VOCABULARY = {"%": "pct"}
_MAX_UNIT = 16

Printed = Mapping[str, Any]
"""Value of a metric in a fact of Topic.UNITS."""


@cached_per_run
def _printed(run: Run) -> Mapping[tuple[str, str], Printed | None]:
    """Map (source, metric) to what is printed with its values; to None if the files of the source print different
    units, because their values are joined without conversion."""
    known: dict[tuple[str, str], Printed | None] = {}
    for source, fact in run.facts_by_source(Topic.UNITS):
        for metric, printed in fact.value.items():
            same = known.setdefault((source, metric), printed)
            if same is not None and same["unit"] != printed["unit"]:
                known[source, metric] = None
    return known


def _of_drawn(run: Run, metric: str) -> Printed:
    """Return what the source from which a metric is drawn prints with its values; {} if it prints nothing."""
    printed = _printed(run)
    if not printed or metric not in run.metrics:
        return {}
    return printed.get((run.provenance(metric)[0][0], metric)) or {}


def printed_unit(run: Run, metric: str) -> str:
    """Return the unit that is printed with the values of a metric; "" if there is none."""
    unit = _of_drawn(run, metric).get("unit", "")
    return _IN_VOCABULARY.get(unit, clean(unit, _MAX_UNIT))


def printed_whole(run: Run, metric: str) -> float | None:
    """Return the whole of which the values of a metric are a part by the log, as in "29.2/32.0GB"; None if unknown."""
    return _of_drawn(run, metric).get("whole")


def meaning_of(run: Run, metric: str) -> Meaning:
    """Return the meaning of a metric; its unit is the one that the log prints, if any, instead of the vocabulary's."""
    meaning, unit = meaning_in(run.metrics, metric), printed_unit(run, metric)
    return replace(meaning, unit=unit, scale=1.0) if unit else meaning


def seconds_of(run: Run, metric: str) -> float:
    """Return the factor from the values of a timer to seconds, by the unit that its log prints, the one that the user's
    vocabulary gives, or the one that its name contains."""
    meaning = meaning_of(run, metric)
    return SECONDS.get(meaning.unit, 1.0) * meaning.scale
