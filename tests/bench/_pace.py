"""How fast this machine is now, where the one on which the demands were set is 1, told by work that is not ours.

A shared machine takes twice as long in a slow hour; what then misses a demand by no more than that is no fault of ours.
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
    """Of processes that do nothing but Python: imports, drawing, waking. Taken anew each time."""
    return SECONDS / min(wall(IMPORTS) for _ in range(3))
