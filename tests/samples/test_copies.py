"""Test that texts of two kinds of sources are counted once, and that equal texts of one kind are all kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tuimon.commands import main
from tuimon.samples.discovery import read_samples
from tuimon.samples.library import Library

PROMPT = "user\n2+2?\nassistant\n"
TEMPLATE = "<pad><|im_start|>user\n2+2?<|im_end|>\n<|im_start|>assistant\n"
DUMP = [("4", 1.0), ("5", 0.0), ("4", 1.0), ("6", 0.0)]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def dump(run: Path, step: int = 1) -> Path:
    """Write all texts of a step, as a trainer does."""
    rows = [{"input": PROMPT, "output": text, "gts": "4", "score": score, "step": step} for text, score in DUMP]
    return write(run / "rollout_dump" / f"{step}.jsonl", rows)


def board(run: Path, texts: list[tuple[str, float]], step: int = 1) -> Path:
    """Write some texts as a board does: with special tokens in the prompt, and without a reference."""
    rows = [{"prompt": TEMPLATE, "response": text, "reward": score, "step": step} for text, score in texts]
    return write(run / "board" / "data.jsonl", rows)


def counts(path: Path) -> tuple[int, int]:
    """Return the numbers of texts of step 1, as `samples` reads them and as the texts view does."""
    library = Library([str(path)])
    library.refresh()
    return sum(sample.step == 1 for sample in read_samples(str(path), [])), len(library.entries(1))


def test_a_board_with_some_texts_of_the_dump_adds_none(tmp_path: Path) -> None:
    board(tmp_path, [("4", 1.0), ("4", 1.0), ("4", 1.0), ("5", 0.0), ("5", 0.0)])
    dump(tmp_path)
    assert counts(tmp_path) == (4, 4)
    sources = {Path(sample.source).name for sample in read_samples(str(tmp_path), [])}
    assert sources == {"1.jsonl"}


def test_a_table_of_all_texts_adds_none(tmp_path: Path) -> None:
    dump(tmp_path)
    table = tmp_path / "wandb" / "run-1" / "files" / "media" / "table" / "completions_1_0123456789abcdef0123.table.json"
    table.parent.mkdir(parents=True)
    rows = [["1", PROMPT, text, score] for text, score in DUMP]
    table.write_text(json.dumps({"columns": ["step", "prompt", "completion", "reward"], "data": rows}))
    assert counts(tmp_path) == (4, 4)
    assert {Path(sample.source).name for sample in read_samples(str(tmp_path), [])} == {"1.jsonl"}


@pytest.mark.parametrize("other", [("7", 0.0), ("5", 0.5)])
def test_another_text_or_reward_of_a_board_is_added(tmp_path: Path, other: tuple[str, float]) -> None:
    dump(tmp_path)
    board(tmp_path, [("4", 1.0), other])
    assert counts(tmp_path) == (5, 5)


def test_equal_texts_of_two_ranks_are_all_kept(tmp_path: Path) -> None:
    rows = [{"input": PROMPT, "output": "4", "score": 1.0, "step": 1}] * 2
    for rank in ("host-a", "host-b"):
        write(tmp_path / rank / "1.jsonl", rows)
    assert counts(tmp_path) == (4, 4)


def test_training_and_validation_are_no_copies(tmp_path: Path) -> None:
    dump(tmp_path)
    write(tmp_path / "validation" / "1.jsonl", [{"prompt": PROMPT, "response": "4", "reward": 1.0, "step": 1}])
    assert counts(tmp_path) == (5, 5)


def test_a_text_that_a_board_gets_later_is_added(tmp_path: Path) -> None:
    dump(tmp_path)
    path = board(tmp_path, [("4", 1.0)])
    library = Library([str(tmp_path)])
    library.refresh()
    assert len(library.entries(1)) == 4
    assert library.sources(library.entries(1)) == ["rollout_dump"]
    with path.open("a") as file:
        file.write(json.dumps({"prompt": TEMPLATE, "response": "8", "reward": 0.0, "step": 1}) + "\n")
    library.refresh()
    assert len(library.entries(1)) == 5
    assert library.sources(library.entries(1)) == ["rollout_dump", "board"]


def test_the_list_counts_the_texts_of_the_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dump(tmp_path)
    assert main(["samples", str(tmp_path), "--best", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "step 1, train: 1 of 4 texts"
    board(tmp_path, [("7", 0.0)])
    assert main(["samples", str(tmp_path)]) == 0
    head = capsys.readouterr().out.splitlines()[0]
    assert head == "step 1, train: 5 texts, mean reward 0.4"
