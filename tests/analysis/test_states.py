"""The table of states: facts and the time since the last point -> word, reason and age."""

from __future__ import annotations

import math
from functools import reduce
from operator import or_
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from support.stores import Log
from support.value_cases import values_of

from tuimon.analysis.pace import pace_of
from tuimon.analysis.progress import STATES, ProgressInputs, ProgressReport, report, tolerated_silence
from tuimon.analysis.progress_inputs import progress_inputs
from tuimon.analysis.run_states import SIGNS
from tuimon.store import Run

HOUR = 3600.0
NAN = math.nan
LAST = 1.7e9
EVERY_2_S = pace_of(np.arange(101), LAST - 200 + 2.0 * np.arange(101))
EVERY_5_M = pace_of(np.arange(101), LAST - 30_000 + 300.0 * np.arange(101))
PAUSING = pace_of(np.arange(101), LAST - 5000 + np.cumsum(np.where(np.arange(101) % 20, 2.0, 602.0)))
KNOWN = ProgressInputs(points=101, step=100, first_step=0, total=1000, pace=EVERY_2_S, last_wall_time=LAST)
UNTIMED = {"last_wall_time": NAN, "pace": None}
NO_POINT = UNTIMED | {"points": 0, "step": None, "total": None}
GROUPS = {
    "open": {"writer": "open", "process": "python (pid 4711)"},
    "untimed": UNTIMED,
    "no point": NO_POINT,
    "crashed": {"logged_state": "crashed", "logged_evidence": "exit code 1"},
    "finished": {"logged_state": "finished", "logged_evidence": "exit code 0"},
    "unread": NO_POINT | {"unread": "run.log: no metric in it", "last_change": LAST},
}
"""Facts that a table names together, as `is`."""
PACES = {"every 2 s": EVERY_2_S, "every 5 m": EVERY_5_M, "pausing": PAUSING}
TIMES = {"last_wall_time", "last_change", "last_growth", "growth_seen", "closed"}
"""Facts that a table gives as the time since LAST."""
test_states = values_of(globals())


def seconds(time: float | str) -> float:
    """Return 10800 for "3 h"; a number is in seconds."""
    number, _, unit = str(time).partition(" ")
    return float(number) * {"": 1.0, "h": HOUR, "d": 24 * HOUR}[unit]


def reported(facts: dict[str, Any], age: float | str, **more: Any) -> ProgressReport:
    """Return the report of a run with facts of a table, at a time after LAST."""
    known = reduce(or_, (GROUPS[name] for name in facts.get("is", ())), more)
    for name, value in facts.items():
        if name in TIMES:
            known[name] = LAST + seconds(value)
        elif name != "is":
            known[name] = None if value == "none" else PACES[value] if name == "pace" else value
    return report(replace(KNOWN, **known), LAST + seconds(age))


def state_of(facts: dict[str, Any], age: float | str) -> tuple[str, str]:
    progress = reported(facts, age)
    return progress.state, progress.reason


def age_of(facts: dict[str, Any]) -> tuple[float, bool]:
    progress = reported(facts, 30)
    return progress.age, progress.is_of_point


def ends_early(facts: dict[str, Any]) -> bool:
    progress = reported(facts, "1 h", writer="closed")
    assert (progress.state, progress.has_died) == ("ended", progress.is_early)
    return progress.is_early


def silence(grows: bool, closed: bool) -> float:
    return tolerated_silence(EVERY_2_S, grows, closed)


def test_words_of_the_table_are_those_with_a_sign() -> None:
    assert {row[0] for row in STATES} == set(SIGNS) - {"reading"}
    assert len({row[:2] for row in STATES}) == len(STATES)


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
