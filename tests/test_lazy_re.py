"""Expressions that are compiled when they are first used."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tuimon import lazy_re

_ALL = "import pkgutil, tuimon; modules = [m.name for m in pkgutil.walk_packages(tuimon.__path__, 'tuimon.')]"
_READER = "modules = ['tuimon.reader.process', *('tuimon.formats.' + n for n in names('tuimon.formats'))]"
_PRINT = """
import gc, importlib
from tuimon.lazy_re import LazyPattern
from tuimon.registry import names
{}
for module in modules:
    if not module.endswith("__main__"):
        importlib.import_module(module)
made = [each for each in gc.get_objects() if isinstance(each, LazyPattern)]
print(len(made), sum(len(vars(each)) > 2 for each in made), min(each.groups for each in made))
"""


def test_every_expression_of_tuimon_is_valid() -> None:
    made, _, groups = printed(_ALL)
    assert made > 400
    assert groups == 0  # all are compiled


def test_importing_the_reader_compiles_no_expression() -> None:
    made, compiled, _ = printed(_READER)
    assert made > 200
    assert compiled == 0


def printed(modules: str) -> list[int]:
    """Return how many expressions modules make, how many importing them compiles, and the fewest groups of one."""
    output = subprocess.check_output([sys.executable, "-c", _PRINT.format(modules)], text=True)
    return [int(word) for word in output.split()]


def test_an_expression_finds_what_re_finds() -> None:
    text, source = b"12x 3x", rb"(?P<a>\d+)x"
    ours, theirs = lazy_re.compile(source, re.ASCII), re.compile(source, re.ASCII)
    assert ours.findall(text) == theirs.findall(text) == [b"12", b"3"]
    assert ours.groupindex == theirs.groupindex
    assert ours.flags == theirs.flags
    assert ours.scanner(text).match().span() == (0, 3)  # type: ignore[attr-defined]


def test_a_wrong_expression_is_reported_at_its_first_use() -> None:
    wrong = lazy_re.compile("(")
    with pytest.raises(re.error):
        wrong.match("")
