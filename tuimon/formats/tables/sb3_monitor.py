"""Monitor files of Stable-Baselines3, Stable Baselines and Gym: one row for each episode of one environment.

    0.monitor.csv   #{"t_start": 1795224133.48, "env_id": "CartPole-v1"}
                    r,l,t                          reward, length, seconds since t_start; others may follow
                    14.0,14,0.846307

A vectorised environment writes one file for each environment. Together they are one source, in which the step is the
number of the episode in its environment. See _decoder. Source: stable_baselines3/common/monitor.py.
"""

from __future__ import annotations

import posixpath

from tuimon import lazy_re as re
from tuimon.formats import Format
from tuimon.formats.tables._decoder import TableDecoder
from tuimon.formats.tables.csv import matches

_NAME = re.compile(r"(?:.*[._-])?monitor\.csv")
_SHOWN = {"r": "reward", "l": "length", "t": "elapsed"}
_HEADER = re.compile(rb"(?:#[^\n]*\n)?r,l,t[,\r\n]")


def _together(path: str) -> str:
    """Return the path of the source of all environments: monitor.csv for 0.monitor.csv."""
    directory, name = posixpath.split(path)
    return posixpath.join(directory, re.sub(r"\A\d+[._-]", "", name))


FORMAT = Format(
    id="sb3-monitor",
    title="SB3 monitor",
    writers="Monitor of SB3 2.9, Stable Baselines and Gym",
    rank=21,
    matches=lambda name, head: _HEADER.match(head) is not None and matches(name, head),
    decoder=TableDecoder,
    wants_name=lambda name: _NAME.fullmatch(name) is not None,
    joined_source=_together,
    counts_episodes=True,
    shown_names=lambda path: _SHOWN,
)
