"""Panels of the board and their order: the dashboard, the metrics that match a filter, or all metrics in sections.

A section holds the metrics whose names share a first part; a section of many metrics is divided further.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from tuimon import lazy_re as re
from tuimon.analysis.metric_filter import matching
from tuimon.model.views import Role, Size, Symbols, TextView
from tuimon.panels import (
    DEFAULTS,
    SECONDARY_PANELS,
    ChartOptions,
    CurvePanel,
    Panel,
    arrange,
    by_relevance_in,
    metric_panel,
    metric_panel_by_id,
    together_panel,
)
from tuimon.store import Run
from tuimon.text import cell_width, clean, fit
from tuimon.tui.state import ViewState
from tuimon.vocabulary import classify

MANY = 60
"""Number of metrics above which sections begin folded, and above which a section is divided: headings give a better
overview than the first of many pages."""
_OPEN = 12
"""Number of charts from which no further section begins unfolded: about a page."""
_LARGEST_OPEN = 30
"""Number of metrics above which a section begins folded."""
ORDERS = ("relevance", "name")
NO_SECTION = "without a section"
_BOOKKEEPING = "bookkeeping"
"""Section of the counters and internals of trainers and trackers whose names have no other section."""
_RESULTS = ("reward", "success", "loss")
"""Ids of the panels of metrics by which runs are compared."""
_NUMBER = re.compile(r"(\d+)")
"""Number in a name, by which names are sorted."""
_ARROWS = {True: "▸", False: "▾"}


def panels_of(run: Run | None, state: ViewState) -> tuple[Panel, ...]:
    """Return the panels that the view state asks for, in order."""
    if run is None:
        return ()
    if state.together:
        return (together_panel(state.together),)
    if state.query:
        return tuple(metric_panel(name) for name in matching(ordered(run, state.order), state.query))
    if state.chosen:
        return tuple(metric_panel(name) for name in state.chosen)
    if state.all_metrics:
        return sectioned(ordered(run, state.order), state.folded, state.turned)
    is_overlaid = state.runs.over and bool(state.runs.marked)
    panels = tuple(_with_validation(arrange(run), run)) if is_overlaid else arrange(run)
    return _pinned_first((state.kept or state.own).arranged(panels, run), run, state.options.pins)


def _with_validation(panels: tuple[Panel, ...], run: Run) -> Iterator[Panel]:
    """Yield the panels, each result followed by a chart of its validation.

    An overlay draws one metric in a chart, and runs are compared by their validation.
    """
    for panel in panels:
        yield panel
        if isinstance(panel, CurvePanel) and panel.id in _RESULTS:
            first, *others = panel.in_order(run)
            validation = [name for name in others if classify(name).split == "val"]
            if validation and classify(first).split != "val":
                yield metric_panel(validation[0])


def _pinned_first(panels: tuple[Panel, ...], run: Run, pins: tuple[str, ...]) -> tuple[Panel, ...]:
    """Move pinned panels to the front, in the order of `pins`; a pinned metric without a panel gets one."""
    known = {panel.id: panel for panel in panels}
    pinned = [known.get(id) or metric_panel_by_id(id, run) for id in pins]
    first = tuple(panel for panel in pinned if panel is not None)
    return (*first, *(panel for panel in panels if panel not in first)) if first else panels


class Heading(Panel, frozen=True, kw_only=True):
    """Panel of one row that heads a section."""

    metrics: int
    """Number of metrics in the section."""
    folded: bool
    depth: int = 0
    """Number of sections that enclose this one."""
    kind: str = "heading"
    rows: int = 1

    def view(self, run: Run, size: Size, now: float, symbols: Symbols, options: ChartOptions = DEFAULTS) -> TextView:
        """Return one row: an arrow, the section and its number of metrics."""
        sign, count = "  " * self.depth + _ARROWS[self.folded] + " ", f"  {self.metrics}"
        name = clean(self.title)
        room = min(cell_width(name), max(size.width - len(sign + count), 1))
        return TextView("", (((sign + fit(name, room, keep="end"), Role.TITLE), (count, Role.MUTED)),))


@lru_cache(maxsize=8)
def sectioned(names: tuple[str, ...], folded: bool | None, turned: tuple[str, ...]) -> tuple[Panel, ...]:
    """Return headings, each followed by the charts of its metrics unless it is folded. There are no headings if all
    metrics are in one section.

    names: the metrics in their order, which is also that of the sections, each at its first metric.
    folded: whether sections are folded, except those in `turned`; None: if there are many metrics, all but the first
    sections are, whose charts fill about a page.
    """
    default = len(names) > MANY if folded is None else folded
    if folded is None and default:
        turned = tuple(set(turned) ^ _first_sections(names))
    return tuple(_panels(names, "", 0, default, frozenset(turned)))


def _first_sections(names: Sequence[str]) -> set[str]:
    """Return the titles of the first sections, as many as fill about a page."""
    titles, count = set[str](), 0
    for section, members in _divided(names, "").items():
        if count >= _OPEN or len(members) > _LARGEST_OPEN:
            break
        titles.add(section or NO_SECTION)
        count += len(members)
    return titles


def _panels(names: Sequence[str], above: str, depth: int, default: bool, turned: frozenset[str]) -> Iterator[Panel]:
    """Yield the panels of the section `above`; "" is the section of all metrics."""
    sections = _divided(names, above) if not depth or len(names) > MANY else {}
    if len(sections) < 2:
        yield from map(metric_panel, names)
        return
    if depth:  # first, or else they would seem to belong to the last of the inner sections
        yield from map(metric_panel, sections.pop(above, ()))
    for section, members in sections.items():
        title = section or NO_SECTION
        folded = default != (title in turned)
        yield Heading(f"section:{title}", title, metrics=len(members), folded=folded, depth=depth)
        if not folded:
            yield from _panels(members, section, depth + 1, default, turned)


def _divided(names: Sequence[str], above: str) -> dict[str, list[str]]:
    """Group names by their next part; names that have no further part are grouped under `above` itself. Bookkeeping
    is not among the metrics without a section, or else it would come as early as the first of them."""
    sections: dict[str, list[str]] = {}
    for name in names:
        head, slash, _ = name[len(above) :].partition("/")
        section = f"{above}{head}/" if slash and head else above
        if not section and classify(name).panel in SECONDARY_PANELS:
            section = _BOOKKEEPING
        sections.setdefault(section, []).append(name)
    only = next(iter(sections), above)
    return _divided(names, only) if len(sections) == 1 and only != above and len(names) > MANY else sections


def ordered(run: Run, order: str) -> tuple[str, ...]:
    """Sort the metrics of a run by "name" (ignoring case, numbers by their value) or by "relevance" (see
    by_relevance_in)."""
    return by_relevance_in(run) if order == "relevance" else _by_name(run.metrics)


@lru_cache(maxsize=8)
def _by_name(metrics: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(metrics, key=_natural))


def _natural(name: str) -> list[tuple[int, int, str]]:
    parts = _NUMBER.split(name.lower()[:512])
    return [(0, int(part), "") if part.isdecimal() and len(part) < 20 else (1, 0, part) for part in parts]
