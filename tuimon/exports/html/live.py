"""The live page: a document around the parts of the page of a run, which its script replaces as they change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import tuimon
from tuimon.analysis.aligned_steps import step_name
from tuimon.exports.html import asset, render
from tuimon.exports.html.parts import GROUPS, Slot, run_key
from tuimon.store import Run
from tuimon.text import clean

ASSETS = {
    "style.css": "text/css",
    "live.css": "text/css",
    "chart.js": "text/javascript",
    "live.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
"""Files that the page loads, with their content types."""


def page(run: Run | None, parts: Sequence[Slot], drawn: Mapping[str, str], since: str) -> str:
    """Return the document. drawn: key -> HTML of the slots that were drawn. since: version of the page."""
    name = clean(run.name) if run is not None else "tuimon"
    grouped = [(group, title, [slot for slot in parts if slot.group == group]) for group, title in GROUPS]
    return render(
        "live.html",
        title=name,
        run="" if run is None else run_key(run),
        path="" if run is None else clean(run.path),
        groups=grouped,
        drawn=drawn,
        steps="step" if run is None else step_name(run),
        metrics=0 if run is None else len(run.metrics),
        since=since,
        version=tuimon.__version__,
    )


def asset_text(name: str) -> str:
    """Return the text of a file of ASSETS. Raise KeyError for another name."""
    if name not in ASSETS:
        raise KeyError(name)
    return str(asset(name))
