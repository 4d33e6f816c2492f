"""Metrics of several runs side by side: which names belong together, and what runs and metrics are called."""

from __future__ import annotations

from collections.abc import Sequence

from tuimon.analysis.comparing import first_name
from tuimon.model.views import SERIES_ROLES
from tuimon.panels.lists.comparison import Names
from tuimon.vocabulary.names import section_of

MOST_LINES = 3 * len(SERIES_ROLES)
"""Maximum number of lines in a chart of several runs: each colour in three styles."""


def logged_names(metrics: Sequence[Names]) -> list[str]:
    """Return the name of each metric in the first run that has it, without the section of a JSON document unless
    another metric then has the same name."""
    full = [first_name(names) for names in metrics]
    short = [section_of(name)[1] for name in full]
    return [brief if short.count(brief) == 1 else name for brief, name in zip(short, full, strict=True)]
