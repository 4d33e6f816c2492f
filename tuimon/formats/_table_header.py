"""The header of a separated table: its separator, and what each column is.

A table is text of one row a line, its cells parted by ",", ";", a tab or "|"; the first line that is neither blank nor
begins with "#" names the columns (Stable-Baselines3's monitor.csv begins with '#{"t_start": …}'). Names are kept as
written but for blanks around them (Ultralytics 8.0 to 8.2 pads them) and quotes; a name that is there twice becomes
"name.1", as pandas calls it.

- Step columns are those of STEP_NAMES, in that order, in any case; pandas' unnamed index comes last. The one in use is
  no metric itself, unless it is a tag of its own ("time/total_timesteps").
- Time columns are those of TIME_NAMES.
- A column whose name says that it holds names or versions ("trial_id", "date") is no metric, whatever its cells.
"""

from __future__ import annotations

import csv
import re

from msgspec import Struct

from tuimon.formats._rows import STEP_KEYS, TIME_KEYS, number

SEPARATORS = (",", ";", "\t", "|")
STEP_NAMES = (
    *(key for key in STEP_KEYS if key != "epoch"),
    *("steps", "global step", "iterations", "it", "total_timesteps", "timesteps_total", "total_steps", "timesteps"),
    *("timestep", "env_step", "env_steps", "update", "updates", "train_step", "epoch", "epochs", "round", "episode"),
    *("episodes", "generation", ""),
)
TIME_NAMES = (*TIME_KEYS, "wall time", "walltime", "datetime")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?", re.IGNORECASE)


class Header(Struct, frozen=True):
    """What the header says."""

    line: bytes
    """As it stands in the file, without the end of the line."""
    separator: bytes
    names: tuple[str, ...]
    steps: tuple[int, ...]
    """Columns, the best first. A nameless first column is one only where there is no other."""
    times: tuple[int, ...]
    numeric: tuple[bool, ...]
    """May numbers in this column be points?"""


def read_header(line: bytes) -> Header | None:
    """None for a line that cannot be a header: fewer than two columns, or a column that is called by a number."""
    text = line.decode("utf-8", "replace").strip("\r\n\0")
    separator = max(SEPARATORS, key=text.count)
    if separator not in text:
        return None
    try:
        names = [name.strip() for name in next(csv.reader([text], delimiter=separator), [])]
    except csv.Error:
        return None
    if len(names) < 2 or not all(map(_is_name, names[1:])) or (names[0] and not _is_name(names[0])):
        return None
    lower = [name.lower() for name in names]
    steps = [lower.index(name) for name in STEP_NAMES if name in lower]
    if "" in names and len(steps) > 1:
        steps.remove(0)
    return Header(
        line=line,
        separator=separator.encode(),
        names=_distinct(names),
        steps=tuple(steps),
        times=tuple(lower.index(name) for name in TIME_NAMES if name in lower),
        numeric=tuple(number("1", name) is not None for name in names),
    )


def _is_name(text: str) -> bool:
    """Could this be the name of a column? It has a letter and is no number; "nan" and "inf" are names that are used."""
    return not _NUMBER.fullmatch(text) and any(map(str.isalpha, text))


def _distinct(names: list[str]) -> tuple[str, ...]:
    uses: dict[str, int] = {}
    distinct = []
    for name in names:
        uses[name] = uses.get(name, -1) + 1
        distinct.append(f"{name}.{uses[name]}" if uses[name] else name)
    return tuple(distinct)
