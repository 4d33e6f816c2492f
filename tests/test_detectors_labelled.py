"""The detectors on learners that really learn: quiet where nothing is wrong, loud where something is.

A small and fixed part of what `python -m tests.bench detectors` measures.
"""

from __future__ import annotations

import pytest
from labelled.faults import FAULTS, Fault, make
from labelled.judging import judge


@pytest.mark.parametrize("learner", ["policy", "supervised"])
@pytest.mark.parametrize("seed", [100, 101, 102])
def test_a_healthy_learner_raises_nothing(learner: str, seed: int) -> None:
    assert judge(make(None, seed, learner), delays=False).false == frozenset()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_is_told_by_its_detectors_and_by_no_other(fault: Fault) -> None:
    verdict = judge(make(fault, 1), delays=False)
    assert verdict.raised == set(fault.musts)
    assert verdict.false == frozenset()


def test_a_fault_is_told_while_it_lasts_not_when_the_run_is_over() -> None:
    wanted = {"broken_sync": 20, "too_far": 40, "critic": 60, "slow": 40}
    for fault in FAULTS:
        if fault.kind in wanted:
            delays = judge(make(fault, 1)).delay
            assert set(delays) == set(fault.musts)
            assert max(delays.values()) <= wanted[fault.kind], fault.name
