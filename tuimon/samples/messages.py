"""Messages in the values of a row: prompt, response and the turns of a conversation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tuimon.samples import Turn


def response_text(value: Any) -> str:
    """Return the text that the model has written in a value of a row: a text, messages or nodes; "" without any."""
    if isinstance(value, str):
        return value
    if turns := _turns(value):
        return "\n\n".join(text for role, text in turns if role == "assistant")
    if isinstance(value, list) and len(value) == 1:
        return response_text(value[0])
    return _text(value) if isinstance(value, dict) and ("text" in value or "content" in value) else ""


def prompt_text(value: Any) -> str | None:
    """Return the text of a prompt, or of the messages that it consists of; None without any."""
    if isinstance(value, str):
        return value
    return "\n\n".join(text for _, text in _turns(value)) or None


def prompt_of_turns(value: Any) -> str | None:
    """Return the text of the messages before the first one of the model; None without any."""
    texts: list[str] = []
    for role, text in _turns(value):
        if role == "assistant":
            break
        texts.append(text)
    return "\n\n".join(texts) or None


def conversation(flat: dict[str, Any]) -> tuple[Turn, ...]:
    """Return the messages of the sample in order, with thinking and tool calls as turns of their own, or () if the row
    has only texts."""
    for key in ("nodes", "chat_completions", "traj", "messages", "trajectory", "content"):
        if turns := list(_messages(flat.get(key))):
            return tuple(turns)
    parts = [turn for key in ("prompt", "completion", "completions") for turn in _messages(flat.get(key))]
    return tuple(parts)


def is_turn(value: Any) -> bool:
    """Return whether a value is a message, or a node with one."""
    return isinstance(value, dict) and ("role" in value or isinstance(value.get("message"), dict))


def _turns(value: Any) -> list[tuple[str, str]]:
    """Return (role, text) of each message in a list of messages, of nodes, or of texts that alternate."""
    entries = _entries(value)
    if _are_texts(entries):
        return [("assistant" if index % 2 else "user", text) for index, text in enumerate(entries)]
    return [(str(message["role"]), _text(message.get("content"))) for message in _with_role(entries)]


def _messages(value: Any) -> Iterator[Turn]:
    """Yield the messages of a list, each after its thinking and before its tool calls."""
    entries = _entries(value)
    if _are_texts(entries):
        yield from (Turn(*turn) for turn in _turns(entries))
        return
    for message in _with_role(entries):
        if thinking := _text(message.get("reasoning_content")):
            yield Turn("thinking", thinking)
        if text := _text(message.get("content")):
            yield Turn(str(message["role"]), text)
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            yield Turn("tool call", call if isinstance(call, str) else json.dumps(call, ensure_ascii=False))


def _entries(value: Any) -> list[Any]:
    """Return a list of messages, nodes or texts, without a list around it; [] for any other value."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        value = value[0]
    return value if isinstance(value, list) else []


def _are_texts(entries: list[Any]) -> bool:
    """Return whether a list consists of several texts, which alternate between the user and the model."""
    return len(entries) > 1 and all(isinstance(text, str) for text in entries)


def _with_role(entries: list[Any]) -> Iterator[dict[str, Any]]:
    """Yield the messages with a role in a list of messages or nodes."""
    for entry in entries:
        if isinstance(entry, dict):
            message = entry["message"] if isinstance(entry.get("message"), dict) else entry
            if "role" in message:
                yield message


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return _text(value.get("text", value.get("content")))
    if isinstance(value, list):
        return "".join(map(_text, value))
    return ""
