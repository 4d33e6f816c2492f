"""Where the attempts of a training went on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tuimon.analysis.attempts import restart_name
from tuimon.monitor.local import open_run
from tuimon.store import Run


def lines(steps: range, hour: int) -> str:
    """Return a row per step, logged a second apart."""
    return "".join(
        f"2026-03-05 {hour:02}:{step // 60:02}:{step % 60:02} INFO step={step} loss={5 - step / 1000:.4f}\n"
        for step in steps
    )


def log(path: Path, *parts: str) -> Run:
    (path / "train.log").write_text("".join(parts))
    return open_run(path / "train.log").runs[0]


SAVED = "2026-03-05 08:06:40 INFO saved checkpoint step_400 in 3.1 s\n"


@pytest.mark.parametrize(
    ("sentence", "every", "name"),
    [
        ("Continuing training from global step 400\n", 10, "resumed from 400"),
        ("[rank0] resuming from checkpoint step_405\n", 10, "resumed from 405"),
        ("Resuming from step 300\n", 10, "restart at 410"),
        ("", 10, "restart at 410"),
        (SAVED, 10, "resumed from 400"),
        ("", 1, "resumed from 409"),
    ],
)
def test_a_restart_is_named_by_what_the_log_says_then_by_what_is_certain(
    tmp_path: Path, sentence: str, every: int, name: str
) -> None:
    first = lines(range(10, 431, every), 8)
    run = log(tmp_path, first, sentence, lines(range(410, 601, every), 9))
    assert restart_name(run, 410) == name
    assert restart_name(run, 410, "step") == name.replace("from", "from step").replace(" at", " at step")


def test_one_checkpoint_on_disk_between_the_steps_names_the_restart(tmp_path: Path) -> None:
    run = log(tmp_path, lines(range(10, 431, 10), 8), lines(range(410, 601, 10), 9))
    run.checkpoints = (300, 405, 500)
    assert restart_name(run, 410) == "resumed from 405"
    run.checkpoints = (300, 400, 405)
    assert restart_name(run, 410) == "restart at 410", "two are possible"
