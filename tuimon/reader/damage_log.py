"""DamageLog: the damaged parts of one log. Decoders report each record that they cannot read; records that follow one
another are one part, as a stretch of noise has as many "records" as it happens to contain newlines."""

from __future__ import annotations

from msgspec.structs import replace

from tuimon.model.points import Damage

MAX_DAMAGE = 20
"""Maximum number of parts that are kept for `tuimon doctor`."""
_GAP = 4
"""Bytes between two damaged records that are too few for a record: blank lines."""


class DamageLog:
    """Joins the Damage items of a log to parts, and counts them."""

    def __init__(self) -> None:
        self.parts: list[Damage] = []
        """The first MAX_DAMAGE parts."""
        self.count = 0
        """Number of parts."""
        self.size = 0
        """Bytes in all parts."""
        self._end = -1
        """Offset of the end of the last part; -1 without any."""

    def add(self, damage: Damage) -> None:
        """Note the next damage."""
        end = damage.offset + damage.length
        if self._end >= 0 and 0 <= damage.offset - self._end <= _GAP:
            self.size += end - self._end
            if self.count <= MAX_DAMAGE:
                last = self.parts[-1]
                self.parts[-1] = replace(last, length=end - last.offset, records=last.records + damage.records)
        else:
            self.count += 1
            self.size += damage.length
            if self.count <= MAX_DAMAGE:
                self.parts.append(damage)
        self._end = end
