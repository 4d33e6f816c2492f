"""Tables of functions, their arguments and their values. The table of test_x.py is x.toml beside it.

["a value has the digits that were logged"]     what holds
of = "tuimon.draw.numbers.format_exact"         a function, or the name of one of the test module
cases = [[0.019999999552965164, "0.02"]]        its arguments, and last its value

Tuples are lists in a table, None is nan, and a row of spans is its words.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tuimon.model.views import Role


def values_of(module: Mapping[str, Any]) -> Callable[..., None]:
    """Return a test of each case of the table of a test module. module: its globals()."""
    path = Path(module["__file__"])
    table = path.with_name(path.stem.removeprefix("test_") + ".toml")
    cases = [
        pytest.param(entry["of"], case[:-1], case[-1], id=f"{holds}-{number}")
        for holds, entry in tomllib.loads(table.read_text("utf-8")).items()
        for number, case in enumerate(entry["cases"])
    ]

    @pytest.mark.parametrize(("of", "arguments", "value"), cases)
    def test(of: str, arguments: list[Any], value: Any) -> None:
        place, _, name = of.rpartition(".")
        function = getattr(import_module(place), name) if place else module[name]
        assert plain(function(*arguments)) == near(value)

    return test


def plain(found: Any) -> Any:
    """Return a value in the types of a table: a row of spans as its words, arrays and tuples as lists, None as NaN."""
    if found is None:
        return math.nan
    spans = found if isinstance(found, tuple) else ()
    if spans and all(isinstance(span, tuple) and isinstance(span[-1], Role) for span in spans):
        return " ".join("".join(part for part, _ in found).split())
    if isinstance(found, dict):
        return {key: plain(value) for key, value in found.items()}
    return [plain(item) for item in found] if isinstance(found, list | tuple | np.ndarray) else found


def near(value: Any) -> Any:
    """Return what a value is compared with: floats have a tolerance of 1e-6."""
    if isinstance(value, float):
        return pytest.approx(value, rel=1e-6, nan_ok=True)
    if isinstance(value, list):
        return [near(item) for item in value]
    return {key: near(item) for key, item in value.items()} if isinstance(value, dict) else value
