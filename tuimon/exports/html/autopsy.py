"""The page of a run that failed: `tuimon report --autopsy`."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Sequence

from tuimon.analysis.aligned_steps import step_name
from tuimon.analysis.comparing import MISSING
from tuimon.analysis.words import duration, setting_text
from tuimon.draw.numbers import format_exact, format_value
from tuimon.draw.table import TextColumn, TextTable
from tuimon.exports import sample_lines
from tuimon.exports.autopsy import Autopsy
from tuimon.exports.charts import charts_of, options_of
from tuimon.exports.html import page
from tuimon.exports.html.plot import chart_figure
from tuimon.text import clean, shown_path

_COLUMNS = 320
_LONGEST = 120
"""Maximum characters of a setting."""


def as_html(found: Autopsy, now: float, samples: Sequence[str] = ()) -> str:
    """Return the page. now: wall time (s since epoch). samples: directories outside of the run with generated texts."""
    run = found.run
    options = options_of(steps=found.window, last=found.window[1])
    charts = charts_of(run, lambda name: name in found.metrics, options, _COLUMNS)
    texts = []
    if found.onset is not None:
        before = found.onset - 1 if found.checkpoint is None else found.checkpoint
        for title, step in (("before", before), ("after", found.window[1])):
            if (shown := sample_lines.for_page(sample_lines.of_run(run, step, samples))) is not None:
                kinds = {heading.partition(":")[0]: (heading, text) for heading, text in reversed(shown["samples"])}
                title = f"{shown['title']}, {title} the onset"
                texts.append({"title": title, "note": shown["note"], "samples": list(kinds.values())})
    return page(
        "autopsy.html",
        now,
        title=f"Autopsy of {clean(run.name)}",
        path=shown_path(run.path),
        facts=list(_facts(found)),
        tables=list(_tables(found)),
        charts=[chart_figure(chart, False, step_name(run)) for chart in charts],
        texts=texts,
    )


def _facts(found: Autopsy) -> Iterator[tuple[str, str]]:
    step = step_name(found.run)
    yield "state", f"{found.state}: {clean(found.evidence)}"
    if found.onset is None:
        return
    what = "where the first change began" if found.findings else "the last one: there is no alert"
    yield "onset", f"{step} {found.onset}, {what}"
    if found.checkpoint is None:
        yield "checkpoint", "none on disk before the onset"
    else:
        yield "checkpoint", f"{step} {found.checkpoint}, the last one on disk before the onset"
    since = "the checkpoint" if found.checkpoint is not None else "the onset"
    if math.isfinite(found.lost_seconds):
        gpus = f", {found.lost_gpu_hours:.3g} GPU hours of {found.gpus} ranks" if found.gpus else ""
        yield "lost", f"{duration(found.lost_seconds)} and {found.lost_steps} {step}s since {since}{gpus}"
    if found.healthy is not None:
        yield "compared with", f"{clean(found.healthy.name)}, the newest run without a failure"


def _tables(found: Autopsy) -> Iterator[TextTable]:
    """Yield what changed, in the order of its beginning; what was unusual at the onset; the settings that differ."""
    step = step_name(found.run)
    rows = ((str(f.step), f.severity, clean(f.metric), clean(f.words), clean(f.hint)) for f in found.findings)
    yield _table("What changed first", (step, "severity", "metric", "what", "advice"), rows, _TEXTS)
    unusual = (
        (
            clean(entry.name),
            str(entry.step),
            format_exact(entry.value),
            "" if entry.usual is None else format_value(entry.usual),
            "" if entry.deviations is None else f"{entry.deviations:.3g}",
        )
        for entry in found.unusual
    )
    heads = ("metric", step, "value", "usual", "robust deviations")
    yield _table(f"Unusual at the onset, {step} {found.onset}", heads, unusual)
    if found.healthy is not None:
        settings = (
            (clean(name), *("-" if value is MISSING else setting_text(value, _LONGEST) for value in values))
            for name, values in found.differences
        )
        names = (clean(found.run.name), clean(found.healthy.name))
        note = "" if found.differences else "no setting differs"
        yield _table("Settings that differ from the last healthy run", ("setting", *names), settings, names, note)


def _table(
    title: str, heads: Sequence[str], rows: Iterable[Sequence[str]], words: Container[str] = (), note: str = ""
) -> TextTable:
    """Return a table of rows. words: heads of the columns with words instead of numbers."""
    names, *columns = list(zip(*rows, strict=True)) or [() for _ in heads]
    own = [TextColumn(head, cells, left=head in words) for head, cells in zip(heads[1:], columns, strict=True)]
    return TextTable(title, names, own, heads[0], note=note)


_TEXTS = ("severity", "metric", "what", "advice")
