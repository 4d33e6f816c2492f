"""JSON Schemas (draft 2020-12) of every JSON output: NAME.json is that of `tuimon NAME --json`.

The number in "$id" is that of the field "schema". Within a number, fields are only added.
"""

from __future__ import annotations

from importlib.resources import files


def schema_names() -> tuple[str, ...]:
    """Return the sorted names of the schemas."""
    found = (item.name for item in files(__name__).iterdir())
    return tuple(sorted(name.removesuffix(".json") for name in found if name.endswith(".json")))


def schema_text(name: str) -> str:
    """Return the text of a schema. Raise FileNotFoundError for an unknown name."""
    return files(__name__).joinpath(f"{name}.json").read_text("utf-8")
