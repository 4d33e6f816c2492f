"""The generic recogniser: a row of any trainer as a Sample, by the names of its keys."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from tuimon import lazy_re as re
from tuimon.compiled_toml import load_toml
from tuimon.samples import Sample
from tuimon.samples.media import pictures_of
from tuimon.samples.messages import (
    conversation,
    gaps_of,
    is_turn,
    prompt_of_turns,
    prompt_text,
    response_text,
    traces_of,
)
from tuimon.samples.named_in_path import split_of_path, step_of_path

_UID = re.compile(r"(.+)_\d+_\d+", re.DOTALL)
"""Group, session and index, as in verl's agent loop."""
_DEPTH = 4
_LETTERS = {"C": 1.0, "I": 0.0}
Value = TypeVar("Value")


@cache
def known(field: str) -> Sequence[str]:
    """Return the names of a field: known("reference") -> ["gts", "ground_truth", …]."""
    names: dict[str, list[str]] = load_toml(Path(__file__).with_name("fields.toml"))
    return names[field]


@cache
def _no_parts() -> frozenset[str]:
    """Return the names of numbers that are no parts of the reward."""
    fields = ("total", "step", "group", "length", "advantage", "other")
    return frozenset(name for field in fields for name in known(field))


def sample_of(row: dict[str, Any], path: str, below: str) -> Sample | None:
    """Return the sample in a row of the file at `path`, `below` relative to the given directory, or None."""
    flat = _flat(row)
    response_key = next((key for key in known("response") if response_text(flat.get(key))), None)
    if response_key is None:  # a policy may emit its end token at once
        response_key = next((key for key in known("response") if flat.get(key) == ""), None)
    if response_key is None:
        return None
    traces = traces_of(row)
    response = "\n\n".join(response_text(trace["nodes"]) for _, trace in traces) or response_text(flat[response_key])
    prompt = _first(flat, "prompt", prompt_text)
    if prompt is None:
        prompt = _first(flat, "response", prompt_of_turns)
    reference = _first(flat, "reference", lambda value: value)
    columns = _column_parts(row, response_key)
    has_reward, reward = _reward(row, flat, columns)
    if reference is None and not has_reward and not _has_number(flat):
        return None
    if prompt is None and reference is None and not has_reward:
        return None
    if not response and (prompt is None or not has_reward):
        return None
    step = _first(flat, "step", _whole)
    length = _first(flat, "length", _whole)
    if length is None and (total := _whole(flat.get("seqlen"))) is not None:
        length = total - (_whole(flat.get("prompt_len")) or 0)
    turns = conversation(flat)
    return Sample(
        source=path,
        step=step_of_path(below) if step is None else step,
        split=split_of_path(below),
        group=_group(row, flat, prompt),
        reward=reward,
        response=response,
        prompt=prompt,
        reference=reference,
        components=_agent_rewards(traces) | _named_parts(row) | (columns or _other_numbers(row)),
        length=len(response) if length is None else length,
        length_unit="chars" if length is None else "tokens",
        truncated=_truncated(flat),
        advantage=_first(flat, "advantage", _first_number),
        error=_error(row, flat),
        turns=turns,
        note="" if turns else next(iter(gaps_of(row)), ""),
        pictures=pictures_of(row, path),
    )


def _first(flat: dict[str, Any], field: str, convert: Callable[[Any], Value | None]) -> Value | None:
    """Return the first value of a field that `convert` does not return None for."""
    values = (convert(flat.get(key)) for key in known(field))
    return next((value for value in values if value is not None), None)


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """Return the values of nested objects by key; of equal keys, the one closest to the root."""
    flat: dict[str, Any] = {}
    level: list[dict[str, Any]] = [row]
    for _ in range(_DEPTH):
        inner: list[dict[str, Any]] = []
        for part in level:
            for key, value in part.items():
                flat.setdefault(key.lower(), value)
                if isinstance(value, dict):
                    inner.append(value)
                elif isinstance(value, list) and value and isinstance(value[0], dict) and not is_turn(value[0]):
                    inner.append(value[0])
        level = inner
    return flat


def _error(row: dict[str, Any], flat: dict[str, Any]) -> str:
    value = flat.get("error") or flat.get("errors")
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, dict):
        value = value.get("message") or value.get("type") or "error"
    status = flat.get("status")
    if not value and str(status).lower() in ("failed", "aborted", "error"):
        value = status
    return value if isinstance(value, str) else "not ok" if row.get("ok") is False else ""


def _other_numbers(row: dict[str, Any]) -> dict[str, float]:
    """Return the numbers and truth values at the top level whose names have no other meaning here."""
    return {
        key: float(value)
        for key, value in row.items()
        if isinstance(value, (bool, float)) and key.lower() not in _no_parts() and not key.startswith("_")
    }


def _column_parts(row: dict[str, Any], response_key: str) -> dict[str, float]:
    """Return the columns of reward functions: those between the response and the advantage (TRL, ms-swift)."""
    keys = [key.lower() for key in row]
    end = next((keys.index(key) for key in known("advantage") if key in keys), 0)
    if response_key not in keys:
        return {}
    columns = list(row.items())[keys.index(response_key) + 1 : end]
    return {key: value for key, value in columns if isinstance(value, float) and key.lower() not in known("total")}


def _named_parts(row: dict[str, Any]) -> dict[str, float]:
    """Return the numbers of the objects that hold parts of the reward."""
    parts: dict[str, float] = {}
    for key in ("metrics", "trajectory_metrics", "rewards", "reward_extra_info"):
        if isinstance(value := row.get(key), dict):
            parts |= {name: number for name, part in value.items() if (number := _number(part)) is not None}
    return parts


def _reward(row: dict[str, Any], flat: dict[str, Any], columns: dict[str, float]) -> tuple[bool, float | None]:
    """Return (whether the row has a reward, the reward)."""
    traces = row.get("traces")
    rewards = [trace["rewards"] for trace in traces or () if "rewards" in trace] if _are_objects(traces) else []
    if rewards:
        return True, _sum(map(_total, rewards))
    for key in known("total"):
        if key in flat:
            return True, _total(flat[key])
    if columns:
        return True, _sum(value for value in columns.values() if math.isfinite(value))
    for key in known("correctness"):
        if key in flat:
            return True, _total(flat[key])
    names = row.get("metrics")
    if isinstance(names, list):
        for name in names:
            if isinstance(name, str) and name in row:
                return True, _number(row[name])
    return False, None


def _sum(values: Iterable[float | None]) -> float | None:
    """Return the sum of the values that are known; None without any."""
    known_values = [value for value in values if value is not None]
    return sum(known_values) if known_values else None


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(part, dict) for part in value)


def _agent_rewards(traces: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, float]:
    """Return the reward of each agent of an episode, by its name."""
    return {name: total for name, trace in traces if (total := _total(trace.get("rewards"))) is not None}


def _total(value: Any) -> float | None:
    if isinstance(value, list):
        return _sum(map(_number, value))
    if isinstance(value, dict):
        if "value" in value:
            return _number(value["value"])
        total = 0.0
        for part in value.values():
            if isinstance(part, dict) and "score" not in part and "value" not in part:
                continue
            weight = _number(part.get("weight", 1.0)) if isinstance(part, dict) else 1.0
            total += (_number(part) or 0.0) * (1.0 if weight is None else weight)
        return total if value else None
    return _number(value)


def _number(value: Any) -> float | None:
    if isinstance(value, dict):
        value = value.get("score", value.get("value"))
    if isinstance(value, str):
        if value in _LETTERS:
            return _LETTERS[value]
        try:
            return float(value)
        except ValueError:
            return None
    return float(value) if isinstance(value, (bool, int, float)) else None


def _first_number(value: Any) -> float | None:
    while isinstance(value, list) and value:
        value = next((part for part in value if part), value[0])
    return _number(value)


def _whole(value: Any) -> int | None:
    number = _number(value)
    return int(number) if number is not None and math.isfinite(number) and number == int(number) else None


def _has_number(flat: dict[str, Any]) -> bool:
    return any(isinstance(value, (int, float)) for value in flat.values())


def _group(row: dict[str, Any], flat: dict[str, Any], prompt: str | None) -> str:
    if isinstance(group := row.get("group"), dict) and "id" in group:
        return str(group["id"])
    for key in known("group"):
        if isinstance(flat.get(key), (str, int)):
            return str(flat[key])
    if isinstance(uid := flat.get("uid"), str):
        if match := _UID.fullmatch(uid):
            return match[1]
        if uid and "gts" in flat:  # a row of verl, whose algorithms group by this name
            return uid
    return prompt or ""


def _truncated(flat: dict[str, Any]) -> bool | None:
    for key in ("is_truncated", "truncated"):
        if isinstance(flat.get(key), bool):
            return bool(flat[key])
    for key in known("stopped"):
        if isinstance(reason := flat.get(key), str):
            return reason.lower() in ("length", "truncated") or reason.lower().startswith("max_")
    return None
