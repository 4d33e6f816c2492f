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

from tuimon.formats._beast_rows import BeastRows
from tuimon.formats._console import Family, LineReader, Sink
from tuimon.formats._console._line import Line
from tuimon.formats._console._values import number

_TITLE = re.compile(r"╭─++ ([^─│]{1,100}) ─++╮")
_HEAD = " | INFO  "


class BeastTableReader(LineReader):
    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._tables: dict[str, int] = {}
        self._title: str | None = None
        self._head: Line | None = None
        self._rows = BeastRows()

    def read(self, line: Line) -> bool:
        if found := _TITLE.fullmatch(line.text):
            self._title, self._rows = found[1].strip(), BeastRows()
            self._tables[self._title] = self._tables.get(self._title, -1) + 1
            return True
        if _HEAD in line.text:
            self._head, self._title = line, None
            return False
        if self._title is None:
            return False
        row = self._rows.line(line.text)
        value = number(row[1]) if row is not None else None
        if row is not None and value is not None:
            self.sink.row(
                [(f"{self._title}/{row[0]}", value)], self._tables[self._title], self._head or line, counted=True
            )
        return row is not None


FAMILY = Family("beast-table", ("╭─", "│ │", "│ ├─", "│ └─", _HEAD), BeastTableReader, order=18)
