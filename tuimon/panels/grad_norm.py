"""Norm of the gradient."""

from tuimon.panels._curves import CurvePanel

PANEL = CurvePanel("grad_norm", "grad norm", 70, ("grad_norm",))
