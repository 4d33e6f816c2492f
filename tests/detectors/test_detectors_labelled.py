"""Detectors applied to small models that are really trained, healthy or with an injected fault.

A small, fixed part of what `python -m tests.bench detectors` measures.
"""

from __future__ import annotations

import pytest
from support.labelled.faults import FAULTS, Fault, make
from support.labelled.judging import judge

SOON = {"broken_sync": 30, "too_far": 40, "critic": 60, "slow": 40}
"""Kind of a fault -> maximum number of steps from its start to its alerts."""


@pytest.mark.parametrize("learner", ["policy", "supervised", "preference"])
@pytest.mark.parametrize("seed", [100, 101, 102])
def test_healthy_learner_raises_no_alert(learner: str, seed: int) -> None:
    assert judge(make(None, seed, learner), delays=False).false == frozenset()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_fault_is_reported_by_its_detectors_only(fault: Fault) -> None:
    verdict = judge(make(fault, 1), delays=fault.kind in SOON)
    assert verdict.raised == set(fault.musts)
    assert verdict.false == frozenset()
    if fault.kind in SOON:
        assert set(verdict.delay) == set(fault.musts)
        assert max(verdict.delay.values()) <= SOON[fault.kind]


def test_faults_that_are_reported_soon_are_tested() -> None:
    assert SOON.keys() <= {fault.kind for fault in FAULTS}
