"""The first command of the README works, and pyproject.toml declares every imported package.

Tests have no network. So `python3 -m venv` and `pip install` are replaced by two small scripts that install what
pyproject.toml declares; everything else runs as it is written, on a terminal.
"""

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

PYTHON = """#!/bin/sh
# python3 -m venv WHERE: a directory with a pip of its own
[ "$1 $2" = "-m venv" ] && [ $# = 3 ] || exit 9
mkdir -p "$3/bin" && cp {pip} "$3/bin/pip"
"""
PIP = """#!{python}
# pip install -q WHAT: the packages and the programs that its pyproject.toml declares, beside this file
import os, sys, tomllib
[command, *flags, what] = sys.argv[1:]
assert command == "install" and set(flags) <= {{"-q"}}
here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(what, "pyproject.toml"), "rb") as file:
    project = tomllib.load(file)
site = os.path.join(here, "site")
os.mkdir(site)
for package in project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]:
    os.symlink(os.path.abspath(os.path.join(what, package)), os.path.join(site, os.path.basename(package)))
for name, entry in project["project"]["scripts"].items():
    module, function = entry.split(":")
    path = os.path.join(here, name)
    with open(path, "w") as file:
        file.write("#!/bin/sh\\n")
        code = "import sys; from %s import %s as main; sys.exit(main())" % (module, function)
        file.write('PYTHONPATH="%s" exec {python} -c "%s" "$@"\\n' % (site, code))
    os.chmod(path, 0o755)
"""


def test_first_command_opens_the_dashboard(tmp_path: Path) -> None:
    assert BLOCK.endswith("tuimon demo")
    checkout, programs, temporary = (tmp_path / name for name in ("checkout", "programs", "temporary"))
    for folder in (checkout, programs, temporary):
        folder.mkdir()
    for name in ("pyproject.toml", "README.md", "tuimon", "demo"):
        (checkout / name).symlink_to(ROOT / name)
    pip = tmp_path / "pip"
    for path, text in ((pip, PIP.format(python=sys.executable)), (programs / "python3", PYTHON.format(pip=pip))):
        path.write_text(text)
        path.chmod(0o755)
    environment = {"TMPDIR": str(temporary), "PYTHONPATH": ""}
    line = f'export PATH="{programs}:$PATH"; cd {checkout}; {BLOCK}'
    with Terminal(["bash", "-c", line], environment=environment) as terminal:
        terminal.until(
            lambda said: b"reward" in said and BRAILLE.search(said.decode("utf-8", "ignore")) is not None, 60
        )
        assert list(temporary.glob("tuimon-demo-*"))
        terminal.type("q")
        assert terminal.wait() == 0
    assert list(temporary.iterdir()) == []


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
