"""Detectors applied to generated runs, healthy or with a planted fault: a part of `python -m tests.bench detectors`."""

from __future__ import annotations

import pytest

from tests.jobs.detecting import CASES, detect
from tests.jobs.learners import Fault

MISSED = {("memory_leak", "sft"): 2}
"""Runs of three in which a fault is not reported: a cache that is emptied hides a leak."""
SOON = {"nonfinite": 0, "spikes": 0, "divergence": 12, "engine_mismatch": 10, "approx_kl": 25, "step_drift": 25}
"""Rule -> maximum number of steps from the fault to its alert."""


@pytest.mark.parametrize("domain", ["policy", "sft"])
def test_healthy_runs_raise_no_alert(domain: str) -> None:
    assert [detect(None, domain, seed).false for seed in range(100, 112)] == [set()] * 12


@pytest.mark.parametrize(("fault", "domain"), CASES, ids=lambda own: own if isinstance(own, str) else own.name)
def test_fault_is_reported_by_its_detectors_only(fault: Fault, domain: str) -> None:
    found = [detect(fault, domain, seed, delays=fault.must[0] in SOON) for seed in range(3)]
    assert [own.false for own in found] == [set()] * 3
    missed = sum(own.reported != set(fault.must) for own in found)
    assert missed == MISSED.get((fault.name, domain), 0)
    for own in found:
        assert all(delay <= SOON.get(rule, delay) for rule, delay in own.delay.items())
