"""The module `re`, with expressions that are compiled at their first use: `from tuimon import lazy_re as re`.

For expressions of modules: a start imports 550 of them, which take 100 ms to compile, and uses a quarter. An expression
of the user is compiled by `re` itself, which reports an error at once. tests/test_lazy_re.py compiles all of them.
"""

from __future__ import annotations

import re
from re import *  # noqa: F403  all else is as in `re`
from re import Pattern
from typing import Any, AnyStr, cast


def compile(pattern: AnyStr, flags: int = 0) -> Pattern[AnyStr]:  # type: ignore[no-redef]
    """Return an expression with the methods of re.Pattern. It cannot be passed to functions of re."""
    return cast("Pattern[AnyStr]", LazyPattern(pattern, flags))


class LazyPattern:
    """An expression that is compiled when a method of it is first used."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self.pattern, self._flags = pattern, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # copy and inspect ask for special methods
            raise AttributeError(name)
        attribute = self.__dict__[name] = getattr(re.compile(self.pattern, self._flags), name)
        return attribute
