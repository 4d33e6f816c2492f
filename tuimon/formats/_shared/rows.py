"""Meaning of a row of metrics (a JSON object): which key is the step, which the time, which values are numbers.

A row is one call of a logger: {"step": 3, "loss": 0.5, "reward": {"mean": 0.1}, "timestamp": 1795226051.0}.

- Nested objects are flattened with "/"; {"step": …, "data" | "metrics": {…}} is unwrapped; an object under "config" is
  a Fact. Keys are kept as written.
- The step is the first of STEP_NAMES, in any case, that holds an integer ("5/3766" also has the total; an epoch like
  1.0 is a fraction that happens to be whole, and not a step). A row without a step has the step of the previous row;
  in a log without any step it is the row's number among the rows with points, from 0. The key is not a metric, unless
  it is a tag of its own ("time/total_timesteps").
  A step that begins again with each epoch is counted over all epochs (row_steps). A row that only names an epoch
  has the step of the row before it, if rows before it have two different steps; the epoch is a metric then.
- The time is the first of TIME_KEYS that holds a time: seconds, ms, µs or ns since the epoch, ISO 8601, or a date such
  as 2026/11/25 or 25.11.2026 with a time of day. Without any of them it is one of CLOCK_KEYS whose first value in the
  log is such a time.
- Points are numbers, and strings that are numbers ("0.5", "NaN", "-Infinity": Hugging Face from 5.0, Trackio, SwanLab;
  "1,234.5" with separated thousands) unless the key denotes a name ("run_id", "version", "date"). Booleans, null,
  longer lists and other text are not points. In JSON lines the elements of a list of at most MAX_ELEMENTS numbers, or
  objects of numbers, are metrics.
- Rows that are samples are ignored: rows with a prompt, a completion … (SAMPLE_KEYS), and rows without a step that hold
  a long text or a list of objects. A row of metrics may have a text beside its numbers, which is skipped: it has a step
  and a number that samples do not have (is_of_training), or many numbers for each text (NUMBERS_BESIDE).
- A row of the validation, by the value of one of STAGE_KEYS, has its stage before the names: "val/loss". Names that
  begin with a word of the validation are kept ("val_loss"), as are the step and the time.

The lists of keys are from the trainers named in the modules of tuimon.formats.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypeAlias

from tuimon import lazy_re as re

Row: TypeAlias = dict[str, Any]

STEP_KEYS = (
    "step", "global_step", "_step", "current_steps", "train/global_step", "trainer/global_step", "training/global_step",
    "system/global_step", "system/step", "iteration", "iter", "training_iteration", "time/total_timesteps",
    "rollout/step", "train/step", "global_step/max_steps", "epoch",
    "episode", "round", "generation",
)  # fmt: skip
_NUMBERS = ("step_num", "iter_num", "epoch_num")
_LOCAL = (
    "schritt schritte étape pas paso passo шаг 步 步数 ステップ イテレーション 스텝 iteración iteração итерация 迭代 "
    "epoche époque época эпоха 轮 轮次 エポック 에폭"
)
STEP_NAMES = (
    *("global_episode", "global_iteration", "global_round"),
    *(key for key in STEP_KEYS if key != "epoch"),
    *("steps", "global step", "iterations", "it", "total_timesteps", "timesteps_total", "total_steps", "timesteps"),
    *("total/steps", "total/timesteps", "misc/total_timesteps", "timestepssofar", "nupdates", "misc/nupdates"),
    *("timestep", "env_step", "env_steps", "update", "updates", "train_step", "global_epoch", "epoch", "epochs"),
    *("total/epochs", "total/episodes", "episodes", *_NUMBERS),
    *_LOCAL.split(),
)
"""Names of steps in any case, best first. In a document of any origin only STEP_KEYS show that it is a log."""
BATCH_KEYS = ("batch", "batch_idx", "batch_index")
"""Keys of the counter within an epoch in rows without any of STEP_KEYS but the epoch, if the first one is 0: then it is
not the size of a batch."""
TIME_KEYS = ("_timestamp", "timestamp", "time", "create_time", "wall_time", "date", "ts")
CLOCK_KEYS = ("t", "T", "tm", "when", "at", "clock", "unix", "unix_time", "unixtime", "epoch_time", "time_s", "time_ms",
    "timestamp_ms", "ts_ms", "datetime", "logged_at", "created_at")  # fmt: skip
"""Keys of the time if their values are times; otherwise metrics, such as a duration."""
TOTAL_KEYS = ("total_steps", "max_steps")
WRAPPERS = ("data", "metrics")
SAMPLE_KEYS = frozenset((
    "input", "output", "prompt", "prompts", "completion", "completions", "messages", "content", "conversations",
    "question", "answer", "response", "responses", "instruction", "text", "query", "chosen", "rejected", "trajectory",
    "problem", "solution", "input_ids", "log_history", "generation", "generations", "conversation", "turns", "rollout",
    "rollouts", "gts", "ground_truth", "token_ids", "prompt_ids", "response_ids", "output_ids",
))  # fmt: skip
LONG_TEXT = 200
"""Characters; a longer string is prose, not a value."""
NUMBERS_BESIDE = 4
"""A row with prose is a row of metrics if it has a step and this many numbers for each text."""
_OF_TRAINING = re.compile(r"(?:[\w./-]*[_./-])?(?:loss|lr|learning_rate|grad_norm)")
"""Pattern of the names of metrics that a sample does not have."""
STAGE_KEYS = ("mode", "phase", "split", "stage")
VALIDATION = ("val", "valid", "validation", "dev", "eval", "evaluation", "test")
"""Values of STAGE_KEYS in rows that are not of the training, in lower case."""
_OF_TRAINING_ONLY = ("lr", "learning_rate", "momentum")
"""Values of the training that a row of the validation may repeat."""

MAX_ELEMENTS = 16
"""A longer list is data, not metrics of the devices of a machine or of the groups of an optimizer."""
_STEP_KEYS = frozenset((*STEP_KEYS, *_NUMBERS))
_STEP_RANKS = {name: rank for rank, name in enumerate(STEP_NAMES)}
_MAX_DEPTH = 16
_NUMBER = re.compile(r"[+-]?(?:(?:\d++(?:\.\d*+)?|\.\d++)(?:e[+-]?\d++)?|nan|inf|infinity)", re.IGNORECASE | re.ASCII)
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:(?:,\d{3})+(?:\.\d+)?|(?:\.\d{3}){2,})", re.ASCII)
_OF_WINDOWS = re.compile(
    r"(?P<sign>-?)(?:nan\((?:ind|snan)\)|1\.#(?:(?P<infinity>INF)|QNAN|SNAN|IND)0*)", re.IGNORECASE
)
"""How C libraries of Windows print NaN and infinity."""
_LIKE_NUMBER = re.compile(r"[+-]?\.?\d[\d.,_']{0,30}\s?[A-Za-z%/]{0,10}", re.ASCII)
_DATE = re.compile(
    r"(?:(\d{4})[/.](\d\d?)[/.](\d\d?)|(\d\d?)\.(\d\d?)\.(\d{4})),?[ T](\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?)", re.ASCII
)
_OF_VALIDATION = re.compile(rf"(?:{'|'.join(VALIDATION)})[^a-z]", re.IGNORECASE)
_YEAR_2100 = 4102444800.0
_INTEGER = re.compile(r"(\d{1,18})(?:/(\d{1,18}))?", re.ASCII)
_NAME = re.compile(
    r"(?:^|[/_.-])(?:id|uid|uuid|name|version|commit|hash|sha|date|host|hostname|ip|node|path|file|tag|type|mode|"
    r"status|label)$",
    re.IGNORECASE,
)


def number(value: Any, key: str) -> float | None:
    """Return the value as a point, or None if it is not one."""
    kind = type(value)
    if kind is float or kind is int:
        return float(value)
    if kind is str and len(value) <= 40 and not _NAME.search(key):
        value = value.removesuffix("%").rstrip()
        if _NUMBER.fullmatch(value):
            return float(value)
        if _THOUSANDS.fullmatch(value):
            return float(value.replace("," if "," in value else ".", ""))
        if match := _OF_WINDOWS.fullmatch(value):
            return float(f"{match['sign']}{'inf' if match['infinity'] else 'nan'}")
    return None


def is_like_number(value: Any, key: str) -> bool:
    """Return whether a value that is no point looks like a number, perhaps with a unit: "31.2GiB"."""
    return type(value) is str and _LIKE_NUMBER.fullmatch(value) is not None and not _NAME.search(key)


def step_columns(names: Sequence[str]) -> list[int]:
    """Return the columns that may hold the step, best first: (loss, Epoch, step) -> [2, 1]."""
    ranks = {column: rank for column, name in enumerate(names) if (rank := _STEP_RANKS.get(name.lower())) is not None}
    return sorted(ranks, key=ranks.__getitem__)


def step_of(value: Any) -> tuple[int, int | None] | None:
    """Return (step, total or None) for an integer, a float without a fraction, "12" or "5/3766", else None."""
    kind = type(value)
    if kind is int or (kind is float and value.is_integer()):
        return (int(value), None) if -(2**63) < value < 2**63 else None  # −2⁶³ may be a smaller one, as a float
    if kind is str and (match := _INTEGER.fullmatch(value)):
        return int(match[1]), int(match[2]) if match[2] else None
    return None


def seconds(value: Any) -> float | None:
    """Convert a time stamp to seconds since the epoch; return None for other values, such as durations (numbers below
    10⁹)."""
    kind = type(value)
    if kind is float or kind is int:
        if not 1e9 < value < 1e20:
            return None
        return float(value) / (1.0 if value < 1e11 else 1e3 if value < 1e14 else 1e6 if value < 1e17 else 1e9)
    if kind is str and 10 < len(value) <= 40 and (moment := _iso(value)):
        try:
            return datetime.fromisoformat(moment).timestamp()
        except (ValueError, OverflowError, OSError):
            return None
    return None


def is_clock(value: Any) -> bool:
    """Return whether the value of one of CLOCK_KEYS is a time, from 2001 to 2100."""
    time = seconds(value)
    return time is not None and time < _YEAR_2100


def _iso(text: str) -> str:
    """Return a date and time of day in ISO 8601; "" for other text. 11/25/2026 is ambiguous and not read."""
    if text[4:5] == "-":
        return text
    if match := _DATE.fullmatch(text):
        year, month, day = match.group(1, 2, 3) if match[1] else match.group(6, 5, 4)
        return f"{year}-{month:0>2}-{day:0>2}T{match[7]}"
    return ""


def is_sample(key: str, value: Any) -> bool:
    """Return whether the entry shows that its row holds text or tokens, not metrics."""
    return key in SAMPLE_KEYS and type(value) in (str, list)


def is_text(value: Any) -> bool:
    """Return whether the value is prose or a list of objects, which makes a row without a step a sample."""
    kind = type(value)
    return (kind is str and len(value) > LONG_TEXT) or (kind is list and bool(value) and _holds_text(value[0]))


def _holds_text(element: Any) -> bool:
    """Return True for an object with a string, as a message has; the numbers of a batch are not a text."""
    return type(element) is dict and any(type(value) is str for value in element.values())


def is_of_training(key: str) -> bool:
    """Return whether a metric of this name is one of the training, which a sample does not have: "actor/loss"."""
    return _OF_TRAINING.fullmatch(key) is not None


def staged(row: Row) -> Row:
    """Return a row of the validation with its stage before the names of its metrics; other rows as they are.

    {"mode": "eval", "epoch": 3, "loss": 0.5} -> {"mode": "eval", "epoch": 3, "eval/loss": 0.5}

    - "iter" beside "epoch" counts the samples of the validation (MMDetection 2): both are removed, so that the row has
      the step of the row before it.
    """
    if not any(key in row for key in STAGE_KEYS):  # the usual row, at 0.2 us
        return row
    stage = next((row[key] for key in STAGE_KEYS if type(row.get(key)) is str), "")
    if stage.lower() not in VALIDATION:
        return row
    counts_samples = type(row.get("epoch")) is int and type(row.get("iter")) is int
    kept = {
        *STEP_KEYS,
        *STAGE_KEYS,
        *_OF_TRAINING_ONLY,
        *(key for key in TIME_KEYS if seconds(row.get(key)) is not None),
    }
    return {
        key if key in kept or _OF_VALIDATION.match(key) else f"{stage}/{key}": value
        for key, value in row.items()
        if not (counts_samples and key in ("epoch", "iter"))
    }


def flatten(row: Row) -> Row:
    """Join nested objects with "/" (dropping what is nested deeper than 16), and remove wrappers and "config"."""
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


def with_elements(row: Row) -> Row:
    """Return a flat row with the elements of its short lists as entries of their own: "gpu/0/util", "lr/1".

    Elements are numbers, or objects of numbers. A row without a step, which may be a sample, keeps its lists."""
    if not any(type(value) is list for value in row.values()) or not has_step(row):
        return row
    if any(is_sample(key, value) for key, value in row.items()):
        return row
    flat: Row = {}
    for key, value in row.items():
        if type(value) is list and 0 < len(value) <= MAX_ELEMENTS and all(map(_is_element, value)):
            elements = {str(index): element for index, element in enumerate(value)}
            _join(flat, f"{key}/", elements, 1)
        else:
            flat[key] = value
    return flat


def _is_element(value: Any) -> bool:
    kind = type(value)
    if kind is dict:
        return all(type(inner) is int or type(inner) is float for inner in value.values())
    return kind is int or kind is float


def _join(flat: Row, prefix: str, inner: Row, depth: int) -> None:
    for key, value in inner.items():
        if type(value) is not dict:
            flat[prefix + key] = value
        elif depth < _MAX_DEPTH:
            _join(flat, f"{prefix}{key}/", value, depth + 1)


def looks_like_metrics(row: Any) -> bool:
    """Return whether this is a row of a metrics log. It needs a number other than its step and time and no sign of a
    sample; without a step also at least as many numbers as other values."""
    if not isinstance(row, dict):
        return False
    flat = flatten(row)
    values = {key: value for key, value in flat.items() if key not in STEP_KEYS and key not in TIME_KEYS}
    numbers = sum(number(value, key) is not None for key, value in values.items())
    texts = sum(is_sample(key, value) or is_text(value) for key, value in values.items())
    if texts:
        of_training = any(is_of_training(key) and number(value, key) is not None for key, value in values.items())
        return has_step(flat) and (of_training or numbers >= NUMBERS_BESIDE * texts)
    return numbers > 0 and (has_step(flat) or 2 * numbers >= len(values))


def has_step(row: Row) -> bool:
    """Return whether the value of one of STEP_KEYS, in any case, may be a step."""
    return any(
        step_of(value) is not None or type(value) is float for key, value in row.items() if key.lower() in _STEP_KEYS
    )


def same(left: Any, right: Any) -> bool:
    """Return whether two JSON values are equal, with NaN equal to NaN."""
    try:
        return bool(left == right) or repr(left) == repr(right)
    except RecursionError:
        return False


def trimmed(value: Any, depth: int = 32) -> Any:
    """Limit the depth of a JSON value, so that users of facts need not handle deep nesting. Deeper values become
    "…"."""
    if type(value) is dict:
        return {key: trimmed(inner, depth - 1) for key, inner in value.items()} if depth else "…"
    if type(value) is list:
        return [trimmed(inner, depth - 1) for inner in value] if depth else "…"
    return value
