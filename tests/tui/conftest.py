"""Fixtures of the dashboard's tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.dashboard import rows


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "run_a" / "metrics.jsonl"
    path.parent.mkdir()
    path.write_text(rows(*range(20)))
    return path
