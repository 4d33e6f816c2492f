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

from tuimon import lazy_re as re
from tuimon.formats import Format
from tuimon.formats._shared.database import RunsDatabase, columns
from tuimon.formats._shared.rows import number, seconds, trimmed
from tuimon.formats.optuna_journal import final_values, param_value, shown_names, trial_name, trial_state
from tuimon.model.points import Fact, PointsBuilder, Replaced, Topic

_TABLE = re.compile(rb'create table "?trial_params"? ?\(', re.IGNORECASE)
_STUDIES = "select study_id, cast(study_name as text) from studies order by study_id"
_TRIALS = "select trial_id, number, study_id, cast(state as text), datetime_complete from trials order by trial_id"
_PARAMS = (
    "select trial_id, cast(param_name as text), param_value, cast(distribution_json as text) from trial_params"
    " order by param_id"
)
_VALUES = "select trial_id, value from trial_values order by trial_id, rowid"
_STEPS = "select trial_id, step, intermediate_value, {} from trial_intermediate_values order by rowid"
_MAX_TRIALS = 100_000
_NON_FINITE = {"INF_POS": math.inf, "INF_NEG": -math.inf, "NAN": math.nan}


class OptunaStudyDecoder(RunsDatabase):
    """DatabaseDecoder of an Optuna database. It holds few values, so all are read each time."""

    def __init__(self) -> None:
        super().__init__()
        self._points: dict[str, list[tuple[int, float]]] = {}
        """(step, value) of the points of each trial that were returned."""

    def _read(self, database: sqlite3.Connection) -> None:
        studies = dict(database.execute(_STUDIES))
        params = self.grouped(database, _PARAMS, "trial_params")
        values = self.grouped(database, _VALUES, "trial_values")
        typed = "intermediate_value_type" in columns(database, "trial_intermediate_values")
        query = _STEPS.format("cast(intermediate_value_type as text)" if typed else "''")
        intermediate = self.grouped(database, query, "trial_intermediate_values")
        for trial_id, count, study, state, completed in self.rows(database, _TRIALS, "trials")[:_MAX_TRIALS]:
            trial = f"{trial_id}"
            first = study == next(iter(studies), study)
            name = self.name(trial, trial_name(count, "" if first else str(studies.get(study, study))))
            time = seconds(completed)
            results = [value for (value,) in values.get(trial, ())]
            finals = [(0, float(value)) for value in results[:1] if number(value, "") is not None]
            steps = [
                (step, float(value))
                for step, logged, kind in intermediate.get(trial, ())
                if type(step) is int and isinstance(value := _NON_FINITE.get(kind, logged), int | float)
            ]
            self._add_points(trial, name, steps or finals, math.nan if time is None or steps else time)
            config = {key: trimmed(param_value(*value)) for key, *value in params.get(trial, ())}
            settings = [Fact(Topic.CONFIG, config)] if config else []
            for fact in (*settings, *final_values(results, time), *trial_state(state, time)):
                self.add_fact(trial, fact)

    def _add_points(self, run: str, name: str, points: list[tuple[int, float]], time: float) -> None:
        """Add the points of a trial that are new; all of them if an earlier one has changed."""
        before = self._points.get(run, [])
        known = len(before)
        if repr(points[:known]) != repr(before):  # repr, as NaN is not equal to itself
            self.add(run, Replaced())
            self.forget_facts(run)
            known = 0
        builder = PointsBuilder()
        for step, value in points[known:]:
            builder.add(name, step, value, time)
        self._points[run] = points
        self.add(run, *builder.take())


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
