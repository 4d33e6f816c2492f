"""All metrics of a run as charts under headings: a section for each first part of a name, folded or not."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from tuimon.model.views import Role, Size, Symbols, TextView
from tuimon.panels import PLAIN, Look, Panel, is_side, metric_panel
from tuimon.store import Run
from tuimon.text import clean
from tuimon.vocabulary import classify

FOLDED_FROM = 60
"""With more metrics than this sections are folded at first: their headings tell more than the first of many pages."""
ORDERS = ("relevance", "name")
NO_SECTION = "without a section"
_NUMBER = re.compile(r"(\d+)")
_LAST = frozenset({"progress", "hidden", "machine"})
"""What the vocabulary ranks high, as it tells where a run stands, and what says little as a curve."""
_ARROWS = {True: "▸", False: "▾"}
_PLAIN_ARROWS = {True: "+", False: "-"}


@dataclass(frozen=True, slots=True)
class Heading:
    """The panel that stands for a section: one row; enter folds and unfolds it."""

    section: str
    metrics: int
    folded: bool
    order: int = 0
    kind: str = "heading"
    rows: int = 1

    @property
    def id(self) -> str:
        """Kept when the section is folded."""
        return self.id_of(self.section)

    @staticmethod
    def id_of(section: str) -> str:
        """The id of a section's heading."""
        return f"section:{section}"

    @property
    def title(self) -> str:
        """The section."""
        return self.section

    def relevant(self, run: Run) -> bool:
        """Always."""
        return True

    def view(self, run: Run, size: Size, now: float, symbols: Symbols, look: Look = PLAIN) -> TextView:
        """One row."""
        arrows = _PLAIN_ARROWS if symbols is Symbols.ASCII else _ARROWS
        title = f"{arrows[self.folded]} {clean(self.section)}"
        return TextView("", (((title, Role.TITLE), (f"  {self.metrics}", Role.MUTED)),))


def section_of(metric: str) -> str:
    """The first part of a name; "" of a name of one part."""
    head, slash, _ = metric.partition("/")
    return f"{head}/" if slash and head else ""


@lru_cache(maxsize=8)
def sectioned(metrics: tuple[str, ...], order: str, folded: bool | None, turned: tuple[str, ...]) -> tuple[Panel, ...]:
    """Headings, and below each the charts of its metrics where it is not folded. Without a second section: no heading.

    folded: whether all are, but for those in `turned`; None: where there are many metrics.
    """
    sections: dict[str, list[str]] = {}
    for name in ordered(metrics, order):
        sections.setdefault(section_of(name), []).append(name)
    if len(sections) < 2:
        return tuple(metric_panel(name) for name in ordered(metrics, order))
    usual = len(metrics) > FOLDED_FROM if folded is None else folded
    made: list[Panel] = []
    for section, names in sections.items():
        title = section or NO_SECTION
        is_folded = usual != (title in turned)
        made.append(Heading(title, len(names), is_folded))
        if not is_folded:
            made += [metric_panel(name) for name in names]
    return tuple(made)


@lru_cache(maxsize=8)
def ordered(metrics: tuple[str, ...], order: str) -> tuple[str, ...]:
    """By name: letters in any case, numbers by their size. By relevance: as the vocabulary ranks what they mean."""
    if order == "name":
        return tuple(sorted(metrics, key=_natural))
    ranks = []
    for place, name in enumerate(metrics):
        meaning = classify(name)
        ranks.append((meaning.panel in _LAST, meaning.rank, is_side(meaning), meaning.preference, place))
    return tuple(metrics[place] for *_, place in sorted(ranks))


def _natural(name: str) -> list[tuple[int, int, str]]:
    parts = _NUMBER.split(name.lower()[:512])
    return [(0, int(part), "") if part.isdecimal() and len(part) < 20 else (1, 0, part) for part in parts]
