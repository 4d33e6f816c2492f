"""Filters for runs, as typed by the user: `grpo lr>1e-5 state:running -debug | algo=ppo`.

A filter is a list of alternatives separated by |; an alternative is a list of terms separated by blanks, all of which
must match. A term is a part of the run's name, path or note (* and ? are wildcards), a state (`running`), `alerts` or
`critical` for runs with such alerts, or a name, a comparison and a value: `=` and `!=` compare values, `:` searches for
a part, `< <= > >=` compare numbers. "-" or "!" before a term negates it. A value with blanks is written in double
quotes.

A name is a field that every run has (FIELDS), or a setting: its whole name or its end (`lr` is `optim.lr`), or a metric
by its name or concept (`val_loss`, `best(reward)`), or else a part of a setting's last word (`algo` is `algorithm`).
Input is never evaluated as code.
"""

from __future__ import annotations

import fnmatch
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from tuimon import lazy_re as re
from tuimon.analysis.comparing import flat, number_of
from tuimon.analysis.metric_filter import contains, nearest
from tuimon.text import clean

_OWN = ("note", "tag")
FIELDS = ("name", "state", "step", "age", "reward", "loss", "alerts", *_OWN)
"""Fields of every run; age is in seconds, or has a unit: age<10m. The last two are the user's, see run_notes; settings
of these names are searched, too."""
SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "crashed": ("failed",),
    "quiet": ("silent", "stalled"),
    "finished": ("done", "completed"),
}
"""State -> other words that find runs in it."""
_NAMED_STATES = (
    *("running", "finished", "crashed", "quiet", "ended", "unknown"),
    *("alerts", "critical"),
)
STATES = frozenset({*_NAMED_STATES, "alert", *(word for words in SYNONYMS.values() for word in words)})
"""Words that find runs by their state, too."""
_SPLIT = re.compile(r'\||(?:[^\s"|]|"[^"]*"?)+')
_TERM = re.compile(r"(?P<key>[^=!<>:\s]+)(?P<sign><=|>=|!=|=|<|>|:)(?P<value>.*)", re.DOTALL)
_ORDER: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_SECONDS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(\d+(?:\.\d*)?) ?(s|m|min|h|d)")
_SAMPLE = 200
"""Maximum number of runs whose names and settings are offered."""
_ALIASES = {"lr": "learning_rate", "learning_rate": "lr", "bs": "batch_size"}


class FilterTarget(Protocol):
    """A run, as filters see it."""

    def field(self, name: str) -> object:
        """Return the value of one of FIELDS, or a tuple of several; NaN or None if it is unknown."""
        ...

    def metric(self, name: str) -> float | None:
        """Return the level of a metric, or the last or best value of last(metric) or best(metric); None if the run does
        not have it."""
        ...

    @property
    def config(self) -> Mapping[str, Any]:
        """Settings of the run."""
        ...


class Term(Struct, frozen=True):
    """One condition. The key "" is the name of the run."""

    key: str
    sign: str
    value: str
    negated: bool = False

    def sought(self) -> Term:
        """Return the term without its negation, as a search for a part of a value."""
        return Term(self.key, ":", self.value)


class RunFilter(Struct, frozen=True):
    """A parsed filter."""

    alternatives: tuple[tuple[Term, ...], ...] = ()
    problem: str = ""
    """Error message for an incomplete or invalid term, which is ignored; or ""."""

    def matches(self, run: FilterTarget) -> bool:
        """Return whether the run matches; an empty filter matches all runs."""
        return not self.alternatives or any(all(_holds(term, run) for term in terms) for terms in self.alternatives)


def parse(text: str) -> RunFilter:
    """Parse a filter. Never raises, because it is called at every key press."""
    alternatives: list[list[Term]] = [[]]
    problem = ""
    for piece in _SPLIT.findall(text):
        if piece == "|":
            alternatives.append([])
            continue
        negated = len(piece) > 1 and piece[0] in "-!"
        match = _TERM.fullmatch(piece[negated:])
        key, sign, value = (match["key"], match["sign"], match["value"]) if match else ("", ":", piece[negated:])
        value = value.replace('"', "")
        if sign in _ORDER and _number(value) is None:
            problem = f"{key}{sign} needs a number"
        elif value:
            alternatives[-1].append(Term(key.lower(), sign, value.lower(), negated))
    return RunFilter(tuple(tuple(terms) for terms in alternatives if terms), problem)


def unknown(wanted: RunFilter, runs: Sequence[FilterTarget], metrics: Iterable[str], listed: int) -> str:
    """Return what is wrong with the first term that no run can match, with the nearest names; "" if all are known.

    metrics: names that are offered. listed: number of runs that the filter matches; a word that is in no name or path
    is reported only if there are none.
    """
    for term in (term for terms in wanted.alternatives for term in terms):
        if term.key and term.key not in FIELDS:
            if not any(_values(term.key, run) for run in runs):
                settings = (name for run in runs[:_SAMPLE] for name, _ in flat(run.config))
                known = dict.fromkeys((*FIELDS, *metrics, *settings))
                return _no("setting or metric", term.key, known, f"fields: {' '.join(FIELDS)}")
        elif term.key in ("", "state") and not (listed or any(_holds(term.sought(), run) for run in runs)):
            names = [str(name) for run in runs[:_SAMPLE] for name in _values("name", run)]
            near = (word for word in (*STATES, *names) if word != term.value)
            return _no("name, path or state", term.value, near, f"states: {' '.join(_NAMED_STATES)}")
    return ""


def _no(kind: str, text: str, known: Iterable[str], otherwise: str) -> str:
    near = nearest(text, known)
    question = f"did you mean {' or '.join(clean(name) for name in near)}?" if near else otherwise
    return f"No {kind} {clean(text)}; {question}"


def _holds(term: Term, run: FilterTarget) -> bool:
    values = _values(term.key, run)
    if not term.key and term.value in STATES:
        values += _values("state", run)
    return any(_compares(value, term) for value in values) != (term.negated != (term.sign == "!="))


def _values(key: str, run: FilterTarget) -> list[object]:
    if not key:
        return [*_values("name", run), *filter(None, _field("note", run))]
    if key in FIELDS and key not in _OWN:
        return _field(key, run)
    settings = [(name.lower().replace("/", "."), value) for name, value in flat(run.config)]
    for wanted in (key, _ALIASES.get(key)):
        values = [value for name, value in settings if wanted and f".{name}".endswith(f".{wanted}")]
        if values:
            return [*_field(key, run), *values] if key in _OWN else values
    if key in _OWN:
        return _field(key, run)
    if (value := run.metric(key)) is not None:
        return [value]
    return [value for name, value in settings if key in name.rpartition(".")[2]]


def _field(name: str, run: FilterTarget) -> list[object]:
    value = run.field(name)
    return list(value) if isinstance(value, tuple) else [value]


def _compares(value: object, term: Term) -> bool:
    """Return whether a value meets the condition; "!=" is treated as "=" here and negated in `_holds`."""
    wanted, known = _number(term.value), _number(value)
    if term.sign in _ORDER:
        return wanted is not None and known is not None and _ORDER[term.sign](known, wanted)
    text = str(value).lower()
    if term.sign == ":":
        return contains(text, term.value)
    if wanted is not None and known is not None:
        return wanted == known
    return fnmatch.fnmatchcase(text, term.value)


def seconds_in(text: str) -> float | None:
    """Return the seconds of a duration with its unit, such as 30m; None for other text."""
    match = _DURATION.fullmatch(text)
    return float(match[1]) * _SECONDS[match[2]] if match else None


def _number(value: object) -> float | None:
    """Return the number, of a duration its seconds; None if it is not a number or NaN."""
    seconds = seconds_in(value) if isinstance(value, str) else None
    number = number_of(value) if seconds is None else seconds
    return None if number is None or math.isnan(number) else number
