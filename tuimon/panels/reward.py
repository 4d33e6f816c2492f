"""Reward of training and of validation on one chart."""

from tuimon.panels._curves import CurvePanel

PANEL = CurvePanel("reward", "reward", 10, ("reward.train", "reward.val", "reward.val_bare"))
