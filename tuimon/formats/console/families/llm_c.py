"""llm.c's main.log: the step, then short names.

    s:250 tel:4.1234                       loss of the validation
    s:250 eval:0.2531                      HellaSwag
    s:250 trl:4.2012 lr:0.000600 norm:1.23

Source: llmc/logger.h.
"""

from __future__ import annotations

import re

from tuimon.formats.console.families import Family, pairs, step_lines

_STEP = re.compile(r"s:(\d{1,18}) (?=(?:trl|tel|eval):)", re.ASCII)

FAMILY = Family("llm-c", (" trl:", " tel:", " eval:"), step_lines(_STEP, lambda text: pairs(text, None, ":")), order=31)
