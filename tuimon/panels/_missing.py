"""Why a run has nothing for a panel or a filter, and what would make its log contain it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from msgspec import Struct, convert

from tuimon.analysis.metric_filter import nearest
from tuimon.compiled_toml import load_toml
from tuimon.draw.rows import wrap_row
from tuimon.model.views import Role, Size, Symbols, TextView
from tuimon.panels._charts.options import DEFAULTS, ChartOptions
from tuimon.panels._charts.panel import Panel
from tuimon.panels._metrics import by_concept
from tuimon.registry import discover
from tuimon.store import Run
from tuimon.text import clean


class Topic(Struct, frozen=True):
    """Something that users look for in a log."""

    name: str
    words: frozenset[str]
    """Words of a filter that ask for it."""
    concepts: tuple[str, ...]
    """Beginnings of the concepts that contain it."""
    remedy: str
    """Setting or call that makes a trainer log it."""
    panels: frozenset[str] = frozenset()
    """Ids of the panels that display it."""


_MAX_NEAREST = 5


@cache
def _topics() -> tuple[Topic, ...]:
    """Return the rows of topics.toml."""
    rows = load_toml(Path(__file__).with_name("topics.toml"))
    return tuple(convert({"name": name, **row}, Topic) for name, row in rows.items())


def why_no_match(query: str, run: Run) -> list[str]:
    """Return sentences about a filter that matches no metric of a run: what the log lacks, and the nearest names."""
    words = frozenset(query.lower().replace("/", " ").replace("*", " ").split())
    asked = [topic for topic in _topics() if words & topic.words and not _logged(topic.concepts, run)]
    sentences = [_why_empty(topic) for topic in asked]
    near = nearest(query, run.metrics, _MAX_NEAREST)
    return [*sentences, *([f"The nearest names are {', '.join(map(clean, near))}."] if near else [])]


def _logged(concepts: Sequence[str], run: Run) -> bool:
    return any(concept.startswith(tuple(concepts)) for concept in by_concept(run.tracked_metrics))


class MissingPanel(Panel, frozen=True):
    """A panel that the user has chosen and for which the run has no data; says what would fill it."""

    def view(self, run: Run, size: Size, now: float, symbols: Symbols, options: ChartOptions = DEFAULTS) -> TextView:
        """Return the sentence about what the log lacks."""
        rows = wrap_row(((why_empty(self.id, self.title), Role.MUTED),), max(size.width, 1), max(size.height - 1, 1))
        return TextView(self.title, tuple(rows))


def missing_panel(id: str) -> MissingPanel | None:
    """Return a panel in place of the panel with this id, or None if there is no such panel."""
    panel = next((panel for panel in discover("tuimon.panels", "PANEL") if panel.id == id), None)
    return None if panel is None else MissingPanel(id, panel.title, rows=4)


def why_empty(id: str, title: str) -> str:
    """Return a sentence about a panel for which a run has no data."""
    if id == "machine":
        return "Shown while the run is active, for the GPUs of this machine (NVIDIA: pip install 'tuimon[gpu]')."
    topic = next((topic for topic in _topics() if id in topic.panels), None)
    return f"This run logs no {title}." if topic is None else _why_empty(topic)


def _why_empty(topic: Topic) -> str:
    """Return a sentence about something of which a run has no metric."""
    return f"This run logs no {topic.name}: {topic.remedy}."
