"""What a row of metrics (a JSON object) says: which key is the step, which the time, what is a number.

A row is one call of a logger: {"step": 3, "loss": 0.5, "reward": {"mean": 0.1}, "timestamp": 1795226051.0}.

- Nested objects are flattened with "/"; {"step": …, "data" | "metrics": {…}} is unwrapped; an object under "config"
  is a Fact. Keys are kept as written.
- The step is the first of STEP_KEYS that holds an integer ("5/3766" tells the total too; an epoch like 1.0 is a
  fraction that happens to be whole, and no step). A row without one has the
  step of the row before it, and in a log without any step its number among the rows that gave points, from 0.
  The key that was used is no metric itself, unless it is a tag of its own ("time/total_timesteps").
- The time is the first of TIME_KEYS that holds a time: seconds, ms, µs or ns since the epoch, or ISO 8601.
- Numbers are points, and strings that are wholly numbers ("0.5", "NaN", "-Infinity": Hugging Face from 5.0, Trackio,
  SwanLab), unless the key says that it is a name ("run_id", "version", "date"). true, false and null are no points,
  neither are lists and other text.
- Rows that are samples are left alone: those with a prompt, a completion … (SAMPLE_KEYS), and without a step those
  with a long text or a list of objects. In a row with a step these are passed over: trainers put a note, a command
  line, the sample of the step beside the numbers. A file is a log of metrics only if such rows have many numbers.
  A row with a step and many numbers beside its prompt, its completion … is one of metrics, too.

The lists of keys are those of the trainers named in the modules of this package.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, TypeAlias

Row: TypeAlias = dict[str, Any]

STEP_KEYS = (
    "step", "global_step", "_step", "current_steps", "train/global_step", "trainer/global_step", "training/global_step",
    "system/global_step", "system/step", "iteration", "iter", "training_iteration", "time/total_timesteps",
    "rollout/step", "train/step", "global_step/max_steps", "epoch",
)  # fmt: skip
TIME_KEYS = ("_timestamp", "timestamp", "time", "create_time", "wall_time", "date")
TOTAL_KEYS = ("total_steps", "max_steps")
WRAPPERS = ("data", "metrics")
SAMPLE_KEYS = frozenset((
    "input", "output", "prompt", "prompts", "completion", "completions", "messages", "content", "conversations",
    "question", "answer", "response", "responses", "instruction", "text", "query", "chosen", "rejected", "trajectory",
    "problem", "solution", "input_ids", "log_history", "generation", "generations", "conversation", "turns", "rollout",
    "rollouts", "gts", "ground_truth", "token_ids", "prompt_ids", "response_ids", "output_ids",
))  # fmt: skip
LONG_TEXT = 200
"""Characters; a longer string is a text that somebody should read."""
NUMBERS_BESIDE = 4
"""A row with a text to read is one of metrics if it has a step and so many numbers for each such text."""

_MAX_DEPTH = 16
_NUMBER = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|nan|inf|infinity)", re.IGNORECASE | re.ASCII)
_INTEGER = re.compile(r"(\d{1,18})(?:/(\d{1,18}))?", re.ASCII)
_NAME = re.compile(
    r"(?:^|[/_.-])(?:id|uid|uuid|name|version|commit|hash|sha|date|host|hostname|ip|node|path|file|tag|type|mode|"
    r"status|label)$",
    re.IGNORECASE,
)


def number(value: Any, key: str) -> float | None:
    """The point that a value of a row is; None when it is none."""
    kind = type(value)
    if kind is float or kind is int:
        return float(value)
    if kind is str and len(value) <= 40 and _NUMBER.fullmatch(value) and not _NAME.search(key):
        return float(value)
    return None


def step_of(value: Any) -> tuple[int, int | None] | None:
    """(step, total or None) of an integer, a float without a fraction, "12" or "5/3766"; None for anything else."""
    kind = type(value)
    if kind is int or (kind is float and value.is_integer()):
        return (int(value), None) if -(2**63) <= value < 2**63 else None
    if kind is str and (found := _INTEGER.fullmatch(value)):
        return int(found[1]), int(found[2]) if found[2] else None
    return None


def seconds(value: Any) -> float | None:
    """Seconds since the epoch of a time stamp; None for what is none, as a duration (any number below 10⁹)."""
    kind = type(value)
    if kind is float or kind is int:
        if not 1e9 < value < 1e20:
            return None
        return float(value) / (1.0 if value < 1e11 else 1e3 if value < 1e14 else 1e6 if value < 1e17 else 1e9)
    if kind is str and 10 < len(value) <= 40 and value[4:5] == "-":
        try:
            return datetime.fromisoformat(value).timestamp()
        except (ValueError, OverflowError, OSError):
            return None
    return None


def is_sample(key: str, value: Any) -> bool:
    """Does this entry say that its row holds text or tokens, not metrics?"""
    return key in SAMPLE_KEYS and type(value) in (str, list)


def is_text(value: Any) -> bool:
    """Is it something to read: does its row hold text, if it has no step?"""
    kind = type(value)
    return (kind is str and len(value) > LONG_TEXT) or (kind is list and bool(value) and type(value[0]) is dict)


def flatten(row: Row) -> Row:
    """The row with its nested objects joined by "/" (dropped below a depth of 16), wrappers and "config" taken off."""
    flat: Row = {}
    inside: Row = {}
    wrapped = any(key in row for key in STEP_KEYS)
    for key, value in row.items():
        if type(value) is not dict:
            flat[key] = value
        elif wrapped and key in WRAPPERS:
            _join(inside, "", value, 1)
        elif key != "config":
            _join(flat, f"{key}/", value, 1)
    return inside | flat


def _join(flat: Row, prefix: str, inner: Row, depth: int) -> None:
    for key, value in inner.items():
        if type(value) is not dict:
            flat[prefix + key] = value
        elif depth < _MAX_DEPTH:
            _join(flat, f"{prefix}{key}/", value, depth + 1)


def looks_like_metrics(row: Any) -> bool:
    """Is this the row of a metrics log? It has a number beside its step and time, nothing that says sample, and, where
    it has no step, more numbers than anything else."""
    if not isinstance(row, dict):
        return False
    flat = flatten(row)
    values = {key: value for key, value in flat.items() if key not in STEP_KEYS and key not in TIME_KEYS}
    numbers = sum(number(value, key) is not None for key, value in values.items())
    texts = sum(is_sample(key, value) or is_text(value) for key, value in values.items())
    if texts:
        return has_step(flat) and numbers >= NUMBERS_BESIDE * texts
    return numbers > 0 and (has_step(flat) or 2 * numbers >= len(values))


def has_step(row: Row) -> bool:
    return any(step_of(row[key]) is not None or type(row[key]) is float for key in STEP_KEYS if key in row)


def same(one: Any, other: Any) -> bool:
    """Are these JSON values equal, NaN to NaN?"""
    try:
        return bool(one == other) or repr(one) == repr(other)
    except RecursionError:
        return False


def trimmed(value: Any, depth: int = 32) -> Any:
    """A JSON value of bounded depth, for facts: what reads them need not fear nesting. What lies deeper is "…"."""
    if type(value) is dict:
        return {key: trimmed(inner, depth - 1) for key, inner in value.items()} if depth else "…"
    if type(value) is list:
        return [trimmed(inner, depth - 1) for inner in value] if depth else "…"
    return value
