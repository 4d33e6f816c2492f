"""The losses that training goes by, and that of validation."""

from tuimon.panels._curves import CurvePanel

PANEL = CurvePanel("loss", "loss", 20, ("loss.total", "loss.val", "loss.sft", "loss.policy"))
