"""TensorBoard's event file, beside EventAccumulator and tbparse."""

from __future__ import annotations

from pathlib import Path

from tests.bench import _corpora
from tests.bench._formats import NAMES, Case, Collected, Series
from tests.bench.event_files import EAGER, EventAccumulator


def write(folder: Path, steps: int) -> None:
    _corpora.write_run(folder, NAMES, steps)


def accumulator(folder: Path) -> Series:
    loaded = EventAccumulator(str(folder), size_guidance=EAGER, purge_orphaned_data=False)
    loaded.Reload()
    series = Collected()
    for tag in loaded.Tags()["scalars"]:
        for event in loaded.Scalars(tag):
            series.row(event.step, [(tag, event.value)])
    return series


def tbparse(folder: Path) -> Series:
    from tbparse import SummaryReader

    scalars = SummaryReader(str(folder)).scalars
    return {tag: (rows["step"], rows["value"]) for tag, rows in scalars.groupby("tag", sort=False)}


CASE = Case("TensorBoard event file", write, {"EventAccumulator": accumulator, "tbparse": tbparse})
