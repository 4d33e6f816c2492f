"""Optuna: the journal and the database of studies. A trial is a run.

Journal (JournalStorage, JournalFileBackend), one JSON object a line for each operation of any worker; ids count the
operations that created studies and trials:

    {"op_code": 0, "worker_id": "…", "study_name": "digits", "directions": [2]}                   a study
    {"op_code": 4, "worker_id": "…", "study_id": 0, "datetime_start": "2026-11-22T19:21:07+00:00"}   a trial
    {"op_code": 5, "trial_id": 0, "param_name": "alpha", "param_value_internal": 0.06, "distribution": "{…}"}
    {"op_code": 7, "trial_id": 0, "step": 3, "intermediate_value": 0.9}
    {"op_code": 6, "trial_id": 0, "state": 1, "values": [0.92], "datetime_complete": "…"}

Database (RDBStorage with SQLite):

    studies                    study_id, study_name
    trials                     trial_id, number, study_id, state, datetime_complete (local time)
    trial_params               trial_id, param_name, param_value, distribution_json
    trial_values               trial_id, objective, value
    trial_intermediate_values  trial_id, step, intermediate_value, intermediate_value_type

The parameters of a trial are the config, and its intermediate values (or its value, if it has none) are the points of a
metric with the name of the trial. Columns are those since Optuna 3; before, objectives and types of values are missing.
Source: optuna/storages/journal/_storage.py of Optuna 4 and 5, optuna/storages/_rdb/models.py of Optuna 2.10, 3 and 5.
"""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from typing import Any

from msgspec import Struct, field

from tuimon import lazy_re as re
from tuimon.errors import FormatError
from tuimon.formats import Format, JournalDecoder
from tuimon.formats._shared.database import RunsDatabase, columns
from tuimon.formats._shared.json import parse
from tuimon.formats._shared.lines import LineSplitter
from tuimon.formats._shared.rows import number, seconds, trimmed
from tuimon.model.points import Damage, Fact, Item, PointsBuilder, Replaced, Topic

_CREATE_STUDY, _CREATE_TRIAL, _SET_PARAM, _SET_STATE, _SET_INTERMEDIATE = 0, 4, 5, 6, 7
_STATES = ("RUNNING", "COMPLETE", "PRUNED", "FAIL", "WAITING")
_ENDS = {"COMPLETE": ("finished", "complete"), "PRUNED": ("pruned", "pruned"), "FAIL": ("crashed", "failed")}
_MAX_TRIALS = 100_000

_TABLE = re.compile(rb'create table "?trial_params"? ?\(', re.IGNORECASE)
_STUDIES = "select study_id, cast(study_name as text) from studies order by study_id"
_TRIALS = "select trial_id, number, study_id, cast(state as text), datetime_complete from trials order by trial_id"
_PARAMS = (
    "select trial_id, cast(param_name as text), param_value, cast(distribution_json as text) from trial_params"
    " order by param_id"
)
_VALUES = "select trial_id, value from trial_values order by trial_id, rowid"
_STEPS = "select trial_id, step, intermediate_value, {} from trial_intermediate_values order by rowid"
_NON_FINITE = {"INF_POS": math.inf, "INF_NEG": -math.inf, "NAN": math.nan}


class _Trial(Struct):
    """What is known of a trial, and what was returned of it."""

    name: str
    params: dict[str, Any] = field(default_factory=dict)
    steps: list[tuple[int, float]] = field(default_factory=list)
    """Steps and intermediate values."""
    values: list[Any] = field(default_factory=list)
    state: str = ""
    time: float | None = None
    """Time of its end (s since the epoch)."""
    returned: list[tuple[int, float]] = field(default_factory=list)
    facts: dict[str, Fact] = field(default_factory=dict)

    def add_step(self, step: Any, value: Any) -> None:
        if type(step) is int and -(2**63) <= step < 2**63 and (known := number(value, "")) is not None:
            self.steps.append((step, known))

    def new_items(self) -> list[Item]:
        """Return the points and facts since the last call; all of them if an earlier point has changed."""
        items: list[Item] = []
        values = [value for value in self.values if number(value, "") is not None]
        points = self.steps or [(0, float(value)) for value in values[:1]]
        known = len(self.returned)
        if repr(points[:known]) != repr(self.returned):  # repr, as NaN is not equal to itself
            items.append(Replaced())
            self.facts, known = {}, 0
        builder = PointsBuilder()
        for step, value in points[known:]:
            builder.add(self.name, step, value, math.nan if self.steps or self.time is None else self.time)
        self.returned = points.copy()
        names = ["value"] if len(values) == 1 else [f"value {index}" for index in range(len(values))]
        facts = [Fact(Topic.CONFIG, self.params.copy())] if self.params else []
        if values:
            facts.append(Fact(Topic.FINAL_METRICS, dict(zip(names, values, strict=True)), wall_time=self.time))
        if self.state in _ENDS:
            name, word = _ENDS[self.state]
            facts.append(Fact(Topic.STATE, {"state": name, "evidence": f"Optuna: {word}"}, wall_time=self.time))
        changed = [fact for fact in facts if self.facts.get(fact.topic) != fact]
        self.facts.update((fact.topic, fact) for fact in changed)
        return [*items, *builder.take(), *changed]


class OptunaJournalDecoder(JournalDecoder):
    """A JournalDecoder."""

    def __init__(self) -> None:
        self._lines = LineSplitter()
        self._studies: list[str] = []
        self._counts: Counter[int] = Counter()
        """Number of trials of each study."""
        self._trials: list[_Trial] = []
        self._damage: list[Item] = []
        """Damage that is not reported yet, because there is no trial yet."""

    def feed_runs(self, data: bytes) -> list[tuple[str, list[Item]]]:
        changed: dict[int, _Trial] = {}
        for part in self._lines.feed(data):
            if isinstance(part, Damage):
                self._damage.append(part)
                continue
            offset, lines = part
            for line in lines:
                if operation := _operation(line):
                    self._apply(operation, changed)
                elif line.strip():
                    self._damage.append(Damage(offset, len(line) + 1, "not an operation"))
                offset += len(line) + 1
        self._damage += self._lines.hole_at_end()
        new = {trial.name: trial.new_items() for trial in changed.values()}
        if self._damage and self._trials:  # a run has to report it
            new.setdefault(self._trials[-1].name, []).extend(self._damage)
            self._damage = []
        return list(new.items())

    def _apply(self, operation: dict[str, Any], changed: dict[int, _Trial]) -> None:
        code, identity = operation["op_code"], operation.get("trial_id")
        if code == _CREATE_STUDY:
            self._studies.append(str(operation.get("study_name", "")))
        elif code == _CREATE_TRIAL and len(self._trials) < _MAX_TRIALS:
            identity = len(self._trials)
            study = operation.get("study_id")
            study = study if type(study) is int and 0 <= study < len(self._studies) else 0
            self._trials.append(_Trial(_trial_name(self._counts[study], self._studies[study] if study else "")))
            self._counts[study] += 1
        if type(identity) is not int or not 0 <= identity < len(self._trials):
            return
        trial = changed[identity] = self._trials[identity]
        if code == _SET_PARAM:
            value = _param_value(operation.get("param_value_internal"), operation.get("distribution"))
            trial.params[str(operation.get("param_name"))] = trimmed(value)
        elif code == _SET_INTERMEDIATE:
            trial.add_step(operation.get("step"), operation.get("intermediate_value"))
        elif code == _SET_STATE:
            values, state = operation.get("values"), operation.get("state")
            trial.values = values if isinstance(values, list) else trial.values
            trial.state = _STATES[state] if type(state) is int and 0 <= state < len(_STATES) else trial.state
            trial.time = seconds(operation.get("datetime_complete"))


class OptunaStudyDecoder(RunsDatabase):
    """DatabaseDecoder of an Optuna database. It holds few values, so all are read each time."""

    def __init__(self) -> None:
        super().__init__()
        self._trials: dict[str, _Trial] = {}

    def _read(self, database: sqlite3.Connection) -> None:
        studies = dict(database.execute(_STUDIES))
        params = self.grouped(database, _PARAMS, "trial_params")
        values = self.grouped(database, _VALUES, "trial_values")
        typed = "intermediate_value_type" in columns(database, "trial_intermediate_values")
        query = _STEPS.format("cast(intermediate_value_type as text)" if typed else "''")
        intermediate = self.grouped(database, query, "trial_intermediate_values")
        for trial_id, count, study, state, completed in self.rows(database, _TRIALS, "trials")[:_MAX_TRIALS]:
            run = f"{trial_id}"
            first = study == next(iter(studies), study)
            name = self.name(run, _trial_name(count, "" if first else str(studies.get(study, study))))
            trial = self._trials.setdefault(run, _Trial(name))
            trial.state, trial.time = state, seconds(completed)
            trial.values = [value for (value,) in values.get(run, ())]
            trial.params = {key: trimmed(_param_value(*value)) for key, *value in params.get(run, ())}
            trial.steps = []
            for step, logged, kind in intermediate.get(run, ()):
                trial.add_step(step, _NON_FINITE.get(kind, logged))
            self.add(run, *trial.new_items())


def _trial_name(number: int, study: str) -> str:
    """Return the name of a trial's run; `study` is empty for the first study of a file."""
    return f"{study} trial {number}" if study else f"trial {number}"


def _param_value(value: Any, distribution: object) -> Any:
    """Return the value of a parameter: the choice that `value` is the index of, or the number itself.

    distribution: JSON such as {"name": "CategoricalDistribution", "attributes": {"choices": ["l2", "l1"]}}."""
    try:
        return parse(str(distribution).encode())["attributes"]["choices"][int(value)]
    except (FormatError, TypeError, KeyError, ValueError, IndexError, OverflowError):
        return value


def _operation(line: bytes) -> dict[str, Any] | None:
    try:
        operation = parse(line)
    except FormatError:
        return None
    return operation if isinstance(operation, dict) and type(operation.get("op_code")) is int else None


def _is_journal(name: str, head: bytes) -> bool:
    line = head.lstrip().partition(b"\n")[0]
    return line.startswith(b'{"op_code":') and b'"worker_id"' in line


def _shown_names(path: str) -> dict[str, str]:
    """Return the name of the metric in <journal or database>/<trial>/metrics, the same for all trials."""
    return {path.split("/")[-2]: "value"}


FORMATS = (
    Format(
        id="optuna-journal",
        title="Optuna journal",
        writers="Optuna 4 and 5",
        rank=31,
        matches=_is_journal,
        decoder=OptunaJournalDecoder,
        wants_name=lambda name: name.endswith((".log", ".jsonl", ".journal", ".txt")),
        shown_names=_shown_names,
    ),
    Format(
        id="optuna-sqlite",
        title="Optuna database",
        writers="Optuna 3 and 5",
        rank=45,
        matches=lambda name, head: _TABLE.search(head) is not None,
        decoder=OptunaStudyDecoder,
        wants_name=lambda name: name.endswith((".db", ".sqlite", ".sqlite3")),
        shown_names=_shown_names,
    ),
)
