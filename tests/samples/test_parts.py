"""The prompt at the beginning of a response, and whether a directory has texts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tuimon.commands import main
from tuimon.samples import Sample, Turn
from tuimon.samples.discovery import has_samples
from tuimon.samples.parts import parts_of, question_of

CHAT = "<|im_start|>user\nWhat is 2+2?<|im_end|>\n<|im_start|>assistant\n"


@pytest.mark.parametrize(
    ("prompt", "response", "parts"),
    [
        (None, f"{CHAT}4", (CHAT, "4")),
        (None, f"{CHAT}4<|im_end|>{CHAT}5", (CHAT, f"4<|im_end|>{CHAT}5")),
        (None, "<s>[INST] 2+2? [/INST]4", ("<s>[INST] 2+2? [/INST]", "4")),
        ("2+2? ", "2+2? 4", ("2+2? ", "4")),
        ("2+2?", "4", ("2+2?", "4")),
        ("", "a <|im_start|>assistant in the text", ("", "a <|im_start|>assistant in the text")),
        ("same", "same", ("same", "same")),
    ],
)
def test_the_prompt_is_not_repeated_in_the_response(prompt: str, response: str, parts: tuple[str, str]) -> None:
    assert parts_of(Sample("f", 1, "train", "", 1.0, response, prompt)) == parts


SYSTEM = "<|im_start|>system\nAnswer in a box.<|im_end|>\n"


@pytest.mark.parametrize(
    ("prompt", "question"),
    [
        (CHAT, "What is 2+2?"),
        (SYSTEM + CHAT, "What is 2+2?"),
        ("system\nAnswer in a box.\nuser\nWhat is 2+2?\nassistant\n", "What is 2+2?"),
        ("user\nWhat is 1+1?\nassistant\n2\nuser\nWhat is 2+2?\nassistant\n", "What is 2+2?"),
        ("<|start_header_id|>user<|end_header_id|>\n\n2+2?<|eot_id|>", "2+2?"),
        ("The columns are\nuser\nage", "The columns are\nuser\nage"),
        ("user\n\nassistant\n", "user\n\nassistant\n"),
        ("What is 2+2?", "What is 2+2?"),
        ("", ""),
    ],
)
def test_the_question_has_no_roles_and_no_text_of_the_system(prompt: str, question: str) -> None:
    assert question_of(Sample("f", 1, "train", "", 1.0, "4", prompt), prompt) == question
    turns = (Turn("system", "Answer in a box."), Turn("user", prompt), Turn("assistant", "4"))
    assert question_of(Sample("f", 1, "train", "", 1.0, "4", "", turns=turns), "") == question


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
