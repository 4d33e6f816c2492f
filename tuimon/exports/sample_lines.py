"""Generated texts and changes of prompts as lines of JSON, for `tuimon samples --json`, with secrets hidden."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Struct
from msgspec.structs import asdict

from tuimon.exports.documents import NOT_FINITE, Count, Number, Version, filled, one_of
from tuimon.redact import redacted, redacted_text
from tuimon.rollouts import Sample
from tuimon.rollouts.export import group_of
from tuimon.rollouts.prompt_changes import PromptChange

SampleSplit = Annotated[str, one_of("train", "validation")]


class SampleLine(Struct, frozen=True, kw_only=True):
    """A text that the model has generated."""

    schema: Version = 1
    source: str
    """Path of the file below the given path."""
    step: int | None
    split: SampleSplit
    group: str | None
    """Equal for the samples of one prompt."""
    reward: Number | None
    """Null: unknown, or NaN, which means that it does not apply."""
    components: Mapping[str, Number | None]
    """Parts of the reward by name."""
    length: Count
    length_unit: Annotated[str, one_of("tokens", "chars")]
    truncated: bool | None
    prompt: str | None
    response: str
    reference: Any
    """Expected answer, of any type."""


class PromptLine(Struct, frozen=True, kw_only=True):
    """The change of a prompt from the first to the last step with it."""

    schema: Version = 1
    prompt: str
    group: str | None
    """Group of the prompt in its last step."""
    split: SampleSplit
    first_step: int
    last_step: int
    steps: Count
    """Number of steps with the prompt."""
    measure: Annotated[str, one_of("share passed", "mean reward")]
    """What first, last and change are of."""
    first: float
    last: float
    change: float
    """Last minus first."""


def sample_json(sample: Sample, path: str) -> str:
    """Return a sample as one line of JSON. path: the searched directory, which the source is relative to."""
    line = filled(
        SampleLine,
        sample,
        source=os.path.relpath(sample.source, path) if sample.source != path else os.path.basename(path),
        group=group_of(sample) or None,
        reward=_number(sample.reward),
        components={key: _number(value) for key, value in sample.components.items()},
        prompt=None if sample.prompt is None else redacted_text(sample.prompt),
        response=redacted_text(sample.response),
        reference=redacted({"reference": sample.reference})["reference"],
    )
    return _json(line)


def prompt_json(prompt: PromptChange) -> str:
    """Return the change of a prompt as one line of JSON."""
    measure = "share passed" if prompt.is_share else "mean reward"
    text = redacted_text(prompt.prompt)
    return _json(filled(PromptLine, prompt, prompt=text, group=prompt.group or None, measure=measure))


def _json(line: Struct) -> str:
    return json.dumps(asdict(line)) + "\n"  # ASCII, with all digits of integers: texts and references are foreign


def _number(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else NOT_FINITE[str(value)]
    return value
