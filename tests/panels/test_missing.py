"""What is said about a panel or a filter for which a run has nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tuimon.monitor.local import open_run
from tuimon.panels import why_empty, why_no_match

NONE = "This run logs no GPU memory: ROLL logs it with ROLL_DEBUG=1"


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("lr 1e-4", NONE),
        ("cpu_mem 3.5 GB", NONE),
        ("mem 61.3/80 GB", "No metric of this run is known to be GPU memory; mem may be."),
    ],
)
def test_names_and_text_that_may_be_gpu_memory(tmp_path: Path, field: str, words: str) -> None:
    log = tmp_path / "train.log"
    log.write_text("".join(f"step {step} | loss 0.5 | {field}\n" for step in range(1, 9)))
    [run] = open_run(log).runs
    assert why_empty("gpu_memory", "GPU memory", run).startswith(words)
    assert why_no_match("vram", run)[0].startswith(words)
