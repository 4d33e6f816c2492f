"""Whose line is it, where several tasks of a job write into one log, each line behind the label of its task?

    [default3]:line   [rank3]:line             torchrun; [rank3]: also what torch itself writes before a traceback
    [1,3]<stdout>:line                         mpirun --tag-output; prterun writes [prterun-host-4711@1,3]<stdout>: line
    [pod/trainer-3/main] line                  kubectl logs --prefix
    trainer-3  | line                          docker compose logs
     3: line                                   srun --label; with P0 before it in a heterogeneous job

Labels may stand behind one another (torchrun below srun). Both streams of a task are one. A number with a colon is a
label only once one of them has come again, or stands before a traceback or a bar that is redrawn: lines that are
merely numbered never do, and are read as they are. Only torchrun labels each state of a line that is redrawn; else the
label stands before the first.
Sources: torch/distributed/elastic/multiprocessing/tail_log.py, slurm src/common/write_labelled_message.c,
ompi orte/mca/iof/base/iof_base_output.c, kubectl pkg/cmd/logs/logs.go, docker compose pkg/cmd/formatter/logs.go.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence

_WITHIN = 120
"""Bytes in which the labels of a line stand."""
_DEPTH = 3
_COUNTS = rb"(?i:(?:epoch|step|iter\w{0,10}|batch|update|episode|round|fold|seed)s?[-_. ]?\d)"
"""What is counted, and no task."""
_LABEL = re.compile(
    rb"(?:\x1b\[[\d;]{0,9}m){0,2}(?:"
    rb"\[(?!" + _COUNTS + rb")([A-Za-z][\w.-]{0,40}?\d{1,6})\]: ?"
    rb"|\[(?:[\w.-]{1,60}@)?\d{1,9},(\d{1,6})\]<std(?:out|err)>: ?"
    rb"|\[pod/([\w./-]{1,100})\] "
    rb"|(?!" + _COUNTS + rb")([A-Za-z][\w.-]{0,60}[-_]\d{1,6}) {0,40}\| ?"
    rb")"
)
_NUMBER = re.compile(rb" {0,5}((?:P\d{1,3} {1,6})?\d{1,6}): ")
_TRACEBACK = b"Traceback (most recent call last)"
_HELD_LINES, _HELD_BYTES = 4096, 1 << 20
_DIGITS = frozenset(b" P0123456789")
_LETTERS = frozenset(string.ascii_letters.encode())
_FIRST = _DIGITS.union(b"[\x1b")
_RETURN = 13


class Labels:
    """Takes the labels off the lines of one log, whatever the cutting of what it is fed."""

    def __init__(self) -> None:
        self._data = b""
        self._base = 0
        self._head = b""
        """How the line on paper begins to which a redrawn state belongs."""
        self._searched = 0
        self._redrawn = False
        """Is the line that is open where the data begins a state of one that is redrawn?"""
        self._numbered = False
        self.doubtful = False
        """Does the line asked for last begin with a number that may be a label, as far as is known yet?"""
        self._held: dict[bytes, tuple[bytes, int]] = {}
        self._held_bytes = 0
        self._again: list[tuple[bytes, int]] = []
        """The line whose number was there before."""

    def begin(self, data: bytes) -> None:
        """The next bytes of the log: lines are asked for in their order from now on."""
        self._end()
        self._base += len(self._data)
        self._data, self._searched = data, 0
        if len(self._head) < _WITHIN:
            self._head += data[: _WITHIN - len(self._head)]

    @property
    def end(self) -> int:
        """Offset of the byte that comes next."""
        return self._base + len(self._data)

    def of(self, raw: bytes, at: int) -> tuple[str, bytes]:
        """(label or "", the line without it) of the line at this offset, or the state of one that is redrawn."""
        self.doubtful = False
        if raw[0] in _FIRST or (raw[0] in _LETTERS and b"|" in raw[:_WITHIN]):
            label, cut = self._read(raw)
            if label:
                return label, raw[cut:]
        start = at - self._base
        if self._data[start - 1] == _RETURN if start > 0 else self._redrawn:
            head = self._head_of(start)
            if head[:1] not in (b"", b"\r"):
                return self._read(head)[0], raw
        return "", raw

    def hold(self, raw: bytes, at: int) -> None:
        """A line that is doubtful: kept until it is known that numbers are labels."""
        found = _NUMBER.match(raw)
        number = found[1] if found else b""
        if not found or number in self._held:
            self._numbered, self._again = True, [(raw, at)]
            return
        self._held[number] = (raw, at)
        self._held_bytes += len(raw)
        while len(self._held) > _HELD_LINES or self._held_bytes > _HELD_BYTES:
            self._held_bytes -= len(self._held.pop(next(iter(self._held)))[0])

    def released(self) -> Sequence[tuple[bytes, int]]:
        """(line, its offset) of each that was held, once that is known."""
        if not self._numbered or not (self._held or self._again):
            return ()
        held = [*self._held.values(), *self._again]
        self._held, self._again = {}, []
        return held

    def _read(self, raw: bytes) -> tuple[str, int]:
        """(the labels that a line begins with, joined by "/"; how long they are)."""
        labels: list[str] = []
        at = 0
        found = _NUMBER.match(raw) if raw[0] in _DIGITS else None
        if found:
            self._numbered = self._numbered or raw.startswith(_TRACEBACK, found.end())
            self.doubtful = not self._numbered
            if self._numbered:
                labels.append(" ".join(found[1].decode().split()))
                at = found.end()
        while len(labels) < _DEPTH and (found := _LABEL.match(raw, at)):
            label = found[found.lastindex or 0].decode("ascii", "replace")
            if label not in labels:  # torch's own [rank3]: behind that of torchrun
                labels.append(label)
            at = found.end()
        return "/".join(labels), at

    def _head_of(self, start: int) -> bytes:
        """How the line on paper begins that holds the place `start` of the data."""
        if start > self._searched:
            found = self._data.rfind(b"\n", self._searched, start)
            if found >= 0:
                self._head = self._data[found + 1 : found + 1 + _WITHIN]
            self._searched = start
        return self._head

    def _end(self) -> None:
        """The data is behind us."""
        returned, ended = self._data.rfind(b"\r"), self._data.rfind(b"\n")
        if ended >= 0:
            self._head = self._data[ended + 1 : ended + 1 + _WITHIN]
        if returned != ended:  # else there is none
            self._redrawn = returned > ended
