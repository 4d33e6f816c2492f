"""The media of a log as one JSON object or as text, for `tuimon summary --media`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from msgspec import UNSET, Struct, UnsetType

from tuimon.exports.documents import Number, Version, filled, one_of
from tuimon.media import Content, Distribution, Kind, Setting
from tuimon.media.library import Found, Tag, content_of
from tuimon.media.shape import area_under, is_exact, limited, mean, normalized, rebucket, total
from tuimon.redact import redacted, redacted_text
from tuimon.text import clean, shown_path

_BUCKETS = 40
Numbers = tuple[Number, ...]


class TagEntry(Struct, frozen=True, kw_only=True):
    """The values of one kind with one tag."""

    kind: Annotated[str, one_of(*Kind)]
    tag: str
    count: int
    first_step: int
    last_step: int
    again: int
    """Values of steps that had been logged before, as after a restart."""
    bytes: int
    """Size of all values, 0 if the log does not say it."""
    detail: str
    """Dimensions or name of the newest file."""
    text: str | UnsetType = UNSET
    """The newest text."""
    settings: Mapping[str, Setting] | UnsetType = UNSET
    """The newest hyperparameters."""
    edges: Numbers | UnsetType = UNSET
    """Limits of the buckets of the newest histogram."""
    counts: Numbers | UnsetType = UNSET
    """Values in each bucket of the newest histogram."""
    min: Number | UnsetType = UNSET
    """Smallest value of the newest histogram, if the log has it."""
    max: Number | UnsetType = UNSET
    """Largest value of the newest histogram, if the log has it."""
    sum: Number | UnsetType = UNSET
    """Sum of the values of the newest histogram, if the log has it."""
    num: Number | UnsetType = UNSET
    """Number of values of the newest histogram, if the log has it."""
    precision: Numbers | UnsetType = UNSET
    """Of the newest curve."""
    recall: Numbers | UnsetType = UNSET
    """Of the newest curve."""


class MediaDocument(Struct, frozen=True, kw_only=True):
    """Values in logs that are not scalars, by kind and tag."""

    schema: Version = 1
    path: str
    files: int
    """Log files that were read."""
    tags: tuple[TagEntry, ...]
    problems: tuple[str, ...]
    """Files that cannot be read."""


def media_document(path: str, found: Found) -> MediaDocument:
    """Return the JSON object of what was found at or below a path."""
    tags = tuple(_tag(tag) for tag in found.tags)
    return MediaDocument(path=shown_path(path), files=found.files, tags=tags, problems=tuple(found.problems))


def _tag(tag: Tag) -> TagEntry:
    last = tag.items[-1]
    return filled(TagEntry, tag, tag=tag.name, detail=last.detail, **content_fields(content_of(last)))


def content_fields(content: Content) -> dict[str, Any]:
    """Return the fields of a value, secrets hidden: {"edges": …, "counts": …} of a histogram."""
    if isinstance(content, str):
        return {"text": redacted_text(content)}
    if isinstance(content, dict):
        return {"settings": redacted(content)}
    if isinstance(content, Distribution):
        moments = content.moments._asdict() if content.moments else {}
        known = {name: value for name, value in moments.items() if value is not None}
        return {"edges": content.edges, "counts": content.counts} | known
    return content._asdict() if content is not None else {}


# ---------------------------------------------------------------------- as text


def as_text(found: Found, ascii_only: bool = False) -> Iterator[str]:
    """Yield the lines of each tag: its number of values and steps, and the newest value."""
    for tag in found.tags:
        last = tag.items[-1]
        steps = (
            f"step {tag.last_step}" if tag.first_step == tag.last_step else f"steps {tag.first_step}-{tag.last_step}"
        )
        again = f", {tag.again} logged again" if tag.again else ""
        parts = (f"{tag.kind:<9} {clean(tag.name)}", f"{tag.count} × {steps}{again}", f"{tag.bytes} bytes")
        yield "  ".join(filter(None, (*parts, clean(last.detail)))) + "\n"
        match content_of(last):
            case str() as text:
                yield f"    {clean(redacted_text(' '.join(text[:400].split())), 110)}\n"
            case dict() as settings:
                values = redacted(settings).items()
                shown = ", ".join(f"{name}={v:g}" if isinstance(v, float) else f"{name}={v}" for name, v in values)
                yield f"    {clean(shown, 110)}\n"
            case Distribution() as distribution:
                yield f"    {_bar(distribution, ascii_only)}\n"
            case None:
                pass
            case curve:
                yield f"    area under the curve {area_under(curve.precision, curve.recall):.4g}\n"


def _bar(shown: Distribution, ascii_only: bool) -> str:
    """Return a distribution as one row of bars between its limits."""
    levels = " .:-=+*#@" if ascii_only else " ▁▂▃▄▅▆▇█"
    shown = limited(shown)
    low, high = shown.edges[0], shown.edges[-1]
    parts = normalized(rebucket(shown, low, high, _BUCKETS))
    bars = "".join(levels[math.ceil(part * (len(levels) - 1))] for part in parts)
    about = "" if is_exact(shown) else "about "
    borders = "" if shown.moments else ", by the borders of the buckets"
    count = total(shown)
    values = f"{count:.15g} value{'s' * (count != 1)}{borders}"
    return f"{low:.4g} {bars} {high:.4g}  mean {about}{mean(shown):.4g}, {values}"
