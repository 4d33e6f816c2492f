"""Console text: what a trainer printed, into a file, through `tee`, through Ray, or through a logging module.

Lines end with "\\n"; a carriage return begins a line anew (progress bars), and each state that is drawn counts as a
line of its own here. Terminal controls and Ray's prefixes are taken off. Which line gives which points is said in the
modules of the package _console, one a trainer; a user's own are patterns of the settings (_console/_own.py). Numbers
are as printed, so they are rounded where the trainer rounds. Where several tasks write into one log, each line behind
its label (srun, torchrun, mpirun …), the lines of each task are read by themselves (_console/_labels.py).

The text itself is given as Fact("console", …), the last lines of each piece, and how the training ended as
Fact("state", …); a log view reads the file itself (tuimon/reader/log_text.py).
NUL bytes, which a truncated or torn file has for padding, are left out; bytes that are not UTF-8 are replaced; a line
of more than 16 MiB is passed over and told as damage.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from tuimon.formats import Format, StreamDecoder
from tuimon.formats._console import Family, Sink, families
from tuimon.formats._console._labels import Labels
from tuimon.formats._console._line import Line, stamp
from tuimon.formats._console._marks import Marks, holds, mark_set
from tuimon.formats._console._outcome import Outcome
from tuimon.formats._console._own import own_family
from tuimon.formats._console._recognise import is_text, says_console, speaks_of_training, wants_name
from tuimon.formats._console._shown import ERROR, level, shown
from tuimon.formats._console._tail import TextTail
from tuimon.formats._console._task import Task, TaskSink
from tuimon.formats._lines import LineSplitter
from tuimon.model.points import Damage, Item, Points

_PADDING = re.compile(rb"\0{64,}")
MAX_ROW = 2 << 20
"""Bytes. A longer line is a dump of prompts and no row of metrics: it is text only."""


MAX_TASKS = 4096
"""The lines of more tasks than that are read as one log."""


class ConsoleDecoder(StreamDecoder):
    """A StreamDecoder that shows each line to the families whose marks it holds."""

    def __init__(self, own: Sequence[Family] = ()) -> None:
        """own: families of a user, asked among the known ones by their order."""
        self._lines = LineSplitter()
        self._labels = Labels()
        self._tail = TextTail()
        self._sink = Sink()
        self._outcome = Outcome()
        self._asked = sorted([*families(), *own], key=lambda family: family.order)
        self._marks = [(index, tuple(mark.encode() for mark in f.marks)) for index, f in enumerate(self._asked)]
        self._own = [(index, marks) for index, marks in self._marks if self._asked[index] in own]
        self._closing = [(index, marks) for index, marks in self._marks if self._asked[index].closes]
        self._all_marks = mark_set((*Outcome.marks, *(mark for _, marks in self._marks for mark in marks)))
        self._owners: dict[str, str] = {}
        self._tasks = {"": Task(self._asked, self._sink)}
        """By their labels; without one: of the only task, or of what started the others."""
        self._latest = self._sink
        """Of the task that gave the last row."""
        self._failed = self._tasks[""]
        """Whose traceback is read."""

    def feed(self, data: bytes) -> Sequence[Item]:
        damage: list[Item] = []
        self._labels.begin(data)
        for part in self._lines.feed(data.replace(b"\r", b"\n")):
            if isinstance(part, Damage):
                damage.append(part)
            else:
                self._read(*part)
        return [*self._sink.take(), *damage, *self._outcome.take(), *self._tail.feed(data)]

    def flush(self) -> Sequence[Item]:
        pending = self._lines.pending()
        if pending.rstrip().endswith((b"}", b"]")):  # a dictionary, a progress bar: it may say that it is whole
            before = self._given()
            self._read(self._labels.end - len(pending), [pending], ended=False)
            if self._given() != before:
                self._lines.take()  # else it was the beginning of a line ("[12:00:00]"): its rest will come
        for task in self._tasks.values():
            task.flush()
        return [*self._sink.take(), *self._outcome.take()]

    def _read(self, offset: int, lines: list[bytes], ended: bool = True) -> None:
        """Lines, the first at `offset`. Those without any mark, nearly all of a chatty log, cost next to nothing."""
        block = b"\n".join(lines)
        held = self._all_marks.held(block)
        asked = self._marks if ended else self._closing
        awake = [(index, tuple(held.intersection(marks))) for index, marks in asked if not held.isdisjoint(marks)]
        told = tuple(held.intersection(Outcome.marks))
        if not awake and not told and not self._outcome.watching:
            return
        padded = b"\0" in block
        for raw in lines:
            at, offset = offset, offset + len(raw) + 1
            if padded:
                raw = raw.replace(b"\0", b"")
            if not raw or len(raw) > MAX_ROW:
                continue
            first = 0
            for _, marks in awake:
                if holds(raw, marks):
                    break
                first += 1
            if first < len(awake) or self._outcome.watching or (told and holds(raw, told)):
                self._line(raw, at, ended, awake[first:], told)

    def _line(self, raw: bytes, at: int, ended: bool, awake: Sequence[tuple[int, Marks]], told: Marks) -> None:
        """A line that holds a mark, or follows a traceback."""
        label, said = self._labels.of(raw, at)
        task = self._tasks.get(label) or self._new_task(label)
        if self._outcome.watching and task is self._failed:
            self._outcome.follow(said)
        if told and holds(said, told):
            step = self._latest.step if task.sink.step is None else task.sink.step
            self._outcome.read(Line(said, at, ended), step, raw)
            self._failed = task
        if label or not self._labels.doubtful:
            if label:
                self._release()
            self._offer(task, said, at, ended, awake)
        elif awake and not self._offer(task, raw, at, ended, self._own):
            self._labels.hold(raw, at)
            self._release()

    def _offer(self, task: Task, said: bytes, at: int, ended: bool, awake: Sequence[tuple[int, Marks]]) -> bool:
        """A line of that task is shown to the families whose marks it holds. Has one of them used it?"""
        line: Line | None = None
        for index, marks in awake:
            if holds(said, marks):
                line = line or Line(said, at, ended)
                before = task.sink.rows
                used = task.reader(index).read(line)
                if task.sink.rows > before:
                    self._latest = task.sink
                    self._outcome.went_on(task.sink.last_row)
                if used:
                    return True
        return False

    def _release(self) -> None:
        """The lines that were held until their labels were known."""
        for raw, at in self._labels.released():
            label, said = self._labels.of(raw, at)
            self._offer(self._tasks.get(label) or self._new_task(label), said, at, True, self._marks)

    def _new_task(self, label: str) -> Task:
        if len(self._tasks) > MAX_TASKS:
            return self._tasks[""]
        task = self._tasks[label] = Task(self._asked, TaskSink(self._sink, label, self._owners))
        return task

    def _given(self) -> tuple[int, int]:
        return len(self._sink), sum(task.sink.kept for task in self._tasks.values())

    def note_steps(self) -> list[tuple[int, int]]:
        """From now on (offset of its line, step) of each row that says its step goes into this list."""
        self._sink.marks = []
        return self._sink.marks

    @property
    def disproved(self) -> bool:
        return any(task.sink.disproved for task in self._tasks.values())


class LineSteps:
    """The steps of the rows in a part of a log that begins with a line, without those whose steps are counted from the
    log's beginning."""

    def __init__(self, patterns: Sequence[str] = ()) -> None:
        """patterns: see with_patterns."""
        self._decoder = ConsoleDecoder([own_family(patterns)] if patterns else ())
        self._found = self._decoder.note_steps()

    def feed(self, data: bytes) -> None:
        self._decoder.feed(data)

    @property
    def marks(self) -> list[tuple[int, int]]:
        """(offset in what was fed, step), ascending."""
        return sorted(self._found)


def matches(name: str, head: bytes, own: Sequence[Family] = ()) -> bool:
    head = _PADDING.sub(b"", head)
    if not is_text(head):
        return False
    if says_console(name) or speaks_of_training(name, head):
        return True
    decoder = ConsoleDecoder(own)
    return any(isinstance(item, Points) for item in (*decoder.feed(head), *decoder.flush()))


__all__ = ["ERROR", "FORMAT", "ConsoleDecoder", "LineSteps", "level", "matches", "shown", "stamp", "with_patterns"]

FORMAT = Format(
    id="console",
    title="console log",
    writers="ROLL, RLinf, AgentJet, Trinity, verl, TRL, transformers 4 and 5, slime, OpenRLHF, NeMo-RL, prime-rl, "
    "torchtitan, torchtune, Megatron, SB3, Keras, mmengine, mmcv, detectron2, timm, Swin, lines of k=v",
    rank=10,
    matches=matches,
    decoder=ConsoleDecoder,
    wants_name=wants_name,
)


def with_patterns(patterns: Sequence[str]) -> Format:
    """The format that knows the lines of a user's own trainer as well; for the patterns see _console/_own.py. Raises
    UsageError for what is no pattern."""
    own = [own_family(patterns)]
    return replace(FORMAT, matches=lambda name, head: matches(name, head, own), decoder=lambda: ConsoleDecoder(own))
