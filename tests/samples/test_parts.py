"""The prompt at the beginning of a response, and whether a directory has texts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tuimon.commands import main
from tuimon.samples.discovery import has_samples

CHAT = "<|im_start|>user\nWhat is 2+2?<|im_end|>\n<|im_start|>assistant\n"


def test_openrlhf_lists_the_responses_and_json_has_the_text_as_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = f"INFO 08-13 19:25:41 ppo_trainer.py:224] Sample: {[f'{CHAT}It is 4', 1.0]!r}"
    step = "INFO 08-13 19:26:41 ppo_trainer.py:547] Global step 1: {'reward': 0.5}"
    (tmp_path / "train.log").write_text(f"{line}\n{step}\n")
    assert has_samples([str(tmp_path)])
    assert main(["samples", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[1].endswith("chars        1  It is 4")
    assert main(["samples", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["response"] == f"{CHAT}It is 4"


def test_a_run_without_texts_has_none(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text("".join(json.dumps({"step": s, "loss": 0.5}) + "\n" for s in range(200)))
    (tmp_path / "train.log").write_text("step 1 loss 0.5\n")
    (tmp_path / "progress.json").write_text("{")
    assert not has_samples([str(tmp_path)])
