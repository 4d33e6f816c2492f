"""Lines of any layout that recur with other numbers: the last family, for what no other one has read.

    [Epoch 0/30, Batch 7/7329] [Losses: x 0.27, y 0.25]          the step: (0 - 0) * 7329 + 7
    02 Mar 10:00  INFO  epoch 3 training [train loss: 0.5]        the epoch
    average reward score: -0.9                                    the step of the line above that named one
    loss = 0.5231                                                 the number of the line, if no line names a step

A line that names its step is read at once. Others are held until their numbers change in a second line of the shape, so
that sentences give no metrics. Lines without a step in a log where no line names one are counted, once the log has been
read to its end; if a later line names a step, the log is read again.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tuimon import lazy_re as re
from tuimon.formats._shared.row_steps import OverallSteps
from tuimon.formats.console.families import Family, Line, LineReader, Pair, Sink
from tuimon.formats.console.shapes.cutting import cut
from tuimon.formats.console.shapes.labels import BATCH, EPOCH, MARKS, METRIC, stage_of
from tuimon.formats.console.shapes.numbers import Column, message_of
from tuimon.formats.console.shapes.roles import Layout, examine
from tuimon.formats.console.shapes.rows import Cells, has_whole_counts, integer, pairs_of, row_of

_ISO = re.compile(r"(?<=\d\d-\d\d)T(?=\d\d:\d\d:)", re.ASCII)
_BAR = re.compile(r"[=.>]{2}\]")
"""The end of a bar of Keras, which is drawn again with other values."""
_GLUED_DATE = re.compile(r"(\d\.\d{1,12}?)20\d\d-\d\d-\d\d[ T]\d\d:\d\d:.*", re.ASCII)
"""A warning of another library that begins where the line should end."""
_CALL_SITE = re.compile(r"\s{2,80}+[\w./-]{1,50}\.py:\d{1,7}$", re.ASCII)
"""The call site that rich prints at the right margin."""
_MAX_LENGTH = 1 << 16
_MAX_SHAPES = 20_000
_MAX_HELD = 100_000
_MIN_COUNTED = 3
_MAX_ALIKE = 8
"""Rows of one shape at one step; more of them are no metrics of a training."""
_ROWS_OF_UNKNOWN = 4
"""Rows that show whether a number whose name is unknown counts steps."""
_MAX_HEADING = 80
_BELOW = 2
"""Lines below a heading, or below another line of its block, that belong to the block whatever they contain."""
_NAMED = re.compile(r"(?:[-*•] )?[A-Za-z][\w./@ ()-]{0,60}?\s?[:=]\s?(?=[\d.+-]|nan|inf)[^:=]{1,40}")
_WITHIN_EPOCH = (6, 7, 8)
"""Ranks of words for steps that may begin again with each epoch."""


class _Shape:
    """The lines of one shape."""

    def __init__(self, layout: Layout | None) -> None:
        self.layout = layout
        self.names = tuple(column.name for column in layout.columns) if layout else ()
        self.recurs = layout is not None and layout.is_sure
        self.held: list[tuple[Cells, Line, int | None]] = []
        """The first lines with the step above them, until others show that their numbers change."""
        self.counted: list[tuple[list[Pair], float]] = []
        """Rows without a step while no line has named one."""
        self.precedes = False
        """Whether a row came before any step."""
        self.released = 0
        """Number of these that were given."""
        self.place, self.alike = -1, 0
        """The last step of rows that name none, and how many of them have had it."""


class ShapedReader(LineReader):
    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._shapes: dict[tuple[str, ...], _Shape] = {}
        self._released = False
        self._steps = OverallSteps()
        self._first_epoch = 1
        self._epoch: int | None = None
        """Epoch of a heading above the lines."""
        self._has_results = False
        """Whether a result of training was below a heading: then the other numbers there are read as well."""
        self._beside: list[tuple[list[Pair], Line]] = []
        """Rows below a heading, while no result is among them."""
        self._stage = ""
        """Stage of a heading above the lines."""
        self._staged: _Shape | None = None
        """Shape of the lines below it that count their steps."""
        self._names = set[str]()
        """Names of the metrics of the training."""
        self._last_training = 0
        """Step of the last row that is of no stage."""
        self._last_in_epoch = -1, 0
        """(epoch, step) of the last line that named both."""
        self._exact_steps: dict[tuple[str, ...], tuple[int, int]] = {}
        """The last two steps of the rows of these metrics, while none of them was rounded in an unknown way."""

    def read(self, line: Line) -> bool:
        text = line.text
        if self._released and self.sink.row_count:
            self._released, self.sink.disproved = False, True
        if len(text) > _MAX_LENGTH:
            return False
        if "%|" in text:
            text = line.message
            if "%|" in text:
                return False
        if "━" in text or _BAR.search(text):
            return False
        if "20" in text:
            text = _GLUED_DATE.sub(r"\1", text)
        if "T" in text:
            text = _ISO.sub(" ", text)
        if ".py:" in text[-60:]:
            text = _CALL_SITE.sub("", text)
        parts = cut(" ".join(text.split()))
        if len(parts) == 1:
            return self._note_stage(text)
        cells = parts[1::2]
        key = tuple(parts[::2])
        shape = self._shapes.get(key)
        if shape is None:
            if len(self._shapes) >= _MAX_SHAPES:
                return False
            shape = self._shapes[key] = _Shape(examine(text))
        elif shape.layout and shape.layout.varies:
            shape.layout = examine(text)
        layout = shape.layout
        if layout is None or (layout.is_cell and self.sink.heading is None):
            return self._read_beside(text, line)
        if not has_whole_counts(layout, cells):
            return False  # "Epoch 1.5", after "Epoch 1"
        if not layout.columns:
            return self._note_step(layout, cells, line)
        if layout.step is None and layout.has_metric and (layout.is_staged or self.sink.heading is not None):
            shape.recurs = self._has_results = True
            self._release_beside()
        if not shape.recurs and not self._recurs(shape, cells, line):
            return False
        return self._add(shape, cells, line, self.sink.place)

    def _read_beside(self, text: str, line: Line) -> bool:
        """Read a named number that may be no result, such as "lr: 1e-05", in the lines right below a heading."""
        if self.lines_awaited <= 0 or not self.sink.is_below_heading:
            return False
        text = message_of(text).strip(": ")
        if METRIC.search(text) or not _NAMED.fullmatch(text):  # results are repeated here: "Best loss: 0.5"
            return False
        self.lines_awaited = _BELOW
        self._beside.append((pairs_of(text), line))
        if self._has_results:
            self._release_beside()
        return self._has_results

    def _release_beside(self) -> None:
        beside, self._beside = self._beside, []
        for row, line in beside:
            if self.sink.is_below_heading and self.sink.heading is not None:
                self.sink.add_below(row, self.sink.heading, line)

    def _recurs(self, shape: _Shape, cells: Cells, line: Line) -> bool:
        """Hold a line until others like it have other numbers; then add those that were held."""
        layout = shape.layout
        assert layout is not None
        if not shape.held or shape.held[-1][0] != cells:
            shape.held.append((cells, line, self.sink.place))
        if len(shape.held) < (_ROWS_OF_UNKNOWN if layout.rank == 1 else 2):
            return False
        if layout.rank == 1:
            assert layout.step is not None
            steps = [integer(layout.step, held) for held, _, _ in shape.held]
            gaps = {later - step for step, later in pairwise(steps)}
            if len(gaps) > 1 or min(gaps) < 1:
                layout.step = None
            layout.rank = EPOCH if layout.step else 0
        shape.recurs = True
        for held, above, place in shape.held[:-1]:
            self._add(shape, held, above, place)
        return True

    def _add(self, shape: _Shape, cells: Cells, line: Line, place: int | None) -> bool:
        """Add the row of a line. place: the step of the lines above it."""
        layout = shape.layout
        assert layout is not None
        row = row_of(layout, cells)
        stage = layout.stage
        if layout.step is None:
            if not stage and self._stage and not self._names.isdisjoint(name for name, _ in row):
                row = _staged(row, self._stage, " ")
            return self._without_step(shape, _staged(row, stage, layout.joint), line, place)
        if layout.total and (stage or self._stage) and layout.rank in (2, BATCH):
            if layout.rank == 2 or integer(layout.step, cells) + 1 < integer(layout.total, cells):
                return False  # a validation that goes on: its last row counts
            if layout.epoch is None:
                return self.sink.add_row(_staged(row, stage or self._stage, " "), place, line, keep_step=True)
        if stage and layout.is_position and layout.total and self._last_training:  # it counts its own batches
            return self.sink.add_row(_staged(row, stage, layout.joint), self._last_training, line, keep_step=True)
        step, epoch = self._step(shape.names, layout, cells, row)
        if self._stage:
            if self._staged is None and step <= (self.sink.step or 0):
                self._staged = shape
            if self._staged is not shape:
                self._stage = ""
            elif layout.total and step < integer(layout.total, cells):
                return False
            elif self.sink.step is not None:
                return self.sink.add_row(_staged(row, self._stage, " "), self._last_training, line, keep_step=True)
        if epoch is not None and not stage:
            row.append(("epoch", float(epoch)))
        if not stage:
            self._last_training = step
            self._names.update(name for name, _ in row)
        unit = "epoch" if layout.rank == EPOCH and epoch is None else "step"
        return self.sink.add_row(_staged(row, stage, layout.joint), step, line, unit=unit)

    def _step(self, names: tuple[str, ...], layout: Layout, cells: Cells, row: list[Pair]) -> tuple[int, int | None]:
        """Return (step, epoch or None) of a line that names them; the step is counted from the first epoch."""
        assert layout.step is not None
        step = self._exact_step(names, layout.step, cells)
        total = integer(layout.total, cells) if layout.total else 0
        if layout.epoch is None:
            if layout.rank == EPOCH:
                place = self.sink.step_of_epoch(step, row) if not layout.stage else None
                if place is None and step == self._last_in_epoch[0]:
                    place = self._last_in_epoch[1]
                if place is not None:
                    return place, step
            elif self._epoch is not None and not self._stage and (layout.rank in _WITHIN_EPOCH or total):
                overall = self._steps.overall(self._epoch, step)
                if total and overall != step:
                    overall = (self._epoch - self._first_epoch) * total + step
                if total and layout.rank != BATCH:
                    self.sink.facts.report_progress(step, total)
                return overall, self._epoch if layout.rank == BATCH else None
            if total:
                self.sink.facts.report_progress(step, total)
            return step, None
        epoch = integer(layout.epoch, cells)
        if layout.is_position and total:
            self._first_epoch = min(self._first_epoch, epoch)
            step += (epoch - self._first_epoch) * total
            if layout.epochs:
                self.sink.facts.report_progress(step, integer(layout.epochs, cells) * total)
        elif layout.is_position and layout.stage:
            return epoch, None
        elif layout.is_position:
            return self._steps.overall(epoch, step), epoch
        self._last_in_epoch = epoch, step
        return step, epoch

    def _exact_step(self, names: tuple[str, ...], column: Column, cells: Cells) -> int:
        """Return the step of a row; behind 600 and 800, "1K" is 1000, and the next one 1200: it is printed so too."""
        step = integer(column, cells)
        before, last = self._exact_steps.get(names, (step, step))
        if column.exponent:
            rounded = 10 ** (column.exponent - len(cells[column.first].partition(".")[2]))
            following = 2 * last - before
            if following <= last or abs(following - step) > rounded / 2:
                self._exact_steps.pop(names, None)
                return step
            step = following
        self._exact_steps[names] = last, step
        return step

    def _note_step(self, layout: Layout, cells: Cells, line: Line) -> bool:
        """Note the epoch or the step that a line without metrics names."""
        assert layout.step is not None
        self._stage = ""
        if layout.is_heading:
            step = integer(layout.step, cells)
            self.sink.note_heading(step, "epoch" if layout.rank == EPOCH else "step")
            self._beside, self.lines_awaited = [], _BELOW
            if layout.rank == EPOCH:
                self._epoch = step
                self._first_epoch = min(self._first_epoch, step)
            if layout.total:
                self.sink.facts.report_progress(step, integer(layout.total, cells))
        return False

    def _note_stage(self, text: str) -> bool:
        """Note the stage that a line without numbers names: the rows that follow are of it."""
        if len(text) <= _MAX_HEADING and (stage := stage_of(text)):
            self._stage, self._staged = stage if stage != "train" else "", None
        return False

    def _without_step(self, shape: _Shape, row: list[Pair], line: Line, place: int | None) -> bool:
        """Add a row to the step of the row before; while there is none, keep it to be counted."""
        if place is None:
            shape.precedes = True
            has_metric = shape.layout is not None and shape.layout.has_metric
            if has_metric and self.sink.step is None and len(shape.counted) < _MAX_HELD:
                shape.counted.append((row, line.time))
        if place is None or shape.precedes:
            return False  # the lines that name its steps may follow its rows
        shape.place, shape.alike = place, shape.alike + 1 if place == shape.place else 1
        if shape.alike > _MAX_ALIKE:
            return False
        if self.sink.is_below_heading:
            self.lines_awaited = _BELOW
        return self.sink.add_below(row, place, line)

    def reads_alone(self, line: Line) -> bool:
        if not self.is_neutral:
            return False
        layout = examine(line.text)
        if layout is None or layout.step is None or layout.varies or layout.stage:
            return False
        counts = layout.rank > EPOCH or (layout.rank == 2 and layout.total is None)
        return counts and not layout.is_position and layout.is_sure

    @property
    def is_neutral(self) -> bool:
        return self.sink.heading is None and not self._stage

    def note_row(self, step: int, row: Sequence[Pair]) -> None:
        self._last_training = step
        self._names.update(name for name, _ in row)

    def interrupt(self) -> None:
        super().interrupt()
        self._epoch = None
        self._stage = ""

    def flush(self) -> None:
        if self.sink.step is not None:
            return
        for shape in self._shapes.values():
            if len(shape.counted) >= _MIN_COUNTED:
                for step, (row, time) in enumerate(shape.counted[shape.released :], shape.released + 1):
                    self.sink.add_fallback(row, step, time)
                self.sink.numbered_count += len(shape.counted) - shape.released
                shape.released, self._released = len(shape.counted), True


def _staged(row: list[Pair], stage: str, joint: str) -> list[Pair]:
    """Return a row with the names of its stage: "val/loss", but "val_loss" as it is."""
    if not stage:
        return row
    return [(name if name.lower().startswith(stage) else f"{stage}{joint}{name}", value) for name, value in row]


FAMILY = Family("shaped", MARKS, ShapedReader, order=90)
