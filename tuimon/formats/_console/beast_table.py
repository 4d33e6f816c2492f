"""Beast-Logger's readable log: evaluations of AgentJet and AgentScope Tuner as tables drawn by rich.

    2026-01-29 12:01:00.123 | INFO     | ajet.backbone.trainer_verl:eval_dataset:1051 -
    ╭─────────────────── appworld ───────────────────╮
    │ │ TGC@4                          │ 0.1       │ │
    ╰────────────────────────────────────────────────╯

The same tables as in its .json.log (see beast_logger), named alike: <title>/<name>. They say no step, so the step is
the number of the table of that title, from 0. Source: beast_logger 0.1.4 (print_dict).
"""

from __future__ import annotations

import re

from tuimon.formats._console import Family, LineReader, Sink
from tuimon.formats._console._line import Line
from tuimon.formats._console._values import number

_TITLE = re.compile(r"╭─++ ([^─│]{1,100}) ─++╮")
_ROW = re.compile(r"│ │ ([^│]{1,200})│([^│]{1,200})│ │")
_HEAD = " | INFO  "


class BeastTableReader(LineReader):
    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._tables: dict[str, int] = {}
        self._title: str | None = None
        self._head: Line | None = None

    def read(self, line: Line) -> bool:
        if found := _TITLE.fullmatch(line.text):
            self._title = found[1].strip()
            self._tables[self._title] = self._tables.get(self._title, -1) + 1
            return True
        if _HEAD in line.text:
            self._head, self._title = line, None
            return False
        found = _ROW.fullmatch(line.text) if self._title is not None else None
        if found is None or self._title is None:
            return False
        value = number(found[2].strip())
        if value is not None:
            name = f"{self._title}/{found[1].strip()}"
            self.sink.row([(name, value)], self._tables[self._title], self._head or line, counted=True)
        return True


FAMILY = Family("beast-table", ("╭─", "│ │", _HEAD), BeastTableReader, order=18)
