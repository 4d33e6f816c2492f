"""Expressions that are compiled when they are first used."""

from __future__ import annotations

import gc
import importlib
import pkgutil
import re
import subprocess
import sys

import pytest

import tuimon
from tuimon import lazy_re


def test_every_expression_of_tuimon_is_valid() -> None:
    for module in pkgutil.walk_packages(tuimon.__path__, "tuimon."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    expressions = [found for found in gc.get_objects() if isinstance(found, lazy_re.LazyPattern)]
    assert len(expressions) > 400
    for expression in expressions:
        assert expression.groups >= 0  # compiles it


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


def test_importing_the_reader_compiles_no_expression() -> None:
    code = (
        "import gc, tuimon.reader.process, tuimon.formats; from tuimon.lazy_re import LazyPattern\n"
        "tuimon.formats.all_formats()\n"
        "made = [o for o in gc.get_objects() if isinstance(o, LazyPattern)]\n"
        "print(len(made), *(o.pattern for o in made if len(vars(o)) > 2), sep='\\n')"
    )
    made, *compiled = subprocess.check_output([sys.executable, "-c", code], text=True).splitlines()
    assert int(made) > 200
    assert compiled == []
