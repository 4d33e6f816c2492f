"""Optuna's journal (JournalStorage, JournalFileBackend): one JSON object a line for each operation of any worker.

    {"op_code": 0, "worker_id": "…", "study_name": "digits", "directions": [2]}                   a study
    {"op_code": 4, "worker_id": "…", "study_id": 0, "datetime_start": "2026-11-22T19:21:07+00:00"}   a trial
    {"op_code": 5, "trial_id": 0, "param_name": "alpha", "param_value_internal": 0.06, "distribution": "{…}"}
    {"op_code": 7, "trial_id": 0, "step": 3, "intermediate_value": 0.9}
    {"op_code": 6, "trial_id": 0, "state": 1, "values": [0.92], "datetime_complete": "…"}

Ids count the operations that created studies and trials. A trial is a run: its parameters are the config, and its
intermediate values (or its value, if it has none) are the points of a metric with the name of the trial.
Source: optuna/storages/journal/_storage.py of Optuna 4 and 5.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from tuimon.errors import FormatError
from tuimon.formats import Format, JournalDecoder
from tuimon.formats._shared.json import parse
from tuimon.formats._shared.lines import LineSplitter, each_line
from tuimon.formats._shared.rows import number, seconds, trimmed
from tuimon.model.points import Damage, Fact, Item, PointsBuilder, Topic

_CREATE_STUDY, _CREATE_TRIAL, _SET_PARAM, _SET_STATE, _SET_INTERMEDIATE = 0, 4, 5, 6, 7
_STATES = ("RUNNING", "COMPLETE", "PRUNED", "FAIL", "WAITING")
_ENDS = {"COMPLETE": ("finished", "complete"), "PRUNED": ("pruned", "pruned"), "FAIL": ("crashed", "failed")}
_MAX_TRIALS = 100_000
_MAX_LOST = 1000
"""Trials that are assumed to have been created by operations that are lost."""


class _Trial:
    def __init__(self, name: str) -> None:
        self.name = name
        self.points = PointsBuilder()
        self.params: dict[str, Any] = {}
        self.has_values = False
        """Whether there are points, or some may be lost."""


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
        self._damaged = False

    def feed_runs(self, data: bytes) -> list[tuple[str, list[Item]]]:
        new: dict[str, list[Item]] = {}
        changed: dict[int, _Trial] = {}
        for part in each_line(self._lines.feed(data)):
            if isinstance(part, Damage):
                self._lose(part)
            elif operation := _operation(part[1]):
                self._apply(operation, new, changed)
            elif part[1].strip():
                self._lose(Damage(part[0], len(part[1]) + 1, "not an operation"))
        self._damage += self._lines.hole_at_end()
        for trial in changed.values():
            new[trial.name] += trial.points.take()
        self._damaged = self._damaged or bool(self._damage)
        if self._damage and self._trials:  # a run has to report it
            new.setdefault(self._trials[-1].name, []).extend(self._damage)
            self._damage = []
        return list(new.items())

    def _lose(self, damage: Damage) -> None:
        """Note damage: the lost operations may have been values of any trial."""
        self._damage.append(damage)
        for trial in self._trials[-_MAX_LOST:]:
            trial.has_values = True

    def _apply(self, operation: dict[str, Any], new: dict[str, list[Item]], changed: dict[int, _Trial]) -> None:
        code = operation["op_code"]
        if code == _CREATE_STUDY:
            self._studies.append(str(operation.get("study_name", "")))
            return
        if code == _CREATE_TRIAL:
            self._create(operation)
        identity = len(self._trials) - 1 if code == _CREATE_TRIAL else operation.get("trial_id")
        if type(identity) is not int or not 0 <= identity < _MAX_TRIALS:
            return
        if (self._damaged or self._damage) and len(self._studies) <= 1:
            while len(self._trials) <= identity < len(self._trials) + _MAX_LOST:
                self._create({})  # the operation that created it is lost
                self._trials[-1].has_values = True
        if identity >= len(self._trials):
            return
        trial = changed[identity] = self._trials[identity]
        items = new.setdefault(trial.name, [])
        if code == _SET_PARAM:
            self._set_param(trial, operation, items)
        elif code == _SET_INTERMEDIATE:
            step, value = operation.get("step"), number(operation.get("intermediate_value"), "")
            if type(step) is int and value is not None and -(2**63) <= step < 2**63:
                trial.points.add(trial.name, step, value)
                trial.has_values = True
        elif code == _SET_STATE:
            self._finish(trial, operation, items)

    def _create(self, operation: dict[str, Any]) -> None:
        if len(self._trials) >= _MAX_TRIALS:
            return
        study = operation.get("study_id")
        study = study if type(study) is int and 0 <= study < len(self._studies) else 0
        self._trials.append(_Trial(trial_name(self._counts[study], self._studies[study] if study else "")))
        self._counts[study] += 1

    def _set_param(self, trial: _Trial, operation: dict[str, Any], items: list[Item]) -> None:
        value = param_value(operation.get("param_value_internal"), operation.get("distribution"))
        trial.params = {**trial.params, str(operation.get("param_name")): trimmed(value)}
        items.append(Fact(Topic.CONFIG, trial.params))

    def _finish(self, trial: _Trial, operation: dict[str, Any], items: list[Item]) -> None:
        time = seconds(operation.get("datetime_complete"))
        values = operation.get("values")
        results = final_values(values if isinstance(values, list) else [], time)
        items += results
        if results and not trial.has_values:
            value = float(next(iter(results[0].value.values())))
            trial.points.add(trial.name, 0, value, float("nan") if time is None else time)
            trial.has_values = True
        state = operation.get("state")
        if type(state) is int and 0 <= state < len(_STATES):
            items += trial_state(_STATES[state], time)


def trial_name(number: int, study: str) -> str:
    """Return the name of a trial's run; `study` is empty for the first study of a file."""
    return f"{study} trial {number}" if study else f"trial {number}"


def param_value(value: Any, distribution: object) -> Any:
    """Return the value of a parameter: the choice that `value` is the index of, or the number itself.

    distribution: JSON such as {"name": "CategoricalDistribution", "attributes": {"choices": ["l2", "l1"]}}."""
    try:
        return parse(str(distribution).encode())["attributes"]["choices"][int(value)]
    except (FormatError, TypeError, KeyError, ValueError, IndexError, OverflowError):
        return value


def final_values(values: Sequence[Any], time: float | None) -> list[Fact]:
    """Return the fact about the values of the objectives of a trial, if it has any."""
    values = [value for value in values if number(value, "") is not None]
    names = ["value"] if len(values) == 1 else [f"value {index}" for index in range(len(values))]
    return [Fact(Topic.FINAL_METRICS, dict(zip(names, values, strict=True)), wall_time=time)] if values else []


def trial_state(state: str, time: float | None) -> list[Fact]:
    """Return the fact about the end of a trial with this TrialState, if it has ended."""
    if state not in _ENDS:
        return []
    name, word = _ENDS[state]
    return [Fact(Topic.STATE, {"state": name, "evidence": f"Optuna: {word}"}, wall_time=time)]


def _operation(line: bytes) -> dict[str, Any] | None:
    try:
        operation = parse(line)
    except FormatError:
        return None
    return operation if isinstance(operation, dict) and type(operation.get("op_code")) is int else None


def matches(name: str, head: bytes) -> bool:
    line = head.lstrip().partition(b"\n")[0]
    return line.startswith(b'{"op_code":') and b'"worker_id"' in line


def shown_names(path: str) -> dict[str, str]:
    """Return the name of the metric in <journal or database>/<trial>/metrics, the same for all trials."""
    return {path.split("/")[-2]: "value"}


FORMAT = Format(
    id="optuna-journal",
    title="Optuna journal",
    writers="Optuna 4 and 5",
    rank=31,
    matches=matches,
    decoder=OptunaJournalDecoder,
    wants_name=lambda name: name.endswith((".log", ".jsonl", ".journal", ".txt")),
    shown_names=shown_names,
)
