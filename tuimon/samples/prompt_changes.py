"""How the share that passed, or the mean reward, of each prompt changes from the first to the last step with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec import Struct

from tuimon.samples import Sample
from tuimon.samples.export import group_of
from tuimon.samples.library import HEAD, digest
from tuimon.samples.parts import parts_of, question_of
from tuimon.samples.selection import Numbers, PromptNumbers, prompt_numbers


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
    last: float
    is_share: bool
    """Whether the values are shares of samples that passed, not mean rewards."""

    @property
    def change(self) -> float:
        return self.last - self.first


def prompt_changes(samples: Iterable[Sample], last_step: int | None = None) -> list[PromptChange]:
    """Return the changes of the prompts that several steps have, the greatest loss first.

    last_step: only prompts of this step, and no later step; None: all steps.
    """
    by_step: dict[tuple[str, int], list[tuple[str, Numbers]]] = {}
    latest: dict[tuple[str, str], _Prompt] = {}
    for sample in samples:
        step, split = sample.step, sample.split
        if step is None or (last_step is not None and step > last_step):
            continue
        prompt = digest(sample.prompt or "")
        by_step.setdefault((split, step), []).append((prompt, sample.components | {"reward": sample.reward}))
        if (split, prompt) not in latest or latest[split, prompt].step < step:
            latest[split, prompt] = _prompt_of(sample, step)
    found: list[PromptChange] = []
    for split in dict.fromkeys(split for split, _ in by_step):
        steps = {step: prompt_numbers(step, by_step[split, step]) for part, step in sorted(by_step) if part == split}
        for prompt, (is_share, values) in _values(steps).items():
            first_step, step = min(values), max(values)
            if first_step < step and last_step in (None, step):
                named = latest[split, prompt]
                numbers = len(values), values[first_step], values[step], is_share
                found.append(PromptChange(named.text, named.head, named.group, split, first_step, step, *numbers))
    return sorted(found, key=lambda prompt: prompt.change)


class _Prompt(NamedTuple):
    """A prompt as its first sample of a step has it."""

    step: int
    text: str
    head: str
    group: str


def _prompt_of(sample: Sample, step: int) -> _Prompt:
    head = " ".join(question_of(sample, parts_of(sample)[0])[: 4 * HEAD].split())[:HEAD]
    return _Prompt(step, sample.prompt or "", head, group_of(sample))


def _values(steps: Mapping[int, PromptNumbers]) -> dict[str, tuple[bool, dict[int, float]]]:
    """Return, by prompt, whether its values are shares that passed, and its value in each step."""
    fields = {numbers.pass_field for numbers in steps.values()}
    is_share = len(fields) == 1 and "" not in fields
    values: dict[str, tuple[bool, dict[int, float]]] = {}
    for step, numbers in steps.items():
        for prompt, value in (numbers.passed if is_share else numbers.rewards).items():
            values.setdefault(prompt, (is_share, {}))[1][step] = value
    return values
