"""The header: name and state of the run with evidence, progress, speed, and the estimated end."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from tuimon.analysis.attempts import lost_work, superseded_steps
from tuimon.analysis.log_files import damage_of
from tuimon.analysis.printed_units import meaning_of
from tuimon.analysis.progress import ProgressReport
from tuimon.analysis.progress_inputs import progress_of
from tuimon.analysis.run_states import critical_count, state_sign, state_words
from tuimon.analysis.words import day, percentage
from tuimon.draw.numbers import format_bytes, format_duration, format_value, thousands
from tuimon.draw.rows import row_width
from tuimon.model.links import Link
from tuimon.model.views import Role, Row, Size, Span, Symbols, TextView
from tuimon.panels._charts.options import DEFAULTS, ChartOptions
from tuimon.panels._charts.panel import Panel
from tuimon.panels._metrics import by_concept, curve_or_none, reading_of
from tuimon.panels._own_dashboard import named
from tuimon.panels._text import STATE_ROLES, plural
from tuimon.store import Run
from tuimon.text import cell_width, clean, fit, local_time
from tuimon.vocabulary import unit_text

_ROLES = STATE_ROLES | {"finished": Role.ACCENT}
_SPEEDS = ("throughput.tokens", "throughput.tokens_per_gpu", "throughput.samples", "throughput.steps")
_GAP: Span = ("  ", Role.MUTED)
_DAY = 86400.0
_LONGEST_VERDICT = 40
_MOST_VALUES = 4
"""Maximum number of values of one pattern."""
_LEAST_NAME = 12
"""Width of the name that the verdict about the ranks leaves free."""
_LEAST_EVIDENCE = 24
"""Minimum width of truncated evidence; with less room it is left out."""


class Header(Panel, frozen=True):
    """Two rows at the top of the screen."""

    def view(self, run: Run, size: Size, now: float, symbols: Symbols, options: ChartOptions = DEFAULTS) -> TextView:
        """Return two rows: name, state and evidence; then the facts about progress, as many as fit."""
        report = progress_of(run, now)
        state: Row = (_state(report, critical_count(options.alerts, run.id)),)
        verdicts: list[Row] = []
        if run.ranks is not None and run.ranks.short:
            verdicts.append(((clean(run.ranks.short, _LONGEST_VERDICT), Role.CRITICAL),))
        said = [report.evidence] if report.evidence else []
        if run.ranks is not None and run.ranks.restart:
            words, _, detail = run.ranks.restart.partition(": ")
            verdicts.append(((clean(words), Role.WARNING),))
            said.insert(0, detail)
        facts = [*([link_row(run.link, now)] if run.link else []), *_facts(run, report, now)]
        parts = [state, *verdicts]
        while len(parts) > 1 and _LEAST_NAME + sum(row_width(part) + 2 for part in parts) > size.width:
            parts.pop()
        room = size.width - sum(row_width(part) + 2 for part in parts)
        name = clean(run.name)
        if size.height < 2:
            named: Row = ((fit(name, min(cell_width(name), max(room // 3, 1)), keep="end"), Role.TITLE),)
            left = size.width - sum(row_width(part) + 2 for part in (named, *parts))
            facts = _with_values(run, facts, options, left)
            return TextView("", (_fill([named, *parts, *facts], size.width),))
        named = ((fit(name, min(cell_width(name), max(room, size.width // 5, 1)), keep="end"), Role.TITLE),)
        evidence, left = clean("; ".join(said)), room - row_width(named) - 2
        if cell_width(evidence) > left:
            evidence = fit(evidence, left) if left >= _LEAST_EVIDENCE else ""
        first = _fill([named, *parts, ((evidence, Role.MUTED),) if evidence else ()], size.width)
        if report.aged in evidence:
            facts = [fact for fact in facts if fact != _last_point(report)]
        return TextView("", (first, _fill(_with_values(run, facts, options, size.width), size.width)))


def _state(report: ProgressReport, alarms: int) -> Span:
    """Return the state; a run with critical alerts does not look healthy, be it finished or not."""
    sign = state_sign(report.state, alarms)
    role = Role.CRITICAL if alarms else _ROLES.get(report.state, Role.MUTED)
    return f"{sign} {state_words(report.state, alarms)}", role


def _last_point(report: ProgressReport) -> Row:
    """Return the age of the last point, for a header without room for the sentence of its state; () if unknown."""
    return ((report.aged, Role.TEXT),) if report.aged else ()


def _facts(run: Run, report: ProgressReport, now: float) -> Iterator[Row]:
    """Yield the facts by importance: the last ones are left out if they do not fit."""
    if unread := _unread(run):
        yield (unread,)
    if report.step is not None:
        yield tuple(_step(report))
    if math.isfinite(report.eta_seconds):
        end = clock(report.finish_time, now)
        left = format_duration(_rounded(report.eta_seconds))
        watched = ", at the pace watched" if report.pace_watched else ""
        basis = ", at the rate of its bar" if report.pace_of_bar else watched
        yield (("ETA ", Role.MUTED), (left, Role.VALUE), (f" at {end}{basis}", Role.MUTED))
        soon, late = (clock(now + seconds, now) for seconds in report.eta_range)
        if soon != late:
            yield ((f"({soon} to {late})", Role.MUTED),)
    if report.lacks_times:
        yield (("ETA unknown: no time stamps with a date", Role.MUTED),)
    if last := _last_point(report):
        yield last
    if damage := damage_of(run):
        yield ((damage, Role.WARNING),)
    speed = _speed(run)
    if speed:
        yield ((speed, Role.TEXT),)
    if report.seconds_per_step > 0:
        # Always a duration: a speed near the border would change its unit all the time.
        pace = f"{format_duration(report.seconds_per_step)} {report.per_step}"
        yield (("pace ", Role.MUTED), (pace, Role.TEXT))
    if (lost := lost_work(run, report.has_died)) is not None and lost.is_resumed and lost.checkpoint is not None:
        time_known = f" at {clock(lost.resumed, now)}" if math.isfinite(lost.resumed) else ""
        yield (("resumed from ", Role.MUTED), (str(lost.checkpoint), Role.TEXT), (time_known, Role.MUTED))
    epoch = report.epoch if math.isfinite(report.epoch) else _newest(run, "progress.epoch")
    if math.isfinite(epoch):
        yield (("epoch ", Role.MUTED), (format_value(epoch), Role.TEXT))
    yield ((f"{plural(run.point_count, 'point')}{_superseded(run)}", Role.MUTED),)
    if run.duration > 0:
        yield (("since ", Role.MUTED), (clock(run.first_wall_time, now), Role.TEXT))


def _with_values(run: Run, facts: list[Row], options: ChartOptions, width: int) -> list[Row]:
    """Return the facts with the user's values after the first of them, and "+5" for values that do not fit."""
    of_patterns = [named(pattern, run) for pattern in options.values]
    first = dict.fromkeys(name for names in of_patterns for name in names[:_MOST_VALUES])
    shown = list(_values(run, first))
    hidden = len({name for names in of_patterns for name in names}) - len(first)
    room = width - (row_width(facts[0]) if facts else -2)
    while shown and sum(row_width(row) + 2 for row in shown) + (len(f"+{hidden}") + 2) * (hidden > 0) > room:
        shown.pop()
        hidden += 1
    more: list[Row] = [((f"+{hidden}", Role.MUTED),)] if hidden else []
    return [*facts[:1], *shown, *more, *facts[1:]]


def _values(run: Run, names: Iterable[str]) -> Iterator[Row]:
    """Yield the last value of each metric that the user wants to see always."""
    for name in names:
        reading = reading_of(run, (name,))
        if reading is not None:
            unit = unit_text(reading.meaning.unit)
            yield (f"{clean(name)} ", Role.MUTED), (format_value(reading.last, unit), Role.VALUE)


def _unread(run: Run) -> Span | None:
    """Return how much of the history has been read, while only its last points are displayed."""
    statuses = [status for stream in run.streams if (status := stream.status) and status.state == "reading"]
    size, read = sum(status.size for status in statuses), sum(status.read for status in statuses)
    return (f"history {math.floor(100 * read / size)} % read", Role.WARNING) if size else None


def _rounded(seconds: float) -> float:
    """Round a duration (s) so coarsely that an idle screen is not redrawn every second."""
    grain = 60 if seconds >= 600 else 30 if seconds >= 60 else 10
    return max(round(seconds / grain) * grain, grain)


def _step(report: ProgressReport) -> Iterator[Span]:
    yield f"{report.position_name} ", Role.MUTED
    yield thousands(report.position or 0), Role.VALUE
    if report.total:
        yield f" of {thousands(report.total)}", Role.MUTED
        yield f" {percentage(report.position or 0, report.total)}", Role.TEXT


def _speed(run: Run) -> str:
    """Return tokens per second, or the closest measure of throughput in the log."""
    for concept in _SPEEDS:
        for metric in by_concept(run.tracked_metrics).get(concept, ())[:1]:
            meaning, curve = meaning_of(run, metric), curve_or_none(run, metric)
            if curve and curve.last and meaning.split == "train":
                return format_value(curve.last.value * meaning.scale, unit_text(meaning.unit))
    return ""


def _superseded(run: Run) -> str:
    """Return ", 35 logged steps superseded" if restarts hide logged steps; else ""."""
    count = superseded_steps(run)
    return f", {plural(count, 'logged step')} superseded" if count else ""


def _newest(run: Run, concept: str) -> float:
    for metric in by_concept(run.tracked_metrics).get(concept, ())[:1]:
        curve = curve_or_none(run, metric)
        if curve and curve.last:
            return curve.last.value
    return math.nan


def clock(when: float, now: float) -> str:
    """Return the local time of day, or the date from the next day on: "17:42", "Sat 17:42", "2026-11-21"."""
    if when - now < _DAY and day(when) == day(now):
        return local_time(when, "%H:%M")
    return local_time(when, "%a %H:%M" if abs(when - now) < 6 * _DAY else "%Y-%m-%d") or "the end of time"


def _fill(parts: list[Row], width: int) -> Row:
    """Join parts with blanks up to the first that does not fit; the first part is always included."""
    spans: list[Span] = []
    left = width
    for part in parts:
        if not part:
            continue
        if spans and row_width(part) + 2 > left:
            break
        if spans:
            spans.append(_GAP)
            left -= 2
        spans.extend(part)
        left -= row_width(part)
    return tuple(spans)


PANEL = Header("header", "run", rows=2)


def link_row(link: Link, now: float) -> Row:
    """Return the state of a link: "gpu01 live 84 ms", "gpu01 lost 00:42, shown as of 12:03:10, retry in 5 s (Ctrl+r:
    now)"."""
    return ((f"{clean(link.host)} ", Role.MUTED), _link_state(link, now))


def with_live_links(head: Row, links: Sequence[Link], now: float) -> Row:
    """Add the links that are up to the head of a list; those that are down are in the head of each screen."""
    up = sum(link.up for link in links)
    if up == 1 == len(links):
        return (*head, ("  ", Role.TEXT), *link_row(links[0], now))
    return (*head, (f"  {plural(up, 'host')} live", Role.MUTED)) if up else head


def with_lost_links(head: Row, links: Sequence[Link], now: float) -> Row:
    """Put the links that are down in front of a head, where they are never cut."""
    down = [link for link in links if not link.up]
    for link in down[1::-1]:
        head = (*link_row(link, now), ("  ", Role.TEXT), *head)
    return (*head, (f"  {len(down) - 2} more hosts down", Role.WARNING)) if len(down) > 2 else head


def _link_state(link: Link, now: float) -> Span:
    match link.state:
        case "live" if link.members and link.detail:
            return f"live without {clean(link.detail, 60)}", Role.WARNING
        case "live":
            return ("live" if math.isnan(link.delay) else f"live {1000 * link.delay:.0f} ms"), Role.MUTED
        case "copying":
            amount = f" {format_bytes(link.here)} of {format_bytes(link.total)}" if link.total else ""
            return f"copying{amount}", Role.ACCENT
        case "lost" | "connecting" if link.state == "lost" or link.detail:
            left = max(0, math.ceil(link.retry - now))
            attempt = f"retry in {left} s (Ctrl+r: now)" if link.state == "lost" else "connecting"
            return f"lost {_clock(now - link.since)}{_as_of(link)}, {attempt}", Role.WARNING
        case "connecting":
            return f"connecting{_as_of(link)}", Role.WARNING
        case "login":
            return f"login needed: press Ctrl+r{_as_of(link)}", Role.CRITICAL
        case "offline":
            return f"offline{_as_of(link)}", Role.WARNING
        case "shared":
            return "copied by another tuimon", Role.MUTED
        case "missing":
            return "no such path", Role.WARNING
        case _:
            return f"{clean(link.detail, 80)}{_as_of(link)}", Role.CRITICAL


def _as_of(link: Link) -> str:
    return "" if math.isnan(link.heard) else f", shown as of {local_time(link.heard)}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(max(0.0, seconds)), 60)
    return f"{minutes:02d}:{rest:02d}"
