"""Rollouts of Beast-Logger (AgentJet): lines of "base64:" and zlib-packed JSON. Positions are byte offsets of lines.

Source: beast_logger 0.1.8 and AgentJet (ajet/utils/rollout_logger). The texts are lists of token texts, of which the
first `len_prompt_ids` are the prompt.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Iterator
from typing import Any

from tuimon import lazy_re as re
from tuimon.errors import FormatError
from tuimon.formats._shared.json import parse
from tuimon.samples import Rows, Shape
from tuimon.sources.files import open_regular

_PACKED = b"base64:"
_MAX_LINE = 16 << 20
_MAX_UNPACKED = 32 << 20
"""Size (bytes) to which a line is unpacked: a limit for decompression bombs."""
_STEP = re.compile(r"\[(\d{1,12})\]")


def _rows(path: str, start: int) -> Rows:
    descriptor, _ = open_regular(path)
    with open(descriptor, "rb") as file:
        file.seek(start)
        offset = start
        while line := file.readline(_MAX_LINE):
            here, offset = offset, offset + len(line)
            if line.startswith(_PACKED) and (document := _unpacked(line[len(_PACKED) :])):
                for row in _samples(document):
                    yield here, row


def _unpacked(packed: bytes) -> dict[str, Any] | None:
    try:
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(base64.b64decode(packed), _MAX_UNPACKED)
        document = parse(data) if unpacker.eof else None
    except (binascii.Error, zlib.error, FormatError):
        return None
    return document if isinstance(document, dict) else None


def _samples(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    step = _STEP.match(str(document.get("header", "")))
    parts = document.get("nested_json")
    for name, part in parts.items() if isinstance(parts, dict) else ():
        content = part.get("content") if isinstance(part, dict) else None
        pieces = content.get("text") if isinstance(content, dict) else None
        if not isinstance(pieces, list):
            continue
        texts = [piece for piece in pieces if isinstance(piece, str)]
        length = part.get("len_prompt_ids")
        count = length if isinstance(length, int) else 0
        yield {
            "step": int(step[1]) if step else None,
            "task_id": name.partition(".")[0],
            "prompt": "".join(texts[:count]),
            "response": "".join(texts[count:]),
            "response_length": part.get("len_response_ids"),
            "reward": part.get("raw_reward"),
            "step_advantage": part.get("step_advantage"),
        }


SHAPE = Shape("beast_logger", lambda path: path.endswith(".json.log"), _rows, grows=True)
