"""Sparklines: curves in a single row of text, for tables."""

from __future__ import annotations

import sys

import numpy as np

from tuimon.draw.raster import glyphs, masks, spans
from tuimon.model.views import Axis, Envelope, Symbols

_LARGEST = sys.float_info.max


def spark_columns(cells: int, symbols: Symbols) -> int:
    """Return the number of columns of an envelope for a sparkline of `cells` cells."""
    return max(cells, 1) * glyphs(symbols).columns


def sparkline(envelope: Envelope, cells: int, symbols: Symbols) -> str:
    """Draw the range of values of a curve in `cells` cells; columns without points are blank."""
    finite = np.isfinite(envelope.low) & np.isfinite(envelope.high)
    if cells < 1 or not finite.any():
        return " " * max(cells, 0)
    low, high = float(envelope.low[finite].min()), float(envelope.high[finite].max())
    if not low < high:
        half = max(abs(low), 1e-300) * 0.5
        low, high = max(low - half, -_LARGEST), min(low + half, _LARGEST)
    shape = glyphs(symbols)
    top, bottom, _ = spans(envelope, Axis(low, high), cells * shape.columns, shape.rows)
    codes = shape.codes[masks(top, bottom, 1, shape)]
    return "".join(map(chr, codes[0].tolist()))
