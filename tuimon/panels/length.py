"""Length of responses, or of episodes."""

from tuimon.panels._curves import CurvePanel

PANEL = CurvePanel("length", "length", 75, ("length.response",))
