"""The first command of the README works, and pyproject.toml declares every imported package."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
from support.terminal import Terminal

ROOT = Path(__file__).parent.parent.parent
BLOCK = re.findall(r"```bash\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)[0].strip()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PACKAGES = [ROOT / name for name in PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]]

BRAILLE = re.compile("[\u2801-\u28ff]")
"""Braille characters, which curves are drawn with."""


def test_first_command_opens_the_dashboard(tmp_path: Path) -> None:
    """The wheel is installed and run by .ci/run; here its program is called as it declares it."""
    venv, install, command = BLOCK.split(" && ")
    assert (venv, install) == ("python3 -m venv .venv", ".venv/bin/pip install -q .")
    program, *words = command.split()
    assert (program, words) == (".venv/bin/tuimon", ["demo"])
    module, function = PROJECT["project"]["scripts"]["tuimon"].split(":")
    code = f"import sys; from {module} import {function} as main; sys.exit(main())"
    with Terminal([sys.executable, "-c", code, *words], environment={"TMPDIR": str(tmp_path)}) as terminal:
        terminal.until(lambda said: b"reward" in said and BRAILLE.search(said.decode("utf-8", "ignore")) is not None)
        assert list(tmp_path.glob("tuimon-demo-*"))
        terminal.type("q")
        assert terminal.wait() == 0
    assert list(tmp_path.iterdir()) == []


OPTIONAL = {"web": "tuimon[web]", "agent": "tuimon[mcp]", "picture_worker": "tuimon[images]"}
"""Package or module -> extra. They are used only by what needs the extra, and so import it at the top."""


def imported(file: Path) -> Iterator[tuple[str, bool]]:
    """Yield (top-level module, whether it is imported at the top of the file) for each import of a file."""
    tree = ast.parse(file.read_text("utf-8"))
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        for name in names:
            yield name.partition(".")[0], node in tree.body and not {file.parent.name, file.stem} & OPTIONAL.keys()


def named(requirements: Iterable[str]) -> set[str]:
    return {re.split(r"[<>=!~\[; (]", text)[0].lower().replace("_", "-") for text in requirements}


def with_their_own(names: set[str]) -> set[str]:
    """Return distributions and their own requirements."""
    return names | {
        needed for name in names for needed in named(r for r in requires(name) or () if "extra ==" not in r)
    }


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_every_imported_package_is_declared(package: Path) -> None:
    needed = with_their_own(named(PROJECT["project"]["dependencies"]))
    extras = set().union(*map(named, PROJECT["project"]["optional-dependencies"].values()))
    distributions = packages_distributions()
    ours = {path.name for path in PACKAGES}
    imports = {
        (module, always)
        for file in package.rglob("*.py")
        for module, always in imported(file)
        if module not in sys.stdlib_module_names and module not in ours
    }
    assert imports or package.name != "tuimon"
    for module, always in sorted(imports):
        providers = {name.lower().replace("_", "-") for name in distributions.get(module, [module])}
        assert providers & (needed if always else needed | extras), f"no declared package provides {module}"
