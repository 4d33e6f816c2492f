"""Files that a command writes: whole or not at all, never over another without --force, never where nobody named it."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
import tempfile
from collections.abc import Iterator
from typing import Any, BinaryIO, TextIO, cast

from tuimon.errors import TuimonError, UsageError
from tuimon.text import clean


def add_force(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--force", action="store_true", help="overwrite what is there")


@contextlib.contextmanager
def text_output(name: str, force: bool) -> Iterator[TextIO]:
    """Standard output for "-"; or a file, see `byte_output`."""
    if name == "-":
        yield sys.stdout
        return
    with _replacing(name, force, "w") as file:
        yield cast(TextIO, file)


@contextlib.contextmanager
def byte_output(name: str, force: bool) -> Iterator[BinaryIO]:
    """Standard output for "-"; or a file that appears whole or not at all: a temporary one beside it, then renamed.

    UsageError where there is one already and not `force`; TuimonError where it cannot be written.
    """
    if name == "-":
        sys.stdout.flush()
        if hasattr(sys.stdout, "buffer"):
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        else:  # text is all that whoever took its place can do
            held = io.BytesIO()
            yield held
            sys.stdout.write(held.getvalue().decode())
        return
    with _replacing(name, force, "wb") as file:
        yield cast(BinaryIO, file)


def directory(name: str) -> str:
    """The directory, made where it is not there. TuimonError when that is impossible."""
    try:
        os.makedirs(name, exist_ok=True)  # noqa: PTH103
    except OSError as error:
        raise TuimonError(f"{clean(name)} cannot be made: {error.strerror}", "choose another -o") from error
    return name


@contextlib.contextmanager
def _replacing(name: str, force: bool, mode: str) -> Iterator[object]:
    if os.path.isdir(name):  # noqa: PTH112
        raise UsageError(f"{clean(name)} is a directory", "name a file in it")
    if os.path.lexists(name) and not force:
        raise UsageError(f"{clean(name)} exists", "--force overwrites it")
    text: dict[str, Any] = {"encoding": "utf-8", "errors": "backslashreplace", "newline": ""} if mode == "w" else {}
    try:
        file = tempfile.NamedTemporaryFile(  # noqa: SIM115  closed below, and renamed
            mode, dir=os.path.dirname(os.path.abspath(name)), prefix=".tuimon-", delete=False, **text
        )
    except OSError as error:
        raise TuimonError(f"{clean(name)} cannot be written: {error.strerror}", "choose another -o") from error
    try:
        with file:
            yield file
        os.chmod(file.name, 0o666 & ~_umask())  # noqa: PTH101
        os.replace(file.name, name)  # noqa: PTH105
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(file.name)  # noqa: PTH108
        if isinstance(error, OSError) and error.filename is None:  # of a write, not of a log that is read meanwhile
            raise TuimonError(f"{clean(name)} cannot be written: {error.strerror}", "nothing of it is left") from error
        raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
