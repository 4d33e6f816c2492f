"""The best and worst generated texts of a run as lines, for JSON, or as values for templates. They are read here."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from tuimon.draw.numbers import format_value
from tuimon.exports.documents import known
from tuimon.redact import redacted_text
from tuimon.rollouts import Sample
from tuimon.rollouts.export import group_of, reference_text, shown_lines
from tuimon.rollouts.extremes import Extremes, extremes
from tuimon.store import Run
from tuimon.text import clean, fit

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
    response: str
    """First words."""


class TextsEntry(Struct, frozen=True, kw_only=True):
    """The best and worst generated texts of a step."""

    step: int | None
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


def as_lines(found: Extremes, width: int | None) -> Iterator[str]:
    """Yield lines of at most `width` cells (None: unlimited)."""
    yield _fit(f"texts of {_step(found)}{_split(found)}: {found.count}, mean reward {format_value(found.mean)}", width)
    for name, samples in (("worst", found.worst), ("best", found.best)):
        for sample in samples:
            reward = "unknown" if sample.reward is None else format_value(sample.reward)
            length = f"{sample.length} {sample.length_unit}"
            yield _fit(f"  {name:<5} {reward:>8} {length:>12}  {_words(sample)}", width)


def as_entry(found: Extremes, directory: str) -> TextsEntry:
    """Return the texts for JSON. directory: that of the run."""
    return TextsEntry(
        step=found.step,
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
    return {"title": f"Texts of {_step(found)}{_split(found)}", "note": note, "samples": parts}


def _step(found: Extremes) -> str:
    return "no step" if found.step is None else f"step {found.step}"


def _split(found: Extremes) -> str:
    return ", validation" if found.split == "validation" else ""


def _texts(sample: Sample) -> list[tuple[str, str]]:
    texts = [("prompt", sample.prompt), ("response", sample.response)]
    if sample.reference is not None:
        texts.append(("reference", reference_text(sample.reference)))
    return [(name, "\n".join(shown_lines(_cut(text)))) for name, text in texts if text is not None]


def _cut(text: str) -> str:
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[:half]}\n[… {len(text) - _LONGEST} characters …]\n{text[-half:]}"


def _entry(sample: Sample, directory: str) -> TextEntry:
    reward = None if sample.reward is None else known(sample.reward)
    source = os.path.relpath(sample.source, directory)
    return TextEntry(source=source, group=group_of(sample) or None, reward=reward, response=_words(sample))


def _words(sample: Sample) -> str:
    """Return the first words of the response."""
    return clean(" ".join(redacted_text(sample.response[:_WORDS]).split()), _WORDS)


def _fit(text: str, width: int | None) -> str:
    return text if width is None else fit(text, width).rstrip()
