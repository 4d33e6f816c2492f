"""<metric>_curve.png, .svg or .pdf: one picture per metric, with its validation curve. Needs matplotlib.

An output with the suffix of a picture is one file with a chart per metric.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

from tuimon.errors import UsageError
from tuimon.exports.files import Export, File, Job

if TYPE_CHECKING:
    from tuimon.exports.pictures import Series
    from tuimon.store import Run

MAX_PICTURES = 60
"""Maximum number of pictures per run if the user has not chosen metrics."""
MAX_CHARTS = 12
"""Maximum number of charts in one file."""


def _files(job: Job, form: str) -> Iterator[File]:
    from tuimon.exports._shared import SafeNames
    from tuimon.exports.pictures import draw, figure_class

    figure_class()  # raise an error before anything is read
    runs, folders = job.snapshot().runs, SafeNames()
    for run in runs:
        folder = f"{folders.name(run.name)}/" if len(runs) > 1 else ""
        names = SafeNames()
        pictures = [p for p in pictures_of(run) if any(job.wanted(line.curve.metric) for line in p[1])]
        if job.every and len(pictures) > MAX_PICTURES:
            job.print_status(
                f"writing {MAX_PICTURES} of {len(pictures)} pictures; choose with --metric, all with --metric '*'"
            )
            pictures = pictures[:MAX_PICTURES]
        for name, series in pictures:

            def write(stream: BinaryIO, name: str = name, series: list[Series] = series, run: Run = run) -> None:
                title = f"{name}, {run.name}" if run.name else name
                draw(series, title, label_with_unit(run, name, series), stream, form, job.smooth)

            yield f"{folder}{names.name(name)}_curve.{form}", write


def _one_file(job: Job, form: str) -> Iterator[File]:
    from tuimon.exports.pictures import Picture, draw_charts, figure_class

    figure_class()  # raise an error before anything is read
    charts = [
        Picture(series, f"{name}, {run.name}" if run.name else name, label_with_unit(run, name, series))
        for run in job.snapshot().runs
        for name, series in pictures_of(run)
        if any(job.wanted(line.curve.metric) for line in series)
    ]
    if not charts:
        raise UsageError("nothing to draw: no chosen metric has a finite value")
    if len(charts) > MAX_CHARTS:
        message = (
            f"the picture shows {MAX_CHARTS} of {len(charts)} charts; choose with --metric, or write to a directory"
        )
        job.print_status(message)
    yield "", lambda stream: draw_charts(charts[:MAX_CHARTS], stream, form, job.smooth)


def pictures_of(run: Run) -> Iterator[tuple[str, list[Series]]]:
    """Yield (name, curves) of each picture in the order of importance: a training metric and its validation metrics."""
    from tuimon.exports.pictures import Series
    from tuimon.panels import by_relevance
    from tuimon.vocabulary import classify

    pairs: dict[str, list[str]] = {}
    for name in by_relevance(run.metrics):
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


def label_with_unit(run: Run, name: str, series: Sequence[Series]) -> str:
    """Return the name of a picture with the unit in which its curves were logged: "kl (nats)"; without a unit that
    they do not share."""
    from tuimon.analysis.printed_units import meaning_of
    from tuimon.exports.metrics import logged_unit_text

    units = {logged_unit_text(meaning_of(run, line.curve.metric)) for line in series}
    unit = units.pop() if len(units) == 1 else ""
    return f"{name} ({unit})" if unit else name


def base_name(name: str) -> str:
    """Return the name without section and split: "loss" for train_history/loss, val_loss and eval/loss."""
    import re

    from tuimon.vocabulary.names import section_of

    return re.sub(r"^(?:train|eval|val|valid|validation|test)[_/]", "", section_of(name)[1])


def _short(name: str) -> str:
    from tuimon.vocabulary.names import section_of

    return section_of(name)[1]


EXPORTS = tuple(
    Export(
        form,
        f"one picture per metric, or one with all for -o NAME.{form} (needs matplotlib)",
        "",
        partial(_files, form=form),
        partial(_one_file, form=form),
    )
    for form in ("png", "svg", "pdf")
)
