"""Logged texts, which are read when they are shown, from the event file or from files of their own."""

from __future__ import annotations

import os

from tuimon.media import Content, Item, Kind, Part
from tuimon.media.limits import MAX_TEXT
from tuimon.sources.files import open_regular
from tuimon.text import decoded


def content_of(item: Item) -> Content:
    """Return the content of an item, which is read if it is a text with places in files."""
    return _read(item.parts) if item.kind is Kind.TEXT and item.parts else item.content


def _read(parts: tuple[Part, ...]) -> str:
    """Return the texts at places in files, separated by blank lines, together at most MAX_TEXT bytes.

    Instead of a text that cannot be read, the reason.
    """
    texts: list[str] = []
    left = MAX_TEXT
    for part in parts:
        if left <= 0:
            break
        try:
            descriptor, _ = open_regular(part.file)
            data = os.pread(descriptor, left if part.size < 0 else min(left, part.size), part.start)
            os.close(descriptor)
        except OSError as error:
            texts.append(f"{error.strerror}: {os.path.basename(part.file)}")
            continue
        left -= len(data)
        texts.append(decoded(data))
    return "\n\n".join(texts)
