"""All metrics of a run as charts under headings: a section for each first part of a name, folded or not; a section of
many metrics has sections of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from msgspec import Struct

from tuimon.model.views import Role, Size, Symbols, TextView
from tuimon.panels import PLAIN, Look, Panel, is_side, metric_panel
from tuimon.store import Run
from tuimon.text import cell_width, clean, fit
from tuimon.vocabulary import classify

MANY = 60
"""With more metrics than this sections are folded at first, and one of more is divided: headings tell more than the
first of many pages."""
ORDERS = ("relevance", "name")
NO_SECTION = "without a section"
_NUMBER = re.compile(r"(\d+)")
_LAST = frozenset({"progress", "hidden", "machine"})
"""What the vocabulary ranks high, as it tells where a run stands, and what says little as a curve."""
_ARROWS = {True: "▸", False: "▾"}
_PLAIN_ARROWS = {True: "+", False: "-"}


class Heading(Struct, frozen=True):
    """The panel that stands for a section: one row; enter folds and unfolds it."""

    section: str
    metrics: int
    folded: bool
    depth: int = 0
    """How many sections it is in."""
    order: int = 0
    kind: str = "heading"
    rows: int = 1

    @property
    def id(self) -> str:
        """Kept when the section is folded."""
        return f"section:{self.section}"

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
        sign, count = "  " * self.depth + arrows[self.folded] + " ", f"  {self.metrics}"
        name = clean(self.section)
        room = min(cell_width(name), max(size.width - len(sign + count), 1))
        return TextView("", (((sign + fit(name, room, keep="end"), Role.TITLE), (count, Role.MUTED)),))


@lru_cache(maxsize=8)
def sectioned(metrics: tuple[str, ...], order: str, folded: bool | None, turned: tuple[str, ...]) -> tuple[Panel, ...]:
    """Headings, and below each the charts of its metrics where it is not folded. Without a second section: no heading.

    folded: whether all are, but for those in `turned`; None: where there are many metrics.
    """
    usual = len(metrics) > MANY if folded is None else folded
    return tuple(_panels(ordered(metrics, order), "", 0, usual, frozenset(turned)))


def _panels(names: Sequence[str], above: str, depth: int, usual: bool, turned: frozenset[str]) -> Iterator[Panel]:
    """What is shown of the section `above`, "" all metrics."""
    sections = _divided(names, above) if not depth or len(names) > MANY else {}
    if len(sections) < 2:
        yield from map(metric_panel, names)
        return
    if depth:  # else they would seem to belong to the heading before them
        yield from map(metric_panel, sections.pop(above, ()))
    for section, inside in sections.items():
        title = section or NO_SECTION
        folded = usual != (title in turned)
        yield Heading(title, len(inside), folded, depth)
        if not folded:
            yield from _panels(inside, section, depth + 1, usual, turned)


def _divided(names: Sequence[str], above: str) -> dict[str, list[str]]:
    """Names by their next part; those that end there under `above` itself."""
    sections: dict[str, list[str]] = {}
    for name in names:
        head, slash, _ = name[len(above) :].partition("/")
        sections.setdefault(f"{above}{head}/" if slash and head else above, []).append(name)
    only = next(iter(sections), above)
    return _divided(names, only) if len(sections) == 1 and only != above and len(names) > MANY else sections


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
