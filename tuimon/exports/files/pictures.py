"""<metric>_curve.png, .svg or .pdf: a picture a metric, its validation in the same one; by matplotlib."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

from tuimon.exports.files import Export, File, Job

if TYPE_CHECKING:
    from tuimon.exports._pictures import Series
    from tuimon.store import Run

MOST = 60
"""Pictures of a run, where nobody chooses its metrics."""


def _files(job: Job, form: str) -> Iterator[File]:
    from tuimon.exports._names import SafeNames
    from tuimon.exports._pictures import draw, figure_class

    figure_class()  # says what is missing before anything is read
    runs, folders = job.snapshot().runs, SafeNames()
    for run in runs:
        folder = f"{folders.name(run.name)}/" if len(runs) > 1 else ""
        names = SafeNames()
        found = [picture for picture in pictures_of(run) if any(job.wanted(one.curve.metric) for one in picture[1])]
        if job.every and len(found) > MOST:
            job.say(f"tuimon: {MOST} of {len(found)} pictures; --metric PATTERN chooses others, --metric '*' draws all")
            found = found[:MOST]
        for name, series in found:

            def write(stream: BinaryIO, name: str = name, series: list[Series] = series, run: Run = run) -> None:
                draw(series, f"{name}, {run.name}" if run.name else name, name, stream, form, job.smooth)

            yield f"{folder}{names.name(name)}_curve.{form}", write


def pictures_of(run: Run) -> Iterator[tuple[str, list[Series]]]:
    """(name, curves) of each picture, the most telling first: a training metric with its validation, or one alone."""
    from tuimon.exports._pictures import Series
    from tuimon.panels import telling
    from tuimon.vocabulary import classify

    pairs: dict[str, list[str]] = {}
    for name in telling(run.metrics):
        if classify(name).panel not in ("progress", "hidden"):
            pairs.setdefault(base_name(name), []).append(name)
    for base, names in pairs.items():
        series = []
        for name in sorted(names, key=lambda name: classify(name).split == "val"):
            curve, validation = run.curve(name), classify(name).split == "val"
            if curve.finite_count:
                label = ("validation" if validation else "training") if len(names) < 3 else name
                series.append(Series(label, curve, validation))
        if series:
            yield base if len(names) > 1 else _short(names[0]), series


def base_name(name: str) -> str:
    """What a metric and its validation have in common: "loss" of train_history/loss, val_loss and eval/loss."""
    import re

    from tuimon.vocabulary.names import section_of

    return re.sub(r"^(?:train|eval|val|valid|validation|test)[_/]", "", section_of(name)[1])


def _short(name: str) -> str:
    from tuimon.vocabulary.names import section_of

    return section_of(name)[1]


EXPORTS = tuple(
    Export(form, f"a picture a metric, as {form.upper()} (needs matplotlib)", "", partial(_files, form=form))
    for form in ("png", "svg", "pdf")
)
