"""The Qwen3-VL scripts' lines other than "Step 10 (samples: 40): loss=0.5000, …", which the family `plain` reads.

    2026-01-27 12:00:01,000 - INFO - Step timing: gen=6.0s, logprob=1.0s, backward=2.0s, total=9.0s
    2026-01-27 12:00:09,000 - INFO - Validation results: reward=0.4000, format=0.9000

Both belong to the step before. A validation uses the names of the training; they become val_<name>, as in the
scripts' own training_log.json. Times are seconds: timing_s/<name>. Source: Wu-didi/qwen3-vl-det (3ea08dd).
"""

from __future__ import annotations

import re

from tuimon.formats.console.families import NUMBER, Family, Line, LineReader

_TIMING = "Step timing: "
_VALIDATION = "Validation results: "
_PAIR = re.compile(rf"(\w{{1,80}})=({NUMBER})s?(?=,|$)", re.IGNORECASE | re.ASCII)


class Qwen3VLReader(LineReader):
    def read(self, line: Line) -> bool:
        text = line.message
        prefix = "timing_s/" if text.startswith(_TIMING) else "val_" if text.startswith(_VALIDATION) else ""
        if not prefix or self.sink.step is None:
            return False
        return self.sink.add_row(((prefix + name, float(value)) for name, value in _PAIR.findall(text)), None, line)


FAMILY = Family("qwen3vl", (_TIMING, _VALIDATION), Qwen3VLReader, order=60)
