"""Logs as strangers write them: every number is read, once, at its step and in its unit."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.strangers.judge import WRITERS, faults, make

FIRST_SEED = 700
CLEAN = [name for name in WRITERS if name != "json"]
"""Without documents, whose lists give their metrics a prefix (`history/loss`)."""


@pytest.mark.parametrize("writer", CLEAN)
def test_every_number_is_read(tmp_path: Path, writer: str) -> None:
    for seed in range(FIRST_SEED, FIRST_SEED + 3):
        case = make(seed, writer)
        assert not faults(case, tmp_path / str(seed)), f"{writer} with seed {seed}"
