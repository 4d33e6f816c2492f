"""The row templates of one event file: learnt from what a walker has read, and dropped if they do not pay."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from msgspec import Struct

from tuimon.formats._event_walker import EventWalker, Stop
from tuimon.formats._row_template import RowTemplate, learn
from tuimon.model.points import Item, Points

_LEAST_BYTES = 8 << 10
"""With fewer bytes left, about 150 records, walking is faster."""
_WORTH = 150
"""Points below which a template is slower than a walk."""
_KEPT = 12
_FIRST_LIMIT, _LAST_LIMIT = 512, 1 << 16
"""Records walked before a row is looked for in them: doubled as long as none is found."""
_LEAST_GAP = 32
"""Records between two rows of known templates that are worth a template of their own."""
_PERIOD_TRIES = 64
_PERIOD_PROOF = 192
"""Records over which a row must have been repeated."""
_CREDIT = 64
"""Templates learnt in a row without one that pays."""


class _Known(Struct):
    template: RowTemplate
    shape: Hashable
    """Of its first record."""
    least: int
    """Bytes that must be left for it to be worth while."""
    pause: int = 0
    """Walks for which it is left alone …"""
    last_pause: int = 0
    """… and for how many it was, the last time that it did not pay."""


class RowTemplates:
    """Takes what templates can from the bytes, and says where a walk should stop to let them try again."""

    def __init__(self, walker: EventWalker) -> None:
        self.limit = _FIRST_LIMIT
        """How many records the next walk should read at most."""
        self.onward = False
        """Should it go on from the last one? No row has been found in that."""
        self._walker = walker
        self._known: list[_Known] = []
        self._credit = _CREDIT

    def take(self, data: bytes, position: int, items: list[Item]) -> int:
        """Appends the points of all rows from data[position:] on; where the first byte is that is left."""
        size = len(data)
        taken = True
        while taken and size - position >= _LEAST_BYTES:
            taken = False
            for known in self._known:
                if size - position < known.least or not known.template.may_fit(data, position):
                    continue
                rows = known.template.take(data, position)
                if rows is None:
                    continue
                items += self._walker.take_points()
                items.append(Points(self._walker.names, rows.metric, rows.steps, rows.values, rows.wall_times))
                position += rows.used
                self._judge(known, len(rows.steps))
                taken = True
                break
        return position

    def is_begun(self, data: bytes, position: int) -> bool:
        """Do the bytes end within a row that a template may fit? Walking what is there of it costs more than waiting
        for the rest."""
        left = len(data) - position
        return any(left < one.template.size and one.template.may_begin(data, position) for one in self._known)

    def _judge(self, known: _Known, points: int) -> None:
        self._known.remove(known)
        if points >= _WORTH:
            known.last_pause = 0
            self._credit = min(_CREDIT, self._credit + 1)
            self._known.insert(0, known)
        else:
            known.pause = known.last_pause = min(64, 2 * known.last_pause + 1)
            self._known.append(known)

    def heads(self, left: int) -> Mapping[Hashable, int]:
        """For EventWalker.walk, when `left` bytes are left."""
        if left < _LEAST_BYTES:
            return {}
        found: dict[Hashable, int] = {}
        for known in self._known:
            if known.pause:
                known.pause -= 1
            else:
                found[known.shape] = min(known.least, found.get(known.shape, known.least))
        return found

    def learn(self, data: bytes, stop: Stop) -> None:
        """Makes a template of what the walk that just ended has read, if it repeats itself."""
        shapes = self._walker.shapes
        fresh = len(shapes) - self._walker.kept
        self.onward = False
        if stop is Stop.LIMIT:
            count = _period(shapes, fresh)
            self.onward = not count
            self.limit = _FIRST_LIMIT if count else min(2 * self.limit, _LAST_LIMIT)
        elif stop is Stop.TEMPLATE and fresh >= _LEAST_GAP and None not in shapes[-fresh:]:
            count = fresh
        else:
            return
        if not count or not self._credit:
            return
        self._credit -= 1
        first = len(shapes) - count
        template = learn(data, self._walker.layout(data, first))
        if template is not None:
            least = template.size * -(-_WORTH // template.points)
            self._known.insert(0, _Known(template, shapes[first], least))
            del self._known[_KEPT:]


def _period(shapes: Sequence[Hashable], fresh: int) -> int:
    """Of how many records the row is that the sequence ends with; 0 if there is none. A row has been repeated, one of
    many records at least in part, and so have all of the last `fresh` records or as many as prove it."""
    count = len(shapes)
    tries = 0
    for period in range(1, count):
        if shapes[-1 - period] != shapes[-1]:
            continue
        proof = max(min(2 * period, period + _PERIOD_PROOF), min(fresh, _PERIOD_PROOF))
        if proof > count:
            break
        if shapes[count - proof : count - period] == shapes[count - proof + period :] and None not in shapes[-period:]:
            return period
        tries += 1
        if tries == _PERIOD_TRIES:
            break
    return 0
