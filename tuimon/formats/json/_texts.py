"""Rows with texts in a log of rows: those of metrics, which have a text beside the numbers, and generated samples.

Some trainers put a text of the step into its row of metrics (a completion, a note), others write a row for each
generated sample, with its reward. A row with texts is read as metrics, without the texts, if all of this holds:

- it has a step and at least one number;
- neither the row before it nor the one after it has the same step and a common metric: samples come several to a step,
  or beside the row of metrics of their step;
- one of its numbers is a loss, a learning rate or the norm of a gradient, or a row without texts has a common metric.

Rows with many numbers (NUMBERS_BESIDE) are rows of metrics in any case; all other rows with texts are samples.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct

from tuimon.formats._shared.rows import (
    NUMBERS_BESIDE,
    SAMPLE_KEYS,
    STEP_KEYS,
    TIME_KEYS,
    WRAPPERS,
    Row,
    flatten,
    is_sample,
    is_text,
    number,
    step_of,
)

OF_TRAINING = r"(?:[\w./-]*[_./-])?(?:loss|lr|learning_rate|grad_norm)"
"""Pattern of the names of metrics that a sample does not have."""
_OF_TRAINING = re.compile(OF_TRAINING)
_OF_TEXTS = SAMPLE_KEYS | {*WRAPPERS}
"""Keys of which a row with texts has at least one."""
_MOST_HELD = 256
"""Rows with texts at the beginning of a log that are kept until a row without texts shows that it holds metrics."""


class _TextRow(Struct, frozen=True):
    """A row with texts that is not decided yet."""

    row: Row
    numbers: Row
    """The row without its texts."""
    step: int | None
    metrics: frozenset[str]


class TextRows:
    """Removes the texts from the rows of metrics of one log, in file order, independently of the batches.

    A row with texts is returned when the row after it is known."""

    def __init__(self, is_text: Callable[[str, Any], bool] = is_sample) -> None:
        """is_text(key, value): whether an entry is a text; by default, whether its key is one of SAMPLE_KEYS."""
        self._is_text = is_text
        self._keys = SAMPLE_KEYS if is_text is is_sample else None
        """Keys that texts have; None for any."""
        self._held: list[_TextRow] = []
        self._before: Row = {}
        """The row before the first one held."""
        self._known: set[str] = set()
        """Metrics of rows without texts, as far as they were compared."""
        self._seen = False
        """Whether there was a row without texts, or none is expected."""
        self._flushed: _TextRow | None = None
        """The last row if `flush` returned it as metrics."""
        self.was_wrong = False
        """Whether a row that `flush` returned as metrics is a sample, as the next row shows."""

    def read(self, rows: list[Row]) -> list[Row]:
        """Return the rows that are decided: rows of metrics without their texts, samples as they are."""
        if not self._held and self._flushed is None and not self._may_have_text(rows):
            self._before, self._seen = (rows or [self._before])[-1], self._seen or bool(rows)
            return rows
        decided: list[Row] = []
        for row in rows:
            if self._flushed is not None:
                self.was_wrong = self.was_wrong or _same_step(self._flushed, row)
                self._flushed = None
            text = self._text_row(row) if self._has_text(row) else None
            if text is None:
                self._seen = True
                if self._held:
                    self._known |= _metrics(flatten(row))
                    decided += self._decided(row)
                decided.append(row)
                self._before = row
                continue
            if not self._held and self._seen:
                self._known |= _metrics(flatten(self._before))
            self._held.append(text)
            self._seen = self._seen or len(self._held) > _MOST_HELD
            decided += self._decided(None, keep=1)
        return decided

    def flush(self) -> list[Row]:
        """Return the last row, as far as it is decided without the next one."""
        last = self._held[-1] if self._held else None
        rows = self._decided(None)
        if last is not None and not self._held and rows[-1] is last.numbers:
            self._flushed = last
        return rows

    def _decided(self, after: Row | None, keep: int = 0) -> list[Row]:
        """Take the held rows that are decided, but the last `keep`. after: the row after them, None if unknown."""
        rows: list[Row] = []
        while len(self._held) > keep:
            text = self._held[0]
            named = any(map(_OF_TRAINING.fullmatch, text.metrics))
            if not named and not self._seen:
                break
            following = self._held[1].row if len(self._held) > 1 else after
            alone = not _same_step(text, self._before) and not (following and _same_step(text, following))
            is_row = text.step is not None and alone and (named or not self._known.isdisjoint(text.metrics))
            rows.append(text.numbers if is_row else text.row)
            self._before = text.row
            del self._held[0]
        return rows

    def _may_have_text(self, rows: list[Row]) -> bool:
        if self._keys is not None and all(map(_OF_TEXTS.isdisjoint, rows)):  # the usual case, at 0.2 us a row
            return False
        return any(map(self._has_text, rows))

    def _has_text(self, row: Row) -> bool:
        keys: Iterable[str] = row
        if self._keys is not None:  # decides the usual row at once
            keys = () if self._keys.isdisjoint(row) else self._keys & row.keys()
        if any(self._is_text(key, row[key]) for key in keys):
            return True
        return any(type(inner := row.get(key)) is dict and self._has_text(inner) for key in WRAPPERS)

    def _text_row(self, row: Row) -> _TextRow | None:
        """Return a row with texts, or None if it has so many numbers that it is a row of metrics in any case."""
        flat = flatten(row)
        numbers = {key: value for key, value in flat.items() if not self._is_text(key, value)}
        metrics, step = _metrics(numbers), _step(flat)
        if step is not None and len(metrics) >= NUMBERS_BESIDE * (len(flat) - len(numbers)):
            return None
        return _TextRow(row, numbers, step, metrics)


def rows_with_texts_removed(rows: Iterable[Any]) -> list[Row]:
    """Return those of the first rows of a log that have texts and are rows of metrics, without the texts."""
    whole = [row for row in rows if type(row) is dict]
    texts = TextRows(lambda key, value: is_sample(key, value) or is_text(value))
    known = {id(row) for row in whole}
    return [row for row in texts.read(whole) + texts.flush() if id(row) not in known]


def _metrics(flat: Row) -> frozenset[str]:
    axes = (*STEP_KEYS, *TIME_KEYS)
    return frozenset(key for key, value in flat.items() if key not in axes and number(value, key) is not None)


def _step(flat: Row) -> int | None:
    keys = (key for key in STEP_KEYS if key in flat and not (key == "epoch" and type(flat[key]) is float))
    steps = (step_of(flat[key]) for key in keys)
    return next((step[0] for step in steps if step is not None), None)


def _same_step(text: _TextRow, row: Row) -> bool:
    """Return whether a row has the same step as one with texts, and a common metric."""
    flat = flatten(row)
    return text.step == _step(flat) and not text.metrics.isdisjoint(_metrics(flat))
