"""Which runs a typed filter means: `grpo lr>1e-5 state:running -debug | algo=ppo`.

A filter is alternatives with | between them; an alternative is terms with blanks between them, all of which hold. A
term is a part of the run's name (* and ? match anything), or a name, a comparison and a value: `=` and `!=` compare
values, `:` looks for a part, `< <= > >=` compare numbers. "-" or "!" before a term turns it round. A value with blanks
stands in double quotes.

Names are first what every run has (FIELDS), then settings: by their whole name, by its end (`lr` is `optim.lr`), or,
where none ends so, by a part of its last word (`algo` is `algorithm`). Nothing that is typed is ever evaluated.
"""

from __future__ import annotations

import fnmatch
import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from msgspec import Struct

from tuimon.analysis.comparing import flat

FIELDS = ("name", "state", "step", "age", "reward", "loss", "alerts")
"""What every run has; age in seconds, or with a unit: age<10m."""
_SPLIT = re.compile(r'\||(?:[^\s"|]|"[^"]*"?)+')
_TERM = re.compile(r"(?P<key>[^=!<>:\s]+)(?P<sign><=|>=|!=|=|<|>|:)(?P<value>.*)", re.DOTALL)
_ORDER: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_SECONDS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(\d+(?:\.\d*)?)(s|m|min|h|d)")
_ALIASES = {"lr": "learning_rate", "learning_rate": "lr", "bs": "batch_size"}


class Told(Protocol):
    """What a filter is asked about a run."""

    def field(self, name: str) -> object:
        """One of FIELDS; NaN or None where it is not known."""
        ...

    @property
    def config(self) -> Mapping[str, Any]:
        """Its settings."""
        ...


class Term(Struct, frozen=True):
    """One condition. key "" is a part of the name."""

    key: str
    sign: str
    value: str
    negated: bool = False


class RunFilter(Struct, frozen=True):
    """A filter that has been read."""

    alternatives: tuple[tuple[Term, ...], ...] = ()
    problem: str = ""
    """What of it cannot be understood (yet): such a term holds for every run."""

    def holds(self, run: Told) -> bool:
        """Whether it means this run; an empty filter means all."""
        return not self.alternatives or any(all(_holds(term, run) for term in terms) for terms in self.alternatives)


def parse(text: str) -> RunFilter:
    """Reads a filter. Never raises: it is read again at every key."""
    alternatives: list[list[Term]] = [[]]
    problem = ""
    for piece in _SPLIT.findall(text):
        if piece == "|":
            alternatives.append([])
            continue
        negated = len(piece) > 1 and piece[0] in "-!"
        found = _TERM.fullmatch(piece[negated:])
        key, sign, value = (found["key"], found["sign"], found["value"]) if found else ("", ":", piece[negated:])
        value = value.replace('"', "")
        if sign in _ORDER and _number(value) is None:
            problem = f"{key}{sign} needs a number"
        elif value:
            alternatives[-1].append(Term(key.lower(), sign, value.lower(), negated))
    return RunFilter(tuple(tuple(terms) for terms in alternatives if terms), problem)


def _holds(term: Term, run: Told) -> bool:
    return any(_compares(value, term) for value in _values(term.key, run)) != (term.negated != (term.sign == "!="))


def _values(key: str, run: Told) -> list[object]:
    if not key or key in FIELDS:
        return [run.field(key or "name")]
    settings = [(name.lower().replace("/", "."), value) for name, value in flat(run.config)]
    for wanted in (key, _ALIASES.get(key)):
        found = [value for name, value in settings if wanted and f".{name}".endswith(f".{wanted}")]
        if found:
            return found
    return [value for name, value in settings if key in name.rpartition(".")[2]]


def _compares(value: object, term: Term) -> bool:
    """As if the sign were "=" where it is "!="."""
    wanted, known = _number(term.value), _number(value)
    if term.sign in _ORDER:
        return wanted is not None and known is not None and _ORDER[term.sign](known, wanted)
    text = str(value).lower()
    if term.sign == ":":
        has_wildcard = "*" in term.value or "?" in term.value
        return fnmatch.fnmatchcase(text, f"*{term.value}*") if has_wildcard else term.value in text
    if wanted is not None and known is not None:
        return wanted == known
    return fnmatch.fnmatchcase(text, term.value)


def _number(value: object) -> float | None:
    """None for what is no number; NaN is none that could be compared."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str):
        found = _DURATION.fullmatch(value)
        if found:
            return float(found[1]) * _SECONDS[found[2]]
    try:
        number = float(value)  # type: ignore[arg-type]  # what cannot be one raises
    except (TypeError, ValueError, OverflowError):
        return None
    return None if math.isnan(number) else number
