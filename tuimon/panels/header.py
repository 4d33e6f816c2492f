"""The header: which run this is, whether it lives and by what evidence, how far it is, how fast, and when it ends."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

from msgspec import Struct

from tuimon.analysis.progress import ProgressReport
from tuimon.analysis.progress_inputs import progress_of
from tuimon.analysis.words import day, last_sign, time_of_day
from tuimon.draw.numbers import format_duration, format_fraction, format_value, thousands
from tuimon.model.views import Role, Row, Size, Span, Symbols, TextView
from tuimon.panels._look import PLAIN, Look
from tuimon.panels._select import by_concept, curve_or_none
from tuimon.panels._text import unit_text
from tuimon.store import Run
from tuimon.text import cell_width, clean, fit
from tuimon.vocabulary import classify

_ROLES = {
    "running": Role.GOOD,
    "finished": Role.ACCENT,
    "stalled": Role.WARNING,
    "crashed": Role.CRITICAL,
}
_SPEEDS = ("throughput.tokens", "throughput.tokens_per_gpu", "throughput.samples")
_GAP: Span = ("  ", Role.MUTED)
_DAY = 86400.0
_LEAST_EVIDENCE = 24
"""Cells from which evidence that does not fit is cut, not left out."""


class Header(Struct, frozen=True):
    id: str = "header"
    title: str = "run"
    order: int = 0
    kind: str = "text"
    rows: int = 2

    def relevant(self, run: Run) -> bool:
        """Always."""
        return True

    def view(self, run: Run, size: Size, now: float, symbols: Symbols, look: Look = PLAIN) -> TextView:
        """Two rows: name, state and evidence; then what is known of pace and end, as much as there is room for."""
        said = progress_of(run, now)
        state: Row = (_state(said, symbols),)
        evidence: Row = ((clean(said.evidence), Role.MUTED),) if said.evidence else ()
        facts = list(_facts(run, said, now))
        room = size.width - _width(state) - 2
        if size.height < 2:
            name = clean(run.name)
            named: Row = ((fit(name, min(cell_width(name), max(room // 3, 1)), keep="end"), Role.TITLE),)
            return TextView("", (_fill([named, state, *facts], size.width),))
        name = clean(run.name)
        named = ((fit(name, min(cell_width(name), max(room, size.width // 2, 1)), keep="end"), Role.TITLE),)
        left = size.width - _width(named) - _width(state) - 4
        if evidence and _LEAST_EVIDENCE <= left < _width(evidence):
            evidence = ((fit(evidence[0][0], left), Role.MUTED),)
        first = _fill([named, state, evidence], size.width)
        if evidence and evidence[0] in first:
            facts = [fact for fact in facts if not fact[0][0].endswith(" at ") or fact[0][0] == "ETA "]  # said already
        return TextView("", (first, _fill(facts, size.width)))


def _state(said: ProgressReport, symbols: Symbols) -> Span:
    dot = "*" if symbols is Symbols.ASCII else "●"
    return f"{dot} {said.state}", _ROLES.get(said.state, Role.MUTED)


def _facts(run: Run, said: ProgressReport, now: float) -> Iterator[Row]:
    """The most wanted first: those at the end are left out where there is no room."""
    if unread := _unread(run):
        yield (unread,)
    if said.step is not None:
        yield tuple(_step(said))
    if math.isfinite(said.eta_seconds):
        at = clock(said.finish_time, now)
        left = format_duration(_steady(said.eta_seconds))
        yield (("ETA ", Role.MUTED), (left, Role.VALUE), (f" at {at}", Role.MUTED))
        soon, late = (clock(now + seconds, now) for seconds in said.eta_range)
        if soon != late:
            yield ((f"({soon} to {late})", Role.MUTED),)
    if said.updates > 1:
        yield ((f"{said.updates} updates a step", Role.MUTED),)
    if last := last_sign(said.last_wall_time, said.last_change):
        when = said.last_wall_time if math.isfinite(said.last_wall_time) else said.last_change
        yield (
            (last.removesuffix(time_of_day(when)), Role.MUTED),
            (f"{day(when)} " if abs(now - when) > _DAY / 2 else "", Role.TEXT),
            (time_of_day(when), Role.TEXT),
        )
    speed = _speed(run)
    if speed:
        yield ((speed, Role.TEXT),)
    if said.seconds_per_step > 0:
        yield (_pace(said.seconds_per_step),)
    epoch = said.epoch if math.isfinite(said.epoch) else _newest(run, "progress.epoch")
    if math.isfinite(epoch):
        yield (("epoch ", Role.MUTED), (format_value(epoch), Role.TEXT))
    yield ((f"{thousands(run.point_count)} points", Role.MUTED),)


def _unread(run: Run) -> Span | None:
    """How far the history is read that its last points were shown ahead of."""
    behind = [status for stream in run.streams if (status := stream.status) and status.state == "reading"]
    size, read = sum(one.size for one in behind), sum(one.read for one in behind)
    return (f"history {math.floor(100 * read / size)} % read", Role.WARNING) if size else None


def _steady(seconds: float) -> float:
    """So coarse that a second's passing does not draw the header again: an idle screen costs nothing."""
    grain = 60 if seconds >= 600 else 30 if seconds >= 60 else 10
    return max(round(seconds / grain) * grain, grain)


def _step(said: ProgressReport) -> Iterator[Span]:
    yield "step ", Role.MUTED
    yield thousands(said.step or 0), Role.VALUE
    if said.total:
        yield f" of {thousands(said.total)}", Role.MUTED
        yield f" {format_fraction((said.step or 0) / said.total)}", Role.TEXT


def _pace(seconds: float) -> Span:
    if seconds < 0.5:
        return f"{format_value(1 / seconds)} steps/s", Role.TEXT
    return f"{format_duration(seconds)} a step", Role.TEXT


def _speed(run: Run) -> str:
    """Tokens a second, or what comes nearest to it in the log."""
    for concept in _SPEEDS:
        for metric in by_concept(run.metrics).get(concept, ())[:1]:
            meaning, curve = classify(metric), curve_or_none(run, metric)
            if curve and curve.last and meaning.split == "train":
                return format_value(curve.last.value * meaning.scale, unit_text(meaning.unit))
    return ""


def _newest(run: Run, concept: str) -> float:
    for metric in by_concept(run.metrics).get(concept, ())[:1]:
        curve = curve_or_none(run, metric)
        if curve and curve.last:
            return curve.last.value
    return math.nan


def clock(when: float, now: float) -> str:
    """Local time of day, with the day where it is not within a day: "17:42", "Sat 17:42", "2026-11-21"."""
    try:
        local = time.localtime(when)
    except (OverflowError, ValueError, OSError):  # beyond what the platform's clock can tell
        return "the end of time"
    if when - now < _DAY and local.tm_yday == time.localtime(now).tm_yday:
        return time.strftime("%H:%M", local)
    return time.strftime("%a %H:%M" if when - now < 6 * _DAY else "%Y-%m-%d", local)


def _width(row: Row) -> int:
    return sum(cell_width(text) for text, _ in row)


def _fill(parts: list[Row], width: int) -> Row:
    """Parts with blanks between them; the first that does not fit whole ends the row, but the first part is there."""
    made: list[Span] = []
    left = width
    for part in parts:
        if not part:
            continue
        if made and _width(part) + 2 > left:
            break
        if made:
            made.append(_GAP)
            left -= 2
        made.extend(part)
        left -= _width(part)
    return tuple(made)


PANEL = Header()
