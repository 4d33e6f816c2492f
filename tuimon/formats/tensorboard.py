"""TensorBoard event files, `events.out.tfevents.<time>.<host>.<pid>.<n>`, as every writer of them leaves them.

    file     TFRecords (see _records), each one Event message (see _tensorboard_event); the first says "brain.Event:2"
    scalar   Value.simple_value, or Value.tensor of one number if its plugin is "scalars" or nobody ever named one
    restart  SessionLog START: points with a step >= the event's are void (SummaryWriter's purge_step)

Steps are int64 and 0 when absent; wall times are seconds, NaN when absent; float32 values are exact as float64.
The data of every record is checked against its checksum, except a large one of which a payload was passed over.
A damaged record is counted and skipped; after a bad header the next offset with a good one is searched for. A record
that is not whole yet waits for its rest.

Source: tensorflow/core/util/events_writer.cc, event.proto; tensorboard/backend/event_processing.
"""

from __future__ import annotations

from tuimon.errors import FormatError
from tuimon.formats import Format, StreamDecoder
from tuimon.formats._event_walker import EventWalker, Stop
from tuimon.formats._held_records import ENOUGH, HeldRecords, file_offset
from tuimon.formats._large_event import LargeEvent
from tuimon.formats._records import FOOTER, HEADER, find_header, is_intact, record_length
from tuimon.formats._row_templates import RowTemplates
from tuimon.model.points import Damage, Item

_SEAM = 1 << 16
"""Bytes in which what is begun is likely to end."""
_SMALL = 4 << 10
"""A damaged record of up to so many bytes may be one cut short: a header is searched for inside it."""
_BULK = 1 << 20
"""With so many bytes at a time, more are likely to follow at once."""
_HOPELESS = 100
"""Damaged records in a row after which that is no longer done: it makes hostile bytes dear."""
_MANY = 1 << 16
_BAD_HEADER, _BAD_DATA, _NO_EVENT = "no record header", "data checksum wrong", "not an event"


class EventFileDecoder(StreamDecoder):
    """A StreamDecoder. Holds at most one record of up to 64 KiB, what is kept of a larger one, 1 MiB of small ones, and
    while it is given much at a time the begun row of a template.

    inside: what is fed first are bytes from within a file.
    """

    def __init__(self, inside: bool = False) -> None:
        self._walker = EventWalker()
        self._templates = RowTemplates(self._walker)
        self._rest = b""
        """Bytes that are not used up yet."""
        self._offset = 0
        """In the file, of the first of them."""
        self._skip = 0
        self._large: LargeEvent | None = None
        self._large_offset = 0
        self._held = HeldRecords()
        self._bulk = self._withheld = False
        self._among_large = False
        """Has a large record just been met? Then the next one is likely to be near."""
        self._at_once = _MANY
        """Records walked at most before they are checked: few after damage, as what follows is walked again."""
        self._damaged_in_a_row = 0
        self._lost = Damage(0, 0, _BAD_HEADER) if inside else None
        """While a header is searched for: where the damage began, what it is, how many records it cost."""

    @property
    def skippable(self) -> int:
        """See StreamDecoder."""
        return self._skip

    def skipped(self, count: int) -> None:
        """See StreamDecoder."""
        self._skip -= count
        self._offset += count

    @property
    def withheld(self) -> bool:
        """See StreamDecoder."""
        return self._withheld

    def feed(self, data: bytes) -> list[Item]:
        """See StreamDecoder."""
        items: list[Item] = []
        self._bulk = len(data) >= _BULK
        if self._bulk and self._rest:  # joined as far as the begun record, or row, goes: to copy it all takes a tenth
            seam = data[:_SEAM]
            self._read(self._rest + seam, 0, items)
            if len(self._rest) <= len(seam):
                begun, self._rest = len(seam) - len(self._rest), b""
                self._read(data, begun, items)
                return items
            data = data[len(seam) :]
        self._read(self._rest + data if self._rest else data, 0, items, idle=not data)
        return items

    def _read(self, data: bytes, position: int, items: list[Item], idle: bool = False) -> None:
        """What is told from a position on, up to what is not whole. idle: nothing new has come."""
        self._offset -= position
        self._withheld = False
        more = True
        while more:
            if self._skip:
                position, more = self._pass_over(data, position)
            elif self._large:
                position, more = self._read_large(self._large, data, position, items)
            elif self._lost:
                position, more = self._search(self._lost, data, position, items)
            else:
                position, more = self._read_records(data, position, items)
        if idle or not self._skip or self._held.size > ENOUGH:
            self._read_held(items)
        items += self._walker.take_points()
        items += self._walker.take_lost(self._offset)
        self._rest = data[position:]
        self._offset += position

    def flush(self) -> list[Item]:
        """Tells of damage whose end has not been found yet; a record that is not whole says nothing."""
        items = self.feed(b"")
        if self._lost:
            end = self._offset + len(self._rest)
            lost, self._lost = self._lost, Damage(end, 0, self._lost.reason, 0)
            if end > lost.offset:
                items.append(Damage(lost.offset, end - lost.offset, lost.reason, lost.records))
        return items

    # Each of these gives the position it came to, and whether there is more to do before further bytes come.

    def _pass_over(self, data: bytes, position: int) -> tuple[int, bool]:
        passed = min(self._skip, len(data) - position)
        self._skip -= passed
        return position + passed, not self._skip

    def _search(self, lost: Damage, data: bytes, position: int, items: list[Item]) -> tuple[int, bool]:
        found = find_header(data, position)
        if found < 0:
            return max(position, len(data) - HEADER + 1), False
        length = self._offset + found - lost.offset
        if length > 0:
            items.append(Damage(lost.offset, length, lost.reason, lost.records))
        self._lost = None
        return found, True

    def _read_records(self, data: bytes, position: int, items: list[Item]) -> tuple[int, bool]:
        if self._among_large:
            large = self._held.hold(data, position, self._offset + position)
            if large >= 0:
                return self._begin_large(data, large), True
            self._among_large = False
        self._read_held(items)
        if self._bulk:
            position = self._templates.take(data, position, items)
            self._withheld = self._templates.is_begun(data, position)
            if self._withheld:
                return position, False
        position, stop = self._walk(data, position, items)
        offset = self._offset + position
        if stop is Stop.END:
            return position, False
        if stop is Stop.NO_HEADER:
            self._lost = Damage(offset, 0, _BAD_HEADER)
            return position + 1, True
        if stop in (Stop.LIMIT, Stop.TEMPLATE):
            return position, True
        if stop is Stop.LARGE:
            return self._begin_large(data, position), True
        length = record_length(data[position : position + HEADER])
        if self._may_be_cut_short(stop, length):
            self._lost = Damage(offset, 0, _BAD_DATA)
            return position + HEADER, True
        size = HEADER + length + FOOTER
        items.append(Damage(offset, size, _BAD_DATA if stop is Stop.DAMAGED else _NO_EVENT))
        return position + size, True

    def _walk(self, data: bytes, position: int, items: list[Item]) -> tuple[int, Stop]:
        """Reads records by templates, then one by one; where it stopped, and why."""
        position = self._templates.take(data, position, items)
        heads = self._templates.heads(len(data) - position)
        limit = min(self._templates.limit, self._at_once)
        position, stop = self._walker.walk(data, position, limit, heads, items, self._templates.onward)
        if limit == self._templates.limit:
            self._templates.learn(data, stop)
        self._at_once = 1 if stop is Stop.DAMAGED else min(_MANY, 2 * self._at_once)
        if self._walker.starts:
            self._damaged_in_a_row = 0
        return position, stop

    def _may_be_cut_short(self, stop: Stop, length: int) -> bool:
        self._damaged_in_a_row += 1
        return stop is Stop.DAMAGED and length <= _SMALL and self._damaged_in_a_row < _HOPELESS

    def _read_held(self, items: list[Item]) -> None:
        """Reads what is held. It is whole records, so all that can be wrong is their data."""
        if not self._held.size:
            return
        data, starts, offsets = self._held.take()
        position = 0
        while position < len(data):
            position, stop = self._walk(data, position, items)
            if position == len(data) or stop in (Stop.LIMIT, Stop.TEMPLATE):
                continue
            offset = file_offset(position, starts, offsets)
            if stop in (Stop.DAMAGED, Stop.NOT_AN_EVENT):
                length = record_length(data[position : position + HEADER])
                size, reason = HEADER + length + FOOTER, _BAD_DATA if stop is Stop.DAMAGED else _NO_EVENT
                inside = data[position : position + size] if self._may_be_cut_short(stop, length) else b""
                found = find_header(inside, HEADER)
            else:  # a header was found in a damaged record, and it led astray
                size, reason = len(data) - position, _BAD_HEADER
                found = find_header(data[position:], 1)
            items.append(Damage(offset, found if found > 0 else size, reason))
            position += found if found > 0 else size

    def _begin_large(self, data: bytes, position: int) -> int:
        length = record_length(data[position : position + HEADER])
        self._large, self._large_offset, self._among_large = LargeEvent(length), self._offset + position, True
        return position + HEADER

    def _read_large(self, large: LargeEvent, data: bytes, position: int, items: list[Item]) -> tuple[int, bool]:
        position = large.read(data, position)
        if large.skip:
            self._skip, large.skip = large.skip, 0
            return position, True
        reason = ""
        if large.broken:
            reason = _NO_EVENT
            self._skip = large.left
        elif large.reduced is None:
            return position, False
        elif large.raw and not is_intact(bytes(large.raw), 0, len(large.raw) - FOOTER):
            reason = _BAD_DATA
        elif not self._walker.is_silent(large.reduced):
            self._read_held(items)
            try:
                self._walker.read_checked(large.reduced, items)
            except FormatError:
                reason = _NO_EVENT
        if reason:
            self._read_held(items)
            items += self._walker.take_points()
            items.append(Damage(self._large_offset, HEADER + large.length + FOOTER, reason))
        self._large = None
        return position, True


FORMAT = Format(
    id="tensorboard",
    title="TensorBoard event file",
    writers="torch 2.13, tensorboardX 2.1, transformers, Lightning, SB3, TensorFlow, ROLL, RLinf: any scalar summary",
    rank=40,
    # The name says it, so that a damaged file is told to be one; a compressed copy is no event file.
    matches=lambda name, head: not head.startswith(b"\x1f\x8b"),
    decoder=EventFileDecoder,
    tail=lambda head, data: EventFileDecoder(inside=True).feed(data),
    directory_is_source=True,
    wants_name=lambda name: "tfevents" in name,
)
