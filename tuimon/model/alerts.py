"""Alerts, the output of detectors, as fields; analysis/alert_words.py makes their sentences."""

from __future__ import annotations

import json
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


def incident_id(path: str, key: AlertKey) -> str:
    """Return the lasting id of an incident, equal in every process: "i5f0c3a9e2". path: of the run."""
    import hashlib  # 3 ms, of which a start needs none

    text = json.dumps([path, *key[1:]])
    return "i" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:9]  # no number: --since


class Change(Struct, frozen=True):
    """What another metric did in an incident, such as Change("train/loss", "fallen", 0.3, 1.5)."""

    metric: str
    what: str = ""
    """As in an alert; "" if it did the same as the metric of the alert."""
    value: float | None = None
    usual: float | None = None
    limit: float | None = None
    step: int | None = None
    until: int | None = None
    unit: str = ""


class Alert(Struct, frozen=True):
    """One incident: raised once, resolved once. Numbers that do not apply to it are None."""

    rule: str
    """Id of the detector."""
    severity: str
    """info | warning | critical."""
    run: int
    metric: str
    """"" if the alert is about the run as a whole."""
    step: int | None
    """Step at which the incident began."""
    message: str = ""
    """One sentence, made from the fields below. Example: "kl has risen from 0.06 to 0.58 (9.4 times) since step 36"."""
    hint: str = ""
    """Advice: what the user should check."""
    until: int | None = None
    """Last step of a resolved incident; None while it is active."""
    what: str = ""
    """What the metric does, such as "risen"; "" if the detector has written the message itself."""
    value: float | None = None
    """Level or value that it has reached."""
    usual: float | None = None
    """Level before the incident."""
    limit: float | None = None
    """Limit that it has passed, or will reach."""
    extreme: int | None = None
    """Step of `value`, if that is the highest or lowest one of the incident."""
    count: int | None = None
    """Number of points that are beyond the limit or not finite."""
    points: int | None = None
    """Number of points of the incident; for values that are not finite, of the metric."""
    unit: str = ""
    """Unit of the values."""
    source: str = ""
    """Log with the points, if it is not the one that is drawn."""
    reached_in: int | None = None
    """Steps from the newest point until `limit` is reached at this rate."""
    related: tuple[Change, ...] = ()
    """Other metrics that are a part of the incident."""
    steps: str = "step"
    """What the run counts."""

    @property
    def change(self) -> Change:
        """What the metric did, as a part of another incident."""
        return Change(self.metric, self.what, self.value, self.usual, self.limit, self.step, self.until, self.unit)

    @property
    def active(self) -> bool:
        """Whether the incident goes on."""
        return self.until is None

    @property
    def key(self) -> AlertKey:
        return AlertKey(self.run, self.rule, self.metric, self.step)
