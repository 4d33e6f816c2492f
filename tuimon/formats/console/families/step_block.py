"""People's own scripts: the step in a line of its own, then one line for each metric.

    Step 10/500:                 --- Iteration 10 ---                 [update 10]
      loss: 0.5                  loss = 0.5                           - loss: 0.5
      lr: 1e-05                  lr = 1e-05                           - tok/s: 12345

The lines of a block follow each other, and one of them is a result of training with a fraction: the lines before it are
held back until then. An epoch in a line of its own is read by epoch_block.
"""

from __future__ import annotations

from tuimon import lazy_re as re
from tuimon.formats.console.families import Family, Line, LineReader, Pair, Sink
from tuimon.formats.console.families._steps import COUNTED
from tuimon.formats.console.shapes.labels import FRACTION, METRIC
from tuimon.formats.console.shapes.rows import pairs_of

_HEAD = re.compile(
    rf"\W{{0,20}}(?:(?:global|train(?:ing)?)[_ ])?(?:{COUNTED})"
    r"\s{0,4}[:#=]?\s{0,4}(\d{1,18})(?: ?(?:/|of) ?(\d{1,18}))?\W{0,80}",
    re.IGNORECASE | re.ASCII,
)
_PAIR = re.compile(
    r"\s{0,16}(?:[-*•]\s{1,4})?([A-Za-z][\w./@ ()-]{0,60}?)\s{0,40}[:=]\s{0,40}(?=[\d.+-]|nan|inf)[^:=]{1,40}"
)
_MAX_LINE = 200


class StepBlockReader(LineReader):
    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._step: int | None = None
        self._held: list[tuple[Pair, ...]] = []
        """Rows of the block, as long as none is a result of training."""
        self._is_known = False
        """Whether one of the block was a result of training."""
        self._has_read = False
        """Whether a block has been read, so that later ones need no number with a fraction."""

    def interrupt(self) -> None:
        super().interrupt()
        self._step = None

    def read(self, line: Line) -> bool:
        text = line.message
        if len(text) > _MAX_LINE:
            self._step = None
            return False
        if head := _HEAD.fullmatch(text):
            self._step, self._held, self._is_known, self.lines_awaited = int(head[1]), [], False, 2
            if head[2] and int(head[1]) <= int(head[2]):
                self.sink.report_progress(int(head[1]), int(head[2]))
            return False
        if self._step is None or self.lines_awaited <= 0:  # the block is over
            self._step = None
            return False
        row = pairs_of(text.strip(" -*•")) if _PAIR.fullmatch(text) else []
        if len(row) != 1:
            if text.strip(" -=*"):
                self._step = None
            return False
        self.lines_awaited = 2
        self._is_known = self._is_known or (
            any(METRIC.search(name) for name, _ in row) and (self._has_read or FRACTION.search(text) is not None)
        )
        self._held.append(tuple(row))
        if self._is_known:
            self._has_read = True
            for held in self._held:
                self.sink.add_row(held, self._step, line)
            self._held = []
        return self._is_known


FAMILY = Family(
    "step-block",
    ("tep ", "tep: ", "tep=", "tep #", "teration ", "teration: ", "ter ", "pdate ", "pisode ", "ound ", "eneration "),
    StepBlockReader,
    order=88,
)
