"""Load the compiled vocabulary on first use."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import Any

MAX_NAME = 400
"""Longer names are not matched, so that the time that any name takes is bounded."""


@cache
def compiled() -> dict[str, Any]:
    """Load vocabulary.json, which _compile.py writes, or compile vocabulary.toml if it has changed.

    names, phases, phase_names: tables of vocabulary.toml. concepts: the fields of Concept except the rank. patterns:
    (rank of the concept, preference, the fields of Meaning that differ from the concept's). exact: for each listed name
    the index in `patterns`. facets: the facets of these names. open: for each template that matches more names than
    can be listed (index in `patterns`, regular expression, beginnings, ends); a match begins and ends with one of
    these, unless the list is empty. words, stems: tables of vocabulary.toml. stem_whole, stem_end, stem_begin: for the
    stems that may be a whole name, its end or its beginning, the index in `stems`.
    """
    import orjson

    from tuimon.vocabulary._compile import COMPILED, compile_source, source_key

    with suppress(OSError, orjson.JSONDecodeError):
        content: dict[str, Any] = orjson.loads(COMPILED.read_bytes())
        if content.get("key") == source_key():
            return content
    return compile_source()
