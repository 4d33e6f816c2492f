"""Logs into which several tasks of a job write, each with a label before its lines.

    [default3]:line   [rank3]:line             torchrun; [rank3]: also what torch itself writes before a traceback
    [1,3]<stdout>:line                         mpirun --tag-output; prterun writes [prterun-host-4711@1,3]<stdout>: line
    [pod/trainer-3/main] line                  kubectl logs --prefix
    trainer-3  | line                          docker compose logs
     3: line                                   srun --label; with P0 before it in a heterogeneous job
    [12:00:05] rank 3 step 7 loss 0.5          a script's own words, also "rank 3: step"; only before a counter

A line may have several labels (torchrun below srun). Both streams of a task are one. A number with a colon is a label
only once a number has occurred again, or before a traceback or a bar that is redrawn: lines that are merely numbered
never do that, and are read as they are once the log has
been read to its end. Only torchrun labels every state of a line that is redrawn; otherwise the
label is before the first state only.
Sources: torch/distributed/elastic/multiprocessing/tail_log.py, slurm src/common/write_labelled_message.c,
ompi orte/mca/iof/base/iof_base_output.c, kubectl pkg/cmd/logs/logs.go, docker compose pkg/cmd/formatter/logs.go.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Sequence

from tuimon import lazy_re as re
from tuimon.formats.console.families import Family, Line, LineReader, Pair, Sink

_WITHIN = 120
"""Bytes within which the labels of a line lie."""
_DEPTH = 3
_COUNTS = rb"(?i:(?:epoch|step|iter\w{0,10}|batch|update|episode|round|fold|seed)s?[-_. ]?\d)"
"""Counters that look like labels."""
_LABEL = re.compile(
    rb"(?:\x1b\[[\d;]{0,9}m){0,2}(?:"
    rb"\[(?!" + _COUNTS + rb")([A-Za-z][\w.-]{0,40}?\d{1,6})\]: ?"
    rb"|\[(?:[\w.-]{1,60}@)?\d{1,9},(\d{1,6})\]<std(?:out|err)>: ?"
    rb"|\[pod/([\w./-]{1,100})\] "
    rb"|(?!" + _COUNTS + rb")([A-Za-z][\w.-]{0,60}[-_]\d{1,6}) {0,40}\| ?"
    rb")"
)
_NUMBER = re.compile(rb" {0,5}((?:P\d{1,3} {1,6})?\d{1,6}): ")
_RANK = re.compile(
    rb"((?:\[[^][]{1,80}\]:?\s{1,4}|[\d:.,TZ/+-]{5,40}\s{1,4}|(?:INFO|DEBUG|WARNING)\b:?\s{1,4}|-\s){0,6})"
    rb"(?:\[(?i:rank) (\d{1,6})\]:?|(?i:rank) (\d{1,6})(?: ?[:,|-])?)\s(?=\s{0,4}\[?" + _COUNTS + rb")"
)
"""A rank after the fields of a logging module, and before a counter: "Rank 1: 94.5%" is a result of a retrieval."""
_TRACEBACK = b"Traceback (most recent call last)"
_HELD_LINES, _HELD_BYTES = 4096, 1 << 20
_MIN_COUNTED = 3
"""Number of lines with different numbers that are read as such once the log has been read to its end."""
NUMBER_STARTS = frozenset(b" P0123456789")
"""First bytes of lines that may begin with a number as label."""
_LETTERS = frozenset(string.ascii_letters.encode())
_FIRST = NUMBER_STARTS.union(b"[\x1b")
_RETURN = 13


class Labels:
    """Removes the labels from the lines of one log, whatever the cutting of its bytes."""

    def __init__(self) -> None:
        self._data = b""
        self._base = 0
        self._head = b""
        """Beginning of the physical line (up to "\\n") that the current redrawn state belongs to."""
        self._searched = 0
        self._redrawn = False
        """True if the data begins within a later state of a redrawn line."""
        self._numbered = False
        self.doubtful = False
        """True if the last line began with a number that may yet prove to be a label."""
        self._held: dict[bytes, tuple[bytes, int]] = {}
        self._held_bytes = 0
        self._counted: set[bytes] = set()
        """Numbers of the lines that were read as lines with a number of their own."""
        self.disproved = False
        """Whether such a number has occurred again: it is a label."""
        self._repeated: list[tuple[bytes, int]] = []
        """The line whose number had occurred before."""

    def begin(self, data: bytes) -> None:
        """Start with the next bytes of the log; `split` is then called for its lines in order."""
        returned, ended = self._data.rfind(b"\r"), self._data.rfind(b"\n")
        if ended >= 0:
            self._head = self._data[ended + 1 : ended + 1 + _WITHIN]
        if returned != ended:
            self._redrawn = returned > ended
        self._base += len(self._data)
        self._data, self._searched = data, 0
        if len(self._head) < _WITHIN:
            self._head += data[: _WITHIN - len(self._head)]

    @property
    def holding(self) -> bool:
        """Whether lines are held: those that follow them may belong to a block that begins in them."""
        return bool(self._held)

    @property
    def end(self) -> int:
        """Offset of the next byte of the log."""
        return self._base + len(self._data)

    def split(self, raw: bytes, offset: int) -> tuple[str, bytes]:
        """Return (label or "", line without it) of the line, or state of a redrawn line, at this offset."""
        label, text = self._split(raw, offset)
        if b"ank " in text[:_WITHIN] and not self.doubtful and (match := _RANK.match(text)):
            number = match[match.lastindex or 0].decode()
            return label or f"rank {number}", match[1] + text[match.end() :]
        return label, text

    def _split(self, raw: bytes, offset: int) -> tuple[str, bytes]:
        """Return (label at the beginning or "", line without it)."""
        self.doubtful = False
        if raw[0] in _FIRST or (raw[0] in _LETTERS and b"|" in raw[:_WITHIN]):
            label, length = self._read(raw)
            if label:
                return label, raw[length:]
        start = offset - self._base
        if self._data[start - 1] == _RETURN if start > 0 else self._redrawn:
            head = self._head_of(start)
            if head[:1] not in (b"", b"\r"):
                return self._read(head)[0], raw
        return "", raw

    def hold(self, raw: bytes, offset: int) -> None:
        """Keep a doubtful line until it is known whether numbers are labels."""
        match = _NUMBER.match(raw)
        number = match[1] if match else b""
        self.disproved = self.disproved or number in self._counted
        if not match or number in self._held:
            self._numbered, self._repeated = True, [(raw, offset)]
            return
        self._held[number] = (raw, offset)
        self._held_bytes += len(raw)
        while len(self._held) > _HELD_LINES or self._held_bytes > _HELD_BYTES:
            self._held_bytes -= len(self._held.pop(next(iter(self._held)))[0])

    def release_counted(self) -> Sequence[tuple[bytes, int]]:
        """Return and forget the held lines as (line, offset), as their numbers seem to count the lines."""
        if self._numbered or len(self._held) < _MIN_COUNTED:
            return ()
        held = list(self._held.values())
        self._counted.update(self._held)
        self._held, self._held_bytes = {}, 0
        return held

    def release(self) -> Sequence[tuple[bytes, int]]:
        """Return and forget the held lines as (line, offset), once numbers are known to be labels."""
        if not self._numbered or not (self._held or self._repeated):
            return ()
        held = [*self._held.values(), *self._repeated]
        self._held, self._repeated = {}, []
        return held

    def _read(self, raw: bytes) -> tuple[str, int]:
        """Return (labels at the beginning of a line, joined by "/"; their length in bytes)."""
        labels: list[str] = []
        end = 0
        if raw[0] in NUMBER_STARTS and (match := _NUMBER.match(raw)):
            self._numbered = self._numbered or raw.startswith(_TRACEBACK, match.end())
            self.doubtful = not self._numbered
            if self._numbered:
                labels.append(" ".join(match[1].decode().split()))
                end = match.end()
        while len(labels) < _DEPTH and (match := _LABEL.match(raw, end)):
            label = match[match.lastindex or 0].decode("ascii", "replace")
            if label not in labels:  # torch's own [rank3]: after that of torchrun
                labels.append(label)
            end = match.end()
        return "/".join(labels), end

    def _head_of(self, start: int) -> bytes:
        """Return the beginning of the physical line that contains index `start` of the data."""
        if start > self._searched:
            newline = self._data.rfind(b"\n", self._searched, start)
            if newline >= 0:
                self._head = self._data[newline + 1 : newline + 1 + _WITHIN]
            self._searched = start
        return self._head


class Task:
    """One task of a log, or the only one: its sink, and its readers, which are created when first needed."""

    def __init__(self, families: Sequence[Family], sink: Sink) -> None:
        self.sink = sink
        self.families = families
        self._readers: dict[int, LineReader] = {}
        self.blocks: dict[int, LineReader] = {}
        """Readers that await more lines of a block, by the index of their family."""

    def reader(self, index: int) -> LineReader:
        """Return the reader of `families[index]`."""
        reader = self._readers.get(index)
        if reader is None:
            reader = self._readers[index] = self.families[index].reader(self.sink)
        return reader

    @property
    def is_neutral(self) -> bool:
        """Whether no reader has seen a line that influences how later ones are read."""
        return all(reader.is_neutral for reader in self._readers.values())

    def flush(self) -> None:
        for reader in self._readers.values():
            reader.flush()

    @property
    def awaits_end(self) -> bool:
        return any(reader.awaits_end for reader in self._readers.values())

    def end(self) -> None:
        for reader in self._readers.values():
            reader.end()

    def interrupt(self) -> None:
        """Note that lines are missing here."""
        self.blocks.clear()
        self.sink.interrupt()
        for reader in self._readers.values():
            reader.interrupt()


class TaskSink(Sink):
    """Sink of one of several tasks. It adds its points to those of the log. A metric belongs to the first task that
    logs it (lines without a label count as a task); for all others it becomes "<label>/<name>", a series of its own."""

    def __init__(self, log: Sink, label: str, owners: dict[str, str]) -> None:
        """owners: metric -> label of its task; shared by all tasks of a log."""
        super().__init__()
        self.line_steps = log.line_steps
        self.points = log.points
        self.facts = log.facts
        self._label = label
        self._owners = owners
        self._names: dict[str, str] = {}

    def _add_points(self, row: list[Pair], step: int, line: Line) -> None:
        super()._add_points([(self._names.get(name) or self._new_name(name), value) for name, value in row], step, line)

    def add_fallback(self, row: Iterable[Pair], step: int, time: float) -> None:
        super().add_fallback(
            [(self._names.get(name) or self._new_name(name), value) for name, value in row], step, time
        )

    def _new_name(self, metric: str) -> str:
        if metric not in self._owners:  # existing points without an owner come from lines without a label
            self._owners[metric] = "" if metric in self.points.names else self._label
        owner = self._owners[metric]
        self._names[metric] = name = metric if owner == self._label else f"{self._label}/{metric}"
        return name
