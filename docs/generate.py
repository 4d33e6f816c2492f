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

tuimon reads every file below the given path whose content fits one of these formats. When several files of a run
contain the same metric, the file with the highest rank is drawn, and the others fill the gaps.

{readable}
Console text of any program is read by its shape: a line is cut at its numbers, and the texts between them say
what each number is. The step is the number named like one (`step`, `iter`, `Época`, `第3轮`, `global_step`), a
number at the beginning of the message, or `[3/10]`; batches of an epoch are counted over all epochs. A line
that names no step belongs to the row or the heading above it, and is read once a second line has other numbers.
Dates, times, levels and `file.py:12` before the message are recognised by their kind. Sentences, best values so
far and settings give no metrics. If no line names a step, rows are counted, and `tuimon doctor` says so; for
lines that are not understood it shows the pattern for `config.toml`.

The lines of known trainers are rows of a table (`tuimon/formats/console/families/trainers.toml`), each with an example
and the points that it gives. A row of Hugging Face's Trainer has the step that it names, or that of the next progress
bar, or that of its epoch; otherwise rows are counted. It is shown when its step is known, or its log has ended.

Units in console text: a unit that is printed after a number (`step_time: 160ms`, `gpu_mem: 2.40 GB`,
`throughput: 1,060 img/s`, `acc=81.2%`) is shown with the values of its metric, which stay as printed. If the unit
changes within a log, later numbers are converted to the first unit: between us, ms, s, min and h, and between kB, MB,
GB, TB (powers of 1000) and KiB, MiB, GiB, TiB (powers of 1024). A number in a unit without an exact factor to the first
is a metric of its own, `rate (tok/s)`. For units in names see [vocabulary.md](vocabulary.md).

Recognised, but not readable:

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
about the 130 points before. *Wandering* is how much the level usually changes over 8 and 16 points; values that wander
slowly change more over more points, so that a slow wave is no alert. An incident is over when the level is back half
way between the usual one and the limit, both as they were when it began. Alerts of learning whose steps overlap, and
that begin within a fifth of the steps before the first, are one row: the worst; the others remain as information.

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
# Vocabulary

tuimon knows what the metrics of many frameworks mean: by that they find their panel, get a unit, and are judged by
detectors. A name that it does not know is drawn like any other metric, in a chart of its own.
`$XDG_CONFIG_HOME/tuimon/vocabulary.toml` adds meanings:

```toml
[[metric]]
names = ["team/{ds}_goodness", "goodness_*"]  # whole names; * text without a slash, ** any text, # digits
concept = "reward.val"                        # one of those below; without it: a chart of its own
label = "goodness {ds}"                        # may contain the named parts of the template
unit = "frac"                                  # one of the units below, or kB, MB, GB, TB, KiB, MiB, TiB
direction = "up"                               # up | down | neutral | band: better in the middle
scale = 0.01                                   # factor from a logged value to the unit
split = "val"                                  # train | val
```

Only `names` is needed. The first entry that matches wins, before what tuimon knows itself.

A metric has the same unit in charts, tables, alerts, exports and JSON. It is the one that the log prints after the
number, else the one that the user's file gives, else the one in the name, else that of the concept.
`max_memory_allocated_gb` is shown in GB, `gpu_mem_mb` in MB and `memory/max_active(GiB)` in GiB, with the logged
number. Many frameworks divide the bytes of PyTorch by 1024**3 and write "gb"; tuimon repeats what they write. Amounts
whose units differ are therefore neither converted nor subtracted, and are not drawn on one axis. A unit of time
(`time/rollout_ms`, `timing_ms/gen`, `rollout_time (ms)`; us, ms, s, sec, seconds, minutes, hours) is one of the values,
but no part of the phase: `time/rollout_ms` is the phase `rollout`, and `time/step_ms` the timer of the step. The GiB of
the table below is the unit of memory whose name contains no unit, such as ROLL's, whose source divides by 1024**3.

"""


def formats_page() -> str:
    formats = sorted(all_formats(), key=lambda entry: (-entry.rank, entry.title))
    readable = [(entry.title, entry.writers, f"`{entry.id}`", entry.rank) for entry in formats if not entry.unsupported]
    unreadable = [(entry.title, entry.unsupported) for entry in formats if entry.unsupported]
    return FORMATS_PAGE.format(
        readable=table(("log", "written by", "id", "rank"), readable),
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
    rows = [(f"`{c.id}`", c.label, c.panel, c.unit, c.direction) for c in concepts() if c.panel != "hidden"]
    return VOCABULARY_PAGE + table(("concept", "label", "panel", "unit", "better"), rows)


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
