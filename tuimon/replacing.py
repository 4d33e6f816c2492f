"""Replace the content of a small file at once, so that it is never half-written."""

from __future__ import annotations

import os
from pathlib import Path


def make_private(directory: Path) -> None:
    """Make a directory that only this user can enter, or make an existing one so. Raises OSError."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    if directory.stat().st_mode & 0o077:
        directory.chmod(0o700)


def replace_content(file: Path, data: bytes, mode: int | None = None) -> None:
    """Write a new file beside `file` and move it there. mode: its permissions; None for those of any new file.

    Raises OSError, such as on a full disk; `file` is unchanged then and nothing is left beside it.
    """
    new = file.with_name(f"{file.name}.{os.getpid()}.new")
    try:
        new.write_bytes(data)
        if mode is not None:
            new.chmod(mode)
        new.replace(file)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(file)) from error  # that of a write names no file
