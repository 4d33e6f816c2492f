"""Panel of asynchronous training: who waits for whom.

    trainer  ██████████████████▒▒▒▒▒▒▒▒▒▒▒▒  waits 41 % for rollouts, 80 s
    rollout  █████████████████████████████▒  waits 3 % for the trainer
    sync     ▒▒                              takes 6 %, 12 s

Numbers are medians of the last RECENT points. Names were read in verl 0.6 (fully_async_policy), slime 0.2, NeMo-RL 0.4,
prime-rl 0.4, SkyRL 0.3 and TRL 0.24.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tuimon.analysis.printed_units import seconds_of
from tuimon.draw.numbers import format_duration, format_fraction
from tuimon.model.views import SERIES_ROLES, Role, Row, Size, Symbols, TextView
from tuimon.panels._charts.options import DEFAULTS, ChartOptions
from tuimon.panels._charts.panel import Panel
from tuimon.panels._metrics import curve_or_none
from tuimon.panels.phases import step_seconds
from tuimon.store import Run
from tuimon.store.arrays import median
from tuimon.text_tables import table_rows

RECENT = 20
"""Points of which the medians are taken."""
_LEAST_BAR, _TEXT = 10, 47
"""Least cells of a bar, and cells of the name and the words beside it."""
_WORK, _WAIT = "█", "▒"


class Part(Struct, frozen=True):
    """A part of the job that works or waits."""

    name: str
    words: str
    """Before the share: "waits", "takes"."""
    ends: tuple[str, ...]
    """Ends of names: seconds in a step, or with `is_share` a fraction of the time."""
    is_share: bool = False
    what_for: str = ""


PARTS = tuple(
    Part(name, words, tuple(ends.split()), form == "share", what_for)
    for name, words, what_for, form, ends in table_rows(__file__, "waiting.txt")
)
"""Of several with one name, the first that is logged."""


@lru_cache(maxsize=64)
def logged_parts(metrics: tuple[str, ...]) -> tuple[tuple[Part, str], ...]:
    """Return (part, its first metric) of the parts that are logged; () if nothing that waits is logged."""
    firsts = ((part, next((name for name in metrics if name.endswith(part.ends)), "")) for part in PARTS)
    found = tuple((part, name) for part, name in firsts if name)
    return found if any(part.words == "waits" for part, _ in found) else ()


class WaitingPanel(Panel, frozen=True):
    """Shares of the step in which trainer and rollouts wait for each other."""

    def relevant(self, run: Run) -> bool:
        """Whether the log says how long the trainer or the rollouts wait."""
        return bool(logged_parts(run.metrics))

    def fitted(self, run: Run) -> WaitingPanel:
        """Return the panel with a row for each part that is logged."""
        return replace(self, rows=2 + len(_shares(run)))

    def view(self, run: Run, size: Size, now: float, symbols: Symbols, options: ChartOptions = DEFAULTS) -> TextView:
        """Return a bar for each part: the time that it waits or takes, in its share of the step."""
        shares = _shares(run)
        bar = max(min(size.width - _TEXT, 60), _LEAST_BAR)
        rows = tuple(_row(part, share, seconds, bar) for part, share, seconds in shares)
        waiting = [(share, part.name) for part, share, _ in shares if part.words == "waits"]
        share, name = max(waiting, default=(math.nan, ""))
        headline: Row = ((f"{name} waits {format_fraction(share)}", Role.VALUE),) if name else ()
        return TextView(self.title, rows[: max(size.height - 1, 0)], headline, f"medians of the last {RECENT} points")


def _shares(run: Run) -> list[tuple[Part, float, float]]:
    """Return (part, share of the step, seconds) of each part; NaN for what is not known."""
    found: dict[str, tuple[Part, float, float]] = {}
    for part, metric in logged_parts(run.metrics):
        if part.name in found or (curve := curve_or_none(run, metric)) is None:
            continue
        value, last = _recent(curve.values), int(curve.steps[-1])
        if part.is_share:
            found[part.name] = part, value, math.nan
            continue
        seconds, whole = value * seconds_of(run, metric), step_seconds(run, last)
        if math.isfinite(seconds) and whole > 0:
            found[part.name] = part, seconds / whole, seconds
    return [entry for entry in found.values() if math.isfinite(entry[1])]


def _recent(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    kept = values[-RECENT:][np.isfinite(values[-RECENT:])]
    return median(kept) if len(kept) else math.nan


def _row(part: Part, share: float, seconds: float, bar: int) -> Row:
    cells = round(min(max(share, 0.0), 1.0) * bar)
    goal = f" {part.what_for}" if part.what_for else ""
    time = f", {format_duration(seconds)}" if math.isfinite(seconds) else ""
    text = f"  {part.words} {format_fraction(share)}{goal}{time}"
    filled = _WAIT * cells + " " * (bar - cells) if part.words == "takes" else _WORK * (bar - cells) + _WAIT * cells
    split = len(filled.rstrip(_WAIT + " ")) if part.words == "waits" else 0
    return (
        (f"{part.name:<9}", Role.MUTED),
        (filled[:split], SERIES_ROLES[0]),
        (filled[split:], Role.WARNING if part.words == "waits" else SERIES_ROLES[1]),
        (text, Role.TEXT),
    )


PANEL = WaitingPanel("waiting", "who waits for whom", 41, rows=6)
