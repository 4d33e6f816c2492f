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
from tuimon.formats.tensorboard._event_walker import EventWalker, Stop
from tuimon.formats.tensorboard._large_event import LargeEvent
from tuimon.formats.tensorboard._records import FOOTER, HEADER, find_header, is_intact, record_length
from tuimon.formats.tensorboard._template_pool import TemplatePool
from tuimon.model.points import Damage, Item

_SEAM = 1 << 16  # bytes in which an incomplete record or row is likely to end
_SMALL = 4 << 10
"""A damaged record of up to this many bytes may have been cut short: a header is searched for inside it."""
_BULK = 1 << 20  # if a feed has this many bytes, more are likely to follow at once
_MAX_CUT_SHORT = 100
"""Damaged records in a row after which none is taken for cut short: otherwise hostile bytes would take very long."""
_MAX_AT_ONCE = 1 << 16  # records walked at most between checksum verifications
_BAD_HEADER, _BAD_DATA, _NO_EVENT = "no record header", "data checksum wrong", "not an event"


class EventFileDecoder(StreamDecoder):
    """StreamDecoder of one event file. Holds at most an incomplete record of up to 64 KiB, the small fields of a larger
    one, and during large feeds the incomplete row of a template. `inside`: the first bytes may
    be from the middle of a record."""

    def __init__(self, inside: bool = False) -> None:
        self._walker = EventWalker()
        self._templates = TemplatePool(self._walker)
        self._rest = b""  # bytes that have not been decoded yet
        self._offset = 0  # file offset of `_rest`
        self._skip = 0
        self._large: LargeEvent | None = None
        self._large_offset = 0
        self._bulk = self._held_back = False
        self._walk_limit = _MAX_AT_ONCE
        """Records walked at most before they are checked: few after damage, as the records after it are walked
        again."""
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
    def held_back(self) -> bool:
        return self._held_back

    @property
    def incomplete_at(self) -> int | None:
        if self._large is not None:
            return self._large_offset
        return self._offset if self._rest and self._damage is None else None

    def feed(self, data: bytes) -> list[Item]:
        items: list[Item] = []
        self._bulk = len(data) >= _BULK
        if self._bulk and self._rest:  # join up to the end of the incomplete record or row: copying all costs a tenth
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
        self._held_back = False
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
        items += self._walker.take_points()
        items += self._walker.take_lost(self._offset)
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
        if self._bulk:
            position = self._templates.take(data, position, items)
            self._held_back = self._templates.is_begun(data, position)
            if self._held_back:
                return position, False
        position, stop = self._walk(data, position, items)
        offset = self._offset + position
        if stop is Stop.END:
            return position, False
        if stop is Stop.NO_HEADER:
            self._damage = Damage(offset, 0, _BAD_HEADER)
            return position + 1, True
        if stop in (Stop.LIMIT, Stop.TEMPLATE):
            return position, True
        if stop is Stop.LARGE:
            return self._begin_large(data, position), True
        length = record_length(data[position : position + HEADER])
        if self._may_be_cut_short(stop, length):
            self._damage = Damage(offset, 0, _BAD_DATA)
            return position + HEADER, True
        size = HEADER + length + FOOTER
        items.append(Damage(offset, size, _BAD_DATA if stop is Stop.DAMAGED else _NO_EVENT))
        return position + size, True

    def _walk(self, data: bytes, position: int, items: list[Item]) -> tuple[int, Stop]:
        """Read records by templates, then one by one; return the position and the reason for stopping."""
        position = self._templates.take(data, position, items)
        heads = self._templates.heads(len(data) - position)
        limit = min(self._templates.limit, self._walk_limit)
        position, stop = self._walker.walk(data, position, limit, heads, items, self._templates.resume)
        if limit == self._templates.limit:
            self._templates.learn(data, stop)
        self._walk_limit = 1 if stop is Stop.DAMAGED else min(_MAX_AT_ONCE, 2 * self._walk_limit)
        if self._walker.starts:
            self._damaged_in_a_row = 0
        return position, stop

    def _may_be_cut_short(self, stop: Stop, length: int) -> bool:
        self._damaged_in_a_row += 1
        return stop is Stop.DAMAGED and length <= _SMALL and self._damaged_in_a_row < _MAX_CUT_SHORT

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
            reason = _NO_EVENT
            self._skip = large.left
        elif large.reduced is None:
            return position, False
        elif large.raw and not is_intact(bytes(large.raw), 0, len(large.raw) - FOOTER):
            reason = _BAD_DATA
        elif not self._walker.is_known_empty(large.reduced):
            try:
                self._walker.read_checked(large.reduced, items)
            except FormatError:
                reason = _NO_EVENT
        if reason:
            items += self._walker.take_points()
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
