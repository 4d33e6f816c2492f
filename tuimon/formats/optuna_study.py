"""Optuna's database (RDBStorage with SQLite): any number of studies in one file.

    studies                    study_id, study_name
    trials                     trial_id, number, study_id, state, datetime_complete (local time)
    trial_params               trial_id, param_name, param_value, distribution_json
    trial_values               trial_id, objective, value
    trial_intermediate_values  trial_id, step, intermediate_value, intermediate_value_type

A trial is a run, as in the journal: its parameters are the config, and its intermediate values (or its value, if it has
none) are the points of a metric with the name of the trial. Columns are those since Optuna 3; before, objectives and
types of values are missing. Source: optuna/storages/_rdb/models.py of Optuna 2.10, 3 and 5.
"""

from __future__ import annotations

import math
import sqlite3
from collections import defaultdict
from typing import Any

from tuimon import lazy_re as re
from tuimon.errors import FormatError
from tuimon.formats import Format
from tuimon.formats._shared.database import columns, readable
from tuimon.formats._shared.rows import number, seconds, trimmed
from tuimon.formats.optuna_journal import final_values, param_value, shown_names, trial_name, trial_state
from tuimon.model.points import Damage, Fact, Item, PointsBuilder, Replaced, Topic

_TABLE = re.compile(rb'create table "?trial_params"? ?\(', re.IGNORECASE)
_TRIALS = "select trial_id, number, study_id, cast(state as text), datetime_complete from trials order by trial_id"
_PARAMS = (
    "select trial_id, cast(param_name as text), param_value, cast(distribution_json as text) from trial_params"
    " order by param_id"
)
_VALUES = "select trial_id, value from trial_values order by trial_id, rowid"
_MAX_TRIALS = 100_000
_NON_FINITE = {"INF_POS": math.inf, "INF_NEG": -math.inf, "NAN": math.nan}
_DAMAGED = "page of the database not readable"


class _Trial:
    def __init__(self, name: str) -> None:
        self.name = name
        self.values: list[tuple[int, float]] = []
        """(step, value) of the points that were returned."""
        self.facts: dict[str, Fact] = {}


class OptunaStudyDecoder:
    """DatabaseDecoder of an Optuna database. It holds few values, so all are read each time."""

    def __init__(self) -> None:
        self._trials: dict[int, _Trial] = {}
        self._broken = False

    def read(self, database: sqlite3.Connection) -> list[tuple[str, list[Item]]]:
        studies = [row[0] for row in database.execute("select study_id from studies order by study_id")]
        names = dict(database.execute("select study_id, cast(study_name as text) from studies"))
        trials, broken = readable(database, _TRIALS)
        params, params_broken = _grouped(database, _PARAMS)
        values, values_broken = _grouped(database, _VALUES)
        steps, steps_broken = _intermediate_values(database)
        broken = broken or params_broken or values_broken or steps_broken
        new: list[tuple[str, list[Item]]] = []
        for identity, count, study, state, completed in trials[:_MAX_TRIALS]:
            if identity not in self._trials:
                first = not studies or study == studies[0]
                self._trials[identity] = _Trial(trial_name(count, "" if first else str(names.get(study, study))))
            trial = self._trials[identity]
            time = seconds(completed)
            results = [row[0] for row in values[identity]]
            points = steps[identity] or [(0, float(value)) for value in results[:1] if number(value, "") is not None]
            items = self._new_points(trial, points, math.nan if time is None or steps[identity] else time)
            facts = [*_config(params[identity]), *final_values(results, time), *trial_state(state, time)]
            for fact in facts:
                if trial.facts.get(fact.topic) != fact:
                    trial.facts[fact.topic] = fact
                    items.append(fact)
            new.append((trial.name, items))
        if broken and not new:
            raise FormatError(_DAMAGED)
        if broken and not self._broken:
            new[0][1].append(Damage(0, 0, _DAMAGED))
        self._broken = broken
        return new

    def _new_points(self, trial: _Trial, points: list[tuple[int, float]], time: float) -> list[Item]:
        items: list[Item] = []
        known = len(trial.values)
        if repr(points[:known]) != repr(trial.values):  # repr, as NaN is not equal to itself
            items.append(Replaced())
            trial.facts.clear()
            known = 0
        builder = PointsBuilder()
        for step, value in points[known:]:
            builder.add(trial.name, step, value, time)
        trial.values = points
        return [*items, *builder.take()]


def _grouped(database: sqlite3.Connection, query: str) -> tuple[dict[int, list[tuple[Any, ...]]], bool]:
    """Return (rows of a query without their first column, by that column; whether there is a damaged page)."""
    groups: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    rows, broken = readable(database, query)
    for identity, *row in rows:
        groups[identity].append(tuple(row))
    return groups, broken


def _intermediate_values(database: sqlite3.Connection) -> tuple[dict[int, list[tuple[int, float]]], bool]:
    """Return ((step, value) of each trial in the order in which they were logged; whether there is a damaged page)."""
    points: dict[int, list[tuple[int, float]]] = defaultdict(list)
    known = columns(database, "trial_intermediate_values")
    if not known:
        return points, False
    kind = "cast(intermediate_value_type as text)" if "intermediate_value_type" in known else "''"
    rows, broken = readable(
        database, f"select trial_id, step, intermediate_value, {kind} from trial_intermediate_values order by rowid"
    )
    for identity, step, value, name in rows:
        value = _NON_FINITE.get(name, value)
        if type(step) is int and isinstance(value, int | float):
            points[identity].append((step, float(value)))
    return points, broken


def _config(params: list[tuple[Any, ...]]) -> list[Fact]:
    config = {name: trimmed(param_value(value, distribution)) for name, value, distribution in params}
    return [Fact(Topic.CONFIG, config)] if config else []


FORMAT = Format(
    id="optuna-sqlite",
    title="Optuna database",
    writers="Optuna 3 and 5",
    rank=45,
    matches=lambda name, head: _TABLE.search(head) is not None,
    decoder=OptunaStudyDecoder,
    wants_name=lambda name: name.endswith((".db", ".sqlite", ".sqlite3")),
    shown_names=shown_names,
)
