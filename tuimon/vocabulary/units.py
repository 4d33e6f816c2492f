"""Units of metrics: by their names, of the values as logged, and as text.

named_unit("perf/max_memory_allocated_gb")     "GB"
named_unit("memory/max_active(GiB)")           "GiB"
named_unit("memory (MB)/allocated/0")          "MB"
spelled_unit("system/gpu_0_power_usage_watts") "W"
named_unit("mem_mb/peak")                      "MB"
time_unit("time/rollout_ms")                   "ms"
duration_unit("latency_us/p50")                "us"
duration_unit("loss_us")                       ""
without_time_unit("time/rollout_ms")           "time/rollout"
unit_as_logged("s", 0.001)                     "ms"
unit_text("pct")                               "%"

A value is shown with the unit that its log names, so that the number is the logged one. Frameworks that divide by
1024**3 and write "gb" are no exception. GiB is the unit of names without a unit, such as those of ROLL, only.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from tuimon import lazy_re as re

BYTES: Mapping[str, int] = {
    "B": 1, "kB": 1000, "KB": 1000, "MB": 1000**2, "GB": 1000**3, "TB": 1000**4,
    "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3, "TiB": 1024**4,
}  # fmt: skip
"""Unit of memory -> bytes."""
SECONDS: Mapping[str, float] = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
"""Unit of time -> seconds."""
DATE = "date"
"""Unit of values in seconds since the epoch."""
_TEXTS = {"1": "", "frac": "", "pct": "%", "count": "", DATE: ""}
_LOGGED = {("s", 1e-3): "ms", ("s", 60.0): "min", ("frac", 0.01): "pct"}
"""(unit, factor to it) -> unit of the logged values."""
_STATISTIC = (
    r"(?:[_/](?:mean|avg|average|median|max|min|std|sum|total|peak|last|current|p\d+|(?:gpu|rank|device)?_?\d+))?"
)
"""What may follow on a unit: a statistic, or the number of a device."""
_PART = r"(?:/(?!(?:.*[/_])?(?:num|n|count|counts|calls|ratio|frac|fraction|pct|percent|percentage|share)$).+)?"
"""Part of a name that may follow on a unit. It is measured in it, unlike a count or a fraction."""
_NAMED = re.compile(
    r"(?P<head>.*?)(?:[_\W](?P<any>[kmgt]i?b|(?<!per.)bytes)|(?<=[a-z])(?P<camel>[KMGT]i?B))[)\]]?"
    rf"(?:{_STATISTIC}|{_PART})",
    re.IGNORECASE | re.DOTALL,
)
_MEMORY = re.compile(
    r"(?<![a-z])(?:mem|memory|v?ram|(?:max|ave)?rss|vms|uss|pss|hbm|gpu|cuda|cpu|disk|swap|heap|cache|storage"
    r"|allocated|reserved)(?![a-z])",
    re.IGNORECASE,
)
"""Words of memory. Without one, "mb" is more likely a minibatch, and "gb" the language en_GB."""
_SPELLED = re.compile(
    r".*_(?:(?:utilization|usage|available)_(?P<pct>percentage)|(?P<W>watts)|(?P<MB>megabytes))", re.DOTALL
)
"""Names of MLflow's system metrics. A "percentage" of other quantities may be a fraction."""
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_TIME_UNITS = {
    "us": "us|usecs?|microsecs?|microseconds?",
    "ms": "ms|msecs?|millis|millisecs?|milliseconds?",
    "s": "s|secs?|seconds?",
    "min": "mins|minutes?",  # "min" is the minimum
    "h": "hrs|hours?",
}
_TIME_UNIT = "|".join(f"(?P<{unit}>{spellings})" for unit, spellings in _TIME_UNITS.items())
_TIMED = re.compile(
    r"(?P<head>.*[^\W_])(?<!per)(?:[_\s.-]+|[_\s]*[(\[]\s*|(?-i:(?<=[a-z])(?=[A-Z])))"
    rf"(?:{_TIME_UNIT})(?:\s*[)\]])?(?P<tail>{_STATISTIC})",
    re.IGNORECASE | re.DOTALL,
)
"""A name with a unit of time at its end, before a statistic."""
_TIMED_PART = re.compile(
    rf"(?P<head>(?:.*[^\W_])?(?<!per))[_.-](?:{_TIME_UNIT})(?P<tail>{_PART})", re.IGNORECASE | re.DOTALL
)
"""A name with a unit of time at the end of a segment: "timing_ms/gen", "train_step_ms/total"."""
_TIME_PER = re.compile(rf"(?:.*(?:[/.]|time_|_(?!s_|secs?_)))?(?:{_TIME_UNIT})_per_[a-z]+", re.IGNORECASE | re.DOTALL)
"""A name that ends in a time per something: "ms_per_step", "train/avg_ms_per_token"; "tokens_s_per_gpu" is a rate."""
_DURATION = re.compile(
    r"(?<![a-z])(?:tim(?:e|es|ing|ings|ers?)|(?:run|wall|step|iter)time|latency|latencies|durations?|elapsed|delays?"
    r"|wait(?:ing)?|overhead|ttft|tpot|itl|(?:micro)?step|iter(?:ation)?|epoch|fwd|bwd|forward|backward|allreduce"
    r"|sync|fetch)(?![a-z])",
    re.IGNORECASE,
)
"""Words of durations. Without one, "us" may be the country, "s" a student, and "ms" multi-scale."""
_WRITTEN_OUT = re.compile(r"(?:micro|milli)?sec(?:ond)?s|[mu]secs?|minutes", re.IGNORECASE)
"""Units that have no other meaning; "sec" is also the end of "tokens_sec"."""


@lru_cache(maxsize=65536)
def named_unit(name: str) -> str:
    """Return the unit of memory in the name of a metric; "" if there is none."""
    match = _NAMED.fullmatch(name)
    if match is None:
        return ""
    unit = match["any"] or match["camel"]
    if unit.lower() == "bytes":
        return "B"
    if not _MEMORY.search(_CAMEL.sub("_", match["head"])) or (match["camel"] and not unit[0].isupper()):
        return ""
    prefix = "k" if unit.lower() == "kb" else unit[0].upper()
    return f"{prefix}{'i' if len(unit) == 3 else ''}B"


def spelled_unit(name: str) -> str:
    """Return the unit that is spelled out at the end of the name of a metric; "" if there is none."""
    match = _SPELLED.fullmatch(name)
    return match.lastgroup or "" if match else ""


def time_unit(name: str) -> str:
    """Return the unit of time in the name of a metric of time; "" if there is none."""
    match = _timed(name) or _TIME_PER.fullmatch(name)
    return next(unit for unit in SECONDS if match[unit]) if match else ""


def duration_unit(name: str) -> str:
    """Return the unit of time in the name of any metric; "" if there is none, or if it may mean something else."""
    if match := _TIME_PER.fullmatch(name):
        return time_unit(name)
    if (match := _timed(name)) is None:
        return ""
    unit = time_unit(name)
    certain = _WRITTEN_OUT.fullmatch(match[unit]) or _DURATION.search(_CAMEL.sub("_", match["head"]))
    return unit if certain else ""


def without_time_unit(name: str) -> str:
    """Return the name of a metric without its unit of time."""
    match = _timed(name)
    return match["head"] + match["tail"] if match else name


def with_seconds(name: str) -> str:
    """Return the name of a metric with "_s" in place of its unit of time."""
    match = _timed(name)
    return f"{match['head']}_s{match['tail']}" if match else name


@lru_cache(maxsize=65536)
def _timed(name: str) -> re.Match[str] | None:
    return _TIMED.fullmatch(name) or _TIMED_PART.fullmatch(name)


def unit_as_logged(unit: str, scale: float) -> str:
    """Return the unit of logged values that are in `unit` after a multiplication by `scale`; "1" if it is unknown."""
    return unit if scale == 1.0 else _LOGGED.get((unit, scale), "1")


def unit_text(unit: str) -> str:
    """Return a unit of the vocabulary as it is written after a number; "" for plain numbers and fractions."""
    return _TEXTS.get(unit, unit)
