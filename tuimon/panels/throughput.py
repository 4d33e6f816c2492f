"""Tokens per second."""

from tuimon.panels._curves import CurvePanel

PANEL = CurvePanel("throughput", "throughput", 90, ("throughput.tokens",))
