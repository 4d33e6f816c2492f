"""What a run has come to, as text for people and as JSON for programs.

The JSON is one object: {"schema": 1, "runs": [...], "alerts": [...], "notices": [...]}. A value that is not finite is
the string "NaN", "Infinity" or "-Infinity"; what is unknown is null. Times are seconds since the epoch or seconds.
Fields are only added within a schema number. Secrets in a config are hidden unless they are asked for.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import orjson

from tuimon.analysis.progress import ProgressReport, report
from tuimon.analysis.progress_inputs import progress_inputs
from tuimon.analysis.statistics import best, statistics
from tuimon.analysis.words import duration
from tuimon.draw.numbers import format_count, format_value
from tuimon.panels import all_panels
from tuimon.redact import redacted
from tuimon.store import Curve, Run, Snapshot
from tuimon.text import cell_width, clean, fit
from tuimon.vocabulary import Meaning, classify

SCHEMA = 1
_NAME_WIDTH = 44
_CONFIG_LINES = 40


@dataclass(frozen=True, slots=True)
class MetricSummary:
    """One metric in numbers."""

    name: str
    meaning: Meaning
    curve: Curve
    best: tuple[int, float] | None
    """(step, value) of the best finite value, where the metric has a good direction."""
    mean: float
    deviation: float

    @property
    def last(self) -> float:
        """The last value as logged, finite or not."""
        return float(self.curve.values[-1])


def metric_summaries(run: Run) -> tuple[MetricSummary, ...]:
    """Every metric of a run, the telling ones first."""
    found = []
    for name in run.metrics:
        meaning, curve = classify(name), run.curve(name)
        numbers = statistics(curve.values)
        better = {"up": "higher", "down": "lower"}.get(meaning.direction)
        top = best(curve.steps, curve.values, better) if better else None
        found.append(MetricSummary(name, meaning, curve, top, numbers.mean, numbers.deviation))
    return tuple(sorted(found, key=lambda m: (_place(m.meaning.concept), m.meaning.preference, m.name)))


@cache
def _places() -> dict[str, int]:
    """Concept -> where it stands on the screen."""
    shown = (concept for panel in all_panels() for concept in getattr(panel, "concepts", ()))
    return {concept: place for place, concept in enumerate(dict.fromkeys(shown))}


def _place(concept: str) -> int:
    return _places().get(concept, len(_places()))


def progress_of(run: Run, now: float) -> ProgressReport:
    """Where the run stands at `now`."""
    return report(progress_inputs(run), now)


# ---------------------------------------------------------------------- text


def as_text(snapshot: Snapshot, now: float, show_secrets: bool = False) -> Iterator[str]:
    """Lines for a person. All foreign text is cleaned."""
    for number, run in enumerate(snapshot.runs):
        if number:
            yield ""
        yield from _run_text(run, snapshot, now, show_secrets)
    for notice in snapshot.notices:
        if notice.level != "info":
            yield f"{notice.level}: {clean(notice.message)}" + (f" ({clean(notice.hint)})" if notice.hint else "")


def _run_text(run: Run, snapshot: Snapshot, now: float, show_secrets: bool) -> Iterator[str]:
    progress = progress_of(run, now)
    yield f"{clean(run.name)}  ({clean(run.path)})"
    yield f"  state       {progress.state}: {clean(progress.evidence)}"
    if progress.step is not None:
        of = f" of {progress.total}" if progress.total is not None else ""
        epoch = f", epoch {format_value(progress.epoch)}" if math.isfinite(progress.epoch) else ""
        yield f"  step        {progress.step}{of}{epoch}"
    if math.isfinite(progress.seconds_per_step):
        yield f"  pace        {duration(progress.seconds_per_step)} a step"
    if math.isfinite(progress.eta_seconds):
        ends = time.strftime("%Y-%m-%d %H:%M", time.localtime(progress.finish_time))
        yield f"  ends in     {duration(progress.eta_seconds)}, at {ends}"
    if math.isfinite(run.last_wall_time):
        last = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(run.last_wall_time))
        yield f"  last point  {last}"
    sources = list(dict.fromkeys(stream.found.source for stream in run.streams if stream.point_count))
    damaged = sum(stream.status.damaged for stream in run.streams if stream.status)
    lost = f"; {damaged} damaged records skipped" if damaged else ""
    yield (
        f"  logged      {format_count(run.point_count)} points of {len(run.metrics)} metrics "
        f"in {len(sources)} sources: {clean(', '.join(sources[:4]))}{' …' if len(sources) > 4 else ''}{lost}"
    )
    for alert in snapshot.alerts:
        if alert.run == run.id:
            yield f"  {alert.severity:<10}  {clean(alert.message)}"
    yield from _config_text(_open(run.config, show_secrets))
    for title, told in (("Best checkpoint", run.best_checkpoint), ("Final metrics", run.final_metrics)):
        if told:
            yield ""
            yield f"  {title}"
            for key, value in _open(told, show_secrets).items():
                yield f"    {clean(str(key)):<22} {_shown(value)}"
    yield ""
    head = f"{'points':>8}  {'step':>8}  {'last':>9}  {'best':>9} {'at step':>8}  {'mean':>9}  {'deviation':>9}"
    yield f"  {fit('Metrics', _NAME_WIDTH)}{head}"
    for metric in metric_summaries(run):
        top = metric.best
        yield (
            f"  {fit(clean(metric.name), _NAME_WIDTH, 'ends')}"
            f"{len(metric.curve):>8}  {int(metric.curve.steps[-1]):>8}  "
            f"{format_value(metric.last):>9}  {format_value(top[1]) if top else '':>9} {top[0] if top else '':>8}  "
            f"{format_value(metric.mean):>9}  {format_value(metric.deviation):>9}" + _odd(metric.curve)
        )


def _odd(curve: Curve) -> str:
    said = []
    if curve.nan_count:
        said.append(f"{curve.nan_count} NaN")
    if curve.infinity_count:
        said.append(f"{curve.infinity_count} infinite")
    if curve.superseded:
        said.append(f"{curve.superseded} superseded")
    return "  " + ", ".join(said) if said else ""


def _open(told: Mapping[str, Any], show_secrets: bool) -> Mapping[str, Any]:
    """What may be shown of it."""
    return told if show_secrets else redacted(told)


def _config_text(config: Mapping[str, Any]) -> Iterator[str]:
    settings = list(_flat(config))
    if not settings:
        return
    yield ""
    yield "  Configuration"
    for key, value in settings[:_CONFIG_LINES]:
        name = clean(key)
        yield f"    {name}{' ' * max(1, 23 - cell_width(name))}{_shown(value)}"
    if len(settings) > _CONFIG_LINES:
        yield f"    … and {len(settings) - _CONFIG_LINES} more (--json has them all)"


def _flat(config: Mapping[str, Any], prefix: str = "", depth: int = 6) -> Iterator[tuple[str, Any]]:
    for key, value in config.items():
        if isinstance(value, Mapping) and value and depth:
            yield from _flat(value, f"{prefix}{key}.", depth - 1)
        else:
            yield f"{prefix}{key}", value


def _shown(value: object) -> str:
    if isinstance(value, float):
        return format_value(value)
    return clean(str(value), 160)


# ---------------------------------------------------------------------- JSON


def as_json(snapshot: Snapshot, now: float, show_secrets: bool = False) -> str:
    """The whole snapshot as one JSON object; see the module's docstring."""
    document = {
        "schema": SCHEMA,
        "runs": [_run_json(run, now, show_secrets) for run in snapshot.runs],
        "alerts": [
            {
                "run": alert.run,
                "rule": alert.rule,
                "severity": alert.severity,
                "metric": alert.metric,
                "step": alert.step,
                "message": alert.message,
            }
            for alert in snapshot.alerts
        ],
        "notices": [{"level": n.level, "message": n.message, "hint": n.hint} for n in snapshot.notices],
    }
    return orjson.dumps(_plain(document), option=orjson.OPT_INDENT_2).decode()


def _run_json(run: Run, now: float, show_secrets: bool) -> dict[str, Any]:
    progress = progress_of(run, now)
    return {
        "id": run.id,
        "name": run.name,
        "path": run.path,
        "state": progress.state,
        "evidence": progress.evidence,
        "step": progress.step,
        "total_steps": progress.total,
        "epoch": _known(progress.epoch),
        "seconds_per_step": _known(progress.seconds_per_step),
        "eta_seconds": _known(progress.eta_seconds),
        "first_wall_time": _known(run.first_wall_time),
        "last_wall_time": _known(run.last_wall_time),
        "points": run.point_count,
        "config": _open(run.config, show_secrets),
        "best_checkpoint": _open(run.best_checkpoint, show_secrets) if run.best_checkpoint else None,
        "final_metrics": _open(run.final_metrics, show_secrets),
        "sources": [
            {
                "source": stream.found.source,
                "format": stream.found.format,
                "points": stream.point_count,
                "state": stream.status.state if stream.status else "waiting",
                "damaged": stream.status.damaged if stream.status else 0,
            }
            for stream in run.streams
        ],
        "metrics": [_metric_json(metric) for metric in metric_summaries(run)],
    }


def _metric_json(metric: MetricSummary) -> dict[str, Any]:
    curve = metric.curve
    low, high = curve.min, curve.max
    return {
        "name": metric.name,
        "concept": metric.meaning.concept,
        "unit": metric.meaning.unit,
        "points": len(curve),
        "last_step": int(curve.steps[-1]),
        "last": metric.last,
        "min": {"step": low.step, "value": low.value} if low else None,
        "max": {"step": high.step, "value": high.value} if high else None,
        "best": {"step": metric.best[0], "value": metric.best[1]} if metric.best else None,
        "mean": _known(metric.mean),
        "deviation": _known(metric.deviation),
        "nan": curve.nan_count,
        "infinite": curve.infinity_count,
        "superseded": curve.superseded,
        "source": curve.sources[0] if curve.sources else None,
    }


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _plain(value: Any) -> Any:
    """Values that JSON has: a number that is not finite by name, text that is valid Unicode, an int that fits."""
    if isinstance(value, Mapping):
        return {_text(str(key)): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if -(1 << 63) <= value < 1 << 64 else float(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
    return _text(str(value))


def _text(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
