"""Compare the rewards of the texts of a step with the reward curves of the run, and describe the texts as a whole."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tuimon.analysis.concepts import metrics_of
from tuimon.analysis.correlation import pearson
from tuimon.draw.numbers import format_fraction, format_value
from tuimon.samples.library import Entry, flag_shares
from tuimon.samples.selection import finite, groups_of, mean_and_std, rewards_of
from tuimon.store import Run
from tuimon.text import clean

_EQUAL = 1e-3
"""Relative difference (absolute below 1) up to which two means are equal."""


def check_sentence(run: Run, entries: Sequence[Entry], step: int | None) -> str:
    """Return how the mean reward of the texts compares with the reward curves of their split at the step; "" if neither
    is known. entries: entries of one split."""
    concept = "reward.train" if any(entry.split == "train" for entry in entries) else "reward.val"
    rewards = rewards_of(entries)
    mean, _ = mean_and_std(rewards)
    if step is None or not rewards:
        return ""
    texts = "1 text" if len(rewards) == 1 else f"{len(rewards)} texts"
    readings = _readings(run, concept, step)
    if not readings:
        return f"mean reward of {texts} {format_value(mean)}; no reward curve has a point at step {step}"
    name, value = min(readings, key=lambda reading: abs(reading[1] - mean))
    if abs(value - mean) <= _EQUAL * max(1.0, abs(value)):
        return f"mean reward of the texts {format_value(mean)} = {clean(name)}"
    name, value = readings[0]
    return (
        f"mean reward of {texts} {format_value(mean)}, but {clean(name)} is {format_value(value)}: "
        "a subset of the samples, or another reward"
    )


def _readings(run: Run, concept: str, step: int) -> list[tuple[str, float]]:
    """Return the metrics of a concept that have a point at the step, the preferred first."""
    names = metrics_of(run, concept, "val" if concept.endswith(".val") else "train", all_names=True)
    samples = [(name, run.curve(name).sample_at(step)) for name in names]
    return [
        (name, sample.value)
        for name, sample in samples
        if sample is not None and sample.step == step and math.isfinite(sample.value)
    ]


def shares_sentence(entries: Sequence[Entry]) -> str:
    """Return the shares of truncated, flagged and failed texts, and of groups without variance or with identical texts;
    "" for no texts."""
    if not entries:
        return ""
    known = [entry for entry in entries if entry.truncated is not None]
    parts = []
    if truncated := sum(entry.truncated is True for entry in known):
        parts.append(f"truncated {format_fraction(truncated / len(known))}")
    parts += [f"{name} {format_fraction(share)}" for name, share in flag_shares(entries).items() if share]
    if errors := sum(entry.error for entry in entries):
        parts.append(f"error {format_fraction(errors / len(entries))}")
    if unknown := len(entries) - len(rewards_of(entries)):
        parts.append(f"no finite reward {format_fraction(unknown / len(entries))}")
    groups = [group for group in groups_of(entries) if len(group.entries) > 1]
    if flat := sum(group.is_flat for group in groups):
        parts.append(f"{flat} of {len(groups)} groups without variance")
    if identical := sum(group.identical > 0 for group in groups):
        parts.append(f"{identical} of {len(groups)} groups with identical texts")
    if not known:
        parts.append("truncation is not logged")
    return ", ".join(parts)


def parts_sentence(entries: Sequence[Entry]) -> str:
    """Return how the parts of the reward vary and follow it: "correct 0.62 ± 0.49 SD, r 0.98; format 1 ± 0 SD".

    Each by its mean, deviation and correlation with the reward. "" with fewer than two parts.
    """
    parts: dict[str, list[tuple[float, float]]] = {}
    for entry in entries:
        if (reward := finite(entry)) is not None:
            for name, value in entry.components:
                if math.isfinite(value):
                    parts.setdefault(name, []).append((value, reward))
    found = [f"{clean(name, 40)} {_part(points)}" for name, points in parts.items() if len(points) > 1]
    return "; ".join(found) if len(found) > 1 else ""


def _part(points: Sequence[tuple[float, float]]) -> str:
    values, rewards = np.array(points, np.float64).T
    mean, deviation = mean_and_std(values.tolist())
    shared = pearson(values, rewards)
    r = f", r {shared:.2f}" if math.isfinite(shared) else ""
    return f"{format_value(mean)} ± {format_value(deviation)} SD{r}"
