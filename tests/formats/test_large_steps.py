"""Steps that int64 cannot hold: no format fails, its other points are read, and how many are meant is said."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tuimon.commands import main
from tuimon.monitor.local import open_run

LARGE = (2**63, -(2**63) - 1, 10**30)
STEPS = (0, 1, 2, LARGE[0], 3, LARGE[1], 4, LARGE[2], 5, 6)

FORMS: dict[str, tuple[str, Callable[[int], str], str]] = {
    "jsonl": ("", lambda step: json.dumps({"step": step, "loss": step % 7}), "3 rows have a step"),
    "csv": ("step,loss\n", lambda step: f"{step},{step % 7}", "3 rows without a step"),
    "log": ("", lambda step: f"step={step} loss=0.{abs(step) % 97}", "3 points at steps of more than 64 bits"),
}


@pytest.mark.parametrize("suffix", FORMS)
def test_steps_beyond_int64_are_counted(tmp_path: Path, suffix: str, capsys: pytest.CaptureFixture[str]) -> None:
    head, line, said = FORMS[suffix]
    (tmp_path / f"train.{suffix}").write_text(head + "".join(f"{line(step)}\n" for step in STEPS))
    curve = open_run(tmp_path).runs[0].curve("loss")
    assert sorted(set(curve.steps.tolist())) == [step for step in STEPS if step not in LARGE]
    assert main(["doctor", str(tmp_path)]) == 0
    assert said in capsys.readouterr().out


@pytest.mark.parametrize("words", [["summary"], ["--once"], ["check"], ["line"], ["summary", "--json"], ["report"]])
def test_largest_steps_of_int64_are_read(tmp_path: Path, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    steps = (-(2**63) + 1, -5, 0, 1, 2, 3, 2**62, 2**63 - 1)
    (tmp_path / "log.jsonl").write_text("".join(f'{{"step": {step}, "loss": {step % 7}}}\n' for step in steps))
    assert open_run(tmp_path).runs[0].curve("loss").steps.tolist() == list(steps)
    assert main([*words, str(tmp_path)]) in (0, 4)
    assert capsys.readouterr().out
