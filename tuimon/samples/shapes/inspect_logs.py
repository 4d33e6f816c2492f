"""Logs of Inspect (.eval): a zip file with one JSON document per sample. Positions are numbers of members.

Members are packed with Zstandard (Inspect 0.3.285, zip method 93) or deflate. Zstandard needs pyarrow (the extra
`parquet`). No member is written anywhere, and none is unpacked beyond a limit.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any, BinaryIO
from zipfile import BadZipFile, ZipFile, ZipInfo

from tuimon import lazy_re as re
from tuimon.errors import FormatError
from tuimon.formats._shared.json import parse
from tuimon.samples import Rows, Shape
from tuimon.sources.files import open_regular

_MEMBER = re.compile(r"samples/[^/]+_epoch_\d+\.json")
_MAX_UNPACKED = 64 << 20
"""Size (bytes) of an unpacked member above which it is skipped: a limit for decompression bombs."""
_ZSTANDARD = 93
_LOCAL_HEADER = 30
_KEPT = ("id", "epoch", "input", "target", "messages", "scores", "error", "output")


def _rows(path: str, start: int) -> Rows:
    descriptor, _ = open_regular(path)
    with open(descriptor, "rb") as file:
        try:
            archive = ZipFile(file)
        except (BadZipFile, ValueError, OSError, struct.error):
            raise FormatError("not a readable zip file") from None
        members = [member for member in archive.infolist() if _MEMBER.fullmatch(member.filename)]
        for number, member in enumerate(members):
            if number < start or member.file_size > _MAX_UNPACKED:
                continue
            document = parse(_unpacked(archive, file, member))
            if isinstance(document, dict):
                yield number, sample_row(document)


def _unpacked(archive: ZipFile, file: BinaryIO, member: ZipInfo) -> bytes:
    if member.compress_type != _ZSTANDARD:
        try:
            with archive.open(member) as unpacked:
                return unpacked.read(_MAX_UNPACKED)
        except (BadZipFile, NotImplementedError, EOFError, RuntimeError, zlib.error) as error:
            raise FormatError(f"a zip member that cannot be read: {error}") from None
    file.seek(member.header_offset)
    header = file.read(_LOCAL_HEADER)
    if len(header) < _LOCAL_HEADER or not header.startswith(b"PK\x03\x04"):
        raise FormatError("a damaged zip member")
    name, extra = struct.unpack("<HH", header[26:30])
    file.seek(name + extra, 1)
    try:
        import pyarrow
    except ImportError:
        raise FormatError("packed with Zstandard, which needs pyarrow: pip install 'tuimon[parquet]'") from None
    try:
        packed = file.read(member.compress_size)
        return bytes(pyarrow.decompress(packed, decompressed_size=member.file_size, codec="zstd", asbytes=True))
    except (pyarrow.ArrowException, OSError, ValueError):
        raise FormatError("a damaged zip member") from None


def sample_row(document: dict[str, Any]) -> dict[str, Any]:
    """Return a row of a sample: without its events, which repeat the messages."""
    row = {key: document[key] for key in _KEPT if key in document}
    output = row.pop("output", None)
    if isinstance(output, dict):
        row["completion"] = output.get("completion")
        choices = output.get("choices")
        if isinstance(choices, list) and choices and isinstance(choices[0], dict):
            row["stop_reason"] = choices[0].get("stop_reason")
        usage = output.get("usage")
        if isinstance(usage, dict):
            row["output_tokens"] = usage.get("output_tokens")
    if "id" in row:
        row["example_id"] = str(row.pop("id"))
    return row


SHAPE = Shape("inspect_logs", lambda path: path.endswith(".eval"), _rows)
