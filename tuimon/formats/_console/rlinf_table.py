"""RLinf's metric table, printed and appended to metrics.log by print_metrics_table: a box of 120 columns.

    ├──────────────────── Metric Table ────────────────────┤
    │ Global Step:    1/1000 │ Progress: ░░░░ │   0.1%     │
    ├──────────────────────── Time ────────────────────────┤
    │actor_training=2.000      │step=10.000      │         │
    ├─────────────────── Training/Actor ───────────────────┤
    │actor/lr=1.00e-06         │actor/policy_loss=1.000    │
    ╰──────────────────────────────────────────────────────╯

The table shows the step + 1. A section's title stands for the first segment of the tags below it, and is put back. A
cell that was cut with "…" has lost its value or its name: it is no point. Source: rlinf/utils/metric_utils.py.
"""

from __future__ import annotations

import re

from tuimon.formats._console import Family, LineReader, Sink
from tuimon.formats._console._line import Line
from tuimon.formats._console._values import number

_TITLE = re.compile(r"├─++ ([^─│]{1,100}) ─++┤")
_STEP = re.compile(r"│ Global Step:\s{0,40}(\d{1,18})/(\d{1,18}) │", re.ASCII)
_TABLE = "Metric Table"
_PREFIXES = {"time": "time", "environment": "env", "rollout": "rollout", "evaluation": "eval"}
_REPLAY = "replay buffer"
_CUT = "…"


class RlinfTableReader(LineReader):
    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._step: int | None = None
        self._section: str | None = None
        """None: not in a table; "": in its head."""

    def read(self, line: Line) -> bool:
        text = line.text
        if found := _TITLE.search(text):
            title = found[1].strip()
            if title == _TABLE:
                self._section, self._step = "", None
            elif self._section is not None:
                self._section = title.lower()
            return self._section is not None
        if self._section is None:
            return False
        if "╰" in text:
            self._section = None
        elif found := _STEP.search(text):
            self._step = int(found[1]) - 1
            self.sink.progress(self._step, int(found[2]))
        elif self._section and self._step is not None:
            self.sink.row(self._cells(text), self._step, line)
        return True

    def _cells(self, text: str) -> list[tuple[str, float]]:
        found = []
        for cell in text.split("│"):
            name, _, printed = cell.strip().partition("=")
            value = number(printed)
            if value is not None and name and _CUT not in name:
                found.append((self._prefix(name) + name, value))
        return found

    def _prefix(self, name: str) -> str:
        section = self._section or ""
        if section.startswith("training"):
            return "train/"
        if section == _REPLAY:
            return "train/" if name.startswith("replay_buffer/") else "train/replay_buffer/"
        return _PREFIXES.get(section, section.replace(" ", "_")) + "/"


FAMILY = Family("rlinf-table", ("│", "├─", "╰─"), RlinfTableReader, order=20)
