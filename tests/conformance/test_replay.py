"""Real runs grow again under a real reader process: no point is invented or lost, and the final state is the truth."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from support.live import Held, Live, all_read, fresh, held, near
from support.replay import CASES, Replay, load

from tuimon.errors import NothingFound
from tuimon.formats.wandb.run_file import SYSTEM  # its metrics have milliseconds as steps
from tuimon.vocabulary import merge_key

SECONDS = {"training_log": 4.0}
"""Duration of a replay (s), 1 by default; the runs took 1 to 30. Documents that change between any two looks are read
at every eighth look only."""
SEEN = 3
"""Minimum number of looks at which there was more than before."""
ROUNDED = {"ppo_seed2/log.txt"}
"""Sources without truth: they hold rounded numbers of other sources."""
MONITOR = {"r": "reward", "l": "length", "t": "elapsed"}
"""Names under which the columns of an SB3 monitor are shown."""


def logged(replay: Replay) -> dict[tuple[str, str], list[tuple[int, float]]]:
    """(source, metric key) -> (step, value) as logged, without nulls."""
    truth_points = {}
    for name, points in replay.truth.items():
        source, _, metric = name.partition("::")
        scale = 1000 if metric.startswith(SYSTEM) else 1
        whole = [(round(step * scale), float(value)) for step, value, _ in points if value is not None]
        if whole:
            shown = MONITOR.get(metric, metric) if source.endswith("monitor.csv") else metric
            truth_points[source, merge_key(shown)] = whole
    return truth_points


def assert_begins(truth_points: Held, truth: dict[tuple[str, str], list[tuple[int, float]]]) -> None:
    """Assert that the points of every source in the truth are the first that were logged."""
    for key, points in truth_points.items():
        if key[0] not in ROUNDED:
            assert len(points) <= len(truth[key]), key
            for (step, value), (true_step, true_value) in zip(points, truth[key], strict=False):
                assert step == true_step, key
                assert near(value, true_value), (key, step)


def points_in(run: Path) -> Held:
    """Return what a new reader reads now; nothing as long as no file is recognised."""
    try:
        return fresh(run)
    except NothingFound:
        return {}


def count(points: Held) -> int:
    return sum(map(len, points.values()))


@pytest.mark.parametrize(("case", "poll"), [*((case, False) for case in CASES), ("sb3_ppo", True)])
def test_a_run_grows_as_it_did(case: str, poll: bool, tmp_path: Path) -> None:
    replay = load(case)
    truth = logged(replay)
    run = tmp_path / "run"
    run.mkdir()
    before: Held = {}
    states = 0
    with Live(run, poll=poll) as live:
        for _ in replay.grow(run, SECONDS.get(case, 1.0)):
            now = held(live.snapshot)
            # a busy machine would see nothing of it but the end
            grown = states < SEEN and count(points_in(run)) > count(before)
            patience = time.monotonic() + 20
            while grown and now == before and time.monotonic() < patience:
                time.sleep(0.02)
                now = held(live.snapshot)
            assert_begins(now, truth)
            for key, points in before.items():
                assert now.get(key, [])[: len(points)] == points, f"points of {key} are gone"
            states += now != before
            before = now
        wanted = fresh(run)
        live.until(lambda snapshot: held(snapshot) == wanted and all_read(snapshot))
    assert states >= SEEN, "it was not seen growing"
    assert_begins(before, wanted)
    assert_begins(wanted, truth)
    assert {key: len(points) for key, points in wanted.items() if key[0] not in ROUNDED} == {
        key: len(points) for key, points in truth.items()
    }
    assert {path.relative_to(run).as_posix() for path in run.rglob("*") if path.is_file()} == replay.files.keys()
    for path, content in replay.files.items():
        assert (run / path).read_bytes() == content
