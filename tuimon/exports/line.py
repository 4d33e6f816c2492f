"""A run as one line of plain text, for a status bar or a prompt.

    !2 grpo-1.5b 1,204/4,000 30%  ● running  reward 0.8123  kl is above 10  +2 runs, 4 alerts  loss 0.0041  ETA 2 h

The number of alerts has ✗ in front of it if one of them is critical, else !. Each part has shorter forms; where there
is no room, they are taken in a fixed order: first the end and the loss, at last the name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tuimon.analysis.alert_words import Sentence, sentence_of
from tuimon.analysis.progress import ProgressReport
from tuimon.analysis.progress_inputs import progress_of
from tuimon.analysis.run_states import critical_count, state_sign
from tuimon.analysis.words import duration, percentage
from tuimon.draw.numbers import nonfinite
from tuimon.model.alerts import Alert
from tuimon.panels import label_of, loss_of, name_of, reward_of, success_of
from tuimon.store import Run, Snapshot
from tuimon.store.snapshot import newest_of
from tuimon.text import cell_width, clean, fit

_ENDED = ("finished", "crashed", "ended")
_NAME_WIDTHS = (32, 20, 14, 9)
"""Widths to which the name is cut until alerts, step and state fit."""
_FIRST = ("end", "reason", "loss", "others", "value", "head")
_LAST = (*["head"] * len(_NAME_WIDTHS), "state")
"""The parts that are shortened first, and those that are shortened after the value and the reason of an alert."""
_LONGEST_NAME = 24
"""Maximum width of the name of a metric."""
_LEAST_REASON = 16
"""Minimum width of the sentence of an alert."""


def line(snapshot: Snapshot, now: float, width: int) -> str:
    """Return the line of the most important run, in at most `width` cells. now: wall time (s since epoch).

    A "#[" of a name, which tmux takes for a style, loses its bracket."""
    run = _most_important(snapshot, now)
    if run is None:
        return fit("no run yet", min(width, 10))
    alerts = [alert for alert in snapshot.alerts if alert.run == run.id]
    parts = _parts(run, snapshot, now)
    # The reason matters more than the value of a run that has failed.
    middle = ("value", "reason") if critical_count(alerts, run.id) else ("reason", "value")
    for part in (*_FIRST, *middle, *_LAST):
        if (over := cell_width(_joined(parts)) - width) <= 0:
            break
        *_, shortest = parts[part]
        parts[part] = parts[part][1:] or [""]
        if part == "reason" and parts[part] == [""]:  # as much of it as there is room for
            room = cell_width(shortest) - over
            parts[part] = [fit(shortest, room) if room >= _LEAST_REASON else ""]
    text = _joined(parts)
    return fit(text, min(width, cell_width(text))).replace("#[", "# ")


def _joined(parts: dict[str, list[str]]) -> str:
    return "  ".join(filter(None, (forms[0] for forms in parts.values())))


def _most_important(snapshot: Snapshot, now: float) -> Run | None:
    """Return the run with the most severe alert, of several a running one, of these the newest; None without runs.

    A warning of a run that has ended does not hide a running one.
    """
    newest = snapshot.newest_run
    for severity in ("critical", "warning"):
        ids = {alert.run for alert in snapshot.alerts if alert.severity == severity}
        runs = [run for run in snapshot.runs if run.id in ids]
        running = [run for run in runs if _is_running(run, now)]
        if running or (runs and (severity == "critical" or newest is None or not _is_running(newest, now))):
            return newest_of(running or runs)
    return newest


def _is_running(run: Run, now: float) -> bool:
    return progress_of(run, now).state == "running"


def _parts(run: Run, snapshot: Snapshot, now: float) -> dict[str, list[str]]:
    """Return the parts of the line in their order, each with its forms, the longest first."""
    alerts = [alert for alert in snapshot.alerts if alert.run == run.id and alert.severity != "info"]
    progress, counted = progress_of(run, now), [alert.severity for alert in alerts]
    cause = "" if any(alert.rule == "rank_failure" for alert in alerts) else clean(progress.cause)
    if cause:
        alerts = [alert for alert in alerts if alert.rule != "liveness"]  # it repeats the cause
    worst = min(alerts, key=lambda alert: alert.severity != "critical", default=None)
    sentence = Sentence("", "", "") if worst is None else Sentence(*map(clean, sentence_of(worst)))
    sign = state_sign(progress.state, critical_count(alerts, run.id))
    count = _alert_count(counted) if counted else ""
    least = _NAME_WIDTHS[-1]
    return {
        "head": [
            _head(count, run, progress, _NAME_WIDTHS[0], with_share=True),
            *(_head(count, run, progress, cells) for cells in _NAME_WIDTHS),
            _head(count, run, progress, least, with_total=False),
        ],
        "state": [f"{sign} {cause or progress.state}", f"{sign} {progress.state}"],
        "value": [*_values(run), ""],
        "reason": [sentence.short, sentence.what],
        "others": [_others(snapshot, run), ""],
        "loss": [_loss(run, alerts), ""],
        "end": [_end(progress), ""],
    }


def _head(
    count: str, run: Run, progress: ProgressReport, width: int, with_share: bool = False, with_total: bool = True
) -> str:
    """Return the number of alerts, the name in at most `width` cells, and the step: "!2 grpo-1.5b 1,204/4,000 30%"."""
    name, step, share = clean(run.name), "", ""
    if progress.position is not None:
        step = f"{progress.position:,}" + (f"/{progress.total:,}" if progress.total and with_total else "")
        if progress.total and with_share:
            share = percentage(progress.position, progress.total).replace(" ", "")
    return " ".join(filter(None, (count, name and fit(name, min(cell_width(name), width), "ends"), step, share)))


def _others(snapshot: Snapshot, run: Run) -> str:
    """Return the number of the other runs and of their alerts, with the sign of the most severe one: "+3 runs, ✗2"."""
    others = len(snapshot.runs) - 1
    if not others:
        return ""
    severities = [alert.severity for alert in snapshot.alerts if alert.run != run.id and alert.severity != "info"]
    runs = f"+{others} run{'s' * (others != 1)}"
    return f"{runs}, {_alert_count(severities)}" if severities else runs


def _alert_count(severities: Sequence[str]) -> str:
    """Return the number of alerts after the sign of the most severe one."""
    return f"{state_sign('crashed' if 'critical' in severities else 'quiet')}{len(severities)}"


def _loss(run: Run, alerts: list[Alert]) -> str:
    """Return the loss, unless an alert says that it is not finite."""
    loss = loss_of(run)
    if loss is None or (not math.isfinite(loss.last) and any(alert.metric == loss.metric for alert in alerts)):
        return ""
    return _value(name_of(run, loss.metric), loss.last)


def _end(progress: ProgressReport) -> str:
    if math.isfinite(progress.eta_seconds):
        return f"ETA {duration(max(60.0, round(progress.eta_seconds / 60) * 60))}"
    if math.isfinite(progress.age) and progress.state not in _ENDED:
        return f"{duration(progress.age if progress.age < 60 else progress.age // 60 * 60)} ago"
    return ""


def _values(run: Run) -> list[str]:
    """Return the reward, else the success rate, with the name of the metric and with its label; "" without one."""
    reading = reward_of(run) or success_of(run)
    if reading is None:
        return ["", ""]
    name = name_of(run, reading.metric)
    return [_value(label, reading.last) for label in (name, label_of(reading.meaning) or name)]


def _value(name: str, value: float) -> str:
    """Return the name of a metric and a value of it, finite or not."""
    name = clean(name)
    number = f"{value:.4g}" if math.isfinite(value) else nonfinite(value)
    return f"{fit(name, min(cell_width(name), _LONGEST_NAME), 'ends')} {number}"
