"""Add alert rules of the user to config.toml, and remove them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tuimon.config import config_path
from tuimon.errors import UsageError
from tuimon.tui.settings_file import blocks, parsed, quoted, rewrite, text_of


def add_rule(rule: str) -> Path:
    """Append a rule to config.toml and return the path of the file.

    Raises UsageError if the file is invalid or has its rules in an inline array; OSError if it cannot be written."""
    file = config_path()
    before = text_of(file) if file.exists() else ""
    rules = _rules(before)
    after = f"{before.rstrip()}\n\n".lstrip() + f"[[rules]]\nrule = {quoted(rule)}\n"
    rewrite(file, before, after, "rules", [*rules, {"rule": rule}])
    return file


def remove_rule(rule: str) -> Path | None:
    """Remove a rule from config.toml and return the path of the file; None if it has no such rule.

    rule: as `rule_text` returns it. Raises as `add_rule` does."""
    file = config_path()
    before = text_of(file) if file.exists() else ""
    rules = _rules(before)
    kept = [table for table in rules if rule_text(table) != rule]
    if len(kept) == len(rules):
        return None
    after = "".join(lines for name, lines in blocks(before) if name != "rules" or not _is_rule(lines, rule))
    rewrite(file, before, after, "rules", kept or None)
    return file


def rule_text(table: Mapping[str, Any]) -> str:
    """Return the text of a rule, a table as in [[rules]], with single blanks."""
    return " ".join(str(table.get("rule", "")).split())


def _rules(text: str) -> list[Mapping[str, Any]]:
    rules = parsed(text).get("rules", [])
    if not (isinstance(rules, list) and all(isinstance(table, dict) for table in rules)):
        raise UsageError(f"{config_path()}: rules must be tables: [[rules]]")
    return rules


def _is_rule(lines: str, rule: str) -> bool:
    """Return whether the lines of one [[rules]] table have this rule. Raise UsageError if they are part of another."""
    tables = parsed(lines).get("rules")
    return isinstance(tables, list) and rule_text(tables[0]) == rule
