"""Sentences in console text about checkpoints: that one was saved, or that training goes on from one.

    [2026-11-20 10:15:00] saved checkpoint step_400 in 3.1 s
      successfully saved checkpoint from iteration     400 to /ckpt/gpt
    Continuing training from global step 400

A sentence in the present tense ("Saving …") does not count: a job that dies meanwhile leaves no usable checkpoint.
"""

from __future__ import annotations

from tuimon import lazy_re as re
from tuimon.model.points import Fact, Topic

MARKS = ("esum", "ontinuing", "estored", "uccessfully loaded", "aved", "Wrote", "wrote")
"""Strings of which each of these sentences contains at least one."""
_STEP = r"(?:checkpoint|ckpt|global_?step|steps?|iter(?:ation)?s?)[-_ =:#]{0,9}(\d{1,12})(?!\.?\d)"
_RESUMED = re.compile(
    rf"\b(?:resum(?:ing|ed)|continuing|restored|successfully loaded)\b.{{0,200}}?(?<![a-z]){_STEP}", re.IGNORECASE
)
_SAVED = re.compile(
    rf"\b(?:saved|wrote)\b.{{0,200}}?(?<![a-z]){_STEP}|(?<![a-z]){_STEP}.{{0,80}}?\bsaved\b", re.IGNORECASE
)
_OF_CHECKPOINT = re.compile(r"checkpoint|ckpt|global_?step_?\d", re.IGNORECASE)
_LONGEST = 1000
"""Characters of a line that are searched."""


def checkpoint_fact(text: str, time: float | None) -> Fact | None:
    """Return a Fact("resumed", ...) or Fact("checkpoint", ...) for a line that has one of these sentences; else None.

    time: of the line (s since the epoch), or None if it is unknown.
    """
    text = text[:_LONGEST]
    if match := _RESUMED.search(text):
        return Fact(Topic.RESUMED, {}, int(match[1]), time)
    if _OF_CHECKPOINT.search(text) and (match := _SAVED.search(text)):
        return Fact(Topic.CHECKPOINT, {}, int(match[1] or match[2]), time)
    return None


class CheckpointFacts:
    """Facts of lines about checkpoints; what each process of a job repeats counts once."""

    def __init__(self) -> None:
        self._facts: list[Fact] = []
        self._last: tuple[str, int | None] | None = None

    def read(self, text: str, time: float | None) -> None:
        """Read a line that contains one of the marks."""
        fact = checkpoint_fact(text, time)
        if fact is not None and (fact.topic, fact.step) != self._last:
            self._last = fact.topic, fact.step
            self._facts.append(fact)

    def take(self) -> list[Fact]:
        """Return the facts since the last call."""
        facts, self._facts = self._facts, []
        return facts
