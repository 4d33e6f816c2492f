"""The prompt at the beginning of a response, and its question: see support.value_cases for the words of the table."""

from __future__ import annotations

import math

from support.value_cases import values_of

from tuimon.samples import Sample, Turn
from tuimon.samples.parts import parts_of, question_of

CHAT = "<|im_start|>user\nWhat is 2+2?<|im_end|>\n<|im_start|>assistant\n"
test_values = values_of(globals())


def sample(prompt: str | float, response: str, turns: tuple[Turn, ...] = ()) -> Sample:
    """Return a sample; prompt: NaN for none. CHAT in a table is a text with a template."""
    known = None if isinstance(prompt, float) and math.isnan(prompt) else str(prompt).replace("CHAT", CHAT)
    return Sample("f", 1, "train", "", 1.0, response.replace("CHAT", CHAT), known, turns=turns)


def parts(prompt: str, response: str) -> list[str]:
    return [part.replace(CHAT, "CHAT") for part in parts_of(sample(prompt, response))]


def question(prompt: str) -> str:
    own = sample(prompt, "4")
    found = question_of(own, own.prompt)
    turns = (Turn("system", "Answer in a box."), Turn("user", own.prompt), Turn("assistant", "4"))
    assert question_of(sample("", "4", turns), "") == found
    return found
