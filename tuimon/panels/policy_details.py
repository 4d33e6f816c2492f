"""Closer looks at the update of policy and critic."""

from tuimon.panels._curves import CurvePanel

PANELS = (
    CurvePanel("value_loss", "value loss", 102, ("loss.value",)),
    CurvePanel("explained_variance", "explained variance", 104, ("value.explained_var",)),
    CurvePanel("advantage", "advantage", 106, ("advantage",)),
    CurvePanel("ratio", "importance ratio", 108, ("ratio",)),
    CurvePanel("kl_mismatch", "rollout against trainer", 114, ("kl.mismatch",)),
    CurvePanel("logprob", "log-probability", 116, ("logprob",)),
    CurvePanel("value_clip", "value clip fraction", 118, ("clip_frac.value",)),
    CurvePanel("kl_coefficient", "KL coefficient", 120, ("kl.coef",)),
    CurvePanel("aux_loss", "other losses", 122, ("loss.aux", "loss.entropy_term")),
)
