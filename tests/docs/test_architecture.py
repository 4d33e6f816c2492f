"""docs/architecture.md: the files and names that it mentions exist, and its layers are those that are checked."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
QUOTED = sorted(set(re.findall(r"`([^`\n]+)`", PAGE)))
FILES = [text for text in QUOTED if re.fullmatch(r"[\w/.-]+(?:/|\.py|\.toml|\.json)", text)]
NAMES = [text for text in QUOTED if re.fullmatch(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", text) and text not in FILES]
NOT_OURS = {"Key", "open", "is", "reward.train", "config.toml", "trainer_state.json", "vocabulary.json"}
"""Words, files of others, and files that a checkout does not have before the first start."""
SOURCES = sorted((ROOT / "tuimon").rglob("*.py"))
_DEFINITION = re.compile(r"^ *(?:(?:async )?def|class) (\w+)|^ *(?:self\.)?(\w+)(?:: [^=\n]+)?(?: =|$)", re.MULTILINE)
DEFINED = {
    *(path.stem for path in SOURCES),
    *(name for path in SOURCES for names in _DEFINITION.findall(path.read_text("utf-8")) for name in names),
}
"""Names of modules, classes, functions and attributes."""


def test_files_and_names_exist() -> None:
    below = {name: ((ROOT / "tuimon" / name), (ROOT / name)) for name in {*FILES, *NAMES} - NOT_OURS}
    known = {name for name, paths in below.items() if any(path.exists() for path in paths)}
    files = {n for n in FILES if "/" not in n and any((ROOT / "tuimon").rglob(n))}
    names = {n for n in NAMES if n.startswith("tuimon") or set(n.split(".")[-2:]) <= DEFINED}
    assert below.keys() - known - files - names == set()


def test_many_names_are_checked() -> None:
    assert len(FILES) > 40
    assert len(NAMES) > 60


def test_layers_are_those_of_the_import_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    layers = [sorted(layer.split(" | ")) for layer in contracts[0]["layers"]]
    table = re.findall(r"^\| \d+ \| (.*) \|$", PAGE, re.MULTILINE)
    described = [
        sorted({name.rstrip("/").removesuffix(".py") for name in re.findall(r"`([a-z_]+(?:/|\.py))`", row)})
        for row in table
    ]
    described[0].remove("errors")
    assert described == layers
