"""Generated texts (rollouts) that trainers leave in a run's directory. `shapes/` has one module per file shape.

The metric scan excludes the directories `rollouts` and `media`; `tuimon.samples.discovery` searches them. Files are
read one row at a time. Pickles are never loaded, and paths inside rows are never opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

MAX_DOCUMENT = 256 << 20
"""Maximum size (bytes) of a line or of a document that is parsed as a whole."""
Rows: TypeAlias = Iterator[tuple[int, dict[str, Any]]]
"""Rows of a file, each with a position: reading from this position yields the same row first. Several consecutive rows
may have the same position, such as the rows of one line of columns."""


class Turn(NamedTuple):
    """A message of a conversation."""

    role: str
    """"system", "user", "assistant", "thinking", "tool call", "tool", or another role as written."""
    text: str
    note: str = ""
    """What is logged about it: "3.2 s, log-prob gap 0.012, at most 0.8"."""


@dataclass(slots=True)
class Sample:
    """A generated text and what its file says about it. None means that the file does not say it."""

    source: str
    """Path of the file."""
    step: int | None
    split: str
    """"train" or "validation"."""
    group: str
    """Equal for the samples of the same prompt within a step."""
    reward: float | None
    response: str
    prompt: str | None = None
    reference: Any = None
    components: dict[str, float] = field(default_factory=dict)
    length: int = 0
    length_unit: str = "chars"
    """"tokens" or "chars"."""
    truncated: bool | None = None
    advantage: float | None = None
    error: str = ""
    """Error while the text was generated, "" if the file reports nothing."""
    turns: tuple[Turn, ...] = ()
    """Messages of the conversation, of each agent in turn, if the file has more than a prompt and a response."""
    note: str = ""
    """What is logged about the response, if there are no turns."""
    pictures: tuple[Any, ...] = ()
    """References to the pictures of the row, see `media.picture_data`."""


class Shape(NamedTuple):
    """A kind of file that contains rows."""

    id: str
    matches: Callable[[str], bool]
    """Return whether a file with this path may have the shape."""
    rows: Callable[[str, int], Rows]
    """Yield the rows of the file at a path from a position on (0: all rows). Raises OSError, and FormatError if the
    file is damaged."""
    grows: bool = False
    """Whether rows are only ever appended, so that a larger file keeps the rows that it had. A row without a step may
    get one by what follows it."""
