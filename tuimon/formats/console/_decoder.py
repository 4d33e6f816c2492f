"""Decoder of console text: offers each line to the families whose marks it contains. text.py describes the format."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from math import isnan

from tuimon import lazy_re as re
from tuimon.formats import StreamDecoder
from tuimon.formats._shared.checkpoint_lines import CheckpointFacts
from tuimon.formats._shared.lines import ROWS_COMPARED, LineSplitter, may_be_cut
from tuimon.formats._shared.row_steps import numbered_remark
from tuimon.formats.console._display import TextTail
from tuimon.formats.console._marks import (
    CHECKPOINT_MARKS,
    NOTED_MARKS,
    Marks,
    closing_marks_of,
    in_order,
    marks_of,
    searched_marks,
)
from tuimon.formats.console._outcome import Outcome
from tuimon.formats.console._patterns import PatternReader, missed_remark
from tuimon.formats.console._slash_dates import SlashDates
from tuimon.formats.console._tasks import NUMBER_STARTS, Labels, Task, TaskSink
from tuimon.formats.console._uniform import UniformLines
from tuimon.formats.console._unread import UnreadShapes, proposal_remark
from tuimon.formats.console.families import Family, Line, Sink
from tuimon.model.points import Damage, Item, Points

MAX_ROW = 2 << 20
"""Bytes. A longer line is a dump of prompts rather than a row of metrics; it is text only."""
MAX_TASKS = 4096
"""Maximum number of labels; lines with other labels are read as those of one task."""
_LAST_WORD = re.compile(rb"(?<![\w.+-])[\w.+-]++$")
"""The part of a number or a name that a line ends with, if the program was killed while it wrote the line."""
_DIGITS = b"0123456789"
_NOT_DIGITS = bytes(set(range(256)) - set(_DIGITS))
_CONTROL = re.compile(rb"[\x01-\x06\x0e-\x1a\x1c-\x1f\x7f]")
"""Bytes that no trainer prints in a line of metrics."""


class ConsoleDecoder(StreamDecoder):
    """A StreamDecoder that offers each line to the families whose marks it contains."""

    def __init__(self, own: Sequence[Family] = ()) -> None:
        """own: families of the user, tried among the others by their order."""
        self._lines = LineSplitter()
        self._dates = SlashDates()
        self._labels = Labels()
        self._tail = TextTail()
        self._sink = Sink()
        self._outcome = Outcome()
        self._checkpoints = CheckpointFacts()
        self._families = in_order(tuple(own))
        self._marks = marks_of(self._families)
        self._own_marks = [(index, marks) for index, marks in self._marks if own and self._families[index] in own]
        self._closing_marks = closing_marks_of(self._families)
        self._all_marks = searched_marks(self._families)
        self._metric_owners: dict[str, str] = {}
        self._uniform = UniformLines(self._families)
        self._row_texts: deque[bytes] = deque(maxlen=ROWS_COMPARED)
        """The last lines that gave a row, of lines that are alike only the first ones."""
        self._redrawn = False
        """True if the bytes being read contain carriage returns."""
        self._tasks = {"": Task(self._families, self._sink)}
        """Tasks by label; "" for the only task, or for the launcher of the others."""
        self._latest_sink = self._sink
        """Sink of the task that gave the last row."""
        self._failed_task = self._tasks[""]
        """Task whose traceback is being read."""
        self._damage: list[Item] = []
        self._open_blocks = 0
        """Number of readers that await more lines of a block."""
        self._unread_shapes = UnreadShapes()
        """Shapes of lines while no line has given a row."""

    def feed(self, data: bytes) -> Sequence[Item]:
        self._read_all(data)
        if not data:
            for task in self._tasks.values():
                task.sink.release_fallback()
        damage, self._damage = self._damage, []
        return [*self._sink.take(), *damage, *self._notes(), *self._tail.feed(data)]

    def has_row(self, head: bytes) -> bool:
        """Return True if the beginning of a log gives points. Nothing else may be fed to this decoder."""
        self._read_all(head)
        return len(self._sink) > 0 or any(isinstance(item, Points) for item in self.flush())

    def _read_all(self, data: bytes) -> None:
        """Read the lines that end in `data`; the items are kept for `feed`."""
        self._labels.begin(data)
        self._dates.examine(data)
        self._redrawn = b"\r" in data
        for part in self._lines.feed(data.replace(b"\r", b"\n")):
            if isinstance(part, Damage):
                self._damage.append(part)
                self.interrupt()
            else:
                self._read(*part)

    def flush(self) -> Sequence[Item]:
        damage = self._lines.hole_at_end()
        pending = b"" if damage else self._lines.pending()
        if pending.rstrip().endswith((b"}", b"]")):  # perhaps a complete dictionary or progress bar
            before = self._row_counts()
            self._read(self._labels.end - len(pending), [pending], ended=False)
            if self._row_counts() != before:
                self._lines.take()  # otherwise it is the beginning of a line ("[12:00:00]")
        for raw, offset in self._labels.release_counted():
            self._offer(self._tasks[""], Line(raw, offset), self._marks)
        for task in self._tasks.values():
            task.flush()
        return [*self._sink.take(), *damage, *self._notes()]

    def _notes(self) -> list[Item]:
        """Return the facts about checkpoints and the state since the last call."""
        return [*self._checkpoints.take(), *self._outcome.take()]

    def interrupt(self) -> None:
        """Note that lines are missing here."""
        for task in self._tasks.values():
            task.interrupt()
        self._open_blocks = 0

    def end(self) -> Sequence[Item]:
        items = self._end_of_line() if self._lines.can_end() else ()
        for task in self._tasks.values():
            task.end()
        return [*items, *self._sink.take()]

    def _end_of_line(self) -> Sequence[Item]:
        """Read the last line, which has no newline."""
        pending = self._lines.pending()
        if not self._row_texts or _is_whole(pending, self._row_texts):
            return [*self.feed(b"\n"), *self.flush()]
        offset = self._lines.take()
        self._read(offset, [_LAST_WORD.sub(b"", pending)])
        return [*self.feed(b""), *self.flush()]

    def _read(self, offset: int, lines: list[bytes], ended: bool = True) -> None:
        """Read lines, the first of them at `offset`. Lines without any mark, nearly all of a chatty log, are cheap."""
        if not self._sink.points.names:
            self._unread_shapes.note(lines)
        block = b"\n".join(lines)
        if (rewritten := self._dates.rewritten(block)) is not block:
            block, lines = rewritten, rewritten.split(b"\n")
        contained = self._all_marks.within(block)
        families = self._marks if ended else self._closing_marks
        candidates = [(index, tuple(contained.intersection(marks))) for index, marks in families]
        candidates = [(index, marks) for index, marks in candidates if marks]
        noted = tuple(contained.intersection(NOTED_MARKS))
        if (
            not candidates
            and not noted
            and not self._outcome.watching
            and not (self._open_blocks or self._labels.holding)
        ):
            return
        begin = resume = offset
        task = self._tasks[""]
        is_free = ended and self._is_free(task)
        for raw in lines:
            start, offset = offset, offset + len(raw) + 1
            if start < resume or not raw or len(raw) > MAX_ROW:
                continue
            if is_free and (family := self._uniform.read_line(raw, start, self._sink)) is not None:
                task.reader(family).note_row(self._sink.step or 0, self._sink.last_row)
                self._row_texts.append(raw)
                continue
            first = 0
            for _, marks in candidates:
                if _contains_any(raw, marks):
                    break
                first += 1
            if (
                first < len(candidates)
                or self._open_blocks
                or self._outcome.watching
                or (self._labels.holding and raw[0] in NUMBER_STARTS)
                or _contains_any(raw, noted)
            ):
                rows = self._sink.row_count
                self._read_line(raw, start, ended, candidates[first:], noted)
                if self._sink.row_count > rows:
                    self._row_texts.append(raw)
                if self._sink.row_count == rows + 1 and self._nothing_is_open():
                    resume = begin + self._uniform.read(raw, block, offset - begin, self._sink)
                is_free = ended and self._is_free(task)

    def _is_free(self, task: Task) -> bool:
        """Return True if lines of known shapes can be read without their families."""
        return self._nothing_is_open() and task.is_neutral

    def _nothing_is_open(self) -> bool:
        """Return True if no line before this place influences how the next ones are read."""
        return not (
            self._open_blocks
            or self._redrawn
            or len(self._tasks) > 1
            or self._labels.holding
            or self._sink.held_count
            or self._sink.has_converted
            or self._sink.line_steps is not None
            or not self._outcome.unaffected_by_rows
        )

    def _read_line(
        self, raw: bytes, offset: int, ended: bool, candidates: Sequence[tuple[int, Marks]], noted: Marks
    ) -> None:
        """Read a line that contains a mark, or follows a traceback. noted: marks of the outcome and of checkpoints."""
        if _CONTROL.search(raw):
            self._damage.append(Damage(offset, len(raw) + 1, "control characters within a line"))
            self.interrupt()
            return
        label, text = self._labels.split(raw, offset)
        task = self._tasks.get(label) or self._new_task(label)
        if self._outcome.watching and task is self._failed_task:
            self._outcome.follow(text)
        line = Line(text, offset, ended)
        if _contains_any(text, noted):
            self._note(task, line, raw, {mark for mark in noted if mark in text})
        if label or not self._labels.doubtful:
            if label:
                self._read_held_lines()
            self._offer(task, line, candidates)
        elif (candidates or self._open_blocks or self._labels.holding) and not self._offer(task, line, self._own_marks):
            self._labels.hold(raw, offset)
            self._read_held_lines()

    def _note(self, task: Task, line: Line, raw: bytes, marks: set[bytes]) -> None:
        """Read a line with these marks of the outcome and of checkpoints. raw: the line with the label of its task."""
        if not Outcome.marks.isdisjoint(marks):
            step = self._latest_sink.step if task.sink.step is None else task.sink.step
            self._outcome.read(line, step, raw)
            self._failed_task = task
        if line.ended and not CHECKPOINT_MARKS.isdisjoint(marks):
            self._checkpoints.read(line.text, None if isnan(line.time) else line.time)

    def _offer(self, task: Task, line: Line, candidates: Sequence[tuple[int, Marks]]) -> bool:
        """Offer a line to the families whose marks it contains; return True if one of them has used it."""
        blocks = task.blocks if line.ended else {}
        if blocks:
            self._open_blocks -= len(blocks)
            candidates = sorted({**dict.fromkeys(blocks, ()), **dict(candidates)}.items())
        used = False
        for index, marks in candidates:
            if (blocks and index in blocks) or _contains_any(line.raw, marks):
                rows_before = task.sink.row_count
                reader = task.reader(index)
                used = reader.read(line)
                if reader.lines_awaited and line.ended:
                    task.blocks[index] = reader
                if task.sink.row_count > rows_before:
                    self._latest_sink = task.sink
                    self._outcome.row_followed(task.sink)
                if used:
                    break
        if task.blocks and line.ended:
            for index, reader in list(task.blocks.items()):
                reader.lines_awaited -= 1
                if reader.lines_awaited <= 0:
                    del task.blocks[index]
            self._open_blocks += len(task.blocks)
        return used

    def _read_held_lines(self) -> None:
        """Read the lines that were held until their labels were known."""
        for raw, offset in self._labels.release():
            label, text = self._labels.split(raw, offset)
            self._offer(self._tasks.get(label) or self._new_task(label), Line(text, offset), self._marks)

    def _new_task(self, label: str) -> Task:
        if len(self._tasks) > MAX_TASKS:
            return self._tasks[""]
        task = self._tasks[label] = Task(self._families, TaskSink(self._sink, label, self._metric_owners))
        return task

    def _row_counts(self) -> tuple[int, int]:
        return len(self._sink), sum(task.sink.held_count for task in self._tasks.values())

    def record_steps(self) -> list[tuple[int, int]]:
        """Return a list to which (offset of the line, step) of each later row that names its step is appended."""
        self._sink.line_steps = []
        return self._sink.line_steps

    @property
    def remark(self) -> str:
        missed = missed_remark(self._own_readers())
        examples = self.proposed_patterns
        not_understood = proposal_remark(examples) if examples else ""
        numbered = sum(task.sink.numbered_count for task in self._tasks.values())
        computed = any(task.sink.computed_count for task in self._tasks.values())
        counted = numbered_remark(numbered) if numbered else ""
        by_epoch = "rows name no step: it is computed from their epochs" if computed else ""
        return "; ".join(filter(None, (not_understood, counted, by_epoch, missed, self._dates.remark)))

    @property
    def proposed_patterns(self) -> Mapping[str, str]:
        if self._sink.points.names or missed_remark(self._own_readers()):
            return {}
        return self._unread_shapes.proposed_patterns

    def _own_readers(self) -> list[PatternReader]:
        """Return the readers of the user's patterns, one for each task."""
        readers = [task.reader(index) for task in self._tasks.values() for index, _ in self._own_marks]
        return [reader for reader in readers if isinstance(reader, PatternReader)]

    @property
    def awaits_end(self) -> bool:
        return any(task.awaits_end for task in self._tasks.values())

    @property
    def held_back(self) -> bool:
        return any(task.sink.held_fallback for task in self._tasks.values())

    @property
    def must_reread(self) -> bool:
        return self._labels.disproved or any(task.sink.disproved for task in self._tasks.values())


def _contains_any(text: bytes, marks: Marks) -> bool:
    for mark in marks:  # a loop takes half the time of any() over a generator  # noqa: SIM110
        if mark in text:
            return True
    return False


def _is_whole(text: bytes, rows: Iterable[bytes]) -> bool:
    """Return whether a line ends as complete ones do, but for its last number, and that has as many digits."""
    number_last, around = _last_number(text)
    known = [number for number, other in map(_last_number, rows) if other == around]
    return bool(known) and not may_be_cut(number_last, known)


def _last_number(line: bytes) -> tuple[bytes, tuple[bytes, bytes]]:
    """Return the last digits of a line, with the full stop in front of them if there is one, and (the text since the
    number before them, the text after them)."""
    end = line.rstrip(_NOT_DIGITS)
    start = len(end.rstrip(_DIGITS))
    start -= end[:start].endswith(b".")
    before = end[:start].rstrip(_DIGITS + b".") if end[start : start + 1] == b"." else end[:start]
    return end[start:], (before[len(before.rstrip(_NOT_DIGITS)) :], line[len(end) :])
