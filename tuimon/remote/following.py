"""Which names and files of a host are of interest, and how each is followed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from tuimon.errors import FormatError
from tuimon.formats import Format, all_formats, kind, recognise
from tuimon.model.log_names import log_name
from tuimon.reader.compression import decompressed_head
from tuimon.reader.supersession import Supersession
from tuimon.remote import texts
from tuimon.remote.mirror import Mirror
from tuimon.sources import listing
from tuimon.sources.scan import FoundFile
from tuimon.sources.sqlite_copy import MAGIC

HEAD = 4096
"""Bytes by which a format is recognised."""


def rules() -> dict[str, Any]:
    """Return the rules by which the agent searches directories: those of tuimon/sources/listing.py and of texts.py."""
    return {
        "closed": sorted(listing.CLOSED_NAMES),
        "kept": sorted(listing.KEPT_IN_CHECKPOINT),
        "model": sorted(listing.OF_A_MODEL),
        "closed_paths": sorted(listing.CLOSED_PATHS),
        "texts": texts.DIRECTORIES,
        "text_names": texts.SUFFIXES,
        "weights": listing.WEIGHTS,
        "saved": listing.SAVED,
        "checkpoint": rf"(?:{listing.CHECKPOINT_NAME.pattern})\Z",
        "store": rf"(?:{listing.STORE_NAME.pattern})\Z",
        "step": rf"(?:{listing.STEP_NAME.pattern})\Z",
    }


def mode_of(path: str, head: bytes) -> str:
    """Return how a file that begins with `head` is followed; "" if it is no log so far."""
    if not head:
        return ""
    compressed = log_name(path).compressed
    if compressed:
        try:
            head = decompressed_head(head, HEAD)
        except FormatError:
            return ""
    log_format = recognise(path, head)
    if head.startswith(MAGIC):
        return "unit"  # its tables, by which it is recognised, are anywhere in the file
    if log_format is None:
        return ""
    mode = {"stream": "grow", "journal": "grow", "document": "whole", "database": "unit"}.get(kind(log_format.id))
    return "stored" if mode is None else "whole" if compressed else mode


def newest(files: Iterable[FoundFile], supersession: Supersession) -> Iterator[FoundFile]:
    """Yield the documents in checkpoints that are not superseded by newer ones."""
    for file in supersession.in_order(files):
        log_format = _superseding(os.path.basename(file.path))
        if log_format is not None:
            if supersession.newer_path(file):
                continue
            supersession.recognised(file, log_format)
        yield file


def _superseding(name: str) -> Format | None:
    """Return the format of which only the newest file is read that files of this name have, or None."""
    return next((f for f in all_formats() if f.supersedes is not None and f.wants_name(name)), None)


def remove_others(mirror: Mirror, paths: set[str]) -> Iterator[str]:
    """Remove from a mirror, and yield, all files but these and the empty directories that hold none of them."""
    kept = {os.path.dirname(path) for path in paths} | paths
    for folder, folders, names in os.walk(mirror.root, topdown=False):
        for name in names:
            path = os.path.join(folder, name)
            if path.removesuffix("-wal").removesuffix("-journal") not in paths:
                mirror.remove(path)
                yield path
        for name in folders:
            path = os.path.join(folder, name)
            if path not in kept and not os.listdir(path):
                os.rmdir(path)
                yield path
