"""docs/architecture.md: the files and names that it mentions exist, and its layers are those that are checked."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "tuimon"
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
QUOTED = sorted(set(re.findall(r"`([^`\n]+)`", PAGE)))
FILES = [text for text in QUOTED if re.fullmatch(r"[\w/.-]+(?:/|\.py|\.toml|\.json|\.txt)", text)]
NAMES = [text for text in QUOTED if re.fullmatch(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", text) and text not in FILES]
STEPS = re.findall(r"^\d+\. `([\w/.]+)`:(.*(?:\n   .*)*)", PAGE, re.MULTILINE)
"""The steps of the ways of a point and of a key: (file, sentence)."""
_DEFINITION = re.compile(r"^ *(?:(?:async )?def|class) (\w+)|^ *(?:self\.)?(\w+)(?:: [^=\n]+)?(?: =|$)", re.MULTILINE)
SOURCES = sorted(PACKAGE.rglob("*.py"))
TEXT = "\n".join(path.read_text("utf-8") for path in SOURCES)
DEFINED = {*(path.stem for path in SOURCES), *(name for names in _DEFINITION.findall(TEXT) for name in names)}
"""Names of modules, classes, functions and attributes."""


def test_files_and_names_exist() -> None:
    assert [file for file in FILES if not (PACKAGE / file).exists()] == []
    unknown = [name for name in NAMES if not set(name.split(".")[-2:]) <= DEFINED]
    assert [name for name in unknown if not (PACKAGE / name).exists()] == []


def test_each_way_has_ten_steps_of_one_module_each() -> None:
    assert [file for file, _ in STEPS] == list(dict.fromkeys(file for file, _ in STEPS))
    assert re.findall(r"^(\d+)\. ", PAGE, re.MULTILINE) == [str(number) for number in range(1, 11)] * 2


def test_steps_name_something_of_their_modules() -> None:
    for file, sentence in STEPS:
        text = (PACKAGE / file).read_text("utf-8")
        names = "|".join(part for name in re.findall(r"`([\w.]+)`", sentence) for part in name.split("."))
        assert file.endswith(".txt") or re.search(rf"\b(?:def|class) (?:{names})\b|^(?:{names})\b", text, re.M), file


def test_layers_are_those_of_the_import_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    layers = [sorted(layer.split(" | ")) for layer in contracts[0]["layers"]]
    table = re.findall(r"^- (.*)$", PAGE.partition("## Layers\n")[2].partition("\n## ")[0], re.MULTILINE)
    described = [
        sorted({name.rstrip("/").removesuffix(".py") for name in re.findall(r"`([a-z_]+(?:/|\.py))`", row)})
        for row in table
    ]
    assert described == layers
