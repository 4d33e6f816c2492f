"""Logged values that are not scalars: distributions, curves, texts, hyperparameters, tables, images, audio and video.

The metric scan does not read them. `library.read_media` searches the log files when a command or a screen asks for
them. `readers/` has one module per kind of log file. Images are decoded by `tuimon.tui.picture_worker` only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeAlias


class Kind(StrEnum):
    """Kinds of logged values, in the order in which they are listed."""

    HISTOGRAM = "histogram"
    PR_CURVE = "pr-curve"
    TEXT = "text"
    HPARAMS = "hparams"
    TABLE = "table"
    IMAGE = "image"
    AUDIO = "audio"
    VIDEO = "video"
    OTHER = "other"


class Moments(NamedTuple):
    """Numbers of the values of a histogram, which the writer has logged beside the buckets."""

    min: float
    max: float
    sum: float | None
    """None if the record has no sum."""
    num: float
    """Number of values."""


class Distribution(NamedTuple):
    """A histogram: bucket i reaches from edges[i] to edges[i + 1] and contains counts[i] values (float64)."""

    edges: tuple[float, ...]
    counts: tuple[float, ...]
    moments: Moments | None = None
    """None if only buckets were logged: limits and mean are then known as far as the edges of buckets."""


class PrecisionRecall(NamedTuple):
    """A precision-recall curve, one element for each threshold."""

    precision: tuple[float, ...]
    recall: tuple[float, ...]


Setting: TypeAlias = float | str | bool | None
Content: TypeAlias = Distribution | PrecisionRecall | str | dict[str, Setting] | None


class Part(NamedTuple):
    """A place in a file with encoded bytes, such as an image."""

    file: str
    start: int = 0
    size: int = -1
    """-1: up to the end of the file."""


@dataclass(slots=True, frozen=True)
class Item:
    """A value that was logged in one step."""

    kind: Kind
    tag: str
    step: int
    size: int
    """Size in bytes: of the encoded image, audio or text, of the file, or of the encoded histogram."""
    detail: str = ""
    """Dimensions, format or name of the file, as far as the log has them; foreign text."""
    content: Content = None
    """None for kinds that are listed only."""
    file: str = ""
    """Path of the file with the content of a table, which is read when it is shown; "" if there is none."""
    log: str = ""
    """Name of the log file."""
    parts: tuple[Part, ...] = ()
    """Places of the images, the audio or the video, which are read only to be saved."""


class Reader(NamedTuple):
    """A kind of log file that may contain such values."""

    id: str
    matches: Callable[[str], bool]
    """Return whether a file with this name may have the format."""
    items: Callable[[str, Callable[[int], None]], Iterator[Item]]
    """Yield the items of the file at a path in file order; damaged records are skipped. Raises OSError. The second
    argument is called with the size of each piece of the file, in bytes, once its records have been decoded."""
