"""A run as one line of plain text, for a status bar or a prompt.

    !2 grpo-1.5b 1,204/4,000 30%  ● running  reward 0.8123  kl is above 10  +2 runs, 4 alerts  loss 0.0041  ETA 2 h

The number of alerts has ✗ in front of it if one of them is critical, else !. The most important part comes first;
parts that do not fit are left out: first the reward, and only then the name is cut.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from tuimon.analysis.alert_words import Sentence, sentence_of
from tuimon.analysis.progress import ProgressReport
from tuimon.analysis.progress_inputs import progress_of
from tuimon.analysis.run_states import critical_count, state_sign, superseded_alert
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
_LONGEST_NAME = 24
"""Maximum width of the name of a metric."""
_LEAST_REASON = 16
"""Minimum width of the sentence of an alert."""
_LEAST_BESIDE = 32
"""Minimum width of a cut sentence beside the number of the other runs."""


def line(snapshot: Snapshot, now: float, width: int, ascii_only: bool = False) -> str:
    """Return the line of the most important run, in at most `width` cells. now: wall time (s since epoch).

    A "#[" of a name, which tmux takes for a style, loses its bracket."""
    return _line(snapshot, now, width, ascii_only).replace("#[", "# ")


def _line(snapshot: Snapshot, now: float, width: int, ascii_only: bool) -> str:
    run = _most_important(snapshot, now)
    if run is None:
        return fit("no run yet", min(width, 10))
    alerts = [alert for alert in snapshot.alerts if alert.run == run.id and alert.severity != "info"]
    progress = progress_of(run, now)
    is_cause_in_alert = any(alert.rule == "rank_failure" for alert in alerts)
    words = (clean(progress.cause), progress.state) if progress.cause and not is_cause_in_alert else (progress.state,)
    shown = [(word, *form) for word in words for form in _forms(_values(run))]
    heads = [
        (word, [*_head(run, progress, alerts, name, with_share, word, ascii_only), *filter(None, [value])])
        for word, name, with_share, value in shown
    ]
    word, head = next(((word, head) for word, head in heads if cell_width("  ".join(head)) <= width), heads[-1])
    text = _joined("", head, width)
    if not alerts and (superseded := superseded_alert(snapshot, run)) is not None:
        alerts = [superseded]
    if word != progress.state:
        alerts = [alert for alert in alerts if alert.rule != "liveness"]  # it repeats the cause
    others = _others(snapshot, run, ascii_only)
    room = width - cell_width(text) - 2
    without_value = _joined("", head[:2], width)
    if critical_count(alerts, run.id) and room < _LEAST_REASON <= width - cell_width(without_value) - 2:
        text = without_value  # the reason matters more than the value of a run that has failed
        room = width - cell_width(text) - 2
    reason = _reason(alerts, room, room - cell_width(others) - 2)
    return _joined(text, (reason, others, *_details(run, progress, alerts)), width)


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


def _joined(text: str, parts: Iterable[str], width: int) -> str:
    """Return the text followed by the parts that fit; without a text the first part is cut."""
    for part in filter(None, parts):
        longer = f"{text}  {part}" if text else fit(part, min(width, cell_width(part)))
        if cell_width(longer) <= width:
            text = longer
    return text


def _forms(values: Sequence[str]) -> Iterator[tuple[int, bool, str]]:
    """Yield (width of the name, whether the step has its percentage, value) of the forms of the head, the widest first.

    values: forms of the value.
    """
    name, shorter, *_ = _NAME_WIDTHS
    yield from ((name, True, value) for value in values)
    yield name, False, values[-1]
    yield shorter, False, values[-1]
    yield from ((width, False, "") for width in _NAME_WIDTHS)


def _head(
    run: Run, progress: ProgressReport, alerts: list[Alert], width: int, with_share: bool, state: str, ascii_only: bool
) -> Iterator[str]:
    """Yield the most important parts but the value, with the name cut to `width` cells.

    with_share: add the percentage of the step. state: the word or the cause of the state.
    """
    name = clean(run.name)
    words = [fit(name, min(cell_width(name), width), "ends")] if name else []
    if alerts:
        words.insert(0, _alert_count([alert.severity for alert in alerts], ascii_only))
    if progress.position is not None:
        is_cause_short_of_room = state != progress.state and width == _NAME_WIDTHS[-1]
        total = progress.total if not is_cause_short_of_room else None
        words.append(f"{progress.position:,}" + (f"/{total:,}" if total else ""))
        if progress.total and with_share:
            words.append(percentage(progress.position, progress.total).replace(" ", ""))
    if words:
        yield " ".join(words)
    sign = state_sign(progress.state, ascii_only, critical_count(alerts, run.id))
    yield f"{sign} {state}"


def _others(snapshot: Snapshot, run: Run, ascii_only: bool) -> str:
    """Return the number of the other runs and of their alerts, with the sign of the most severe one: "+3 runs, ✗2"."""
    others = len(snapshot.runs) - 1
    if not others:
        return ""
    severities = [alert.severity for alert in snapshot.alerts if alert.run != run.id and alert.severity != "info"]
    runs = f"+{others} run{'s' * (others != 1)}"
    return f"{runs}, {_alert_count(severities, ascii_only)}" if severities else runs


def _alert_count(severities: Sequence[str], ascii_only: bool) -> str:
    """Return the number of alerts after the sign of the most severe one."""
    return f"{state_sign('crashed' if 'critical' in severities else 'quiet', ascii_only)}{len(severities)}"


def _reason(alerts: list[Alert], room: int, beside: int) -> str:
    """Return the most severe alert as a sentence without its evidence, without its step, or cut; "" without an alert or
    room.

    beside: cells left beside the number of the other runs, which gives way to a sentence that it would cut.
    """
    if not alerts or room < _LEAST_REASON:
        return ""
    worst = min(alerts, key=lambda alert: alert.severity != "critical")
    sentence = Sentence(*map(clean, sentence_of(worst)))
    whole = ((text, cells) for cells in (beside, room) for text in (sentence.short, sentence.what))
    cut = fit(sentence.what, beside if beside >= _LEAST_BESIDE else room)
    return next((text for text, cells in whole if cell_width(text) <= cells), cut)


def _details(run: Run, progress: ProgressReport, alerts: list[Alert]) -> Iterator[str]:
    """Yield the parts that only a wide line has. The loss is left out if an alert says that it is not finite."""
    loss = loss_of(run)
    if loss is not None and (math.isfinite(loss.last) or all(alert.metric != loss.metric for alert in alerts)):
        yield _value(name_of(run, loss.metric), loss.last)
    if math.isfinite(progress.eta_seconds):
        yield f"ETA {duration(max(60.0, round(progress.eta_seconds / 60) * 60))}"
    elif math.isfinite(progress.age) and progress.state not in _ENDED:
        yield f"{duration(progress.age if progress.age < 60 else progress.age // 60 * 60)} ago"


def _values(run: Run) -> list[str]:
    """Return the reward, else the success rate, with the name of the metric and with its label; [""] without one."""
    reading = reward_of(run) or success_of(run)
    if reading is None:
        return [""]
    name = name_of(run, reading.metric)
    return [_value(label, reading.last) for label in dict.fromkeys((name, label_of(reading.meaning) or name))]


def _value(name: str, value: float) -> str:
    """Return the name of a metric and a value of it, finite or not."""
    name = clean(name)
    number = f"{value:.4g}" if math.isfinite(value) else nonfinite(value)
    return f"{fit(name, min(cell_width(name), _LONGEST_NAME), 'ends')} {number}"
