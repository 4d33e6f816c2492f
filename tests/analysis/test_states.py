"""The table of states: facts and the time since the last point -> word, reason and age."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from support.stores import Log

from tuimon.analysis.pace import pace_of
from tuimon.analysis.progress import STATES, ProgressInputs, report, tolerated_silence
from tuimon.analysis.progress_inputs import progress_inputs
from tuimon.analysis.run_states import SIGNS
from tuimon.store import Run

HOUR, DAY = 3600.0, 86_400.0
NAN = math.nan
LAST = 1.7e9
EVERY_2_S = pace_of(np.arange(101), LAST - 200 + 2.0 * np.arange(101))
EVERY_5_M = pace_of(np.arange(101), LAST - 30_000 + 300.0 * np.arange(101))
PAUSING = pace_of(np.arange(101), LAST - 5000 + np.cumsum(np.where(np.arange(101) % 20, 2.0, 602.0)))
KNOWN = ProgressInputs(points=101, step=100, first_step=0, total=1000, pace=EVERY_2_S, last_wall_time=LAST)
OPEN = {"writer": "open", "process": "python (pid 4711)"}
UNTIMED = {"last_wall_time": NAN, "pace": None}
NO_POINT = {"points": 0, "step": None, "total": None, "last_wall_time": NAN, "pace": None}
CRASHED = {"logged_state": "crashed", "logged_evidence": "exit code 1"}
FINISHED = {"logged_state": "finished", "logged_evidence": "exit code 0"}
UNREAD = NO_POINT | {"unread": "run.log: no metric in it", "last_change": LAST}


@pytest.mark.parametrize(
    ("facts", "age", "word", "reason"),
    [
        # silence: what a writer may buffer, four gaps, one and a half times the longest pause
        ({}, 0, "running", "active"),
        ({}, 119, "running", "active"),
        ({}, 121, "quiet", "silent"),
        ({"pace": EVERY_5_M}, 1199, "running", "active"),
        ({"pace": EVERY_5_M}, 1201, "quiet", "silent"),
        ({"pace": PAUSING}, 850, "running", "active"),
        ({"pace": None}, 599, "running", "active"),
        ({"pace": None}, 601, "quiet", "silent"),
        ({"last_growth": LAST + 590}, 595, "running", "active"),
        ({"last_growth": LAST + 3000}, 3010, "quiet", "silent"),
        # who has the log open
        (OPEN, 3 * HOUR, "quiet", "open"),
        (OPEN, 30 * DAY, "quiet", "open"),
        ({"writer": "closed"}, 119, "running", "active"),
        ({"writer": "closed"}, 121, "ended", "closed"),
        ({"writer": "closed", "closed": LAST + 3}, 19, "running", "active"),
        ({"writer": "closed", "closed": LAST + 3}, 21, "ended", "closed"),
        ({"writer": "closed", "closed": LAST + 3, "pace": None}, 11, "ended", "closed"),
        ({}, HOUR - 1, "quiet", "silent"),
        ({}, HOUR + 1, "ended", "silent"),
        # the times of files: only of points without times, of an open log, or of one that was seen to grow
        ({"last_change": LAST + 9 * HOUR}, 9 * HOUR + 5, "ended", "silent"),
        ({"last_change": LAST + 9 * HOUR, "growth_seen": LAST + 9 * HOUR}, 9 * HOUR + 5, "running", "active"),
        ({"last_change": LAST + 9 * HOUR} | OPEN, 9 * HOUR + 5, "running", "active"),
        (UNTIMED | {"last_change": LAST}, 300, "running", "active"),
        (UNTIMED | {"last_change": LAST}, DAY, "ended", "silent"),
        (UNTIMED, 5, "unknown", "no times"),
        (UNTIMED | OPEN, 5, "quiet", "open"),
        (UNTIMED | {"last_change": LAST + 3 * DAY}, 5, "unknown", "no times"),
        ({"last_wall_time": LAST + 8 * HOUR, "last_change": LAST}, 5, "running", "active"),
        ({"last_wall_time": LAST + 8 * HOUR, "last_change": LAST}, 2 * HOUR, "ended", "silent"),
        ({"last_change": LAST + 3 * DAY}, 2 * HOUR, "ended", "silent"),
        # words of the log
        (CRASHED, 5, "crashed", "logged"),
        (CRASHED | {"points": 0}, 5, "crashed", "logged"),
        (FINISHED, 5, "finished", "logged"),
        ({"logged_state": "pruned"}, 5, "ended", "logged"),
        ({"logged_state": "running"}, 5, "running", "active"),
        # the total
        ({"step": 1000}, 5, "finished", "total"),
        ({"step": 1001}, 5, "finished", "total"),
        ({"step": 999}, 5, "running", "active"),
        ({"step": 999}, 500, "finished", "total"),
        ({"step": 999, "first_step": 1}, 500, "quiet", "silent"),
        ({"step": 999, "counted": "epoch"}, 5, "finished", "total"),
        ({"step": 1000, "total": 60}, 5, "running", "active"),
        ({"total": None, "epoch": 3.0, "total_epochs": 3.0}, 500, "finished", "total"),
        ({"total": None, "epoch": 3.0, "configured_epochs": 3.0}, 5, "running", "active"),
        ({"total": None, "epoch": 2.0, "total_epochs": 3.0}, 2 * HOUR, "ended", "silent"),
        # what became of the log
        ({"deleted": True}, 5, "ended", "deleted"),
        ({"input_ended": True}, 5, "ended", "input"),
        ({"input_ended": True, "step": 999}, 5, "finished", "total"),
        ({"input_ended": True} | CRASHED, 5, "crashed", "logged"),
        # no point
        (NO_POINT, 5, "unknown", "no point"),
        (NO_POINT | {"input_ended": True}, 5, "ended", "input"),
        (UNREAD, 5, "unknown", "no point"),
        (UNREAD, 601, "unknown", "not understood"),
        (UNREAD | {"writer": "closed"}, 121, "unknown", "not understood"),
        (UNREAD | {"unread_whole": True}, 5, "unknown", "not understood"),
        (UNREAD | {"unread_whole": True} | OPEN, 5, "unknown", "no point"),
        (UNREAD | FINISHED, 5, "unknown", "not understood"),
    ],
)
def test_state_is_the_first_row_that_holds(facts: dict[str, Any], age: float, word: str, reason: str) -> None:
    progress = report(replace(KNOWN, **facts), LAST + age)
    assert (progress.state, progress.reason) == (word, reason)


def test_words_of_the_table_are_those_with_a_sign() -> None:
    assert {row[0] for row in STATES} == set(SIGNS) - {"reading"}
    assert len({row[:2] for row in STATES}) == len(STATES)


@pytest.mark.parametrize(
    ("facts", "age", "is_of_point"),
    [
        ({}, 30.0, True),
        ({"last_change": LAST + 20}, 30.0, True),
        ({"last_change": LAST + 20} | OPEN, 30.0, True),
        (UNTIMED | {"last_change": LAST + 20}, 10.0, False),
        (UNTIMED, NAN, False),
        ({"last_wall_time": LAST + 50}, 0.0, True),
    ],
)
def test_age_is_that_of_the_point(facts: dict[str, Any], age: float, is_of_point: bool) -> None:
    progress = report(replace(KNOWN, **facts), LAST + 30)
    assert progress.age == pytest.approx(age, nan_ok=True)
    assert progress.is_of_point == is_of_point


@pytest.mark.parametrize(
    ("facts", "early"),
    [
        ({}, True),
        ({"step": 979}, True),
        ({"step": 980}, False),
        ({"step": 920, "stride": 100}, False),
        ({"step": 1000, "total": 60}, False),
        ({"total": None}, False),
        ({"total": None, "epoch": 1.0, "total_epochs": 3.0}, True),
        ({"total": None, "epoch": 2.0, "total_epochs": 3.0}, False),
        ({"total": None, "epoch": 2.5, "configured_epochs": 3.0}, True),
    ],
)
def test_end_before_the_end(facts: dict[str, Any], early: bool) -> None:
    progress = report(replace(KNOWN, writer="closed", **facts), LAST + HOUR)
    assert (progress.state, progress.is_early, progress.has_died) == ("ended", early, early)


def test_evidence_has_the_age_and_the_fact() -> None:
    def said(state: str, reason: str, fact: str = "", age: float = NAN, **more: Any) -> str:
        told = {"state": state, "reason": reason, "fact": fact, "place": "step 29 of 300", "age": age, "gap": 12.0}
        return replace(report(KNOWN, LAST), **told | more).evidence

    assert said("quiet", "open", "python (pid 4711) has the log open", 3 * HOUR + 40) == (
        "last point 3 h ago, usually every 12 s; step 29 of 300; python (pid 4711) has the log open"
    )
    assert said("crashed", "logged", "exit code 1", 30.0) == "exit code 1; last point 30 s ago"
    assert said("running", "active", age=3.0) == "last point just now, usually every 12 s"
    assert said("running", "active", age=70.0, gap=NAN, is_of_point=False) == "log changed 1 m ago"
    assert said("unknown", "no point", "no point yet") == "no point yet"


@pytest.mark.parametrize(("grows", "closed", "seconds"), [(False, False, 120), (True, False, 600), (True, True, 20)])
def test_tolerated_silence(grows: bool, closed: bool, seconds: float) -> None:
    assert tolerated_silence(EVERY_2_S, grows, closed) == pytest.approx(seconds)


# ---------------------------------------------------------------- from the logs


def run_of(*attempts: tuple[range, float, dict[str, str] | None], timed: bool = True) -> Run:
    """Return a run of one log for each attempt: its steps, the time of its first, and the state it ends with."""
    log = Log()
    for stream, (steps, begin, state) in enumerate(attempts):
        times = begin + 10.0 * np.arange(len(steps)) if timed else None
        log.stream(stream, f"log{stream}", 10, format="console").add(stream, steps, 1.0, times)
        if state is not None:
            log.fact(stream, "state", state, step=steps[-1])
        log.status(stream, begin + 10.0 * len(steps))
    return log.run


BOOM = {"state": "crashed", "evidence": "CUDA out of memory. Tried …", "cause": "GPU out of memory"}


@pytest.mark.parametrize("timed", [True, False])
@pytest.mark.parametrize(
    ("second", "word"),
    [(range(21, 61), "running"), (range(21, 35), "running"), (None, "crashed")],
    ids=["goes on beyond", "goes on, not as far yet", "has not begun"],
)
def test_words_of_an_earlier_attempt_say_nothing(second: range | None, word: str, timed: bool) -> None:
    attempts = [(range(41), LAST, BOOM)] + ([(second, LAST + 5000, None)] if second is not None else [])
    run = run_of(*attempts, timed=timed)
    end = LAST + 410 if second is None else LAST + 5000 + 10 * len(second)
    assert report(progress_inputs(run), end + 5).state == word


def test_crash_names_its_cause_and_step() -> None:
    progress = report(progress_inputs(run_of((range(42), LAST, BOOM))), LAST + 500)
    assert progress.fact == "GPU out of memory after step 41: CUDA out of memory. Tried …"
