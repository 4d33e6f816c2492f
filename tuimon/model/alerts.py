"""What a detector finds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Alert:
    """One incident: raised once, cleared once."""

    rule: str
    """Id of the detector."""
    severity: str
    """info | warning | critical."""
    run: int
    metric: str
    """"" when it is about the run as a whole."""
    step: int | None
    """Where it began."""
    message: str
    """One sentence with its evidence: "grad_norm is NaN since step 36 (1 of 36 points)"."""
    hint: str = ""
    """What to look at."""
