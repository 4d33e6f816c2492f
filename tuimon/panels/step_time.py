"""Seconds a step takes."""

from tuimon.panels._curves import CurvePanel

PANEL = CurvePanel("step_time", "step time", 95, ("time.step",))
