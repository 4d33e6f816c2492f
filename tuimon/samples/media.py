"""Replace what is no text in a generated text: data URLs become their type and size."""

from __future__ import annotations

from tuimon import lazy_re as re

_DATA_URL = re.compile(r"data:([\w.+-]{1,60}/[\w.+-]{1,60})?(?:;[\w.=-]{1,60}){0,4};base64,([A-Za-z0-9+/=_-]{64,})")


def without_data_urls(text: str) -> str:
    """Return the text with each long base64 data URL replaced by its type and its size (bytes)."""
    if ";base64," not in text:
        return text
    return _DATA_URL.sub(lambda match: f"[{match[1] or 'data'}, {len(match[2]) * 3 // 4} bytes]", text)
