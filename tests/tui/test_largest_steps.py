"""Steps near the largest int64, which floats cannot distinguish."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.dashboard import opened


@pytest.mark.parametrize("last", [2**63 - 2, 2**53 + 1])
async def test_keys_that_zoom_and_list_metrics_accept_steps_that_are_equal_as_floats(tmp_path: Path, last: int) -> None:
    rows = ({"step": last - 48 + i, "loss": 1 / (i + 1), "reward": i} for i in range(49))
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    async with opened(tmp_path) as (app, pilot):
        await pilot.press("enter", *["plus"] * 40, "escape", "M", "escape", "m", *["plus"] * 40, "minus")
        await pilot.press("left", "right", "escape")
        assert app.is_running
