"""`tuimon check PATH…`: print the active alerts and exit with 4 if there are any."""

from __future__ import annotations

import argparse
import math
import sys
import time

from tuimon.commands import Command
from tuimon.commands._options import JSON, PATHS
from tuimon.commands._shared import checked_paths, existing_paths, print_problems, setting_warnings
from tuimon.commands._stderr import print_status
from tuimon.errors import ExitCode, NothingFound, UsageError
from tuimon.text import clean, first_names

_MOST_NAMED = 8
"""Maximum number of metrics of a rule that are named."""


_OPTIONS = f"""\
{PATHS}--rule RULE…  add an alert rule; may be repeated: "reward < 0.1 for 20 steps"
--silent-for TIME  alert if a run that has not finished has logged no point for this time: 90s, 30m, 2h, 1d
--only-rules  check --rule and --silent-for only, without detectors and the rules of the settings file
--severity LEVEL  lowest severity that counts: info, warning, critical (default: warning)
--since WHEN  only alerts that began later: 2h, 2026-11-28T22:00, or the id of an alert in --json
--past  include resolved alerts
--follow  watch until interrupted: print what changes, and send it as [notify] of config.toml says
--unit  with --follow: print a unit of systemd that runs this command, and exit
{JSON}--strict  exit with 5 if no alert is active but a log is damaged or cannot be read
"""


def _run(options: argparse.Namespace) -> int:
    from tuimon import config
    from tuimon.analysis.progress_inputs import not_understood, progress_of
    from tuimon.analysis.run_states import ACTIVE
    from tuimon.detectors import Checker, all_detectors
    from tuimon.detectors._user_rules import UnmatchedRule, detector_of, matched_by_pattern, unmatched_rules
    from tuimon.detectors.rules import silence_rule
    from tuimon.exports import alerts
    from tuimon.exports.documents import dumps
    from tuimon.monitor import load_settings
    from tuimon.monitor.local import LocalMonitor

    if options.follow and (options.past or options.since is not None or options.strict):
        raise UsageError("--follow takes none of --past, --since and --strict", "Call `tuimon check` without --follow.")
    if options.unit:
        return _print_unit(options.follow)
    if options.only_rules and not options.rule and options.silent_for is None:
        raise UsageError("--only-rules without a rule", 'Add one: --rule "reward < 0.1 for 20 steps".')
    rules = [detector_of(rule, "--rule") for rule in options.rule]
    more = [silence_rule(options.silent_for)] if options.silent_for is not None else []
    settings = load_settings()
    if options.only_rules:
        disabled = dict.fromkeys((detector.id for detector in all_detectors()), False)
        checker = Checker(disabled, options.rule, "--rule", more)
    else:
        checker = Checker(settings.detectors, (*settings.rules, *options.rule), str(config.config_path()), more)
    if options.follow:
        from tuimon.commands._follow import follow

        paths = checked_paths(options.paths, live=True, options=options)
        follow(paths, settings, checker, options.severity, options.json)
    paths, code = existing_paths(options.paths, options)
    monitor = LocalMonitor(paths, checker)
    monitor.update()
    monitor.collector.require_something()
    snapshot, now = monitor.snapshot(), time.time()
    if options.since is not None:
        snapshot = alerts.since(snapshot, options.since)
    unmatched: list[UnmatchedRule] = []
    has_points, may_log = any(run.point_count for run in snapshot.runs), False
    if has_points:
        if own := next(iter(unmatched_rules(rules, snapshot.runs)), None):
            raise UsageError(f"--rule {own.message}", "`tuimon summary` lists all metrics.")
        for rule in rules:
            if matched := matched_by_pattern(rule, snapshot.runs):
                names = first_names(list(map(clean, matched)), _MOST_NAMED)
                print_status(f"--rule {clean(rule.id)} checks {names}")
    if not options.only_rules:
        for message in setting_warnings(paths, snapshot.runs, rules=False):
            print_status(message)
        unmatched = unmatched_rules(settings.rules, snapshot.runs) if has_points else []
        may_log = bool(unmatched) and any(progress_of(run, now).state in ACTIVE for run in snapshot.runs)
        for own in unmatched:
            print_status(f"[[rules]] {own.message}{' (not logged yet)' if may_log else ''}")
    print_problems(monitor)
    if options.json:
        print(dumps(alerts.check_document(snapshot, options.severity, now)))
    else:
        print("\n".join(alerts.as_text(snapshot, options.severity, options.past)))
    if alerts.active_alerts(snapshot, options.severity):
        return ExitCode.ALERT
    if code:
        return code
    if not has_points:
        reports = [progress_of(run, now) for run in snapshot.runs]
        reason = next((report.evidence for report in reports if report.reason == "not understood"), "no point yet")
        raise NothingFound(f"nothing to check: {clean(reason)}", "tuimon doctor names every file and the reason")
    if not may_log and not all(own.is_concept for own in unmatched):
        return ExitCode.USAGE
    partly_read = monitor.collector.partly_unreadable or not_understood(snapshot, now)
    return ExitCode.PARTLY_READ if options.strict and partly_read else ExitCode.OK


def _print_unit(follows: bool) -> int:
    from tuimon.commands._follow import unit_text

    if not follows:
        raise UsageError("--unit prints a unit of `tuimon check --follow`", "Add --follow.")
    print(unit_text([word for word in sys.argv[1:] if word != "--unit"]), end="")
    return ExitCode.OK


def _time_since(text: str) -> float | str:
    """Return the time (s since the epoch) that a duration or a date names, else the text, which is an id."""
    from datetime import datetime

    from tuimon.analysis.run_filter import seconds_in

    if (seconds := seconds_in(text)) is not None:
        return time.time() - seconds
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return text


def _duration(text: str) -> float:
    """Return the seconds of a duration with its unit, such as 30m."""
    from tuimon.analysis.run_filter import seconds_in

    seconds = seconds_in(text)
    if seconds is None or not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"invalid duration: {text!r}; examples are 90s, 30m, 2h and 1d")
    return seconds


_EXAMPLES = """\
  tuimon check RUN || mail -s "run failed" me    at the end of a batch job
  tuimon check RUN --rule "reward < 0.1 for 20 steps" --severity critical
  tuimon check RUN --silent-for 30m              also if no point was logged for 30 minutes
  tuimon check RUN --json                        for programs
  tuimon check --follow logs/                    tell at night: see [notify] in docs/settings.md
"""
_VALUES = {
    "--silent-for": {"type": _duration},
    "--severity": {"choices": ("info", "warning", "critical"), "default": "warning"},
    "--since": {"type": _time_since},
}
_HELP = "exit with 4 if an alert is active: for batch jobs, CI and cron"
COMMAND = Command("check", _HELP, _OPTIONS, _run, _EXAMPLES, _VALUES)
