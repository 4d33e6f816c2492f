"""The README's first lines: from a checkout to the dashboard on a real training run.

There is no network in a test, so `python3 -m venv` and `pip install` are played by two small scripts that do what the
two do with this project: put there what pyproject.toml declares. All else is run as it is written, on a terminal; and
what pip would bring is held against what the program imports.
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

ROOT = Path(__file__).parent.parent
BLOCK = re.findall(r"```bash\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)[0].strip()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PACKAGES = [ROOT / name for name in PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]]

BRAILLE = re.compile("[\u2801-\u28ff]")
"""A dot of a curve."""

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


def test_the_first_lines_lead_to_the_dashboard(tmp_path: Path) -> None:
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
        assert terminal.wait(30) == 0
    assert list(temporary.iterdir()) == []


def imported(file: Path) -> Iterator[tuple[str, bool]]:
    """(top-level module, whether the file's own import brings it: not inside a function) of what a file imports."""
    tree = ast.parse(file.read_text("utf-8"))
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        for name in names:
            yield name.partition(".")[0], node in tree.body


def named(requirements: Iterable[str]) -> set[str]:
    return {re.split(r"[<>=!~\[; (]", one)[0].lower().replace("_", "-") for one in requirements}


def with_their_own(names: set[str]) -> set[str]:
    """Distributions, and what they need themselves."""
    return names | {one for name in names for one in named(r for r in requires(name) or () if "extra ==" not in r)}


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_what_it_imports_is_what_pip_is_told_to_bring(package: Path) -> None:
    needed = with_their_own(named(PROJECT["project"]["dependencies"]))
    extras = set().union(*map(named, PROJECT["project"]["optional-dependencies"].values()))
    brought_by = packages_distributions()
    ours = {path.name for path in PACKAGES}
    found = {
        (module, always)
        for file in package.rglob("*.py")
        for module, always in imported(file)
        if module not in sys.stdlib_module_names and module not in ours
    }
    assert found or package.name != "tuimon"
    for module, always in sorted(found):
        brought = {name.lower().replace("_", "-") for name in brought_by.get(module, [module])}
        assert brought & (needed if always else needed | extras), f"nothing that is declared brings {module}"
