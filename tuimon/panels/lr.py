"""Learning rate; on a log scale when it spans decades."""

from tuimon.panels._curves import CurvePanel

PANEL = CurvePanel("lr", "learning rate", 85, ("lr",), scale="auto")
