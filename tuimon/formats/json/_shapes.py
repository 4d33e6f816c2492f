"""Shapes of JSON documents that hold metrics, as sections of rows.

    rows                     [{"step": 1, "loss": 0.5}, …]                     also below a key: {"history": […]}
    columns                  {"loss": [0.5, 0.4], "val_loss": [0.6, 0.5]}      with or without a list of steps
    rows keyed by step       {"1": {"loss": 0.5}, "2": {…}}, {"epoch_1": {…}}
    pairs                    {"loss": [[5, 0.5], [10, 0.4], …]}                step and value
    one series               [4.7, 3.9, …]; [[wall time, step, value], …] (a download of TensorBoard)
    a pandas data frame      {"loss": {"0": 0.5, "1": 0.4}, …}, {"columns": ["loss"], "index": […], "data": [[0.5], …]}
    long rows                [{"key": "loss", "value": 0.5, "step": 1, "timestamp": …}, …] (MLflow's REST API)
    series of one mapping    {"loss": {"steps": […], "values": […], "timestamps": […]}} (Sacred)
    values named by "meta"   {"meta": {…}, "iterations": [{"iteration": 0, "learn": […], "test": […]}]} (CatBoost)

A metric below a key is named <key>/<metric>. Columns without a list of steps are counted from 0; they are those of
epochs if a metric has as many values as its "val_" twin (Keras' History.history). A list of steps
belongs to the columns of its length; of several, the one whose name shares a prefix with the column, then the first of
AXES.
Source: files that the named programs wrote, and logs of public repositories.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

from tuimon import lazy_re as re
from tuimon.formats._shared.long_form import MLFLOW
from tuimon.formats._shared.rows import flatten, has_step, looks_like_metrics, step_of
from tuimon.formats.json._whole_values import LISTS, LargeList

Row: TypeAlias = dict[str, Any]

AXES = ("step", "global_step", "iteration", "iter", "timestep", "update", "epoch", "episode", "round", "generation")
"""Names of lists that hold steps, in order of preference; also in the plural and after a prefix ("eval_steps")."""
_AXIS = re.compile(rf"(?:(?P<prefix>.*)[_ /.-])?(?P<axis>{'|'.join(AXES)})s?", re.IGNORECASE)
_KEYED = re.compile(r"(?:(?:step|iteration|iter|epoch|episode|round|generation)[_ -]?)?(\d{1,15})", re.IGNORECASE)
_METRIC = re.compile(
    r"loss|acc|reward|return|score|error|perplexity|ppl|bleu|rouge|f1|auc|precision|recall|iou|dice|psnr|ssim|wer|cer|"
    r"mae|mse|rmse|entropy|\bkl\b|learning_rate|\blr\b|grad",
    re.IGNORECASE,
)
MAX_DEPTH = 4
_EXAMINED = 3
"""Rows of which one must look like a row of metrics."""
_MIN_COLUMN = 2


def sections_of(document: Any, strict: bool = False) -> dict[str, Sequence[Any]]:
    """Return the rows of a document by the prefix of their metrics' names; empty if it has no metrics.

    strict: a list of objects only counts as rows if one of the first looks like a row of metrics, not if its first
    element merely has a step. For documents of unknown origin.
    """
    if isinstance(document, LISTS):
        if not strict and all(isinstance(row, dict) for row in document[:1]):
            return {"": _rows_of_objects(document)}
        rows = _rows_of_list(document, strict)
        return {"": rows} if rows else {}
    return dict(_sections(document, "", 0, strict)) if isinstance(document, dict) else {}


def holds_metrics(document: Any) -> bool:
    """Return True if a document, or its beginning, has a shape of this module and at least one value."""
    return any(sections_of(document, strict=True).values())


def step_unit(sections: Mapping[str, Sequence[Any]]) -> str:
    """Return "epoch" if all rows count epochs and nothing else, otherwise "step"; "" if a section has no row yet."""
    if not all(map(len, sections.values())):
        return ""
    return "epoch" if all(_counts_epochs(row) for rows in sections.values() for row in rows[:_EXAMINED]) else "step"


def _counts_epochs(row: Any) -> bool:
    return isinstance(row, dict) and type(row.get("epoch")) is int and not has_step({**row, "epoch": None})


def is_axis(name: str) -> bool:
    """Return whether a list of this name holds the steps of others."""
    return _AXIS.fullmatch(name) is not None


def is_column(values: Sequence[Any]) -> bool:
    """Return whether a list may be the values of a metric: at least two numbers or nulls."""
    return len(values) >= _MIN_COLUMN and all(map(_is_number_or_null, values))


def _sections(mapping: Mapping[str, Any], prefix: str, depth: int, strict: bool) -> Iterator[tuple[str, Sequence[Any]]]:
    if (iterations := _catboost_rows(mapping)) is not None:
        yield prefix, iterations
        return
    if series := _sacred_series(mapping):
        yield from ((prefix + name, rows) for name, rows in series.items())
        return
    if keyed := _keyed_rows(mapping):
        yield prefix, keyed
        return
    if frame := _frame(mapping):
        yield prefix, _column_rows(frame)
        return
    if columns := _column_rows(mapping):
        yield prefix, columns
    for key, value in mapping.items():
        if isinstance(value, LISTS) and (not value or isinstance(value[0], dict)):
            if not value or (rows := _rows_of_list(value, strict)):
                yield f"{prefix}{key}/", rows if value else value
        elif depth == 0 and _METRIC.search(key) and (pairs := _pair_rows(value)):
            yield prefix + key, pairs
        elif isinstance(value, dict) and depth < MAX_DEPTH:
            yield from _sections(value, f"{prefix}{key}/", depth + 1, strict)


def _rows_of_list(values: Sequence[Any], strict: bool) -> Sequence[Any]:
    """Return the rows of a list of rows, of numbers, or of TensorBoard's triples; [] for another list."""
    first = values[0] if values else None
    if isinstance(first, dict):
        known = any(_is_row(row) for row in values[:_EXAMINED]) or (not strict and has_step(first))
        return _rows_of_objects(values) if known else []
    if isinstance(first, list):
        triples = [value for value in values if isinstance(value, list) and len(value) == 3]
        if len(triples) == len(values) and all(_is_number(part) for part in first) and step_of(first[1]):
            return [{"wall_time": time, "step": step, "": value} for time, step, value in triples]
        return []
    if is_column(values):
        return [{"step": step, "": value} for step, value in enumerate(values)]
    return []


def _rows_of_objects(values: Sequence[Any]) -> Sequence[Any]:
    """Return a list of objects itself, not a copy, unless its steps or names have to be converted."""
    if values and {"key", "value", "step"} <= values[0].keys():
        return _mapped(MLFLOW.row, values)
    return _with_whole_epochs(values)


def _mapped(convert: Callable[[Row], Row], rows: Sequence[Any]) -> Sequence[Any]:
    """Convert the elements that are objects. Those of a large list are converted when they are read."""
    if isinstance(rows, LargeList):
        return rows.map(lambda row: convert(row) if isinstance(row, dict) else row)
    return [convert(row) if isinstance(row, dict) else row for row in rows]


def _pair_rows(values: Any) -> list[Row]:
    """Return the rows of a list of (step, value), at least three, with ascending steps; [] for another list."""
    if not isinstance(values, list) or len(values) <= _MIN_COLUMN:
        return []
    if not all(isinstance(pair, list) and len(pair) == 2 and all(map(_is_number, pair)) for pair in values):
        return []
    return [{"step": int(step), "": value} for step, value in values] if _are_steps([p[0] for p in values]) else []


def _is_row(row: Any) -> bool:
    return looks_like_metrics(row) and has_step(flatten(row))


def _with_whole_epochs(rows: Sequence[Any]) -> Sequence[Any]:
    """Make "epoch" the step of rows that have no other step, if all epochs are whole numbers (also 1.0, 2.0)."""
    epoch = next((key for key in rows[0] if key.lower() == "epoch"), "") if rows else ""
    for row in rows:
        if not isinstance(row, dict) or type(row.get(epoch)) not in (int, float) or not step_of(row[epoch]):
            return rows
        if has_step({key: value for key, value in row.items() if key != epoch}):
            return rows
    return _mapped(lambda row: {**row, epoch: int(row[epoch])}, rows)


def _keyed_rows(mapping: Mapping[str, Any]) -> list[Row]:
    """Return the rows of an object whose keys are steps and whose values are rows.

    A log has its steps in ascending order, or in that of their texts (sort_keys): prompts by their number are no log.
    """
    if len(mapping) < _MIN_COLUMN:
        return []
    rows: list[Row] = []
    for key, value in mapping.items():
        match = _KEYED.fullmatch(key)
        if match is None or not isinstance(value, dict) or not looks_like_metrics(value):
            return []
        rows.append({"step": int(match[1]), **{name: part for name, part in value.items() if name != "step"}})
    ordered = sorted(rows, key=lambda row: int(row["step"]))
    return ordered if rows == ordered or list(mapping) == sorted(mapping) else []


def _sacred_series(mapping: Mapping[str, Any]) -> dict[str, list[Row]]:
    """Return the rows of each series of an object that only holds series with steps, values and perhaps times."""
    series = {}
    for name, value in mapping.items():
        if not isinstance(value, dict) or not isinstance(value.get("steps"), list):
            return {}
        steps, values = value["steps"], value.get("values")
        if not isinstance(values, list):
            return {}
        times = value.get("timestamps")
        if not isinstance(times, list) or len(times) != len(steps):
            times = [None] * len(steps)
        parts = zip(steps, values, times, strict=False)
        series[name] = [{"step": step, "timestamp": _utc(time), "": part} for step, part, time in parts]
    return series


def _utc(time: Any) -> Any:
    """Return an ISO time of Sacred, which is in UTC and does not say so, with its time zone."""
    return (
        f"{time}+00:00" if isinstance(time, str) and "T" in time and not re.search(r"[Z+]|-\d\d:\d\d$", time) else time
    )


def _catboost_rows(mapping: Mapping[str, Any]) -> Sequence[Any] | None:
    """Return the rows of catboost_training.json, whose lists of values are named by "meta"; None for another object."""
    meta, iterations = mapping.get("meta"), mapping.get("iterations")
    if not isinstance(meta, dict) or not isinstance(iterations, LISTS) or "learn_metrics" not in meta:
        return None
    names = {kind: [_name(entry) for entry in meta.get(f"{kind}_metrics") or ()] for kind in ("learn", "test")}
    sets = {name: names[kind] for kind in ("learn", "test") for name in meta.get(f"{kind}_sets") or ()}

    def named(entry: Row) -> Row:
        row: Row = {key: value for key, value in entry.items() if not isinstance(value, list)}
        for name, metrics in sets.items():
            values = entry.get(name)
            if isinstance(values, list):
                row |= {f"{name}/{metric}": value for metric, value in zip(metrics, values, strict=False)}
        return row

    return _mapped(named, iterations)


def _name(entry: Any) -> str:
    return str(entry.get("name")) if isinstance(entry, dict) else str(entry)


def _column_rows(mapping: Mapping[str, Any]) -> list[Row]:
    """Return the columns of an object (lists of numbers) as rows by step.

    Needs two columns of one length (at least two values), or one that is named like a metric.
    """
    columns = {key: value for key, value in mapping.items() if isinstance(value, list) and is_column(value)}
    lengths = [len(column) for column in columns.values()]
    if not any(_METRIC.search(name) for name in columns):
        others = any(map(_is_number, mapping.values()))
        if all(lengths.count(length) < 2 for length in lengths) or (others and max(lengths) == _MIN_COLUMN):
            return []  # a statistic: {"n": 66, "min": 0.1, "first": [2, 0.5], "last": [120, 0.1]}
    axes = {name: match for name in columns if (match := _AXIS.fullmatch(name)) and _are_steps(columns[name])}
    chosen = {name: _axis_of(name, columns, axes) for name in columns if name not in axes}
    used = {axis for axis in chosen.values() if axis}
    for name in axes.keys() - used:
        chosen[name] = _axis_of(name, columns, {axis: axes[axis] for axis in used})
    if not chosen:
        return []
    names = {axes[axis]["axis"].lower() for axis in used} if used else {"epoch"} & {_counted_in(columns)}
    unit = "epoch" if names == {"epoch"} and not has_step(dict.fromkeys(columns.keys() - used, 0)) else "step"
    rows: dict[int, Row] = {}
    for name in columns:
        if name in used:
            continue
        axis = chosen[name]
        steps = map(int, columns[axis]) if axis else range(len(columns[name]))
        for step, value in zip(steps, columns[name], strict=True):
            rows.setdefault(step, {unit: step})[name] = value
    return [rows[step] for step in sorted(rows)]


def _counted_in(columns: Mapping[str, Sequence[Any]]) -> str:
    """Return "epoch" for columns of one length that have "loss" and "val_loss"; otherwise "step"."""
    have_twins = any(f"val_{name}" in columns for name in columns)
    return "epoch" if have_twins and len(set(map(len, columns.values()))) == 1 else "step"


def _frame(mapping: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the columns of a pandas data frame as to_json() writes it, by column or split; {} for another object."""
    names, data = mapping.get("columns"), mapping.get("data")
    if isinstance(names, list) and isinstance(data, list):
        whole = all(isinstance(row, list) and len(row) == len(names) for row in data)
        return {str(name): [row[column] for row in data] for column, name in enumerate(names)} if whole else {}
    first = next(iter(mapping.values()), None)
    if not isinstance(first, dict) or len(first) < _MIN_COLUMN or not _are_counted(first):
        return {}
    for column in mapping.values():
        if not isinstance(column, dict) or column.keys() != first.keys():
            return {}
        if not all(value is None or isinstance(value, str | int | float) for value in column.values()):
            return {}
    return {name: list(column.values()) for name, column in mapping.items()}


def _are_counted(keys: Iterable[str]) -> bool:
    """Return True for "0", "1", "2", …"""
    return all(key == str(number) for number, key in enumerate(keys))


def _axis_of(name: str, columns: Mapping[str, Sequence[Any]], axes: Mapping[str, re.Match[str]]) -> str:
    """Return the name of the column that holds the steps of a column, or ""."""
    fitting = [axis for axis in axes if len(columns[axis]) == len(columns[name])]

    def preference(axis: str) -> tuple[bool, int]:
        prefix = axes[axis]["prefix"]
        return not (prefix and name.startswith(prefix)), AXES.index(axes[axis]["axis"].lower())

    return min(fitting, key=preference, default="")


def _are_steps(column: Sequence[Any]) -> bool:
    """Return True for ascending whole numbers."""
    whole = all(type(value) is int or (type(value) is float and value.is_integer()) for value in column)
    return whole and all(before < after for before, after in pairwise(column))


def _is_number(value: Any) -> bool:
    return type(value) is float or type(value) is int


def _is_number_or_null(value: Any) -> bool:
    return value is None or _is_number(value) or value in ("NaN", "Infinity", "-Infinity")
