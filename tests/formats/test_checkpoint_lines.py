"""Sentences in console text about checkpoints."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tuimon.formats._shared.checkpoint_lines import MARKS, checkpoint_fact
from tuimon.formats._shared.console_lines import ConsoleLines
from tuimon.formats.console._decoder import ConsoleDecoder
from tuimon.model.points import Fact

LINES = tomllib.loads((Path(__file__).parent / "cases" / "checkpoint_lines.toml").read_text("utf-8"))


@pytest.mark.parametrize(("topic", "line"), [(topic, line) for topic, lines in LINES.items() for line in lines])
def test_a_line_about_a_checkpoint(topic: str, line: str) -> None:
    if topic == "none":
        assert checkpoint_fact(line, None) is None
        return
    time = 1e9 if topic == "checkpoint" else None
    assert checkpoint_fact(line, time) == Fact(topic, {}, 400, time)
    assert any(mark in line for mark in MARKS)


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
