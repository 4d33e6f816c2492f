"""The rows of rules.toml as rules. Code that a row names is a function of _found.py."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from tuimon import lazy_re as re
from tuimon.compiled_toml import load_toml
from tuimon.detectors import _found
from tuimon.detectors._engine import Check, Rule, Setting
from tuimon.detectors._scores import SCORES

_AMOUNT = re.compile(r"(?:([\d.]+) ([-/]) )?(\w+)")
_SIGNS: Mapping[str, Callable[[float, float], float]] = {"-": operator.sub, "/": operator.truediv}


def rules_of(table: Mapping[str, Mapping[str, Any]]) -> tuple[Rule, ...]:
    """Return the rules of a TOML document; see rules.toml."""
    return tuple(_rule(id, row) for id, row in table.items())


def silence_rule(seconds: float) -> Rule:
    """Return the rule of `tuimon check --silent-for 30m`: the user's limit for the time without a point."""
    hint = "look at its processes, the end of its console and the scheduler"
    limit = Setting("limit", seconds, "Seconds without a point.")
    return Rule("silence", "No point for a time", hint=hint, settings=(limit,), find_at=_found.silent)


def _rule(id: str, row: Mapping[str, Any]) -> Rule:
    own: dict[str, Any] = {name: " ".join(row[name].split()) for name in ("title", "text", "hint") if name in row}
    own |= {name: getattr(_found, row[name]) for name in ("find", "find_at", "complete") if name in row}
    settings = tuple(Setting(name, *setting) for name, setting in row.get("settings", {}).items())
    rows: list[dict[str, Any]] = row.get("checks", [])
    joins = row.get("joins", "learning")
    return Rule(id, settings=settings, checks_of=lambda s: tuple(_check(own, s) for own in rows), joins=joins, **own)


def _check(row: Mapping[str, Any], settings: Mapping[str, Any]) -> Check:
    """Return a check with the values of the settings that its numbers name."""
    own = dict(row)
    score = {key: value if key == "is" else _amount(value, settings) for key, value in row["score"].items()}
    own["score"] = msgspec.convert(score, SCORES)
    own |= {key: _amount(row[key], settings) for key in ("critical", "critical_ratio") if key in row}
    own |= {key: getattr(_found, row[key]) for key in ("harmless", "mild") if key in row}
    own |= {key: tuple(row[key]) for key in ("concepts", "unless") if key in row}
    return Check(**own)


def _amount(value: Any, settings: Mapping[str, Any]) -> Any:
    """Return the value of a setting for "limit", of a number and a setting for "1 - limit"; others as they are."""
    match = _AMOUNT.fullmatch(value) if isinstance(value, str) else None
    if match is None or match[3] not in settings:
        return value
    return _SIGNS[match[2]](float(match[1]), settings[match[3]]) if match[1] else settings[match[3]]


DETECTORS = rules_of(load_toml(Path(__file__).with_name("rules.toml")))
