"""The row templates of one event file: learned from the records that a walker has read, dropped if they do not pay."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from msgspec import Struct

from tuimon.formats.tensorboard._event_walker import EventWalker, Stop
from tuimon.formats.tensorboard._row_template import RowTemplate, learn
from tuimon.model.points import Item, Points

_LEAST_BYTES = 8 << 10  # with fewer bytes left (about 150 records) walking is faster
_WORTH = 150  # points below which a template is slower than walking
_KEPT = 12  # templates kept at most
_FIRST_LIMIT, _LAST_LIMIT = 512, 1 << 16
"""Records walked before a row is searched for in them: doubled as long as none is found."""
_LEAST_GAP = 32  # records between two rows of known templates that are worth a template of their own
_PERIOD_TRIES = 64  # candidates for the length of a row that are compared
_PERIOD_PROOF = 192  # records over which a row must have been repeated
_CREDIT = 64  # templates learned in a row without one that pays


class _Known(Struct):
    template: RowTemplate
    shape: Hashable  # shape of the first record
    least: int  # bytes that must be left for the template to be worth using
    pause: int = 0  # walks for which the template is not used
    last_pause: int = 0  # value of `pause` after the last use that did not pay


class TemplatePool:
    """Decodes rows with templates, and determines where a walk should stop so that templates are tried again."""

    def __init__(self, walker: EventWalker) -> None:
        self.limit = _FIRST_LIMIT
        """Maximum number of records for the next walk."""
        self.resume = False
        """Whether the next walk should keep the records of the last one, in which no row has been found."""
        self._walker = walker
        self._templates: list[_Known] = []
        self._credit = _CREDIT

    def take(self, data: bytes, position: int, items: list[Item]) -> int:
        """Append the points of all rows from data[position:] on, and return the position of the first byte that is
        left."""
        size = len(data)
        taken = True
        while taken and size - position >= _LEAST_BYTES:
            taken = False
            for known in self._templates:
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
        """Return whether the bytes end within a row that a template may fit, so that waiting for the rest costs less
        than walking."""
        left = len(data) - position
        return any(left < known.template.size and known.template.may_begin(data, position) for known in self._templates)

    def _judge(self, known: _Known, points: int) -> None:
        self._templates.remove(known)
        if points >= _WORTH:
            known.last_pause = 0
            self._credit = min(_CREDIT, self._credit + 1)
            self._templates.insert(0, known)
        else:
            known.pause = known.last_pause = min(64, 2 * known.last_pause + 1)
            self._templates.append(known)

    def heads(self, left: int) -> Mapping[Hashable, int]:
        """Return the `heads` argument of EventWalker.walk when `left` bytes are left."""
        if left < _LEAST_BYTES:
            return {}
        heads: dict[Hashable, int] = {}
        for known in self._templates:
            if known.pause:
                known.pause -= 1
            else:
                heads[known.shape] = min(known.least, heads.get(known.shape, known.least))
        return heads

    def learn(self, data: bytes, stop: Stop) -> None:
        """Make a template from the records of the last walk if they repeat."""
        shapes = self._walker.shapes
        new = len(shapes) - self._walker.resumed
        self.resume = False
        if stop is Stop.LIMIT:
            count = _period(shapes, new)
            self.resume = not count
            self.limit = _FIRST_LIMIT if count else min(2 * self.limit, _LAST_LIMIT)
        elif stop is Stop.TEMPLATE and new >= _LEAST_GAP and None not in shapes[-new:]:
            count = new
        else:
            return
        if not count or not self._credit:
            return
        self._credit -= 1
        first = len(shapes) - count
        template = learn(data, self._walker.layout(data, first))
        if template is not None:
            least = template.size * -(-_WORTH // template.points)
            self._templates.insert(0, _Known(template, shapes[first], least))
            del self._templates[_KEPT:]


def _period(shapes: Sequence[Hashable], new: int) -> int:
    """Return the number of records in the row that repeats at the end of the sequence, or 0. A row of one record must
    have been repeated whole, a longer one at least in part, over the last `new` records or as many as prove it."""
    count = len(shapes)
    tries = 0
    for period in range(1, count):
        if shapes[-1 - period] != shapes[-1]:
            continue
        proof = max(min(2 * period, period + _PERIOD_PROOF), min(new, _PERIOD_PROOF))
        if proof > count:
            break
        if shapes[count - proof : count - period] == shapes[count - proof + period :] and None not in shapes[-period:]:
            return period
        tries += 1
        if tries == _PERIOD_TRIES:
            break
    return 0
