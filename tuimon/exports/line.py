"""A run in one line of plain text: for a status bar or a prompt.

    ● running 1,204/4,000 30%  reward 0.8123  loss 0.0041  ETA 2 h 5 min  ✗2

The most wanted comes first; what does not fit is left out, whole. Nothing heavy is imported: the line is asked for
every few seconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tuimon.analysis.concepts import curves
from tuimon.analysis.progress_inputs import progress_of
from tuimon.analysis.words import duration
from tuimon.model.alerts import Alert
from tuimon.store import Run, Snapshot
from tuimon.text import cell_width, clean, fit

_REWARDS = ("reward.train", "success.train", "reward.val", "success.val", "success.accuracy")
_LOSSES = ("loss.total", "loss.sft", "loss.policy")
_ENDED = ("finished", "crashed")


def line(snapshot: Snapshot, now: float, width: int, ascii_only: bool = False) -> str:
    """The run that has grown last, in at most `width` cells; now: seconds since the epoch."""
    run = snapshot.newest
    if run is None:
        return fit("no run yet", min(width, 10))
    alerts = [alert for alert in snapshot.alerts if alert.run == run.id and alert.severity != "info"]
    told = ""
    for part in _parts(run, alerts, now, ascii_only):
        longer = f"{told}  {part}" if told else fit(part, min(width, cell_width(part)))
        if cell_width(longer) <= width:
            told = longer
    return told


def _parts(run: Run, alerts: list[Alert], now: float, ascii_only: bool) -> Iterator[str]:
    said = progress_of(run, now)
    step = ""
    if said.step is not None:
        step = f" {said.step:,}" + (f"/{said.total:,} {100 * said.step // said.total}%" if said.total else "")
    yield f"{'*' if ascii_only else '●'} {said.state}{step}"
    if alerts:
        mark = "x" if ascii_only else "✗"
        yield f"{mark}{len(alerts)} {'/'.join(dict.fromkeys(clean(alert.rule) for alert in alerts[:2]))}"
    for label, concepts in (("reward", _REWARDS), ("loss", _LOSSES)):
        value = _last(run, concepts)
        if value is not None:
            yield f"{label} {value:.4g}"
    if math.isfinite(said.eta_seconds):
        yield f"ETA {duration(max(60.0, round(said.eta_seconds / 60) * 60))}"
    elif math.isfinite(said.last_age) and said.state not in _ENDED:
        yield f"{duration(said.last_age if said.last_age < 60 else said.last_age // 60 * 60)} ago"


def _last(run: Run, concepts: tuple[str, ...]) -> float | None:
    """The last value as logged, finite or not; None where there is none."""
    for concept in concepts:
        for split in ("train", "val"):
            for curve in curves(run, concept, split):
                return float(curve.values[-1])
    return None
