"""Share of the updates that were clipped."""

from tuimon.panels._curves import CurvePanel

PANEL = CurvePanel("clip", "clip fraction", 80, ("clip_frac",))
