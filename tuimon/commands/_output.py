"""Write output files atomically, and never over an existing file without --force."""

from __future__ import annotations

import contextlib
import io
import os
import secrets
import sys
from collections.abc import Iterator
from typing import BinaryIO

from tuimon import lazy_re as re
from tuimon.errors import TuimonError, UsageError
from tuimon.text import clean

FILE_SUFFIX = re.compile(r"\.[a-z]{2,7}")
"""Suffix of what is meant as a file of a format; the ".5b" of grpo-1.5b does not match."""

_HTML_SUFFIXES = (".html", ".htm")


@contextlib.contextmanager
def open_output(name: str, force: bool) -> Iterator[BinaryIO]:
    """Open the file `name`, or stdout for "-". The file appears only when it is complete, by renaming a temporary one.

    Raises UsageError if it exists and `force` is false, TuimonError if it cannot be written.
    """
    if name == "-":
        sys.stdout.flush()
        if hasattr(sys.stdout, "buffer"):
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        else:  # a replacement of sys.stdout that takes only text
            buffer = io.BytesIO()
            yield buffer
            sys.stdout.write(buffer.getvalue().decode())
        return
    if os.path.isdir(name):  # noqa: PTH112
        raise UsageError(f"{clean(name)} is a directory", "Name a file in it.")
    if os.path.lexists(name) and not force:
        raise UsageError(f"{clean(name)} already exists", "Use --force to overwrite it.")
    new = os.path.join(os.path.dirname(os.path.abspath(name)), f".tuimon-{os.getpid()}-{secrets.token_hex(4)}")
    try:
        file = open(new, "xb")  # noqa: SIM115  closed below
    except OSError as error:
        raise TuimonError(f"cannot write {clean(name)}: {error.strerror}", "Choose another -o.") from error
    try:
        with file:
            yield file
        os.replace(new, name)  # noqa: PTH105
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(new)  # noqa: PTH108
        if isinstance(error, OSError) and error.filename is None:  # a write failed, not the reading of a log
            message = f"cannot write {clean(name)}: {error.strerror}"
            raise TuimonError(message, "The incomplete file was removed.") from error
        raise


def check_html_suffix(name: str, page: str, others: str) -> None:
    """Raise UsageError if the name of an HTML file has the suffix of another format.

    page: what is written. others: which command writes other formats.
    """
    suffix = os.path.splitext(name)[1].lower()
    if suffix not in _HTML_SUFFIXES and FILE_SUFFIX.fullmatch(suffix):
        raise UsageError(
            f"cannot write {clean(name)}: no {page} has the suffix {clean(suffix)}",
            f"Suffixes: {', '.join(_HTML_SUFFIXES)}. {others}",
        )


def directory(name: str) -> str:
    """Create the directory `name` if it does not exist and return it. Raise TuimonError if that fails."""
    try:
        os.makedirs(name, exist_ok=True)  # noqa: PTH103
    except OSError as error:
        raise TuimonError(f"cannot create {clean(name)}: {error.strerror}", "Choose another -o.") from error
    return name
