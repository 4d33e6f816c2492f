"""A run as one line of plain text, for a status bar or a prompt.

    ✗2 grpo-1.5b 1,204/4,000 30%  ● running  reward 0.8123  loss 0.0041  nan/plateau  ETA 2 h 5 min

The most important part comes first; parts that do not fit are left out. Imports nothing heavy, as a status bar runs the
command every few seconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tuimon.analysis.concepts import curves
from tuimon.analysis.progress import ProgressReport
from tuimon.analysis.progress_inputs import progress_of
from tuimon.analysis.words import duration
from tuimon.model.alerts import Alert
from tuimon.store import Run, Snapshot
from tuimon.text import cell_width, clean, fit

_REWARDS = ("reward.train", "success.train", "reward.val", "success.val", "success.accuracy")
_LOSSES = ("loss.total", "loss.sft", "loss.policy")
_ENDED = ("finished", "crashed", "stopped", "ended")
_NAME_WIDTHS = (32, 20, 14, 9)
"""Widths to which the name is cut until alerts, step, state and reward fit."""


def line(snapshot: Snapshot, now: float, width: int, ascii_only: bool = False) -> str:
    """Return the line of the newest run, in at most `width` cells. now: wall time (s since epoch)."""
    run = snapshot.newest_run
    if run is None:
        return fit("no run yet", min(width, 10))
    alerts = [alert for alert in snapshot.alerts if alert.run == run.id and alert.severity != "info"]
    progress = progress_of(run, now)
    heads = [list(_head(run, progress, len(alerts), name, ascii_only)) for name in _NAME_WIDTHS]
    head = next((head for head in heads if cell_width("  ".join(head)) <= width), heads[-1])
    text = ""
    for part in (*head, *_details(run, progress, alerts)):
        longer = f"{text}  {part}" if text else fit(part, min(width, cell_width(part)))
        if cell_width(longer) <= width:
            text = longer
    return text


def _head(run: Run, progress: ProgressReport, alerts: int, width: int, ascii_only: bool) -> Iterator[str]:
    """Yield the most important parts, with the name cut to `width` cells."""
    name = clean(run.name)
    words = [fit(name, min(cell_width(name), width), "ends")] if name else []
    if alerts:
        words.insert(0, f"{'x' if ascii_only else '✗'}{alerts}")
    if progress.step is not None:
        words.append(f"{progress.step:,}" + (f"/{progress.total:,}" if progress.total else ""))
        if progress.total and width == _NAME_WIDTHS[0]:
            words.append(f"{100 * progress.step // progress.total}%")
    if words:
        yield " ".join(words)
    yield f"{'*' if ascii_only else '●'} {progress.state}"
    reward = _last(run, _REWARDS)
    if reward is not None:
        yield f"reward {reward:.4g}"


def _details(run: Run, progress: ProgressReport, alerts: list[Alert]) -> Iterator[str]:
    """Yield the parts that only a wide line has."""
    loss = _last(run, _LOSSES)
    if loss is not None:
        yield f"loss {loss:.4g}"
    if alerts:
        yield "/".join(dict.fromkeys(clean(alert.rule) for alert in alerts[:2]))
    if math.isfinite(progress.eta_seconds):
        yield f"ETA {duration(max(60.0, round(progress.eta_seconds / 60) * 60))}"
    elif math.isfinite(progress.last_age) and progress.state not in _ENDED:
        yield f"{duration(progress.last_age if progress.last_age < 60 else progress.last_age // 60 * 60)} ago"


def _last(run: Run, concepts: tuple[str, ...]) -> float | None:
    """Return the last value of the first of these concepts that was logged, finite or not, or None."""
    for concept in concepts:
        for split in ("train", "val"):
            for curve in curves(run, concept, split):
                return float(curve.values[-1])
    return None
