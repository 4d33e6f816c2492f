"""Panels that draw the metrics of vocabulary concepts as curves: the rows of curves.txt."""

from __future__ import annotations

from collections.abc import Iterator

from tuimon.panels._charts.curve_panel import CurvePanel
from tuimon.text_tables import table_rows


def _panels() -> Iterator[CurvePanel]:
    for id, title, order, concepts, kind in table_rows(__file__, "curves.txt"):
        scale = "auto" if kind == "auto" else "linear"
        yield CurvePanel(id, title, int(order), tuple(concepts.split()), scale=scale, named=kind == "named")


PANELS = tuple(_panels())
REWARD, LOSS, SUCCESS = (next(panel for panel in PANELS if panel.id == id) for id in ("reward", "loss", "success"))
"""Rewards, losses, and fractions of correct results, each of training and of validation."""
