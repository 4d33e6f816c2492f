"""Names in the settings that mean nothing: a panel, metric or rule with a typo, a key that two actions have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tuimon.analysis.metric_filter import chosen, nearest, no_match
from tuimon.config import Settings
from tuimon.model.events import Notice
from tuimon.panels import OwnDashboard, all_panels
from tuimon.store import Run
from tuimon.text import clean


def notices_of(settings: Settings, own: OwnDashboard, runs: Sequence[Run], rules: bool = True) -> Iterator[Notice]:
    """Yield a notice for each name in the settings that means nothing. own: the dashboard that applies.

    Names of metrics are judged by the metrics of the runs, and only if these have points. rules: also rules that check
    no metric; one is a warning only if it is probably misspelled, since the rules apply to all runs, also to those of
    other kinds, and a run may log a metric later.
    """
    yield from (Notice("warning", sentence) for sentence in duplicate_keys(settings.keys))
    if not any(run.point_count for run in runs):
        return
    names = tuple(dict.fromkeys(name for run in runs for name in run.metrics))
    ids = [panel.id for panel in all_panels()]
    entries = [("panels", pattern) for pattern in own.patterns]
    entries += [("values", pattern) for pattern in own.values]
    entries += [("thresholds", pattern) for pattern, _ in own.thresholds]
    for where, pattern in entries:
        if pattern in ids or chosen(names, (pattern,))[0]:
            continue
        # A name that resembles no other may belong to another kind of run that shares the settings.
        if nearest(pattern, (*ids, *names)):
            sentence = no_match(pattern, (*ids, *names), "panel or metric")
            yield Notice("warning", f"[dashboard] {where}: {sentence}")
    if rules and settings.rules:
        from tuimon.detectors._user_rules import unmatched_rules

        for rule in unmatched_rules(settings.rules, runs):
            level = "warning" if rule.is_like_another and not rule.is_concept else "info"
            yield Notice(level, f"[[rules]] {rule.message}")


def duplicate_keys(keys: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each key in `keys` that other actions of the same screen have, too."""
    if not keys:
        return
    from tuimon.tui.action import key_names
    from tuimon.tui.actions import with_user_keys

    actions = with_user_keys(keys)
    for action in actions:
        for key in action.keys.split(",") if action.id in keys else ():
            others = [
                other.id
                for other in actions
                if other is not action and key and key in other.keys.split(",") and set(action.where) & set(other.where)
            ]
            if others:
                yield f"[keys] {action.id}: {clean(key_names(key))} is also the key of {', '.join(others)}"
