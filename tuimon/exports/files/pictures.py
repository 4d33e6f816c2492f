"""<metric>_curve.png, .svg or .pdf: one picture per metric and run, with its validation curve. Needs matplotlib.

An output with the suffix of a picture is one file with a chart per metric, which has a curve for each run.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

from tuimon.analysis.run_states import failed_runs, state_sign
from tuimon.errors import UsageError
from tuimon.exports.files import Export, File, Job

if TYPE_CHECKING:
    from tuimon.analysis.comparison_axis import ComparisonAxis
    from tuimon.exports.pictures import Picture, Series
    from tuimon.panels import OverlayLine
    from tuimon.store import Curve, Run

MAX_PICTURES = 60
"""Maximum number of pictures per run if the user has not chosen metrics."""
MAX_CHARTS = 12
"""Maximum number of charts in one file."""


def _files(job: Job, form: str) -> Iterator[File]:
    from tuimon.exports._shared import SafeNames
    from tuimon.exports.pictures import draw_charts, figure_class

    figure_class()  # raise an error before anything is read
    snapshot, folders = job.checked(), SafeNames()
    runs, failed = snapshot.runs, failed_runs(snapshot.alerts)
    for run in runs:
        folder = f"{folders.name(run.name)}/" if len(runs) > 1 else ""
        names = SafeNames()
        pictures = list(pictures_of(run, job.wanted, job.curve))
        if job.every and len(pictures) > MAX_PICTURES:
            job.print_status(
                f"writing {MAX_PICTURES} of {len(pictures)} pictures; choose with --metric, all with --metric '*'"
            )
            pictures = pictures[:MAX_PICTURES]
        for number, (name, series) in enumerate(pictures):

            def write(stream: BinaryIO, name: str = name, series: list[Series] = series, run: Run = run) -> None:
                draw_charts([_picture(run, name, series, run.id in failed)], stream, form, job.smooth)

            job.on_progress(f"drawing {folder}".rstrip(), number, len(pictures), f" of {len(pictures)} pictures")
            yield f"{folder}{names.name(name)}_curve.{form}", write


def _one_file(job: Job, form: str) -> Iterator[File]:
    from tuimon.exports.pictures import draw_charts, figure_class
    from tuimon.model.views import Symbols
    from tuimon.panels import overlay_lines

    figure_class()  # raise an error before anything is read
    failed, runs = failed_runs(job.checked().alerts), job.runs()
    lines = overlay_lines(runs, runs, True, Symbols.BRAILLE, failed=failed) if job.seeds else ()
    if job.seeds and not any(len(line.runs) > 1 for line in lines):
        job.print_status("no two runs differ only in their seed (a setting called seed, or seed3 in the name)")
    if len(runs) > 1:
        charts = list(pictures_across(runs, job.wanted, lines, failed, job.curve))
    else:
        charts = [
            _picture(run, name, series, run.id in failed)
            for run in runs
            for name, series in pictures_of(run, job.wanted, job.curve)
        ]
    if not charts:
        where = " in these steps" if job.steps else ""
        raise UsageError(f"nothing to draw: no chosen metric has a finite value{where}")
    if len(charts) > MAX_CHARTS:
        message = (
            f"the picture shows {MAX_CHARTS} of {len(charts)} charts; choose with --metric, or write to a directory"
        )
        job.print_status(message)
    job.on_progress("drawing", min(len(charts), MAX_CHARTS), 0, " charts")
    yield "", lambda stream: draw_charts(charts[:MAX_CHARTS], stream, form, job.smooth)


def _picture(run: Run, name: str, series: Sequence[Series], is_failed: bool) -> Picture:
    from msgspec.structs import replace

    from tuimon.analysis.aligned_steps import step_name
    from tuimon.exports.pictures import Picture

    first, *others = series
    crossed = (first.curve,) if is_failed and _has_end(run, first.curve) else ()
    noted = [replace(first, notes=_step_notes([run]), failed=crossed), *others]
    return Picture(noted, run.name, label_with_unit([run] * len(series), name, series), step_name(run))


def _has_end(run: Run, curve: Curve) -> bool:
    """Return whether the curve, which may be a range of steps of the logged one, has its last finite value."""
    last = run.curve(curve.metric).last
    return curve.last is not None and last is not None and curve.last.step == last.step


def pictures_of(
    run: Run,
    wanted: Callable[[str], bool] = lambda name: True,
    curve_of: Callable[[Run, str], Curve] | None = None,
) -> Iterator[tuple[str, list[Series]]]:
    """Yield (name, curves) of each picture in the order of importance: a training metric and its validation metrics.

    wanted: return True for the metrics to draw. curve_of: returns the curve of a metric; None for the logged one.
    """
    from tuimon.exports.pictures import Series
    from tuimon.panels import by_relevance
    from tuimon.vocabulary import classify
    from tuimon.vocabulary.names import section_of

    pairs: dict[str, list[str]] = {}
    for name in by_relevance(run.metrics):
        if classify(name).panel not in ("progress", "hidden") and wanted(name):
            pairs.setdefault(base_name(name), []).append(name)
    for base, names in pairs.items():
        series = []
        for name in sorted(names, key=lambda name: classify(name).split == "val"):
            curve, validation = (curve_of(run, name) if curve_of else run.curve(name)), classify(name).split == "val"
            if curve.finite_count:
                label = ("validation" if validation else "training") if len(names) < 3 else name
                series.append(Series(label, curve, validation))
        if series:
            yield base if len(names) > 1 else section_of(names[0])[1], series


def _step_notes(runs: Sequence[Run]) -> tuple[tuple[int, str], ...]:
    """Return (step, text) of the user's notes at steps of these runs."""
    from tuimon.run_notes import note_of

    return tuple(dict.fromkeys((step, text) for run in runs for _, step, text in note_of(run.path).signed_steps))


def pictures_across(
    runs: Sequence[Run],
    wanted: Callable[[str], bool],
    lines: Sequence[OverlayLine] = (),
    failed: Container[int] = (),
    curve_of: Callable[[Run, str], Curve] | None = None,
) -> Iterator[Picture]:
    """Yield a chart of each metric with the curves of all runs, in the order of importance.

    lines: the runs of each line (`overlay_lines`); (): a line for each run. failed: ids of runs that are not healthy.
    curve_of: returns the curve of a metric; None for the logged one.
    """
    from tuimon.exports._across_runs import logged_names
    from tuimon.panels.lists.comparison import metrics_across
    from tuimon.vocabulary import classify

    metrics = metrics_across(runs)
    for title, names in zip(logged_names(metrics), metrics, strict=True):
        chosen = [
            (curve_of(run, name) if curve_of else run.curve(name))
            if name and wanted(name) and classify(name).panel not in ("progress", "hidden")
            else None
            for run, name in zip(runs, names, strict=True)
        ]
        curves = [curve if curve is not None and curve.finite_count else None for curve in chosen]
        if any(curve is not None for curve in curves):
            yield picture_across(title, runs, curves, lines, failed)


def picture_across(
    name: str,
    runs: Sequence[Run],
    curves: Sequence[Curve | None],
    lines: Sequence[OverlayLine] = (),
    failed: Container[int] = (),
    axis: ComparisonAxis | None = None,
) -> Picture:
    """Return a chart of the metric `name` with the curve of each run; None where a run has none.

    lines: the runs of each line (`overlay_lines`); (): a line for each run. failed: ids of runs that are not healthy.
    axis: that of the comparison; None for steps.
    """
    from tuimon.analysis.aligned_steps import common_step_name
    from tuimon.exports.pictures import Picture, Series
    from tuimon.panels.lists.comparison import run_labels

    cross = f" {state_sign('', ascii_only=False, critical=1)}"
    scales = dict(zip([run.id for run in runs], axis.scales, strict=True)) if axis is not None and axis.scales else {}
    logged = {run.id: curve for run, curve in zip(runs, curves, strict=True) if curve is not None}
    if lines:
        named = [(line.label, line.runs) for line in lines]
    else:
        labels = zip(run_labels(runs), runs, strict=True)
        named = [(label + cross * (run.id in failed), (run,)) for label, run in labels]
    series: list[Series] = []
    leading: list[Run] = []
    for position, (label, members) in enumerate(named):
        present = [run for run in members if run.id in logged]
        if present:
            leading.append(present[0])
            first, *others = (logged[run.id] for run in present)
            crossed = tuple(logged[run.id] for run in present if run.id in failed and _has_end(run, logged[run.id]))
            own = tuple(scales[run.id] for run in present) if scales else ()
            series.append(Series(label, first, False, position, tuple(others), _step_notes(present), crossed, own))
    title = series[0].label if len(series) == 1 else ""
    x_label = axis.noun if axis is not None and scales else common_step_name(runs)
    x_label = "time since the start (s)" if x_label == "duration" else x_label
    return Picture(series, title, label_with_unit(leading, name, series), x_label)


def label_with_unit(runs: Sequence[Run], name: str, series: Sequence[Series]) -> str:
    """Return the name of a picture with the unit in which its curves were logged: "kl (nats)"; without a unit that
    they do not share.

    runs: the run of each curve.
    """
    from tuimon.analysis.printed_units import meaning_of
    from tuimon.exports.metrics import logged_unit_text

    pairs = zip(runs, series, strict=True)
    units = {logged_unit_text(meaning_of(run, line.curve.metric).logged_unit) for run, line in pairs}
    unit = units.pop() if len(units) == 1 else ""
    return f"{name} ({unit})" if unit else name


def base_name(name: str) -> str:
    """Return the name without section and split: "loss" for train_history/loss, val_loss and eval/loss."""
    import re

    from tuimon.vocabulary.names import section_of

    return re.sub(r"^(?:train|eval|val|valid|validation|test)[_/]", "", section_of(name)[1])


EXPORTS = tuple(
    Export(
        form,
        f"one picture per metric and run; -o NAME.{form}: one file, all runs in each chart (needs matplotlib)",
        "",
        partial(_files, form=form),
        partial(_one_file, form=form),
        curves_only=True,
        smooths=True,
    )
    for form in ("png", "svg", "pdf")
)
