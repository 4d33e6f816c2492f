"""Panels that draw the metrics of vocabulary concepts as curves: the rows of curves.txt."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tuimon.panels._charts.curve_panel import CurvePanel


def _panels(table: str) -> Iterator[CurvePanel]:
    for line in table.splitlines():
        if line and not line.startswith("#"):
            id, title, order, concepts, kind = map(str.strip, line.split("|"))
            scale = "auto" if kind == "auto" else "linear"
            yield CurvePanel(id, title, int(order), tuple(concepts.split()), scale=scale, named=kind == "named")


PANELS = tuple(_panels(Path(__file__).with_name("curves.txt").read_text("utf-8")))
REWARD, LOSS, SUCCESS = (next(panel for panel in PANELS if panel.id == id) for id in ("reward", "loss", "success"))
"""Rewards, losses, and fractions of correct results, each of training and of validation."""
