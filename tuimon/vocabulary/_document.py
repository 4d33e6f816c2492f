"""Load the compiled vocabulary on first use."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from tuimon.compiled_toml import load_toml

MAX_NAME = 400
"""Longer names are not matched, so that the time that any name takes is bounded."""


@cache
def compiled() -> dict[str, Any]:
    """Return the content of vocabulary.toml as _compile.py arranges it.

    names, phases, phase_names: tables of vocabulary.toml. concepts: the fields of Concept except the rank. patterns:
    (rank of the concept, preference, the fields of Meaning that differ from the concept's). exact: for each listed name
    the index in `patterns`. facets: the facets of these names. open: for each template that matches more names than
    can be listed (index in `patterns`, regular expression, beginnings, ends); a match begins and ends with one of
    these, unless the list is empty. words, stems: tables of vocabulary.toml. stem_whole, stem_end, stem_begin: for the
    stems that may be a whole name, its end or its beginning, the index in `stems`.
    """
    return load_toml(Path(__file__).with_name("vocabulary.toml"))
