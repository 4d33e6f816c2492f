"""What a detector finds."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

SEVERITIES = ("info", "warning", "critical")
"""The mildest first."""


class AlertKey(NamedTuple):
    """What makes an incident itself, however its words change while it goes on."""

    run: int
    rule: str
    metric: str
    step: int | None


class Alert(Struct, frozen=True):
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
    until: int | None = None
    """The last step of an incident that is over; None while it stands."""

    @property
    def standing(self) -> bool:
        """Whether it goes on."""
        return self.until is None

    @property
    def key(self) -> AlertKey:
        return AlertKey(self.run, self.rule, self.metric, self.step)
