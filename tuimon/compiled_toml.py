"""Tables in TOML that are part of tuimon, compiled to JSON so that a start parses none of them.

The wheel has the compiled files. In a checkout each is written beside its source at the first use, and again when the
source has changed; where it cannot be written, each start compiles: 0.25 s for all of them.

A module `_compile.py` beside a table turns its document into what the program needs.
"""

from __future__ import annotations

import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

from tuimon.replacing import replace_content


def load_toml(source: Path) -> dict[str, Any]:
    """Return the content of a table, from the compiled file if that is current. NaN and infinity are not possible."""
    import orjson

    with suppress(OSError, orjson.JSONDecodeError, AttributeError, KeyError):
        compiled: dict[str, Any] = orjson.loads(compiled_file(source).read_bytes())
        if compiled.get("key") == source_key(source):
            return compiled["content"]  # type: ignore[no-any-return]
    return compile_toml(source)


def compile_toml(source: Path) -> dict[str, Any]:
    """Compile a table, and write the compiled file beside it if that is possible. The build of the wheel does it."""
    import json
    import runpy
    import tomllib

    content = tomllib.loads(source.read_text(encoding="utf-8"))
    if _compiler(source).exists():
        content = runpy.run_path(str(_compiler(source)))["compile_document"](content)
    compiled = {"key": source_key(source), "content": content}
    with suppress(OSError):
        replace_content(compiled_file(source), json.dumps(compiled, ensure_ascii=False, allow_nan=False).encode())
    return content


def compiled_file(source: Path) -> Path:
    """Return the path of the compiled file: "rules.toml.json" beside rules.toml."""
    return source.with_name(f"{source.name}.json")


def source_key(source: Path) -> int:
    """Return a checksum of a table and of the module that compiles it."""
    return zlib.crc32(b"".join(path.read_bytes() for path in (source, _compiler(source)) if path.exists()))


def _compiler(source: Path) -> Path:
    return source.with_name("_compile.py")
