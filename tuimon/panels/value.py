"""What the critic expects, and what came."""

from tuimon.panels._curves import CurvePanel

PANEL = CurvePanel("value", "value", 100, ("value.estimate", "return"))
