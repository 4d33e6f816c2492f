"""Header of a separated table: its separator and the role of each column.

Cells are separated by ",", ";", a tab or "|". The first line that is neither blank nor begins with "#" names the
columns (Stable-Baselines3's monitor.csv begins with '#{"t_start": …}'). Names are kept as written except for quotes and
blanks around them (Ultralytics 8.0 to 8.2 pads them); the second column of a name becomes "name.1", as in pandas.

- Step columns are those in STEP_NAMES, in that order, in any case; pandas' unnamed index comes last. The column in use
  is not a metric itself, unless its name has a "/" ("time/total_timesteps").
- Time columns are those in TIME_NAMES.
- A column whose name says that it holds names or versions ("trial_id", "date") is not a metric, whatever its cells.
"""

from __future__ import annotations

import csv
import re

from msgspec import Struct

from tuimon.formats._shared.rows import STEP_KEYS, TIME_KEYS, number
from tuimon.text import decoded

SEPARATORS = (",", ";", "\t", "|")
STEP_NAMES = (
    *("global_episode", "global_epoch", "global_iteration", "global_round"),
    *(key for key in STEP_KEYS if key != "epoch"),
    *("steps", "global step", "iterations", "it", "total_timesteps", "timesteps_total", "total_steps", "timesteps"),
    *("total/steps", "total/timesteps", "misc/total_timesteps", "timestepssofar", "nupdates", "misc/nupdates"),
    *("timestep", "env_step", "env_steps", "update", "updates", "train_step", "epoch", "epochs", "round", "episode"),
    *("total/epochs", "total/episodes"),
    *("episodes", "generation", ""),
)
TIME_NAMES = (*TIME_KEYS, "wall time", "walltime", "datetime")
_NUMBER = re.compile(r"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:e[+-]?\d++)?", re.IGNORECASE)


class Header(Struct, frozen=True):
    """A parsed header. Columns are given by index."""

    line: bytes
    """The header as in the file, without the newline."""
    separator: bytes
    names: tuple[str, ...]
    steps: tuple[int, ...]
    """Step columns, best first; includes an unnamed first column only if there is no other."""
    times: tuple[int, ...]
    numeric: tuple[bool, ...]
    """For each column, whether its numbers may be points."""


def read_header(line: bytes) -> Header | None:
    """Parse a header; return None for fewer than two columns or if a number is in the place of a name."""
    text = decoded(line).strip("\r\n\0")
    separator = max(SEPARATORS, key=text.count)
    if separator not in text:
        return None
    try:
        names = [name.strip() for name in next(csv.reader([text], delimiter=separator), [])]
    except csv.Error:
        return None
    ended = len(names) > 2 and not names[-1]  # a separator ends each row
    if len(names) < 2 or not all(map(_is_name, names[1:-1] if ended else names[1:])):
        return None
    if names[0] and not _is_name(names[0]):
        return None
    lower = [name.lower() for name in names]
    steps = [lower.index(name) for name in STEP_NAMES if name in lower]
    if steps and not names[steps[-1]] and (len(steps) > 1 or names[0]):
        steps.pop()  # an unnamed column is the index only if it is the first and nothing else is
    return Header(
        line=line,
        separator=separator.encode(),
        names=_unique(names),
        steps=tuple(steps),
        times=tuple(lower.index(name) for name in TIME_NAMES if name in lower),
        numeric=tuple(number("1", name) is not None and (bool(name) or not ended) for name in names),
    )


def _is_name(text: str) -> bool:
    """Return True if a column may have this name: it contains a letter and is not a number like "1e5"; "nan" and "inf"
    do occur as names."""
    return not _NUMBER.fullmatch(text) and any(map(str.isalpha, text))


def _unique(names: list[str]) -> tuple[str, ...]:
    uses: dict[str, int] = {}
    unique = []
    for name in names:
        uses[name] = uses.get(name, -1) + 1
        unique.append(f"{name}.{uses[name]}" if uses[name] else name)
    return tuple(unique)
