"""Curves of a run -> a chart, as a person wants to look at them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tuimon.analysis.words import day
from tuimon.draw.chart import plot_columns
from tuimon.draw.limits import x_limits
from tuimon.model.views import SERIES_ROLES, Axis, ChartView, Envelope, Line, Role, Size, Symbols
from tuimon.panels._details import Detail, details_of
from tuimon.panels._headline import cursor_headline, headline_of, in_context, reading
from tuimon.panels._labels import labels_of
from tuimon.panels._look import PLAIN, Look
from tuimon.panels._marks import marks_of
from tuimon.panels._milestones import milestones, told
from tuimon.panels._notes import note_of
from tuimon.panels._ranges import y_axis
from tuimon.panels._text import DATE
from tuimon.panels._traces import band_around, scaled, smoothed
from tuimon.store import Curve, Run, Scale
from tuimon.vocabulary import Meaning

FEW = 8
"""So many points are marked, each of them."""
_SPARSE = 6
"""Marked points stand so many columns apart, at least."""
X_KINDS = dict.fromkeys(("step", "relative step", "samples", "tokens"), "step")
X_KINDS |= {"time": "time", "duration": "duration"}
_X_LABELS = {"step": "", "duration": "since its start"}
"""What stands at an axis that does not say its own name."""
_DAY = 86400.0
_PIN = {Symbols.BRAILLE: "◆", Symbols.BLOCK: "◆", Symbols.ASCII: "*"}


def chart_of(
    run: Run,
    title: str,
    curves: Sequence[tuple[str, Meaning, Curve]],
    size: Size,
    symbols: Symbols,
    scale: str = "linear",
    left: int = 0,
    concepts: Sequence[str] = (),
    look: Look = PLAIN,
    label: Callable[[str], str] = lambda name: "",
    panel: str = "",
) -> ChartView:
    """A chart of these curves (the first leads), with marks, headline and note. `left`: metrics without a line.

    label: what a metric's line is called, "" as usual. panel: its id, under which `look` has limits for it.
    """
    axis = look.axis_of(run)
    along = run.scale(axis)
    x_kind = X_KINDS.get(along.name, "number")
    placed = [
        (name, meaning, curve, factor_of(meaning, curve), span)
        for name, meaning, curve in curves
        if len(curve) and (span := curve.limits(along)) is not None
    ]
    if not placed:
        nowhere = f"no point of it has a place on the axis {along.name}" if any(len(c) for *_, c in curves) else ""
        empty = Axis(0.0, 1.0, kind=x_kind)
        return ChartView(title, (), empty, Axis(0.0, 1.0), (), note=nowhere or "no points yet")
    left += sum(len(curve) > 0 for *_, curve in curves) - len(placed)
    drawn, ends = [one[:-1] for one in placed], [one[-1] for one in placed]
    only_curves = [curve for *_, curve, _ in drawn]
    first, last = min(a for a, _ in ends), max(b for _, b in ends)
    if look.window is None:
        low, high = x_limits(first, last, x_kind)
    else:
        last = max(last, _end_of(run, along, drawn[0][0], last))
        low, high = look.window.limits(last, x_kind)
    columns = plot_columns(max(size.width, 1), symbols)
    envelopes = [scaled(curve.envelope(low, high, columns, along), factor) for *_, curve, factor in drawn]
    counts = [_count(curve, low, high, along, look) for curve in only_curves]
    labels = [label(name) or usual for name, usual in _usual_labels(drawn)]
    name, leading, curve, factor = drawn[0]
    # Behind an average lie the raw values; a band as well would hide them.
    band = None if look.weight else band_around(run, name, low, high, columns, along, factor)
    behind, fronts = _shaded(band), [*envelopes]
    block = 1
    for number, (metric, _, one, times) in enumerate(drawn):
        ghost = one.ghost.envelope(low, high, columns, along) if one.ghost is not None else None
        if ghost is not None:
            behind.append(Line("", Role.FAINT, scaled(ghost, times), behind=True, metric=metric))
        if look.weight:
            behind.append(Line("", Role.FAINT, envelopes[number], behind=True, metric=metric))
            fronts[number], block = smoothed(one, look.weight, low, high, columns, along, times)
    details = [
        Detail(run, text, role, metric, one, times)
        for text, role, (metric, _, one, times) in zip(labels, SERIES_ROLES, drawn, strict=False)
    ]
    if look.cursor is not None and len(drawn) > 1:
        labels = [
            f"{text} {''.join(reading(one, times, look.cursor, False))}"
            for text, (_, _, one, times) in zip(labels, drawn, strict=True)
        ]
    lines = tuple(
        Line(text, role, envelope, not look.weight and _is_sparse(count, counts, columns, look), metric=metric)
        for text, role, envelope, count, (metric, *_) in zip(labels, SERIES_ROLES, fronts, counts, drawn, strict=False)
    )
    passed = milestones(run, [name for name, *_ in drawn], along, low, high, columns) if look.alone else ()
    below = told(run, look.cursor, symbols) if look.alone else ()
    in_words = in_context(run, leading)
    y_kind = "time" if all(meaning.unit == DATE for _, meaning, *_ in drawn) else "number"
    own_name = name if len(drawn) == 1 and name != title else ""
    note = note_of(run, only_curves, [factor for *_, factor in drawn], envelopes, left, sum(counts))
    if look.window is not None and not sum(counts):
        note = "no point in this window; 0 shows all"
    return ChartView(
        named(title, panel, look, symbols),
        headline_of(curve, in_words, factor, symbols)
        if look.cursor is None
        else cursor_headline(curve, in_words, factor, look.cursor, look.alone),
        Axis(low, high, kind=x_kind, label=x_label(along.name, low, high)),
        y_axis(panel, scale, only_curves, envelopes, band, look, own_name, y_kind),
        (*behind, *lines),
        (*passed, *marks_of(run, only_curves, along, low, high, columns, concepts)),
        ", ".join(filter(None, [averaged(look, block), note])),
        columns,
        cursor=cursor_of(run, along, curve, look),
        extent=(first, last),
        table=(*details_of(details, symbols, look.cursor, size.width), *([below] if below else []))
        if look.alone
        else (),
    )


_Drawn = tuple[str, Meaning, Curve, float]


def named(title: str, panel: str, look: Look, symbols: Symbols) -> str:
    """The title of a chart, which says that its panel is pinned."""
    return f"{_PIN[symbols]} {title}" if panel in look.pins else title


def _usual_labels(drawn: Sequence[_Drawn]) -> list[tuple[str, str]]:
    labels = labels_of([(name, meaning) for name, meaning, *_ in drawn])
    return [(one[0], text) for one, text in zip(drawn, labels, strict=True)]


def _shaded(band: Envelope | None) -> list[Line]:
    return [] if band is None else [Line("", Role.FAINT, band, filled=True, behind=True)]


def _end_of(run: Run, along: Scale, metric: str, own: float) -> float:
    """Where the run's data end: there all its charts follow, those that are seldom logged, too."""
    if metric not in run.main_metrics:
        return own
    if along.is_counter:
        return float(along.counts[-1])
    if along.name == "time":
        return run.last_wall_time
    if along.name == "duration":
        return run.last_wall_time - run.first_wall_time
    return own if run.last_step is None else float(run.last_step - along.zero)


def _count(curve: Curve, low: float, high: float, along: Scale, look: Look) -> int:
    return curve.finite_count if look.window is None else curve.points_inside(low, high, along)


def cursor_of(run: Run, along: Scale, curve: Curve, look: Look) -> float | None:
    """Where the cursor's step stands; on an axis of time, where the run's most frequent metric was logged there, so
    that it stands at one place on all charts."""
    if look.cursor is None:
        return None
    if curve.ordinal:
        return float(look.cursor)
    telling = run.curve(run.busiest_metric) if along.is_time and run.busiest_metric is not None else curve
    return telling.x_at(look.cursor, along)


def averaged(look: Look, block: int) -> str:
    """What the note says of an average."""
    return f"smooth {look.weight:g} over means of {block} points" if look.weight and block > 1 else ""


def x_label(axis: str, low: float, high: float) -> str:
    """The name of an axis; of a time of day, the day it is of (longer ones have dates for ticks)."""
    if axis == "time":
        return day(low) if high - low < _DAY else ""
    return _X_LABELS.get(axis, axis)


def _is_sparse(count: int, counts: Sequence[int], columns: int, look: Look) -> bool:
    """Whether points are marked: there are a few, or far fewer than the longest line has, or one looks closely."""
    stand_apart = count * _SPARSE <= columns
    return count <= FEW or (stand_apart and (count * 2 <= max(counts) or look.window is not None))


def factor_of(meaning: Meaning, curve: Curve) -> float:
    """What the logged values are multiplied by to be in the unit and of the sign of the concept."""
    first = curve.first if meaning.sign_auto else None
    return -meaning.scale if first is not None and first.value < 0 else meaning.scale
