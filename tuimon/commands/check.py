"""`tuimon check PATH…`: exit 4 when an alert stands; the end of a batch job, a line of CI, a cron job."""

from __future__ import annotations

import argparse
import sys
import time

from tuimon.commands import EXIT_ALERT, EXIT_OK, EXIT_PARTLY, Command
from tuimon.commands._shared import add_paths, checked_paths


def _arguments(parser: argparse.ArgumentParser) -> None:
    from tuimon.model.alerts import SEVERITIES

    add_paths(parser)
    parser.add_argument(
        "--rule",
        action="append",
        default=[],
        metavar="RULE",
        help='one of your own, as often as you like: "reward < 0.1 for 20 steps"',
    )
    parser.add_argument(
        "--severity", choices=SEVERITIES, default="warning", help="the mildest alert that counts (warning)"
    )
    parser.add_argument("--past", action="store_true", help="tell incidents that are over, too")
    parser.add_argument("--json", action="store_true", help='for programs: one object, "schema": 1')
    parser.add_argument("--strict", action="store_true", help="exit 5 when no alert stands but a log was damaged")


def _run(options: argparse.Namespace) -> int:
    from tuimon import config
    from tuimon.detectors import Checker
    from tuimon.exports import alerts
    from tuimon.monitor.local import LocalMonitor

    Checker(rules=options.rule, where="--rule")  # a wrong one is said to be of the command line
    settings = config.load()
    checker = Checker(settings.detectors, (*settings.rules, *options.rule), str(config.config_path()))
    monitor = LocalMonitor(checked_paths(options.paths), checker)
    monitor.update()
    monitor.collector.require_something()
    snapshot = monitor.snapshot()
    if options.json:
        sys.stdout.write(alerts.as_json(snapshot, options.severity, time.time()) + "\n")
    else:
        sys.stdout.write("\n".join(alerts.as_text(snapshot, options.severity, options.past)) + "\n")
    if alerts.grave(snapshot, options.severity):
        return EXIT_ALERT
    return EXIT_PARTLY if options.strict and monitor.collector.partly_unreadable else EXIT_OK


_EXAMPLES = """\
  tuimon check RUN || mail -s "look at it" me    at the end of a batch job
  tuimon check RUN --rule "reward < 0.1 for 20 steps" --severity critical
  tuimon check RUN --json                        for programs
"""
COMMAND = Command("check", "exit 4 when an alert stands: for batch jobs, CI and cron", _arguments, _run, _EXAMPLES)
