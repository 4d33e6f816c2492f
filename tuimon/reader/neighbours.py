"""other_logs(): logs beside a file that is given by name, because of which it is not named after its directory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice

from tuimon.formats import Format, is_candidate, recognise
from tuimon.model.log_names import log_name
from tuimon.reader.encoding import utf8
from tuimon.reader.log_chains import training_key
from tuimon.reader.recognition import HEAD
from tuimon.sources import layout
from tuimon.sources.files import first_bytes

_MOST_ENTRIES, _MOST_READ = 1000, 20
"""Maximum numbers of entries of the directory that are looked at, and of files whose beginnings are read."""
_TEXTS = (".log", ".out", ".txt")
"""Suffixes of console texts, which are named like the files of one run also if each is of another training."""
_OF_ONE_RUN = frozenset({"progress", "monitor", "history", "evaluations", "logging", "trainer_log", "training_log"})
"""Names, without suffix, of files that a trainer writes side by side in the directory of one run."""


def other_logs(path: str) -> Iterator[tuple[str, Format]]:
    """Yield some files of the same directory and kind that can be logs of other trainings or jobs by their names.

    The files of one run are named by what they hold (progress.csv and monitor.csv), or by process or output."""
    name = os.path.basename(log_name(path).live)
    stem, suffix = os.path.splitext(name)
    if _is_of_one_run(stem) and suffix not in _TEXTS:
        return
    try:
        with os.scandir(os.path.dirname(path)) as entries:
            others = [entry.path for entry in islice(entries, _MOST_ENTRIES) if _is_other(entry.name, name)]
    except OSError:
        return
    for other in sorted(others)[:_MOST_READ]:
        if (log_format := format_of(other)) is not None:
            yield other, log_format


def _is_other(other: str, name: str) -> bool:
    stem, suffix = os.path.splitext(os.path.basename(log_name(other).live))
    same_kind = suffix == os.path.splitext(name)[1] and is_candidate(other)
    return same_kind and not _is_of_one_run(stem) and training_key(stem + suffix) != training_key(name)


def _is_of_one_run(stem: str) -> bool:
    return layout.is_generic(stem) or stem.lower() in _OF_ONE_RUN


def format_of(path: str) -> Format | None:
    """Return the format of a file by its name and beginning; None if it has none or cannot be read."""
    try:
        return recognise(path, utf8(first_bytes(path, HEAD)))
    except OSError:
        return None
