"""StyleGAN 2 and 3: one line per tick, names and numbers between blanks.

    tick 12    kimg 48.2     lr 0.0025  time 10m 12s     sec/tick 42.1    sec/kimg 10.51   cpumem 5.43   gpumem 20.1

The step is the tick. Source: training/training_loop.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tuimon.formats.console.families import NUMBER, Family, Pair, step_lines

_STEP = re.compile(r"tick (\d{1,12}) {1,8}(?=kimg )", re.ASCII)
_FIELD = re.compile(rf"(?<!\S)([A-Za-z][\w/.-]{{0,40}}) {{1,4}}({NUMBER})(?=\s|$)", re.IGNORECASE | re.ASCII)


def _fields(text: str) -> Iterator[Pair]:
    return ((name, float(value)) for name, value in _FIELD.findall(text))


FAMILY = Family("stylegan", ("tick ",), step_lines(_STEP, _fields), order=35)
