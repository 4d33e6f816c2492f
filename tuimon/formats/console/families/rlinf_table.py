"""RLinf's metric table, printed and appended to metrics.log by print_metrics_table: a box of 120 columns.

    ├──────────────────── Metric Table ────────────────────┤
    │ Global Step:    1/1000 │ Progress: ░░░░ │   0.1%     │
    ├──────────────────────── Time ────────────────────────┤
    │actor_training=2.000      │step=10.000      │         │
    ├─────────────────── Training/Actor ───────────────────┤
    │actor/lr=1.00e-06         │actor/policy_loss=1.000    │
    ╰──────────────────────────────────────────────────────╯

The table shows the step + 1. The title of a section replaces the first segment of its tags, which is put back. A cell
cut with "…" has lost its value or part of its name and is left out. Source: rlinf/utils/metric_utils.py.
"""

from __future__ import annotations

from tuimon import lazy_re as re
from tuimon.formats.console.families import Family, Line, LineReader, pairs

_TITLE = re.compile(r"├─++ ([^─│]{1,100}) ─++┤")
_STEP = re.compile(r"│ Global Step:\s{0,40}(\d{1,18})/(\d{1,18}) │", re.ASCII)
_TABLE = "Metric Table"
_PREFIXES = {"time": "time", "environment": "env", "rollout": "rollout", "evaluation": "eval"}
_REPLAY = "replay buffer"
_CUT = "…"


class RlinfTableReader(LineReader):
    _step: int | None = None
    _section: str | None = None
    """Title in lower case; "" in the head of a table, None outside a table."""

    def interrupt(self) -> None:
        super().interrupt()
        self._section = None

    def read(self, line: Line) -> bool:
        text = line.text
        if match := _TITLE.search(text):
            title = match[1].strip()
            if title == _TABLE:
                self._section, self._step = "", None
            elif self._section is not None:
                self._section = title.lower()
            return self._section is not None
        if self._section is None:
            return False
        if "╰" in text:
            self._section = None
        elif match := _STEP.search(text):
            self._step = int(match[1]) - 1
            self.sink.report_progress(self._step, int(match[2]))
        elif self._section and self._step is not None:
            cells = ((name, value) for name, value in pairs(text, "│", "=") if _CUT not in name)
            self.sink.add_row(((self._prefix(name) + name, value) for name, value in cells), self._step, line)
        return True

    def _prefix(self, name: str) -> str:
        section = self._section or ""
        if section.startswith("training"):
            return "train/"
        if section == _REPLAY:
            return "train/" if name.startswith("replay_buffer/") else "train/replay_buffer/"
        return _PREFIXES.get(section, section.replace(" ", "_")) + "/"


FAMILY = Family("rlinf-table", ("│", "├─", "╰─"), RlinfTableReader, order=20)
