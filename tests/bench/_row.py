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
    """Required value; NaN if there is no requirement."""
    aim: float
    more: bool = False
    """Is more better?"""
    against: str = ""
    """Peers and limits of the same run, as ratios."""
    section: str = ""
    pace: float = 1.0
    """Current speed of this machine, measured by the limit of the row (e.g. orjson alone), relative to the machine on
    which the requirements were set. A figure that misses its requirement by less than that is excused."""

    @property
    def verdict(self) -> str:
        """aim | met | met * (relative to the speed of this machine) | NOT MET | - (no requirement)."""
        if math.isnan(self.least):
            return "-"
        if self._reaches(self.aim):
            return "aim"
        if self._reaches(self.least):
            return "met"
        return "met *" if self._reaches(self.least, self.pace) else "NOT MET"

    def _reaches(self, demand: float, pace: float = 1.0) -> bool:
        return self.ours >= demand * pace if self.more else self.ours * pace <= demand

    def as_json(self) -> dict[str, object]:
        found = {name: None if value != value else value for name, value in asdict(self).items()}
        return {**found, "verdict": self.verdict}

    def __str__(self) -> str:
        wanted = [f"{number(value):>7}" if value == value else "      -" for value in (self.least, self.aim)]
        ours = f"{number(self.ours)} {self.unit}"
        pace = f"; this machine at {self.pace:.2f} of the pace" if self.pace != 1.0 else ""
        return f"{self.what:<52} {ours:>15} {wanted[0]} {wanted[1]}  {self.verdict:<8} {self.against}{pace}"


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
