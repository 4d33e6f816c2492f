"""Panels of the dashboard: each is a pure function from a run to a view.

A panel is a module of this package with a PANEL (or PANELS), which is an instance of Panel. A panel that draws
metrics as curves is a row of curves.txt:

    kl | KL | 30 | kl.ref kl.old |

    for panel in arrange(run):                         the panels that are relevant for this run
        view = panel.view(run, Size(66, 14), time.time(), Symbols.BRAILLE)
    metric_panel("any/metric").view(…)                 a chart of any single metric

tuimon.panels.lists makes rows of runs, metrics and settings. Modules that begin with "_" are helpers.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from tuimon.analysis.run_cache import cached_until_doubled
from tuimon.analysis.system_metrics import system_metrics
from tuimon.panels._charts.axes import axis_word, window_limits
from tuimon.panels._charts.captions import SEEDS_NOTE
from tuimon.panels._charts.chart import chart_of
from tuimon.panels._charts.curve_panel import SINGLE_METRIC, CurvePanel, metric_panel, metric_panel_by_id
from tuimon.panels._charts.options import DEFAULTS, SMOOTHINGS, Y_RANGES, Y_SCALES, ChartOptions, transient
from tuimon.panels._charts.overlay_lines import (
    FAILURE_SIGN,
    OverlayLine,
    distinct_markers,
    overlay_lines,
    seed_group_key,
)
from tuimon.panels._charts.panel import Panel
from tuimon.panels._charts.together import MOST_TOGETHER, together_panel
from tuimon.panels._charts.traces import Series
from tuimon.panels._installed import guarded_panel
from tuimon.panels._metrics import (
    PLAIN,
    RESULT,
    SECONDARY_PANELS,
    by_relevance,
    by_telling,
    is_over,
    is_total,
    label_of,
    leftovers,
    rank_of,
    reading_of,
)
from tuimon.panels._missing import why_empty, why_no_match
from tuimon.panels._own_dashboard import OwnDashboard, parse_dashboard
from tuimon.panels._page import highlighted, page_boxes, page_places, page_rows, panel_rows, panel_view, with_run_name
from tuimon.panels._run_facts import (
    facts_about,
    heading_of,
    loss_of,
    name_of,
    objective_of,
    relevant_metrics,
    reward_of,
    success_of,
)
from tuimon.panels._text import plural
from tuimon.panels.header import link_row, with_live_links, with_lost_links
from tuimon.registry import PANELS, discover, is_installed
from tuimon.store import Run
from tuimon.vocabulary import classify, meanings, memory_of, pair_key, phase_of

HEADER = "header"
_DETAILS = 76
"""`order` from which panels show details of a training (learning rate, throughput) instead of its success."""
MAX_SINGLE = 40
"""Maximum number of charts of single metrics in an arrangement; `unshown_metrics` has the names of all."""


@cache
def all_panels() -> tuple[Panel, ...]:
    """Return all panels, in order."""
    panels: tuple[Panel, ...] = discover(PANELS, "PANEL")
    guarded = (
        guarded_panel(panel) if is_installed(PANELS, panel) and not isinstance(panel, CurvePanel) else panel
        for panel in panels
    )
    return tuple(sorted(guarded, key=lambda panel: (panel.order, panel.id)))


def preload() -> None:
    """Load the panels and the vocabulary, which the first drawing would otherwise wait for."""
    all_panels()
    classify(""), phase_of(""), memory_of("")


def arrange(run: Run) -> tuple[Panel, ...]:
    """Return the panels for this run without the header, in order, then charts of metrics that no panel displays.

    In a run of which no panel shows the quality of the model, the charts of informative metrics come before the panels
    about details, such as the learning rate.
    """
    fitted = tuple(panel.fitted(run) for panel in all_panels() if panel.id != HEADER and panel.relevant(run))
    charts, informative = _charts(run)
    singles = tuple(metric_panel(*names) for names in charts[:MAX_SINGLE])
    if _shows_quality(fitted):
        return tuple(sorted(fitted + singles, key=lambda panel: panel.order))
    placed = [(panel.order, panel) for panel in fitted]
    placed += [
        (min(panel.order, _DETAILS) if place < informative else panel.order, panel)
        for place, panel in enumerate(singles)
    ]
    return tuple(panel for _, panel in sorted(placed, key=lambda item: item[0]))


def _shows_quality(panels: Iterable[Panel]) -> bool:
    return any(panel.order < _DETAILS and panel.kind == "chart" for panel in panels)


@cached_until_doubled
def by_relevance_in(run: Run) -> tuple[str, ...]:
    """Return all metrics of a run in the order of `arrange`: those of panels, each with its statistics, and those of
    charts of single metrics; then those without a chart, such as totals; times, sizes, counters and constants that no
    panel displays; and the bookkeeping of trainers and trackers.

    Sorting 12,000 metrics takes 0.1 to 0.4 s."""
    known, (charts, informative) = meanings(run.metrics), _charts(run)
    position = {name: place for place, names in enumerate(charts) for name in names}
    order = {concept: panel.order for panel in reversed(all_panels()) for concept in panel.concepts}
    singles = SINGLE_METRIC if _shows_quality(panel for panel in all_panels() if panel.relevant(run)) else _DETAILS

    def key(name: str) -> tuple[float, int]:
        meaning = known[name]
        place = position.get(name)
        if place is not None:
            return (singles - 0.5 if place < informative else SINGLE_METRIC + 1), place
        if meaning.panel in SECONDARY_PANELS:
            return SINGLE_METRIC + 2, 0
        return order.get(meaning.concept, SINGLE_METRIC), 0

    return tuple(sorted(by_relevance(run.metrics), key=key))


@cached_until_doubled
def _charts(run: Run) -> tuple[list[tuple[str, ...]], int]:
    """Return the metrics of the charts after the panels, and how many of the charts are informative.

    A training metric shares the chart of its validation metric. Times, sizes, counters and constants are not
    informative and come last. A metric that was logged once, long ago, and is no result, has no chart.
    """
    known = meanings(run.metrics)
    names = [name for name in unshown_metrics(run) if not is_total(run, name, known[name])]
    names = [name for name in names if not is_over(run, name) or rank_of(name, known[name].unit) == RESULT]
    ranked = by_telling(run, names, known)
    names = [name for _, name in ranked]
    rank = {name: rank for rank, name in ranked}

    def key(name: str) -> tuple[str, str | None]:
        return pair_key(name), known[name].facets.get("q")

    validation = {key(name): name for name in reversed(names) if known[name].split == "val"}
    charts: list[tuple[str, ...]] = []
    for name in names:
        is_paired = validation and known[name].split != "val"
        counterpart = validation.pop(key(name), None) if is_paired else None
        charts.append((name,) if counterpart is None else (name, counterpart))
    drawn = {names[1] for names in charts if len(names) > 1}
    charts = [names for names in charts if len(names) > 1 or names[0] not in drawn]
    return charts, sum(rank[names[0]] <= PLAIN for names in charts)


def header_panel() -> Panel:
    """Return the panel with the run's name, state and estimated end."""
    return next(panel for panel in all_panels() if panel.id == HEADER)


def unshown_metrics(run: Run) -> tuple[str, ...]:
    """Return the names of the metrics that no panel displays, the unclassified ones first."""
    relevant = (panel for panel in all_panels() if panel.relevant(run))
    names = leftovers(run.metrics, frozenset(c for panel in relevant for c in panel.concepts))
    measured = system_metrics(run)
    return tuple(name for name in names if name not in measured) if measured else names
