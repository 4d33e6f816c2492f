"""A row of the table: what was measured, what it is held against, whether that is enough."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One figure."""

    what: str
    ours: float
    unit: str
    least: float
    """What must be reached; NaN where nothing is demanded."""
    aim: float
    more: bool = False
    """More is better; otherwise less is."""
    against: str = ""
    """Peers and limits of the same run, as ratios."""
    section: str = ""

    @property
    def verdict(self) -> str:
        """aim | met | NOT MET | - (nothing demanded)."""
        if math.isnan(self.least):
            return "-"
        if self._reaches(self.aim):
            return "aim"
        return "met" if self._reaches(self.least) else "NOT MET"

    def _reaches(self, demand: float) -> bool:
        return self.ours >= demand if self.more else self.ours <= demand

    def as_json(self) -> dict[str, object]:
        found = {name: None if value != value else value for name, value in asdict(self).items()}
        return {**found, "verdict": self.verdict}

    def __str__(self) -> str:
        wanted = [f"{number(value):>7}" if value == value else "      -" for value in (self.least, self.aim)]
        ours = f"{number(self.ours)} {self.unit}"
        return f"{self.what:<52} {ours:>15} {wanted[0]} {wanted[1]}  {self.verdict:<8} {self.against}"


HEAD = f"{'what':<52} {'ours':>15} {'least':>7} {'aim':>7}  {'verdict':<8} against, in this run"


def number(value: float) -> str:
    """Three digits."""
    if value != value:
        return "-"
    if abs(value) >= 1e6:
        return f"{value / 1e6:.3g}M"
    if abs(value) >= 1e4:
        return f"{value / 1e3:.3g}k"
    return f"{value:.3g}"


def missing(what: str, why: str) -> Row:
    """A row that could not be measured, and why."""
    return Row(what, math.nan, "", math.nan, math.nan, against=why)
