"""KL divergence from the reference, and of one update."""

from tuimon.panels._curves import CurvePanel

PANEL = CurvePanel("kl", "KL", 30, ("kl.ref", "kl.old"))
