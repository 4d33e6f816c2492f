"""Measure the current speed of this machine by fixed work, relative to the machine the requirements were set on.

A shared machine can take twice as long at times; a figure that misses its requirement by no more than that is excused.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

from tests.bench._dashboard import ENVIRONMENT

IMPORTS = "import textual.app, plotext"
SECONDS = 0.36
"""That a process took there for these imports."""
PASS = 17e6
"""Events a second of a 65 MB event file that were read and gone over once by zlib.crc32 there."""


def wall(code: str) -> float:
    """Seconds of a process that runs this."""
    begun = time.monotonic()
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, **ENVIRONMENT})
    return time.monotonic() - begun


def of_python() -> float:
    """Return the relative speed of processes that run only Python: imports, drawing, waking. Measured at each call."""
    return SECONDS / min(wall(IMPORTS) for _ in range(3))
