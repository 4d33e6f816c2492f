"""Plug-ins for tuimon: the tally log, its panel, its detector, and an export that writes it."""
