"""<metric>_curve.png, .svg or .pdf: one picture per metric and run, with its validation curve. Needs matplotlib.

An output with the suffix of a picture is one file with a chart per metric, which has a curve for each run.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import BinaryIO

from tuimon.errors import UsageError
from tuimon.exports.files import Export, File, Job

MAX_PICTURES = 60
"""Maximum number of pictures per run if the user has not chosen metrics."""
MAX_CHARTS = 12
"""Maximum number of charts in one file."""


def _files(job: Job, form: str) -> Iterator[File]:
    from tuimon.analysis.aligned_steps import step_name
    from tuimon.exports.pictures import COLUMNS, charts_of, draw_charts, figure_class, options_of
    from tuimon.exports.safe_names import SafeNames
    from tuimon.model.views import ChartView
    from tuimon.store import Run

    figure_class()  # raise an error before anything is read
    runs, folders = job.checked().runs, SafeNames()
    for run in runs:
        folder = f"{folders.name(run.name)}/" if len(runs) > 1 else ""
        names, options = SafeNames(), options_of(job.smooth, job.steps, run.last_step or 0)
        charts = list(charts_of(run, job.wanted, options, COLUMNS))
        if not job.patterns and len(charts) > MAX_PICTURES:
            some = f"writing {MAX_PICTURES} of {len(charts)} pictures"
            job.print_status(f"{some}; choose with --metric, all with --metric '*'")
            charts = charts[:MAX_PICTURES]
        for number, view in enumerate(charts):

            def write(stream: BinaryIO, view: ChartView = view, run: Run = run) -> None:
                draw_charts([view], stream, form, run.name, step_name(run))

            job.on_progress(f"drawing {folder}".rstrip(), number, len(charts), f" of {len(charts)} pictures")
            yield f"{folder}{names.name(view.title)}_curve.{form}", write


def _one_file(job: Job, form: str) -> Iterator[File]:
    from tuimon.analysis.aligned_steps import common_step_name
    from tuimon.analysis.run_states import failed_runs
    from tuimon.exports.pictures import COLUMNS, charts_across, charts_of, draw_charts, figure_class, options_of
    from tuimon.panels import overlay_lines

    figure_class()  # raise an error before anything is read
    failed, runs = failed_runs(job.checked().alerts), job.runs()
    options = options_of(job.smooth, job.steps, max((run.last_step or 0 for run in runs), default=0))
    if job.seeds and all(len(line.runs) == 1 for line in overlay_lines(runs, runs, True)):
        job.print_status("no two runs differ only in their seed; each has a line")
    name = runs[0].name if len(runs) == 1 else ""
    if len(runs) > 1:
        charts = list(charts_across(runs, job.wanted, options, COLUMNS, job.seeds, failed))
    else:
        charts = [view for run in runs for view in charts_of(run, job.wanted, options, COLUMNS)]
    if not charts:
        where = " in these steps" if job.steps else ""
        raise UsageError(f"nothing to draw: no chosen metric has a finite value{where}")
    if len(charts) > MAX_CHARTS:
        some = f"the picture shows {MAX_CHARTS} of {len(charts)} charts"
        job.print_status(f"{some}; choose with --metric, or write to a directory")
    job.on_progress("drawing", min(len(charts), MAX_CHARTS), 0, " charts")
    yield "", lambda stream: draw_charts(charts[:MAX_CHARTS], stream, form, name, common_step_name(runs))


EXPORTS = tuple(
    Export(
        form,
        "a picture per metric and run; to one FILE.png: all runs in each chart (needs matplotlib)",
        "",
        partial(_files, form=form),
        partial(_one_file, form=form),
        in_steps=True,
        smooths=True,
    )
    for form in ("png", "svg", "pdf")
)
