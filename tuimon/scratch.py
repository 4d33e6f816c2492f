"""Where temporary files go."""

from __future__ import annotations

import errno
import os
from pathlib import Path

_NAMED = ("TMPDIR", "TEMP", "TMP")
_USUAL = ("/tmp", "/var/tmp", "/usr/tmp")


def scratch() -> str:
    """A directory for them: the first that can be written to of those that tempfile tries, but never the current
    directory, which may be a run's. Raises OSError where there is none."""
    for name in (*filter(None, map(os.environ.get, _NAMED)), *_USUAL):
        if Path(name).is_dir() and os.access(name, os.W_OK | os.X_OK):
            return os.path.abspath(name)
    raise OSError(errno.EACCES, "no directory for temporary files can be written to; TMPDIR names one")
