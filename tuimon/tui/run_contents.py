"""Contents of the run list, computed from a snapshot without the screen, so that a thread can do it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tuimon.draw.rows import row_width
from tuimon.model.views import Role, Row, Span, Symbols
from tuimon.panels import plural
from tuimon.panels.lists.hparam_rows import SETTING, different_settings
from tuimon.panels.lists.parallel import Axis, axes_of
from tuimon.panels.lists.run_groups import Entry, RunGroup, entries, group_values
from tuimon.panels.lists.run_metrics import METRIC, other_names
from tuimon.panels.lists.run_selection import filter_problem, totals
from tuimon.panels.lists.runs import Listing
from tuimon.store import Run, Snapshot
from tuimon.text import clean
from tuimon.tui.run_choice import RunChoice, listed_runs, listing_of

_SAMPLE = 200
"""Maximum number of runs whose names of the chosen metric are looked up."""
_NO_MATCH = "No run matches all of these. Esc removes the filter"
"""Displayed if each word of the filter is known, but no run matches all of them."""
_EXAMINED = "read, states being determined"
"""Displayed from the end of reading until the states of all runs are known, which takes seconds for thousands."""


@dataclass(frozen=True, slots=True)
class RunContents:
    """Contents of the run list."""

    choice: RunChoice
    listing: Listing
    entries: tuple[Entry, ...]
    values: Mapping[str, Row]
    """Values of the runs of each group by its title."""
    counts: Row
    """Number of runs, number of listed runs, and the filter."""
    states: tuple[str, ...]
    """Numbers of runs by their states, the longest text first, see `totals`; () for a single run."""
    choices: Row
    """Order, groups, and hidden and marked runs of the list."""
    is_reading: bool
    """Whether the history of the runs was being read."""
    axes: tuple[Axis, ...]
    """Results and settings of the listed runs for parallel coordinates, if the list has a column for each setting."""
    problem: str
    """Message about an unknown word of the filter, or about a filter that no run matches; else ""."""

    def head(self, width: int, is_reading: bool = False) -> Row:
        """Return the head line: the longest of the texts about the states that fits into `width` cells.

        is_reading: whether the history of the runs is being read now."""
        gap = "  " if self.choice.query else ": "
        states = (_EXAMINED,) if self.is_reading and not is_reading and self.states else self.states
        rows = [(*self.counts, (f"{gap}{text}", Role.TEXT), *self.choices) for text in states]
        return next((row for row in rows if row_width(row) <= width), rows[-1] if rows else self.counts + self.choices)


def contents_of(snapshot: Snapshot, choice: RunChoice, symbols: Symbols, now: float) -> RunContents:
    """Return the contents of the run list. now: wall time (s since epoch)."""
    is_reading = snapshot.is_reading
    listing = listing_of(snapshot, choice, now, symbols)
    runs = listed_runs(snapshot, choice, listing)
    by_value = choice.sort in ("found", "urgent") and not choice.reverse
    rows = entries(runs, choice.grouping, frozenset(choice.folded), listing, by_value)
    runs_shown = [entry for entry in rows if isinstance(entry, Run)]
    values = {entry.title: group_values(entry.runs, listing) for entry in rows if isinstance(entry, RunGroup)}
    problem = ""
    if choice.query:
        problem = filter_problem(snapshot.runs, listing, choice.filter, len(runs)) or ("" if runs else _NO_MATCH)
    return RunContents(
        choice,
        listing,
        rows,
        values,
        _counts(snapshot, choice, len(runs)),
        totals(runs, listing) if len(snapshot.runs) > 1 else (),
        tuple(_choices(snapshot, choice, runs)),
        is_reading,
        tuple(axes_of(runs_shown, listing)) if choice.all_settings else (),
        problem,
    )


def _counts(snapshot: Snapshot, choice: RunChoice, listed: int) -> Row:
    total = len(snapshot.runs)
    spans: tuple[Span, ...] = (
        (f" {plural(total, 'run')}", Role.TITLE),
        (f", {listed} listed" if listed != total else "", Role.TEXT),
        (f"  /{clean(choice.query)}" if choice.query else "", Role.ACCENT),
    )
    return tuple(span for span in spans if span[0])


def _choices(snapshot: Snapshot, choice: RunChoice, listed: Sequence[Run]) -> list[Span]:
    spans: list[Span] = []
    if choice.all_settings and (settings := different_settings(snapshot.runs)).values:
        differ = plural(len(settings.names), "setting")
        differ += f" differ{'s' * (len(settings.names) == 1)}" if len(snapshot.runs) > 1 else ""
        spans.append((f"  {differ}, {settings.equal} equal", Role.MUTED))
    if choice.sort == "urgent":
        spans.append((f"  alerts {'last' if choice.reverse else 'first'}", Role.MUTED))
    elif choice.sort != "found":
        by = clean(choice.metric if choice.sort == METRIC else choice.sort.removeprefix(SETTING))
        spans.append((f"  by {by}{', reversed' if choice.reverse else ''}", Role.MUTED))
    if choice.metric and (others := other_names(listed[:_SAMPLE], choice.metric)):
        names = ", ".join(map(clean, others[:2])) + (" …" if len(others) > 2 else "")
        spans.append((f"  * logged as {names}", Role.MUTED))
    if choice.group:
        spans.append((f"  grouped by {clean(choice.group)}", Role.MUTED))
    hidden = sum(run.path in choice.hidden for run in snapshot.runs) if choice.hidden else 0
    if hidden:
        spans.append((f"  {hidden} hidden{', shown' if choice.show_hidden else ''}", Role.MUTED))
    marked = sum(run.path in choice.marked for run in snapshot.runs) if choice.marked else 0
    if marked:
        spans.append((f"  {marked} marked{'' if choice.over else ', not overlaid'}", Role.ACCENT))
    if choice.grouped:
        spans.append(("  seeds merged", Role.MUTED))
    return spans
