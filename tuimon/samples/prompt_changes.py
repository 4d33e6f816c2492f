"""How the mean reward of each prompt changes from the first to the last step with it."""

from __future__ import annotations

import math
from collections.abc import Iterable

from msgspec import Struct

from tuimon.samples import Sample
from tuimon.samples.export import group_of
from tuimon.samples.library import digest, first_words
from tuimon.samples.parts import parts_of, question_of
from tuimon.samples.selection import mean_and_std


class PromptChange(Struct, frozen=True):
    """The change of a prompt."""

    prompt: str
    head: str
    """First words of what the user asks."""
    group: str
    """Group of the prompt in its last step; "" for none."""
    split: str
    first_step: int
    last_step: int
    steps: int
    """Number of steps with the prompt."""
    first: float
    """Mean of the finite rewards of the first step."""
    last: float

    @property
    def change(self) -> float:
        return self.last - self.first


def prompt_changes(samples: Iterable[Sample], last_step: int | None = None) -> list[PromptChange]:
    """Return the changes of the prompts that several steps have, the greatest loss first.

    last_step: only prompts of this step, and no later step; None: all steps.
    """
    rewards: dict[tuple[str, str], dict[int, list[float]]] = {}
    texts: dict[tuple[str, str], tuple[int, str, str, str]] = {}
    for sample in samples:
        step, reward, key = sample.step, sample.reward, (sample.split, digest(sample.prompt or ""))
        if step is None or (last_step is not None and step > last_step):
            continue
        if key not in texts or texts[key][0] < step:
            head = first_words(question_of(sample, parts_of(sample)[0]))
            texts[key] = step, sample.prompt or "", head, group_of(sample)
        if reward is not None and math.isfinite(reward):
            rewards.setdefault(key, {}).setdefault(step, []).append(reward)
    found: list[PromptChange] = []
    for key, by_step in rewards.items():
        first_step, step = min(by_step), max(by_step)
        if first_step < step and last_step in (None, step):
            first, last = (mean_and_std(by_step[number])[0] for number in (first_step, step))
            found.append(PromptChange(*texts[key][1:], key[0], first_step, step, len(by_step), first, last))
    return sorted(found, key=lambda prompt: prompt.change)
