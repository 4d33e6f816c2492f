"""whole_run(): the directory of the run that a given directory is a part of, by the directories above it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice

from tuimon.formats import is_candidate, recognise
from tuimon.reader.encoding import utf8
from tuimon.reader.recognition import COMPANION, HEAD
from tuimon.sources import layout
from tuimon.sources.files import head_of

_MOST_ENTRIES, _MOST_READ = 1000, 50
"""Maximum numbers of entries of a directory that are looked at, and of files whose beginnings are read."""
_MOST_CHECKPOINTS = 2


def whole_run(directory: str, holds_run: bool = True, texts: bool = True) -> str:
    """Return the directory of the run that `directory`, a real path, belongs to as a part, or `directory` itself.

    The run is the directory above a part such as runs/ or checkpoint-50/, or above any directory if it has logs itself.
    holds_run: `directory` is that of a run; else it is above runs and is a part only if the directory above has logs.
    texts: whether console texts are such logs; with several runs below they need not be of one of them.
    """
    while (above := os.path.dirname(directory)) != directory:
        name = os.path.basename(directory)
        is_part = layout.is_facet(name) or layout.is_role(name) or layout.is_rank(name)
        holder = os.path.dirname(above) if layout.is_session(name) and layout.is_facet(os.path.basename(above)) else ""
        if (is_part and holds_run) or ((is_part or holds_run) and _has_logs(above, texts)):
            directory = above
        elif holder and holds_run and _has_logs(holder, texts):
            directory = holder  # runs/Nov21_10-11-12_host beside a trainer_state.json
        else:
            break
        holds_run = True
    return directory


def _has_logs(directory: str, texts: bool) -> bool:
    """Return whether a directory or a checkpoint in it has metric files, or console texts if `texts`."""
    paths = list(_entries(directory))
    names = {path: os.path.basename(path) for path in paths}
    saved = [path for path in paths if layout.is_checkpoint(names[path])][:_MOST_CHECKPOINTS]
    files = [path for place in (paths, *map(_entries, saved)) for path in place if is_candidate(path)]
    least = COMPANION if texts else COMPANION + 1
    return any(
        log_format.rank >= least and not log_format.describes_run and not log_format.unsupported
        for path in files[:_MOST_READ]
        if os.path.isfile(path) and (log_format := recognise(path, utf8(head_of(path, HEAD)))) is not None
    )


def _entries(directory: str) -> Iterator[str]:
    try:
        with os.scandir(directory) as entries:
            yield from sorted(entry.path for entry in islice(entries, _MOST_ENTRIES))
    except OSError:
        return
