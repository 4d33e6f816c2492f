"""Messages in the values of a row: prompt, response and the turns of a conversation."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from tuimon.model.points import Floats
from tuimon.samples import Turn

_LOGPROBS = (("generation_logprobs", "prev_logprobs"), ("rollout_log_probs", "log_probs"))
"""Names of the log-probabilities of the rollout engine and of the trainer (NeMo-RL, slime)."""
_SECONDS = ("duration", "elapsed", "latency", "execution_time", "time_s")
"""Names of the seconds that a message took."""


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
            turn for name, trace in traces for turn in (Turn("agent", name), *_with_notes(trace["nodes"], trace))
        )
    for key in ("nodes", "chat_completions", "traj", "messages", "trajectory", "content"):
        if turns := list(_with_notes(flat.get(key), flat)):
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


def _with_notes(value: Any, trace: dict[str, Any]) -> Iterator[Turn]:
    """Yield the messages of a list with what its trace says about them: times, and log-probability gaps."""
    entries = _entries(value)
    if not entries:
        return
    gaps = gaps_of(trace)
    written = sum(role == "assistant" for role, _ in _turns(value))
    notes, before, spoken = dict[int, str](), math.nan, 0
    for entry in filter(is_turn, entries):
        message = entry["message"] if isinstance(entry.get("message"), dict) else entry
        took, at = _seconds(message, entry), _number(entry.get("timestamp", message.get("timestamp")))
        took = at - before if math.isnan(took) else took
        before = at
        parts = [f"{took:.3g} s"] if took > 0 else []
        if message.get("role") == "assistant":
            parts += [gaps[spoken]] if len(gaps) == written else []
            spoken += 1
        notes[id(entry)] = ", ".join(parts)
    if not any(notes.values()):
        yield from _messages(value)
        return
    for entry in entries:
        for turn in _messages([entry]):
            yield turn._replace(note=notes.get(id(entry), ""))


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
