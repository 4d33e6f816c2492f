"""Success, pass rate, accuracy: fractions of what was done right."""

from tuimon.panels._curves import CurvePanel

PANEL = CurvePanel(
    "success",
    "success",
    65,
    ("success.train", "success.val", "success.accuracy", "success.pref", "success.token_accuracy"),
)
