"""Beast-Logger's readable log: evaluations of AgentJet and AgentScope Tuner as tables drawn by rich.

    2026-01-29 12:01:00.123 | INFO     | ajet.backbone.trainer_verl:eval_dataset:1051 -
    ╭─────────────────── appworld ───────────────────╮
    │ │ TGC@4                          │ 0.1       │ │
    ╰────────────────────────────────────────────────╯

Its .json.log has the same tables (see formats/json/marked_lines.py). The metrics are <title>/<name>. They have no step,
so the step is the number of the table with that title, from 0.

Text that is too long for its cell continues in the next line, split at a blank. A word that is too long is cut with
"…"; a row with such a name is dropped, as other names may be cut to the same text.
Source: beast_logger 0.1.4 (print_dict), rich/table.py.
"""

from __future__ import annotations

from tuimon import lazy_re as re
from tuimon.formats.console.families import Family, Line, LineReader, Sink, number

_TITLE = re.compile(r"╭─++ ([^─│]{1,100}) ─++╮")
_HEAD = " | INFO  "
_LINE = re.compile(r"│ │ ([^│]{0,200})│([^│]{0,200})│ │")
_CUT = "…"
_MAX_LINES = 100


class BeastTableReader(LineReader):
    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._steps: dict[str, int] = {}
        self._title: str | None = None
        self._head: Line | None = None
        self._rows = _Rows()

    def interrupt(self) -> None:
        super().interrupt()
        self._title = self._head = None

    def read(self, line: Line) -> bool:
        if match := _TITLE.fullmatch(line.text):
            self._title, self._rows = match[1].strip(), _Rows()
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


class _Rows:
    """Reads the lines of a table in order."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._values: list[str] = []

    def line(self, text: str) -> tuple[str, str] | None:
        """Read the next line, and return the (name, printed value) of the row that ends before it."""
        cells = _LINE.fullmatch(text.strip())
        if cells is not None and len(self._names) < _MAX_LINES:
            self._names += cells[1].split()
            self._values += cells[2].split()
            return None
        name, value = " ".join(self._names), " ".join(self._values)
        self._names, self._values = [], []
        return (name, value) if name and value and _CUT not in name else None


FAMILY = Family("beast-table", ("╭─", "│ │", "│ ├─", "│ └─", _HEAD), BeastTableReader, order=18)
