"""Real runs grow again under a real reader process: nothing is made up or lost on the way, and the end is the truth."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from live import Held, Live, fresh, held, near
from replay import CASES, Replay, load

from tuimon.formats.wandb import SYSTEM  # its metrics have milliseconds as steps
from tuimon.vocabulary import merge_key

SECONDS = {"training_log": 4.0}
"""That a replay takes, 2 where nothing is said; the runs took 1 to 30. A document that changes between any two looks is
read at every eighth look only."""
SEEN = 3
"""Looks, at least, at which there was more than at the one before."""
UNTOLD = {"ppo_seed2/log.txt"}
"""Sources of which the truth does not tell: rounded numbers of what other sources hold."""


def logged(replay: Replay) -> dict[tuple[str, str], list[tuple[int, float]]]:
    """(source, key of the metric) -> (step, value) as it was logged; a null is no point."""
    found = {}
    for name, points in replay.truth.items():
        source, _, metric = name.partition("::")
        scale = 1000 if metric.startswith(SYSTEM) else 1
        whole = [(round(step * scale), float(value)) for step, value, _ in points if value is not None]
        if whole:
            found[source, merge_key(metric)] = whole
    return found


def assert_begins(found: Held, truth: dict[tuple[str, str], list[tuple[int, float]]]) -> None:
    """Whatever is held of a source that the truth knows are the first points that were logged."""
    for key, points in found.items():
        if key[0] not in UNTOLD:
            assert len(points) <= len(truth[key]), key
            for (step, value), (true_step, true_value) in zip(points, truth[key], strict=False):
                assert step == true_step, key
                assert near(value, true_value), (key, step)


@pytest.mark.parametrize("poll", [False, True], ids=["events", "poll"])
@pytest.mark.parametrize("case", CASES)
def test_a_run_grows_as_it_did(case: str, poll: bool, tmp_path: Path) -> None:
    replay = load(case)
    truth = logged(replay)
    run = tmp_path / "run"
    run.mkdir()
    before: Held = {}
    states = 0
    with Live(run, poll=poll) as live:
        for _ in replay.grow(run, SECONDS.get(case, 2.0)):
            now = held(live.snapshot)
            patience = time.monotonic() + 1.0  # a busy machine would see nothing of it but the end
            while states < SEEN and now == before and time.monotonic() < patience:
                time.sleep(0.02)
                now = held(live.snapshot)
            assert_begins(now, truth)
            for key, points in before.items():
                assert now.get(key, [])[: len(points)] == points, f"points of {key} are gone"
            states += now != before
            before = now
        wanted = fresh(run)
        live.until(lambda snapshot: held(snapshot) == wanted)
        live.settle()
        assert held(live.snapshot) == wanted
    assert states >= SEEN, "it was not seen growing"
    assert_begins(before, wanted)
    assert_begins(wanted, truth)
    assert {key: len(points) for key, points in wanted.items() if key[0] not in UNTOLD} == {
        key: len(points) for key, points in truth.items()
    }
    assert {path.relative_to(run).as_posix() for path in run.rglob("*") if path.is_file()} == replay.files.keys()
    for path, content in replay.files.items():
        assert (run / path).read_bytes() == content
