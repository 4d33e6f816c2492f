"""Closer looks at what was generated."""

from tuimon.panels._curves import CurvePanel

PANELS = (
    CurvePanel("truncation", "truncated responses", 76, ("truncation",)),
    CurvePanel("prompt_length", "prompt length", 124, ("length.prompt",)),
    CurvePanel("turns", "turns", 126, ("turns",)),
    CurvePanel("degenerate", "degenerate text", 128, ("degenerate",)),
    CurvePanel("tool_success", "tool success", 130, ("success.tool_rate_pct",)),
)
