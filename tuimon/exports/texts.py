"""The best and worst generated texts of a run as lines, for JSON, or as values for templates. They are read here."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from tuimon.draw.numbers import format_value
from tuimon.exports.documents import known
from tuimon.exports.sample_lines import first_words
from tuimon.samples import Sample
from tuimon.samples.export import group_of, reference_text, shown_lines
from tuimon.samples.extremes import Extremes, extremes
from tuimon.store import Run
from tuimon.text import fit

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
    step = "no step" if found.step is None else f"step {found.step}"
    split = ", validation" if found.split == "validation" else ""
    mean = format_value(math.nan if found.mean_reward is None else found.mean_reward)
    lines = [f"texts of {step}{split}: {found.count}, mean reward {mean}"]
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
    step = "no step" if found.step is None else f"step {found.step}"
    split = ", validation" if found.split == "validation" else ""
    return {"title": f"Texts of {step}{split}", "note": note, "samples": parts}


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
