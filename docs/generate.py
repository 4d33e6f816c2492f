"""Write the reference pages of docs/ from the registries: formats, panels, detectors, keys, vocabulary.

python docs/generate.py           write the pages
python docs/generate.py --check   exit with 1 if a page is not up to date
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

from tuimon.detectors import Rule, all_detectors
from tuimon.formats import all_formats
from tuimon.panels import all_panels
from tuimon.tui.action import key_names
from tuimon.tui.actions import all_actions
from tuimon.vocabulary import concepts

DOCS = Path(__file__).resolve().parent
MEASURED = json.loads((DOCS.parent / "tests" / "bench" / "detectors.json").read_text("utf-8"))


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def first_paragraph(plugin: object) -> str:
    """Return the first paragraph of the docstring of the module that defines `plugin`, on one line."""
    doc = sys.modules[type(plugin).__module__].__doc__ or ""
    return " ".join(doc.strip().split("\n\n")[0].split())


FORMATS_PAGE = """\
# Log formats

tuimon reads every file below the given path whose content fits one of these formats. `tuimon doctor PATH` says how
each file is read, and why one is not. If several logs have the same metric, tuimon prefers any other format to
console text, then a complete log to one with fewer points, then double precision to single precision (event files),
then the format that is listed first.

{readable}
## Console text

A line of any program is cut at its numbers, and the texts between them say what each number is. The step is the
number named like one (`step`, `iter`, `Época`, `第3轮`), a number at the beginning of the message, or `[3/10]`;
batches of an epoch are counted over all epochs. A line that names no step belongs to the row or the heading above
it. If no line names a step, rows are counted, and `tuimon doctor` says so. Dates, times, levels and `file.py:12`
before the message are skipped. Sentences, best values so far and settings give no metrics.

Lines that are not understood are listed by `tuimon doctor`, each with the line for
[`console_patterns`](settings.md#teach-a-log) that reads it.

A unit that is printed after a number (`160ms`, `2.40 GB`, `1,060 img/s`, `81.2%`) is shown with the metric, whose
values stay as printed. If it changes within a log, later numbers are converted to the first one.

## Recognised, but not readable

{unreadable}"""
PANELS_PAGE = """\
# Panels

The dashboard shows these panels, in this order, for the metrics that a run has. `m` shows one chart for every metric.

{panels}"""
DETECTORS_PAGE = """\
# Detectors

An alert is shown above the key bar and on the chart at its step, in `tuimon check` and in `tuimon line`. It can also
ring a bell, start a program or call a webhook; see [settings](settings.md). Without an alert, one of the attempt before
the last restart is shown above the key bar and in `tuimon line`, in muted letters and without a sign.

There is one message per incident, and one when it becomes more severe. Every threshold can be set, and every detector
can be turned off; see [below](#thresholds).

The figures come from simulated learners (`python -m tests.bench detectors`): ten runs per fault, each with other
settings, and {healthy} healthy runs, {quiet} of which raise no alert. They give the recall, the precision, and the
median delay in steps between the fault and the alert.

{detectors}
The *level* of a metric at a point is the median of it and the eight points before. The *usual* level is the median of
about the 130 points before. *Noise* is the standard error of a mean of 16 of these points, as the comparison of runs
computes it: values that wander slowly have more of it, and a steady rise has none. An incident is over when the level
is back half way between the usual one and the limit, both as they were when it began. Alerts of learning whose steps
overlap, and that begin within a fifth of the steps before the first, are one row: the worst; the others remain as
information.

## Thresholds

`config.toml` sets them by these names, or turns a detector off (`length = false`); see [settings](settings.md). An
alert for steps that take twice as long as at the start is

    [detectors]
    step_drift = {{ ratio = 2.0 }}

Detectors that are not listed have no thresholds.

{thresholds}"""
KEYS_PAGE = """\
# Keys

`?` shows this list in the program. Keys can be changed under `[keys]` in the [settings](settings.md): `action = "key"`.
The keys of the dashboard that open a screen (`r M L T D C R a`) open it from any other screen that does not use the
key itself, for the run that is selected there.
"""


VOCABULARY_PAGE = """\
# Names of metrics

What a metric means decides its panel, its unit and its detectors. tuimon knows the names of many frameworks; any
other metric is drawn in a chart of its own. `$XDG_CONFIG_HOME/tuimon/vocabulary.toml` adds meanings; only `names`
is needed, and the first entry that matches wins:

```toml
[[metric]]
names = ["team/{{ds}}_goodness", "goodness_*"]  # whole names; * text without a slash, ** any text, # digits
concept = "reward.val"                        # one of those below; without it: a chart of its own
label = "goodness {{ds}}"                        # may contain the named parts of the template
unit = "frac"                                  # one of the units below, or kB, MB, GB, TB, KiB, MiB, TiB
direction = "up"                               # up | down | neutral | band: better in the middle
scale = 0.01                                   # factor from a logged value to the unit
split = "val"                                  # train | val
```

The unit of a metric is the one that the log prints after the number, else that of this file, else the one in the
name (`gpu_mem_mb`, `time/rollout_ms`, `max_active(GiB)`), else that of the concept. Values are shown as they were
logged, never converted.

{units}

"""


def formats_page() -> str:
    formats = sorted(all_formats(), key=lambda entry: (-entry.rank, entry.title))
    readable = [(entry.title, entry.writers) for entry in formats if not entry.unsupported]
    unreadable = [(entry.title, entry.unsupported) for entry in formats if entry.unsupported]
    return FORMATS_PAGE.format(
        readable=table(("log", "written by"), readable),
        unreadable=table(("log", "what to do instead"), unreadable),
    )


def panels_page() -> str:
    rows = [(f"`{panel.id}`", panel.title) for panel in sorted(all_panels(), key=lambda panel: panel.order)]
    return PANELS_PAGE.format(panels=table(("panel", "title"), rows))


def thresholds_table() -> str:
    """Return the table of the thresholds of all detectors: name, default, meaning."""
    rows = [(f"`{rule.id}`", f"`{own.name}`", own.value, own.meaning) for rule in rules() for own in rule.settings]
    return table(("detector", "threshold", "default", "meaning"), rows)


def rules() -> list[Rule]:
    """Return the rows of the table of rules, by their names."""
    return sorted((own for own in all_detectors() if isinstance(own, Rule)), key=lambda rule: rule.id)


def detectors_page() -> str:
    unknown = dict.fromkeys(("recall", "precision", "delay"), "-")
    rows = []
    for rule in rules():
        figures = MEASURED["detectors"].get(rule.id, unknown)
        rows.append((f"`{rule.id}`", rule.text, figures["recall"], figures["precision"], figures["delay"]))
    return DETECTORS_PAGE.format(
        healthy=MEASURED["healthy"],
        quiet=MEASURED["quiet"],
        thresholds=thresholds_table(),
        detectors=table(("detector", "rule", "recall", "precision", "delay (steps)"), rows),
    )


def keys_page() -> str:
    sections = groupby(all_actions(), key=lambda action: action.section)
    tables = (
        (
            section,
            table(("key", "effect", "action"), ((f"`{key_names(a.keys)}`", a.help, f"`{a.id}`") for a in actions)),
        )
        for section, actions in sections
    )
    return KEYS_PAGE + "".join(f"\n## {section}\n\n{rows}" for section, rows in tables)


def vocabulary_page() -> str:
    """Return the page, with the concepts of each panel in a row."""
    known = [concept for concept in concepts() if concept.panel != "hidden"]
    units = ", ".join(f"`{unit}`" for unit in sorted({concept.unit for concept in known}))
    panels = dict.fromkeys(concept.panel for concept in known)
    rows = [(panel, ", ".join(f"`{own.id}`" for own in known if own.panel == panel)) for panel in panels]
    return VOCABULARY_PAGE.format(units=f"Units: {units}.") + table(("panel", "concepts"), rows)


PAGES = {
    "formats.md": formats_page,
    "panels.md": panels_page,
    "detectors.md": detectors_page,
    "keys.md": keys_page,
    "vocabulary.md": vocabulary_page,
}


def main(arguments: Sequence[str]) -> int:
    stale = []
    for name, page in PAGES.items():
        path, text = DOCS / name, page()
        if not path.exists() or path.read_text("utf-8") != text:
            stale.append(name)
            if "--check" not in arguments:
                path.write_text(text, "utf-8")
    if stale and "--check" in arguments:
        print(f"not up to date: {', '.join(stale)}; run python docs/generate.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
