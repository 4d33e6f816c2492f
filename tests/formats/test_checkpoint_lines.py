"""Sentences in console text about checkpoints."""

from __future__ import annotations

import pytest

from tuimon.formats._shared.checkpoint_lines import MARKS, checkpoint_fact
from tuimon.formats._shared.console_lines import ConsoleLines
from tuimon.formats.console._decoder import ConsoleDecoder
from tuimon.model.points import Fact


@pytest.mark.parametrize(
    "line",
    [
        "Continuing training from global step 400",
        "Resuming from step 400",
        "resuming from checkpoint step_400",
        "Resuming from checkpoint ./ckpt/model_step400.pt",
        "Resuming training from checkpoint out/checkpoint-400.",
        "Resumed training: epoch 3, step 400 of 1000",
        "Restored all states from the checkpoint at /x/epoch=1-step=400.ckpt",
        "  successfully loaded checkpoint from /ckpt/gpt [ t 1/4, p 1/8 ] at iteration 400",
    ],
)
def test_a_line_that_names_where_training_goes_on(line: str) -> None:
    assert checkpoint_fact(line, None) == Fact("resumed", {}, 400)
    assert any(mark in line for mark in MARKS)


@pytest.mark.parametrize(
    "line",
    [
        "saved checkpoint step_400 in 3.1 s",
        "  successfully saved checkpoint from iteration     400 to /ckpt/gpt [ t 1/4, p 1/8 ]",
        "Model weights saved in ./output/checkpoint-400/model.safetensors",
        "[Torch] Saved /ckpt/global_step400/mp_rank_00_model_states.pt.",
        "Checkpoint for step 400 saved to /x",
        "Checkpoint saved: /ckpt/model_step400.pt",
    ],
)
def test_a_line_that_names_a_saved_checkpoint(line: str) -> None:
    assert checkpoint_fact(line, 1e9) == Fact("checkpoint", {}, 400, 1e9)
    assert any(mark in line for mark in MARKS)


@pytest.mark.parametrize(
    "line",
    [
        "saving checkpoint at iteration     400 to /ckpt",
        "saved samples at step 400",
        "Saved checkpoint to ckpt/epoch_3.pt",
        "Saved checkpoint at step 400.5",
        "resume_from_checkpoint=None, save_steps=400",
        "Resuming from epoch 3",
    ],
)
def test_a_line_that_names_neither(line: str) -> None:
    assert checkpoint_fact(line, None) is None


def test_what_every_rank_repeats_is_one_fact() -> None:
    sentence = "INFO resuming from checkpoint step_40"
    text = "".join(f"[default{rank}]:[2026-03-05 08:00:00] {sentence}\n" for rank in range(4))
    text += "step: 41 loss: 0.5\n2026-03-05 08:10:00 saved checkpoint step_50\n"
    facts = [item for item in ConsoleDecoder().feed(text.encode()) if isinstance(item, Fact)]
    known = [(fact.topic, fact.step) for fact in facts if fact.topic != "console"]
    assert known == [("resumed", 40), ("checkpoint", 50)]
    assert facts[1].wall_time is not None
    recorded = ConsoleLines()
    recorded.add("stdout", f"{sentence}\n{sentence}\n", 1e9)
    assert [(item.topic, item.step) for item in recorded.take() if isinstance(item, Fact)] == [
        ("resumed", 40),
        ("console", None),
    ]
