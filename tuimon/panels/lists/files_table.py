"""The files of a run as a table, which the health screen and HTML show."""

from __future__ import annotations

from msgspec.structs import replace

from tuimon.analysis.words import damage_text
from tuimon.draw.numbers import format_bytes, format_count
from tuimon.draw.table import TextTable, rows_table
from tuimon.store import Run, StreamView
from tuimon.text import clean


def files_table(run: Run) -> TextTable:
    """Return a row for each source of a run; files of a source with the same remark are one row."""
    groups: dict[tuple[str, str, str], list[StreamView]] = {}
    for stream in run.streams:
        key = clean(stream.info.format), clean(stream.info.source), _remark(stream, run.point_count > 0)
        groups.setdefault(key, []).append(stream)
    rows = (
        (
            format,
            format_count(sum(stream.point_count for stream in streams)),
            format_bytes(sum(stream.status.size for stream in streams if stream.status is not None)),
            str(len(streams)) if len(streams) > 1 else "",
            source,
            remark,
        )
        for (format, source, remark), streams in groups.items()
    )
    heads = ("format", "points", "size", "files", "source", "remark")
    table = rows_table("The logs that were read", heads, rows, ("source", "remark"))
    return replace(table, columns=[replace(own, wraps=own.head == "remark") for own in table.known])


def _remark(stream: StreamView, has_points: bool) -> str:
    """Return why a file is not read to its end, what is damaged in it, and the message about it."""
    status = stream.status
    if status is None:
        return "waiting"
    damage = damage_text(status.damaged, status.damaged_bytes, status.cut_short) if status.damaged else ""
    is_current = status.state == "current"
    # A message about lines without points matters only in a run without any other.
    is_other_text = stream.info.format == "console" and not stream.point_count and is_current
    message = "" if has_points and is_other_text else clean(status.message)
    state = "" if is_current or message.startswith(status.state) else status.state
    return ", ".join(filter(None, (state, damage, message)))
