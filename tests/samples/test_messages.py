"""Turns of a conversation, and what the file says about each: times, and log-probability gaps."""

from __future__ import annotations

from typing import Any

import pytest

from tuimon.samples.messages import conversation, gaps_of


def node(role: str, text: str, at: float | None = None, **more: Any) -> dict[str, Any]:
    message = {"role": role, "content": text, **more}
    return {"message": message} if at is None else {"message": message, "timestamp": at}


GAPS = {
    "token_loss_mask": [[0, 1, 1, 0, 0, 1]],
    "generation_logprobs": [[0.0, -1.0, -2.0, 0.0, 0.0, -0.5]],
    "prev_logprobs": [[9.0, -1.5, -2.0, 9.0, 9.0, -0.25]],
}


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (
            {"nodes": [node("user", "q", 10.0), node("assistant", "a", 12.5), node("tool", "r", 13.0)]},
            [("user", ""), ("assistant", "2.5 s"), ("tool", "0.5 s")],
        ),
        (
            {"messages": [{"role": "tool", "content": "r", "duration": 0.25}, {"role": "assistant", "content": "a"}]},
            [("tool", "0.25 s"), ("assistant", "")],
        ),
        (
            {"nodes": [node("assistant", "a", 1.0, tool_calls=["call"]), node("tool", "r", 4.0)]},
            [("assistant", ""), ("tool call", ""), ("tool", "3 s")],
        ),
        (
            {"messages": [node("assistant", "a"), node("tool", "r"), node("assistant", "b")], **GAPS},
            [
                ("assistant", "log-prob gap 0.25, at most 0.5"),
                ("tool", ""),
                ("assistant", "log-prob gap 0.25, at most 0.25"),
            ],
        ),
        (
            {
                "traces": [
                    {"agent": {"name": "solver"}, "nodes": [node("assistant", "a")]},
                    {"nodes": [node("user", "judge"), node("assistant", "b")]},
                ]
            },
            [("agent", ""), ("assistant", ""), ("agent", ""), ("user", ""), ("assistant", "")],
        ),
    ],
    ids=["time of the node", "duration", "tool call", "gap of each turn", "several agents"],
)
def test_what_is_logged_about_each_turn(row: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert [(turn.role, turn.note) for turn in conversation(row)] == expected


@pytest.mark.parametrize(
    ("row", "count"),
    [
        (GAPS, 2),
        (GAPS | {"token_loss_mask": [[1, 1, 1, 1, 1, 1]]}, 1),
        (GAPS | {"prev_logprobs": [[1.0]]}, 0),
        (GAPS | {"prev_logprobs": "none"}, 0),
        ({"generation_logprobs": [1.0]}, 0),
    ],
)
def test_gaps_need_two_lists_of_one_length(row: dict[str, Any], count: int) -> None:
    assert len(gaps_of(row)) == count
