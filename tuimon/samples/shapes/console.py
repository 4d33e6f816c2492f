"""Samples in console output. Positions are byte offsets of lines.

slime and OpenRLHF print a sample as a list of Python on one line, verl and EasyR1 as blocks "[prompt] …",
"[response] …" or "[output] …", "[ground_truth] …", "[score] …" of many lines. The step follows the sample, on a line
of its own. EasyR1's generations.log has the same blocks without steps. ROLL's agentic pipeline prints a JSON array of
conversations. The tables that TRL prints wrap and cut the texts: those of its files are read.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from tuimon import lazy_re as re
from tuimon.errors import FormatError
from tuimon.formats._shared.json import parse
from tuimon.samples import Rows, Shape
from tuimon.sources.files import open_regular

_MAX_LINE = 1 << 20
_MAX_BLOCK = 4 << 20
"""Characters after which a block without an end is given up."""
_SLIME = re.compile(
    r"(?:First rollout sample|Finish rollout): (?P<texts>\[.*\]), label: (?P<label>.*), reward: (?P<reward>\S+)\s*$"
)
_OPENRLHF = re.compile(r"\] Sample: (?P<texts>\[.*\])\s*$")
_STEP = re.compile(
    r'\brollout (\d+): |Global step (\d+): |\bstep:(\d+) - |\bpipeline step (\d+) finished|"system/global_step": (\d+)'
)
_ROLL = re.compile(r"\]\[PID \d+\] (\[\[\{.*\]\])\s*$")
_WORDS = (
    b"rollout",
    b"Sample: ",
    b"Global step ",
    b"step:",
    b"[prompt] ",
    b"pipeline step ",
    b'global_step"',
    b"] [[{",
)
_PROMPT = re.compile(r"^(?:\x1b\[[0-9;]*m)?(?:\([^()]{1,80}\) ?)?(?:\x1b\[[0-9;]*m)?\s*\[prompt\] (.*)", re.DOTALL)
_KEYS = {"response": "response", "output": "response", "ground_truth": "ground_truth", "score": "score"}
_KEY = re.compile(r"(?:\x1b\[[0-9;]*m)?\[(\w{1,40})\] (.*)", re.DOTALL)


class _Block:
    """A sample whose lines are read one by one."""

    def __init__(self, prompt: str) -> None:
        self._parts: dict[str, list[str]] = {"prompt": [prompt]}
        self._last = "prompt"
        self._size = 0

    def add(self, line: str) -> bool:
        """Add a line; return whether the block is complete with it or too long."""
        self._size += len(line)
        match = _KEY.match(line)
        key = _KEYS.get(match[1]) if match else None
        if match is not None and key is not None and key not in self._parts:
            self._parts[key] = [match[2]]
            self._last = key
        else:
            self._parts[self._last].append(line)
        return key == "score" or self._size > _MAX_BLOCK

    @property
    def row(self) -> dict[str, Any] | None:
        """The sample, or None if the block has no response or no score."""
        if not {"response", "score"} <= self._parts.keys():
            return None
        return {key: "".join(lines).strip("\n") for key, lines in self._parts.items()}


def _rows(path: str, start: int) -> Rows:
    waiting: list[tuple[int, dict[str, Any]]] = []
    block: tuple[int, _Block] | None = None
    has_steps = not path.endswith("generations.log")
    descriptor, _ = open_regular(path)
    with open(descriptor, "rb") as file:
        file.seek(start)
        offset = start
        while line := file.readline(_MAX_LINE):
            here, offset = offset, offset + len(line)
            if block is None and not any(word in line for word in _WORDS):
                continue
            text = line.decode("utf-8", "replace")
            if block is not None:
                if block[1].add(text):
                    waiting += [(block[0], row) for row in (block[1].row,) if row is not None]
                    block = None
            elif step := _STEP.search(text):
                known = {"step": int(next(filter(None, step.groups())))}
                yield from ((position, row | known) for position, row in waiting)
                waiting.clear()
            elif match := _PROMPT.match(text):
                block = here, _Block(match[1])
            else:
                waiting += ((here, row) for row in _rows_of_line(text))
            if not has_steps:
                yield from waiting
                waiting.clear()
    yield from waiting


def _rows_of_line(text: str) -> Iterator[dict[str, Any]]:
    """Yield the samples that one line holds: those of slime, OpenRLHF and ROLL."""
    if match := _ROLL.search(text):
        yield from _conversations(match[1])
    elif (match := _SLIME.search(text)) and (values := _literal(match["texts"])):
        yield {"response": values[0], "label": match["label"], "reward": match["reward"]}
    elif (match := _OPENRLHF.search(text)) and len(values := _literal(match["texts"])) > 1:
        yield {"response": values[0], "reward": values[1]}


def _conversations(text: str) -> Iterator[dict[str, Any]]:
    """Yield a row for each conversation of ROLL: a list of turns, each with a prompt and a response."""
    try:
        conversations = parse(text.encode())
    except FormatError:
        return
    for turns in conversations:
        turns = [turn for turn in turns if isinstance(turn, dict)] if isinstance(turns, list) else []
        if turns:
            messages = [
                {"role": role, "content": turn.get(key)}
                for turn in turns
                for role, key in (("user", "prompt"), ("assistant", "response"))
            ]
            yield {"messages": messages, "episode_score": turns[-1].get("episode_score")}


def _literal(text: str) -> list[Any]:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return []
    return value if isinstance(value, list) else []


SHAPE = Shape("console", lambda path: path.endswith((".log", ".out")), _rows, grows=True)
