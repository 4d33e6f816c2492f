"""torchtune's DiskLogger and StdoutLogger: `log_<time>.txt`.

    Step 4 | loss:nan lr:2e-05 tokens_per_second_per_gpu:1200.1 peak_memory_active:10.2

Source: torchtune/training/metric_logging.py.
"""

from __future__ import annotations

import re

from tuimon.formats.console.families import Family, pairs, step_lines

_STEP = re.compile(r"Step (\d{1,18}) \| ?(?=\S+:\S)", re.ASCII)

FAMILY = Family("torchtune", ("Step ",), step_lines(_STEP, lambda text: pairs(text, None, ":")), order=31)
