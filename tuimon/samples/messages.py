"""Messages in the values of a row: prompt, response and the turns of a conversation."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np

from tuimon.model.points import Floats
from tuimon.samples import Turn

_LOGPROBS = (("generation_logprobs", "prev_logprobs"), ("rollout_log_probs", "log_probs"))
"""Names of the log-probabilities of the rollout engine and of the trainer (NeMo-RL, slime)."""
_SECONDS = ("duration", "elapsed", "latency", "execution_time", "time_s")
"""Names of the seconds that a message took."""


class _Message(NamedTuple):
    """A message of a conversation."""

    role: str
    text: str
    body: dict[str, Any]
    node: dict[str, Any]
    """Object that holds the message; the message itself if none does."""


def _messages(value: Any) -> list[_Message]:
    """Return the messages in a list of messages, of nodes, or of several texts that alternate; [] for other values."""
    entries = _entries(value)
    if not entries:
        return []
    if len(entries) > 1 and all(isinstance(text, str) for text in entries):
        return [_Message("assistant" if index % 2 else "user", text, {}, {}) for index, text in enumerate(entries)]
    nodes = [entry for entry in entries if is_turn(entry)]
    bodies = [node["message"] if isinstance(node.get("message"), dict) else node for node in nodes]
    return [
        _Message(str(body["role"]), _text(body.get("content")), body, node)
        for body, node in zip(bodies, nodes, strict=True)
        if "role" in body
    ]


def response_text(value: Any) -> str:
    """Return the text that the model has written in a value of a row: a text, messages or nodes; "" without any."""
    if isinstance(value, str):
        return value
    if messages := _messages(value):
        return _joined(message for message in messages if message.role == "assistant")
    if isinstance(value, list) and len(value) == 1:
        return response_text(value[0])
    return _text(value) if isinstance(value, dict) and ("text" in value or "content" in value) else ""


def prompt_text(value: Any) -> str | None:
    """Return the text of a prompt, or of the messages that it consists of; None without any."""
    return value if isinstance(value, str) else _joined(_messages(value)) or None


def prompt_of_turns(value: Any) -> str | None:
    """Return the text of the messages before the first one of the model; None without any."""
    return _joined(takewhile(lambda message: message.role != "assistant", _messages(value))) or None


def _joined(messages: Iterable[_Message]) -> str:
    return "\n\n".join(message.text for message in messages)


def traces_of(row: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the name of the agent and the trace, for each trace of an episode of several agents; [] for others."""
    traces = row.get("traces")
    found: list[tuple[str, dict[str, Any]]] = []
    for trace in traces if isinstance(traces, list) else ():
        if isinstance(trace, dict) and isinstance(trace.get("nodes"), list):
            agent = trace.get("agent")
            name = agent.get("name") if isinstance(agent, dict) else None
            found.append((str(name or f"agent {len(found) + 1}"), trace))
    return found if len(found) > 1 else []


def conversation(flat: dict[str, Any]) -> tuple[Turn, ...]:
    """Return the messages of the sample in order, with thinking and tool calls as turns of their own, or () if the row
    has only texts. Those of several agents follow each other, each after a turn with its name."""
    if traces := traces_of(flat):
        return tuple(
            turn
            for name, trace in traces
            for turn in (Turn("agent", name), *_turns(_messages(trace["nodes"]), gaps_of(trace)))
        )
    for key in ("nodes", "chat_completions", "traj", "messages", "trajectory", "content"):
        if (messages := _messages(flat.get(key))) and (turns := tuple(_turns(messages, gaps_of(flat)))):
            return turns
    return tuple(
        turn for key in ("prompt", "completion", "completions") for turn in _turns(_messages(flat.get(key)), ())
    )


def is_turn(value: Any) -> bool:
    """Return whether a value is a message, or a node with one."""
    return isinstance(value, dict) and ("role" in value or isinstance(value.get("message"), dict))


def _turns(messages: Sequence[_Message], gaps: Sequence[str]) -> Iterator[Turn]:
    """Yield the turns of messages, each with its time and its log-probability gap: thinking, text and tool calls.

    gaps: those of the turns of the model, if there are as many."""
    has_gaps = len(gaps) == sum(message.role == "assistant" for message in messages)
    left = iter(gaps if has_gaps else ())
    before = math.nan
    for role, text, body, node in messages:
        took, at = _seconds(body, node), _number(node.get("timestamp", body.get("timestamp")))
        took, before = at - before if math.isnan(took) else took, at
        notes = [f"{took:.3g} s"] if took > 0 else []
        if role == "assistant":
            notes += filter(None, [next(left, "")])
        note = ", ".join(notes)
        if thinking := _text(body.get("reasoning_content")):
            yield Turn("thinking", thinking, note)
        if text:
            yield Turn(role, text, note)
        calls = body.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            yield Turn("tool call", call if isinstance(call, str) else json.dumps(call, ensure_ascii=False), note)


def gaps_of(row: dict[str, Any]) -> list[str]:
    """Return, for each turn of the model, how far two logged log-probabilities of its tokens are apart.

    ["log-prob gap 0.012, at most 0.8"]; the turns are the runs of tokens whose loss counts. [] if one is not logged.
    """
    for first, second in _LOGPROBS:
        one, other = _tokens(row.get(first)), _tokens(row.get(second))
        if len(one) and len(one) == len(other):
            mask = _tokens(row.get("token_loss_mask", row.get("loss_mask")))
            counted = mask > 0 if len(mask) == len(one) else np.ones(len(one), np.bool_)
            with np.errstate(invalid="ignore"):  # of infinite ones
                gaps = np.abs(one - other)
            runs = np.split(gaps, np.flatnonzero(np.diff(counted)) + 1)[0 if counted[0] else 1 :: 2]
            return [f"log-prob gap {run.mean():.3g}, at most {run.max():.3g}" for run in runs]
    return []


def _tokens(value: Any) -> Floats:
    """Return the numbers of the tokens of a sample, also of a batch of one."""
    try:
        return np.array(_entries(value), np.float64).reshape(-1)
    except (TypeError, ValueError, OverflowError):
        return np.zeros(0)


def _seconds(*places: dict[str, Any]) -> float:
    """Return the seconds that a message took, as far as it is logged; NaN if not."""
    return next((number for place in places for key in _SECONDS if (number := _number(place.get(key))) >= 0), math.nan)


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan


def _entries(value: Any) -> list[Any]:
    """Return a list of messages, nodes or texts, without a list around it; [] for any other value."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        value = value[0]
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return _text(value.get("text", value.get("content")))
    if isinstance(value, list):
        return "".join(map(_text, value))
    return ""
