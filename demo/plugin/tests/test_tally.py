"""The format of the package: tuimon's conformance tests, and its values."""

from __future__ import annotations

from tuimon_tally.log import FORMAT

import tuimon.testing

LOG = b"#tally 1\n" + b"".join(b"%d tally/a %a\n%d tally/b nan\n" % (step, step / 4, step) for step in range(40))
"""A small log as its writer leaves it."""


def test_the_format_conforms() -> None:
    tuimon.testing.check_format(FORMAT, "run.tally", LOG)


def test_its_values() -> None:
    points = tuimon.testing.points_of(FORMAT, LOG)
    assert points["tally/a"][:2] == [(0, 0.0), (1, 0.25)]
    assert len(points["tally/b"]) == 40
