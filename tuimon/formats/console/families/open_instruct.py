"""open-instruct: a panel of rich per step, a row per group of metrics.

    ╭─────────────────────────── Metrics ───────────────────────────╮
    │  loss       policy_avg: -0.03 | total_avg: 0.03               │
    │  other      episode: 512 | training_step: 1 | lr: 3.00e-07    │
    ╰───────────────────────────────────────────────────────────────╯

The metrics become <group>/<name>; the step is training_step, or that of the row before. A row that is too wide is
continued in the next one without a group. Source: open_instruct/utils.py (print_rich_single_line_metrics).
"""

from __future__ import annotations

from tuimon import lazy_re as re
from tuimon.formats.console.families import Family, Line, LineReader, Pair, Sink, pairs

_HEAD = re.compile(r"╭─++ Metrics ─++╮")
_ROW = re.compile(r"│ {2}(\S{1,80})? {2,80}(\S.{0,2000}?)\s*│")
_STEPS = ("training_step", "global_step", "step")
_MAX_ROWS = 500


class OpenInstructReader(LineReader):
    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._group = ""
        self._values: list[Pair] = []

    def interrupt(self) -> None:
        super().interrupt()
        self._group, self._values = "", []

    def read(self, line: Line) -> bool:
        text = line.text
        if _HEAD.fullmatch(text):
            self._group, self._values, self.lines_awaited = "", [], _MAX_ROWS
        elif self.lines_awaited and (row := _ROW.fullmatch(text)) and (row[1] or self._group):
            self._group = row[1] or self._group
            self._values += ((f"{self._group}/{name}", value) for name, value in pairs(row[2], "|", ":"))
            return True
        elif self.lines_awaited and text.startswith("╰"):
            self.lines_awaited = 1
            logged = {name.rpartition("/")[2]: value for name, value in self._values}
            step = next((int(logged[key]) for key in _STEPS if key in logged and logged[key].is_integer()), None)
            return self.sink.add_row(self._values, step, line)
        return False


FAMILY = Family("open-instruct", ("─ Metrics ─",), OpenInstructReader, order=17)
