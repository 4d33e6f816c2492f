"""TFRecord framing and CRC-32C, compared with TensorBoard's own."""

from __future__ import annotations

import random
import struct
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import crc32c as their_crc32c
from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import masked_crc32c

from tuimon.errors import FormatError
from tuimon.formats._shared.crc32c import contributions, crc32c
from tuimon.formats._shared.protobuf import fields, signed, varint
from tuimon.formats.tensorboard._records import find_header
from tuimon.formats.visualdl import VisualDLDecoder

NOISE = random.Random(3).randbytes(1 << 17)


def header(length: int) -> bytes:
    packed = struct.pack("<Q", length)
    return packed + struct.pack("<I", masked_crc32c(packed))


WITHOUT_EXTENSION = """
import sys
sys.modules["google_crc32c._crc32c"] = None
from tuimon.formats import all_formats
all_formats()
assert "google_crc32c" not in sys.modules
from tuimon.formats._shared.crc32c import crc32c
print(crc32c(b"123456789"))
"""


def test_checksums_need_no_extension_and_only_their_formats_need_checksums() -> None:
    result = subprocess.run([sys.executable, "-c", WITHOUT_EXTENSION], capture_output=True, text=True, check=False)
    assert (result.stdout, result.stderr) == (f"{0xE3069283}\n", "")


@pytest.mark.parametrize("length", [0, 1, 2, 3, 5, 64, 511, 512, 513, 1024, 4099, 70_001])
def test_a_message_of_any_length(length: int) -> None:
    assert crc32c(NOISE[:length]) == their_crc32c(NOISE[:length])


@given(st.integers(0, 199), st.integers(0, 255))
def test_the_contribution_of_a_byte_depends_on_its_distance_from_the_end(position: int, byte: int) -> None:
    message = NOISE[:200]
    changed = message[:position] + bytes([byte]) + message[position + 1 :]
    delta = int(contributions(8)[199 - position][message[position] ^ byte])
    assert crc32c(changed) == crc32c(message) ^ delta


@pytest.mark.parametrize(
    "filler", [b"", NOISE[:77], bytes(100_000), NOISE, b"\0" * 5 + b"\1", b"\0\0\0\0\0\0\0\1" * 40]
)
def test_a_header_is_found_after_any_bytes(filler: bytes) -> None:
    data = filler + header(300)
    assert find_header(data + NOISE[:50], 0) == len(filler)
    assert find_header(data, 0) == len(filler)
    assert find_header(data[:-1], 0) == -1
    assert find_header(data, len(filler) + 1) == -1


@pytest.mark.parametrize(
    "message", [b"\x0a\x05abc", b"\x09\0\0", b"\x10", b"\x10" + b"\xff" * 11, b"\x0b", b"\x02\0", b"\x0a"]
)
def test_bytes_that_are_not_a_message(message: bytes) -> None:
    with pytest.raises(FormatError):
        list(fields(message, 0, len(message)))


def test_a_negative_number_is_written_as_64_bits() -> None:
    assert signed(varint(b"\xfe" + b"\xff" * 8 + b"\x01", 0, 10)[0]) == -2


def test_length_that_is_damaged() -> None:
    [damage] = VisualDLDecoder().feed(b"\xff" * 100)
    assert (damage.offset, damage.reason) == (0, "not a record")  # type: ignore[union-attr]
