"""docs/library.md: its examples run, one after another, on a run with all that they ask for."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path

import pytest

import tuimon

PAGE = (Path(__file__).parent.parent.parent / "docs" / "library.md").read_text("utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.partition("\n## Plug-ins")[0], re.DOTALL)


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "logs" / "grpo-1.5b"
    (run / "rollouts").mkdir(parents=True)
    rows = [{"step": s, "train/reward": s / 100, "train/loss": 1 / (s + 1)} for s in range(50)]
    (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    row = {"input": "1+1?", "output": "it is 2", "gts": "2", "score": 1.0, "step": 40}
    (run / "rollouts" / "40.jsonl").write_text(json.dumps(row) + "\n")
    long_ago = time.time() - 864_000
    os.utime(run / "metrics.jsonl", (long_ago, long_ago))  # so that the run is not running, and its follower ends
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    needed = {name for example in EXAMPLES for name in re.findall(r"^import (\w+)", example, re.MULTILINE)}
    for name in sorted(needed):
        pytest.importorskip(name)
    for example in EXAMPLES:
        exec(compile(example, "docs/library.md", "exec"), names)
    printed = capsys.readouterr().out
    assert "grpo-1.5b" in printed
    assert "train/reward 49" in printed
    assert "1.0 it is 2" in printed
    assert printed.count("train/loss") == 1


def test_every_public_name_is_described() -> None:
    described = set(re.findall(r"`(?:tuimon\.)?(\w+)", PAGE))
    assert {name for name in tuimon.__all__ if not name.startswith("__")} <= described


def test_every_attribute_of_a_run_is_described() -> None:
    attributes = {name for name in vars(tuimon.Run) if not name.startswith("_")}
    assert attributes <= set(re.findall(r"`(\w+)", PAGE))
