"""Actions that add and remove alert rules of the user."""

from __future__ import annotations

from functools import partial

from tuimon.errors import UsageError
from tuimon.text import clean, first_names, home_relative
from tuimon.tui.action import Dashboard
from tuimon.tui.settings_file import add_rule, remove_rule, rule_text

_EXAMPLE = "reward < 0.1 for 20 steps"


def _begin(app: Dashboard) -> None:
    app.ask("alert if", f"{_EXAMPLE}   (< <= > >=; points, steps, s, min, h)", partial(_add, app))
    if rules := _rules(app):
        app.say(f"Your rules, each again removes it: {clean('; '.join(rules))}")


def _rules(app: Dashboard) -> list[str]:
    return [rule_text(table) for table in app.settings.rules]


def _add(app: Dashboard, text: str, unmatched: str = "") -> None:
    """Add a rule. unmatched: the rule that was not added because it matches no metric; the same one again is added."""
    from tuimon.detectors._user_rules import detector_of, matched_by_pattern, unmatched_rules

    text = " ".join(text.split())
    if not text:
        return
    try:
        rule = detector_of(text, "rule")
    except UsageError as error:
        app.say(f"{str(error).removeprefix('rule: ')}; example: {_EXAMPLE}")
        return
    if text in _rules(app):
        _remove(app, text)
        return
    if text != unmatched and (rules := unmatched_rules([text], app.snapshot.runs)):
        app.ask("save anyway", "", partial(_add, app, unmatched=text), text)
        reason = rules[0].reason
        app.say(f"Not saved: {reason}{'' if reason.endswith('?') else ';'} Enter again saves it")
        return
    app.use_rules((*app.settings.rules, {"rule": text}))
    try:
        kept = f"saved in {home_relative(add_rule(text))}"
    except (UsageError, OSError) as error:
        kept = f"until tuimon ends only: {clean(str(error))}"
    matched = matched_by_pattern(rule, app.snapshot.runs)
    checks = f" for {first_names([clean(name) for name in matched], 1)}" if matched else ""
    app.say(f"Rule added{checks}, {kept}; a lists its alerts")


def _remove(app: Dashboard, text: str) -> None:
    app.use_rules(tuple(table for table in app.settings.rules if rule_text(table) != text))
    try:
        file = remove_rule(text)
    except (UsageError, OSError) as error:
        app.say(f"Rule removed until tuimon ends only: {clean(str(error))}")
        return
    app.say(f"Rule removed{f' from {home_relative(file)}' if file else ''}")


DO = {"add_rule": _begin}
