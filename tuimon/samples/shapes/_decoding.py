"""Decode a JSON object without its long token lists, which no view shows."""

from __future__ import annotations

from typing import Any

import msgspec
import orjson

from tuimon.formats._shared.json import parse

SKIPPED = frozenset(
    {
        "token_ids", "logprobs", "ref_logprobs", "values", "token_rewards", "prompt_tokens", "response_tokens",
        "tokens", "masks",
        "prompt_ids", "response_ids", "input_ids", "attention_mask", "position_ids",
    }
)  # fmt: skip
"""Names of token lists, except those whose difference is shown (log-probabilities of engine and trainer)."""
_LARGE = 64 << 10
"""Size (bytes) of a line from which the lists are worth skipping."""
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])


def decode(line: bytes) -> Any:
    """Parse a JSON text; of a large object, the token lists at its top level are left out. Raises FormatError."""
    if len(line) > _LARGE:
        try:
            parts = _OBJECT.decode(line)
            return {key: orjson.loads(bytes(part)) for key, part in parts.items() if key not in SKIPPED}
        except (msgspec.DecodeError, orjson.JSONDecodeError):
            pass  # NaN, or text that is not UTF-8
    return parse(line)
