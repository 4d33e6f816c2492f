"""Alerts, the output of detectors."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

SEVERITIES = ("info", "warning", "critical")
"""In ascending order."""


class AlertKey(NamedTuple):
    """Identity of an incident, which stays the same while its message changes."""

    run: int
    rule: str
    metric: str
    step: int | None


class Alert(Struct, frozen=True):
    """One incident: raised once, resolved once."""

    rule: str
    """Id of the detector."""
    severity: str
    """info | warning | critical."""
    run: int
    metric: str
    """"" if the alert is about the run as a whole."""
    step: int | None
    """Step at which the incident began."""
    message: str
    """One sentence with its evidence: "grad_norm is NaN since step 36 (1 of 36 points)"."""
    hint: str = ""
    """Advice: what the user should check."""
    until: int | None = None
    """Last step of a resolved incident; None while it is active."""
    is_superseded: bool = False
    """Whether it is an incident of the attempt before a restart, whose points are no longer drawn."""

    @property
    def active(self) -> bool:
        """Whether the incident goes on."""
        return self.until is None

    @property
    def key(self) -> AlertKey:
        return AlertKey(self.run, self.rule, self.metric, self.step)
