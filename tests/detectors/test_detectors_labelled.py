"""Detectors applied to small models that are really trained, healthy or with an injected fault.

A small, fixed part of what `python -m tests.bench detectors` measures.
"""

from __future__ import annotations

import pytest
from support.labelled.faults import FAULTS, Fault, make
from support.labelled.judging import judge


@pytest.mark.parametrize("learner", ["policy", "supervised"])
@pytest.mark.parametrize("seed", [100, 101, 102])
def test_healthy_learner_raises_no_alert(learner: str, seed: int) -> None:
    assert judge(make(None, seed, learner), delays=False).false == frozenset()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_fault_is_reported_by_its_detectors_only(fault: Fault) -> None:
    verdict = judge(make(fault, 1), delays=False)
    assert verdict.raised == set(fault.musts)
    assert verdict.false == frozenset()


def test_fault_is_reported_soon_after_it_starts() -> None:
    wanted = {"broken_sync": 20, "too_far": 40, "critic": 60, "slow": 40}
    for fault in FAULTS:
        if fault.kind in wanted:
            delays = judge(make(fault, 1)).delay
            assert set(delays) == set(fault.musts)
            assert max(delays.values()) <= wanted[fault.kind], fault.name
