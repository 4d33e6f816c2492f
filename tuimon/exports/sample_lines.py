"""Generated texts as lines of JSON or text, for `tuimon samples`, with secrets hidden."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from msgspec import Struct
from msgspec.structs import asdict

from tuimon.draw.numbers import format_value
from tuimon.exports.documents import NOT_FINITE, Count, Number, Version, filled, known, one_of
from tuimon.redact import redacted, redacted_text
from tuimon.samples import Sample
from tuimon.samples.export import group_of, reference_text, shown_lines
from tuimon.samples.extremes import Extremes, extremes
from tuimon.samples.parts import parts_of
from tuimon.samples.selection import mean_and_std
from tuimon.store import Run
from tuimon.text import clean, fit

_WIDTH = 60
"""Cells of the words of a text on a line."""
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


def _json(line: Struct) -> str:
    return json.dumps(asdict(line)) + "\n"  # ASCII, with all digits of integers: texts and references are foreign


def _number(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else NOT_FINITE[str(value)]
    return value


# ---------------------------------------------------------------------- as text


class SampleTable:
    """The lines of the samples of a step and a split, with a heading that counts them. Whole texts are not kept."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._rewards: list[float] = []

    def add(self, sample: Sample, label: str) -> None:
        """Add a sample. label: of its group."""
        if sample.reward is not None and math.isfinite(sample.reward):
            self._rewards.append(sample.reward)
        step = "-" if sample.step is None else str(sample.step)
        reward = "-" if sample.reward is None else f"{sample.reward:.4g}"
        length, response = f"{sample.length} {sample.length_unit}", parts_of(sample)[1]
        self._lines.append(f"{step:>8} {reward:>8} {length:>12} {label:>8}  {first_words(response, 400, _WIDTH)}\n")

    def lines(self, step: int | None, split: str, of_all: int | None) -> Iterator[str]:
        """Yield the heading, then the lines. of_all: number of samples of which these are the extreme."""
        count = len(self._lines)
        head = f"{count} of {of_all} texts" if of_all is not None else f"{count} text{'s' * (count != 1)}"
        mean = f", mean reward {mean_and_std(self._rewards)[0]:.4g}" if self._rewards and of_all is None else ""
        yield f"{'no step' if step is None else f'step {step}'}, {split}: {head}{mean}\n"
        yield from self._lines


def first_words(text: str, characters: int, width: int | None = None) -> str:
    """Return the beginning of a foreign text on one line, with secrets hidden, in at most `width` cells."""
    words = clean(" ".join(redacted_text(text[:characters]).split()), characters)
    return words if width is None else fit(words, width).rstrip()


_WORDS = 300
"""Characters of a response in lines and JSON."""
_LONGEST = 8000
"""Characters of a text in a page."""


class TextEntry(Struct, frozen=True, kw_only=True):
    """A text that the model has generated."""

    source: str
    """Path of the file below the directory of the run."""
    group: str | None
    """Equal for the samples of one prompt."""
    reward: float | None
    length: int
    length_unit: str
    """tokens or chars."""
    response: str
    """First words."""


class TextsEntry(Struct, frozen=True, kw_only=True):
    """The best and worst generated texts of a step."""

    step: int | None
    split: str
    """validation, if the step has no text of the training."""
    count: int
    """All texts of the step."""
    mean_reward: float | None
    """Of the finite rewards."""
    worst: tuple[TextEntry, ...]
    """Lowest rewards, ascending."""
    best: tuple[TextEntry, ...]
    """Highest rewards, descending."""


def of_run(run: Run, step: int | None = None, samples: Sequence[str] = ()) -> Extremes | None:
    """Return the best and worst texts of the last step with texts, not after `step` if given; None without texts.

    samples: directories outside of the run that are searched, too.
    """
    paths = paths_of(run, samples)
    return extremes(paths, step) if paths else None


def paths_of(run: Run, samples: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the directories that are searched for the texts of a run."""
    return (*([run.directory] if Path(run.directory).is_dir() else ()), *samples)


def as_lines(found: TextsEntry, width: int | None) -> Iterator[str]:
    """Yield lines of at most `width` cells (None: unlimited)."""
    mean = format_value(math.nan if found.mean_reward is None else found.mean_reward)
    lines = [f"texts of {_place(found)}: {found.count}, mean reward {mean}"]
    for name, samples in (("worst", found.worst), ("best", found.best)):
        for sample in samples:
            reward = "unknown" if sample.reward is None else format_value(sample.reward)
            lines.append(f"  {name:<5} {reward:>8} {f'{sample.length} {sample.length_unit}':>12}  {sample.response}")
    yield from (line if width is None else fit(line, width).rstrip() for line in lines)


def as_entry(found: Extremes, directory: str) -> TextsEntry:
    """Return the texts for JSON. directory: that of the run."""
    return TextsEntry(
        step=found.step,
        split=found.split,
        count=found.count,
        mean_reward=known(found.mean),
        worst=tuple(_entry(sample, directory) for sample in found.worst),
        best=tuple(_entry(sample, directory) for sample in found.best),
    )


def for_page(found: Extremes | None) -> dict[str, Any] | None:
    """Return the title, a note, and (heading, [(name, text), …]) for each sample, for the template; None without
    texts."""
    if found is None:
        return None
    parts = [
        (f"{name}: reward {'unknown' if sample.reward is None else format_value(sample.reward)}, "
         f"{sample.length} {'tokens' if sample.length_unit == 'tokens' else 'characters'}"
         + (", truncated" if sample.truncated else ""), _texts(sample))
        for name, samples in (("Worst", found.worst), ("Best", found.best))
        for sample in samples
    ]  # fmt: skip
    note = f"{found.count} texts, mean reward {format_value(found.mean)}"
    return {"title": f"Texts of {_place(found)}", "note": note, "samples": parts}


def _place(found: TextsEntry | Extremes) -> str:
    step = "no step" if found.step is None else f"step {found.step}"
    return f"{step}, validation" if found.split == "validation" else step


def _texts(sample: Sample) -> list[tuple[str, str]]:
    texts = [("prompt", sample.prompt), ("response", sample.response)]
    if sample.reference is not None:
        texts.append(("reference", reference_text(sample.reference)))
    return [(name, "\n".join(shown_lines(_cut(text)))) for name, text in texts if text is not None]


def _cut(text: str) -> str:
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[:half]}\n[… {len(text) - _LONGEST} characters …]\n{text[-half:]}"


def _entry(sample: Sample, directory: str) -> TextEntry:
    return TextEntry(
        source=os.path.relpath(sample.source, directory),
        group=group_of(sample) or None,
        reward=None if sample.reward is None else known(sample.reward),
        length=sample.length,
        length_unit=sample.length_unit,
        response=first_words(sample.response, _WORDS),
    )
