"""Beast-Logger's readable log: evaluations of AgentJet and AgentScope Tuner as tables drawn by rich.

    2026-01-29 12:01:00.123 | INFO     | ajet.backbone.trainer_verl:eval_dataset:1051 -
    ╭─────────────────── appworld ───────────────────╮
    │ │ TGC@4                          │ 0.1       │ │
    ╰────────────────────────────────────────────────╯

The same tables as in its .json.log (see formats/json/beast_logger.py), with the same names: <title>/<name>. They have
no step, so the step is the number of the table with that title, from 0. Source: beast_logger 0.1.4 (print_dict).
"""

from __future__ import annotations

from tuimon import lazy_re as re
from tuimon.formats._shared.beast_rows import BeastRows
from tuimon.formats.console.families import Family, Line, LineReader, Sink, number

_TITLE = re.compile(r"╭─++ ([^─│]{1,100}) ─++╮")
_HEAD = " | INFO  "


class BeastTableReader(LineReader):
    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._steps: dict[str, int] = {}
        self._title: str | None = None
        self._head: Line | None = None
        self._rows = BeastRows()

    def interrupt(self) -> None:
        super().interrupt()
        self._title = self._head = None

    def read(self, line: Line) -> bool:
        if match := _TITLE.fullmatch(line.text):
            self._title, self._rows = match[1].strip(), BeastRows()
            self._steps[self._title] = self._steps.get(self._title, -1) + 1
            return True
        if _HEAD in line.text:
            self._head, self._title = line, None
            return False
        if self._title is None:
            return False
        row = self._rows.line(line.text)
        if row is not None and (value := number(row[1])) is not None:
            name, step = f"{self._title}/{row[0]}", self._steps[self._title]
            self.sink.add_row([(name, value)], step, self._head or line, counted=True)
        return row is not None


FAMILY = Family("beast-table", ("╭─", "│ │", "│ ├─", "│ └─", _HEAD), BeastTableReader, order=18)
