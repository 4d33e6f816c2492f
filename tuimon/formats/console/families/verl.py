"""verl, and AgentJet on top of it: one line per step, numbers only.

    step:7 - actor/pg_loss:np.float64(0.0094) - val-core/openai/gsm8k/reward/mean@1:0.31 - timing_s/gen:13.9

Up to version 0.4 the values are cut to three decimals; since 0.5 they are Python's repr. Step 0 is a validation before
the training. Source: verl/utils/logger/aggregate_logger.py.
"""

from __future__ import annotations

import re

from tuimon.formats.console.families import Family, pairs, step_lines

_STEP = re.compile(r"step:(\d{1,18}) - ", re.ASCII)

FAMILY = Family("verl", ("step:",), step_lines(_STEP, lambda text: pairs(text, " - ", ":")), order=10)
