"""How the rewards of a batch are spread."""

from tuimon.panels._curves import CurvePanel

PANELS = (
    CurvePanel("reward_margin", "preference margin", 62, ("reward.margin",)),
    CurvePanel("reward_std", "reward std", 110, ("reward.std",)),
    CurvePanel("zero_variance", "groups without variance", 112, ("reward.zero_std_frac",)),
)
