"""Entropy of the policy."""

from tuimon.panels._curves import CurvePanel

PANEL = CurvePanel("entropy", "entropy", 60, ("entropy",))
