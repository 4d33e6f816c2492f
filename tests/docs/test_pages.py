"""The README and docs/: generated pages are up to date, links resolve, settings and commands exist."""

from __future__ import annotations

import importlib.util
import re
import shlex
import tomllib
from dataclasses import fields
from pathlib import Path
from types import ModuleType

import pytest

from tuimon import config
from tuimon.commands import commands
from tuimon.detectors import all_detectors

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text("utf-8")
NAMED = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
PAGES = [*(ROOT / name for name in NAMED), *sorted((ROOT / "docs").glob("*.md"))]


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_blocks_are_on_one_page_and_up_to_date() -> None:
    made, blocks = generator(), list[str]()
    for page in (ROOT / "docs").glob("*.md"):
        text = page.read_text("utf-8")
        assert text == made.page_of(text), "run python docs/generate.py"
        blocks += re.findall(r"<!-- generated: (\w+) -->", text)
    assert sorted(blocks) == sorted(made.BLOCKS)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_of_page_resolve(page: Path) -> None:
    for link, anchor in re.findall(r"\]\((?!http)([^)#]*)(?:#([^)]+))?\)", page.read_text("utf-8")):
        target = page.parent / link if link else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), f"{link}#{anchor}"


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub makes them."""
    heads = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


def test_the_tests_that_the_promises_name_exist() -> None:
    rows = re.findall(r"^\| .* \| (.*) \|$", (ROOT / "SECURITY.md").read_text("utf-8"), re.MULTILINE)
    named = [path for row in rows for path in re.findall(r"`(tests/[^`]+)`", row)]
    assert len(named) >= 9
    assert not [path for path in named if not (ROOT / path).exists()]


def test_readme_links_every_page_and_has_two_commands_of_one_line() -> None:
    linked = set(re.findall(r"\]\(docs/([^)#]+)", README))
    assert linked == {page.name for page in (ROOT / "docs").glob("*.md")}
    assert README.count("\n") <= 150
    assert f"{len(all_detectors())} detectors" in README
    blocks = re.findall(r"```bash\n(.*?)```", README, re.DOTALL)
    assert [block.count("\n") for block in blocks] == [1, 1]
    assert {shlex.split(block)[0] for block in blocks} == {"python3"}


def test_every_command_of_the_pages_exists_and_every_command_is_described() -> None:
    page = (ROOT / "docs" / "commands.md").read_text("utf-8")
    named = {name for text in (README, page) for name in re.findall(r"^    tuimon ([a-z]+) ", text, re.MULTILINE)}
    assert named <= set(commands())
    assert set(commands()) - named <= {"watch"}


def test_every_setting_is_documented_with_its_default() -> None:
    block = re.search(r"```toml\n(.*?)```", (ROOT / "docs" / "settings.md").read_text("utf-8"), re.DOTALL)
    assert block
    documented = tomllib.loads(block[1])
    settings = config.Settings()
    for setting in fields(settings):
        assert setting.name in documented
        if setting.name not in config.TABLES:
            value = documented[setting.name]
            assert (tuple(value) if isinstance(value, list) else value) == getattr(settings, setting.name), setting.name


def test_the_quick_selection_has_tests_of_every_package() -> None:
    paths = (ROOT / "tests" / "quick.txt").read_text("utf-8").splitlines()
    assert paths == sorted(set(paths))
    assert [path for path in paths if not (ROOT / path).exists()] == []
    packages = {path.name for path in (ROOT / "tuimon").iterdir() if path.is_dir() and not path.name.startswith("__")}
    tested = {path.split("/")[1] for path in paths}
    assert packages & {path.name for path in (ROOT / "tests").iterdir()} <= tested | {"demo"}


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
