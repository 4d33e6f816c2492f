"""TensorBoard event files, `events.out.tfevents.<time>.<host>.<pid>.<n>`, of any writer.

    file     TFRecords (see _records), each with one Event message (see _event_message); the first has "brain.Event:2"
    scalar   Value.simple_value, or Value.tensor with one number if its plugin is "scalars" or was never named
    restart  SessionLog START: points with a step >= the event's are void (SummaryWriter's purge_step)

Steps are int64, 0 if absent; wall times are seconds, NaN if absent; float32 values are exact as float64. The checksum
of every record is verified, except for large records of which a payload was skipped. A damaged record is counted and
skipped; after an invalid header the next valid one is searched for. An incomplete record waits for its rest.

Source: tensorflow/core/util/events_writer.cc, event.proto; tensorboard/backend/event_processing.
"""

from __future__ import annotations

from tuimon.errors import FormatError
from tuimon.formats import Format, StreamDecoder
from tuimon.formats.tensorboard._event_reader import DAMAGED, NO_EVENT, EventReader
from tuimon.formats.tensorboard._large_event import LargeEvent
from tuimon.formats.tensorboard._records import FOOTER, HEADER, Frames, Stop, find_header, record_length
from tuimon.model.points import Damage, Item

_SEAM = 1 << 16  # bytes in which an incomplete record is likely to end
_SMALL = 4 << 10
"""A damaged record of up to this many bytes may have been cut short: a header is searched for inside it."""
_MAX_CUT_SHORT = 100
"""Damaged records in a row after which none is taken for cut short: otherwise hostile bytes would take very long."""
_MOST = 1 << 14  # records that are found at most before they are read: bounds the memory of their columns
_BAD_HEADER = "no record header"


class EventFileDecoder(StreamDecoder):
    """StreamDecoder of one event file. Holds at most an incomplete record of up to 64 KiB, or the small fields of a
    larger one.

    inside: the first bytes may be from the middle of a record.
    """

    def __init__(self, inside: bool = False) -> None:
        self._frames = Frames()
        self._events = EventReader()
        self._rest = b""  # bytes that have not been decoded yet
        self._offset = 0  # file offset of `_rest`
        self._skip = 0
        self._large: LargeEvent | None = None
        self._large_offset = 0
        self._most = _MOST
        """Records that are found at most before they are read: few after damage, as those after it are found again."""
        self._damaged_in_a_row = 0
        self._damage = Damage(0, 0, _BAD_HEADER) if inside else None
        """The current damage while a header is searched for: where it began, the reason, lost records."""

    @property
    def skippable(self) -> int:
        return self._skip

    @property
    def skips_zeros(self) -> bool:
        """Return True between two headers after damage: zeros are no header, because their checksum is not zero."""
        return self._damage is not None and not any(self._rest)

    def advance(self, count: int) -> None:
        self._skip -= min(self._skip, count)
        self._offset += count

    @property
    def incomplete_at(self) -> int | None:
        if self._large is not None:
            return self._large_offset
        return self._offset if self._rest and self._damage is None else None

    def feed(self, data: bytes) -> list[Item]:
        items: list[Item] = []
        if self._rest and len(data) > _SEAM:  # join up to the end of the incomplete record: copying all costs a tenth
            seam = data[:_SEAM]
            self._read(self._rest + seam, 0, items)
            if len(self._rest) <= len(seam):
                position, self._rest = len(seam) - len(self._rest), b""
                self._read(data, position, items)
                return items
            data = data[len(seam) :]
        self._read(self._rest + data if self._rest else data, 0, items)
        return items

    def _read(self, data: bytes, position: int, items: list[Item]) -> None:
        """Decode data[position:] up to an incomplete record."""
        self._offset -= position
        more = True
        while more:
            if self._skip:
                position, more = self._pass_over(data, position)
            elif self._large:
                position, more = self._read_large(self._large, data, position, items)
            elif self._damage:
                position, more = self._search(self._damage, data, position, items)
            else:
                position, more = self._read_records(data, position, items)
        items += self._events.take_points()
        items += self._events.take_lost(self._offset)
        self._rest = data[position:]
        self._offset += position

    def flush(self) -> list[Item]:
        """Report damage whose end has not been found yet; an incomplete record is kept."""
        items = self.feed(b"")
        if self._damage:
            end = self._offset + len(self._rest)
            damage, self._damage = self._damage, Damage(end, 0, self._damage.reason, 0)
            if end > damage.offset:
                items.append(Damage(damage.offset, end - damage.offset, damage.reason, damage.records))
        return items

    # _pass_over, _search, _read_records and _read_large return (new position, whether to go on without new bytes).

    def _pass_over(self, data: bytes, position: int) -> tuple[int, bool]:
        count = min(self._skip, len(data) - position)
        self._skip -= count
        return position + count, not self._skip

    def _search(self, damage: Damage, data: bytes, position: int, items: list[Item]) -> tuple[int, bool]:
        header = find_header(data, position)
        if header < 0:
            return max(position, len(data) - HEADER + 1), False
        length = self._offset + header - damage.offset
        if length > 0:
            items.append(Damage(damage.offset, length, damage.reason, damage.records))
        self._damage = None
        return header, True

    def _read_records(self, data: bytes, position: int, items: list[Item]) -> tuple[int, bool]:
        starts, ends, stop = self._frames.find(data, position, self._most)
        count, reason = self._events.read(data, starts, ends, items)
        if count:
            position = int(ends[count - 1]) + FOOTER
            self._damaged_in_a_row = 0
        self._most = 1 if reason == DAMAGED else min(_MOST, 2 * self._most)
        if reason:
            return self._skip_damaged(position, int(ends[count]) + FOOTER, reason, items), True
        if count < len(starts) or stop is Stop.LIMIT:
            return position, True
        if stop is Stop.NO_HEADER:
            self._damage = Damage(self._offset + position, 0, _BAD_HEADER)
            return position + 1, True
        if stop is Stop.LARGE:
            return self._begin_large(data, position), True
        return position, False

    def _skip_damaged(self, position: int, end: int, reason: str, items: list[Item]) -> int:
        """Report a record of which the checksum or the content is wrong, or search for the next header in it."""
        offset = self._offset + position
        self._damaged_in_a_row += 1
        is_short = end - position <= HEADER + _SMALL + FOOTER and self._damaged_in_a_row < _MAX_CUT_SHORT
        if reason == DAMAGED and is_short:
            self._damage = Damage(offset, 0, reason)
            return position + HEADER
        items.append(Damage(offset, end - position, reason))
        return end

    def _begin_large(self, data: bytes, position: int) -> int:
        length = record_length(data[position : position + HEADER])
        self._large, self._large_offset = LargeEvent(length), self._offset + position
        return position + HEADER

    def _read_large(self, large: LargeEvent, data: bytes, position: int, items: list[Item]) -> tuple[int, bool]:
        position = large.read(data, position)
        if large.skip:
            self._skip, large.skip = large.skip, 0
            return position, True
        reason = ""
        if large.broken:
            reason = NO_EVENT
            self._skip = large.left
        elif large.reduced is None:
            return position, False
        elif not large.is_intact:
            reason = DAMAGED
        else:
            try:
                self._events.read_one(large.reduced, 0, len(large.reduced), items)
            except FormatError:
                reason = NO_EVENT
        if reason:
            items += self._events.take_points()
            items.append(Damage(self._large_offset, HEADER + large.length + FOOTER, reason))
        self._large = None
        return position, True


FORMAT = Format(
    id="tensorboard",
    title="TensorBoard event file",
    writers="torch 2.13, tensorboardX 2.1, transformers, Lightning, SB3, TensorFlow, ROLL, RLinf: any scalar summary",
    rank=40,
    # By name only, so that a damaged file is recognised; a gzip-compressed copy is not an event file.
    matches=lambda name, head: not head.startswith(b"\x1f\x8b"),
    decoder=EventFileDecoder,
    tail=lambda head, data: EventFileDecoder(inside=True).feed(data),
    directory_is_source=True,
    wants_name=lambda name: "tfevents" in name,
)
