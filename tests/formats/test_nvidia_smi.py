"""Logs of nvidia-smi: points, the names of nodes, and their place beside a run."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

import pytest
from support.json_points import damage, facts, feed, rows

from tuimon.analysis.system_metrics import system_metrics
from tuimon.exports.around import around
from tuimon.exports.points import curve_batches
from tuimon.exports.summary import summarise
from tuimon.formats import recognise
from tuimon.formats.nvidia_smi import FORMAT, NvidiaSmiDecoder, node_of
from tuimon.model.views import Size, Symbols, TextView
from tuimon.monitor.local import open_run
from tuimon.panels import ChartOptions, all_panels

LOG = (Path(__file__).parent.parent / "data/nvidia_smi/gpu.csv").read_text()
NO_UNITS = re.sub(r" (?:%|MiB|W)(?=[,\n])", "", re.sub(r" \[[^\]]*\]", "", LOG))
METRICS = "".join(f'{{"step": {step}, "loss": {9 - step}}}\n' for step in range(8))


@pytest.mark.parametrize(("text", "units"), [(LOG, True), (NO_UNITS, False)])
@pytest.mark.parametrize("name", ["gpu.csv", "gpu.log", "gpu.txt"])
def test_points_of_rows(text: str, units: bool, name: str) -> None:
    assert recognise(name, text.encode()[:4096]) is FORMAT
    items = feed(NvidiaSmiDecoder(), text.encode())
    begin = datetime(2026, 11, 25, 20, 50, 0, 18000).timestamp()
    names = [f"system/gpu.0.{what}" for what in ("utilization.gpu", "memory.used", "power.draw", "temperature.gpu")]
    values = ["94.0", "61259.0", "650.5", "60.0"]
    percent = ("system/gpu.0.memory.used_percent", 0, repr(100 * 61259.0 / 81559.0), repr(begin))
    expected = [(name, 0, value, repr(begin)) for name, value in zip(names, values, strict=True)]
    assert rows(items)[:5] == [*expected, percent]
    assert rows(items)[5][1] == 100
    assert damage(items) == []
    known = {name: fact for value in facts(items, "units") for name, fact in value.items()}
    wanted = {"unit": "MiB", "whole": 81559.0}
    assert known.get("system/gpu.1.memory.used") == (wanted if units else None)


@pytest.mark.parametrize(
    ("path", "node"),
    [
        ("/r/gpu.csv", ""),
        ("/r/nvidia-smi.csv", ""),
        ("/r/gpu_stats.log", ""),
        ("/r/gpu/node01.csv", "node01"),
        ("/r/gpu_node01.csv", "node01"),
        ("/r/node2/gpu.csv", "node2"),
    ],
)
def test_node_of_a_path(path: str, node: str) -> None:
    assert node_of(path) == node


@pytest.mark.parametrize("paths", [["gpu.csv"], ["gpu/node1.csv", "gpu/node2.csv"], ["node1/gpu.csv", "node2/gpu.csv"]])
def test_an_idle_gpu_beside_a_run_is_named(tmp_path: Path, paths: list[str]) -> None:
    """The steps of the log are not those of the run."""
    (tmp_path / "metrics.jsonl").write_text(METRICS)
    for path in paths:
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(LOG if path == paths[0] else LOG.replace(" 0 %", " 96 %"))
    (run,) = open_run(tmp_path).runs
    assert run.last_step == 7
    assert len(system_metrics(run)) == 10 * len(paths)
    panel = next(panel for panel in all_panels() if panel.id == "system_metrics")
    view = panel.view(run, Size(100, 12), 0.0, Symbols.BRAILLE)
    assert isinstance(view, TextView)
    name = "gpu 1" if paths == ["gpu.csv"] else "node1 gpu 1"
    assert view.rows[0][0][0] == f"{name} idle since 20:51"


def test_exports_have_the_training_steps_of_the_rows(tmp_path: Path) -> None:
    """A step of the training takes 10 s, a sample 5 s; GPU 1 is idle from 20:51:40 on, which is step 10."""
    begin = datetime(2026, 11, 25, 20, 50).timestamp()
    metrics = "".join(f'{{"step": {s}, "loss": {99 - s}, "_timestamp": {begin + 10 * s}}}\n' for s in range(30))
    times = [begin + 5 * s + 0.1 for s in range(60)]
    log = "timestamp, index, utilization.gpu [%]\n" + "".join(
        f"{datetime.fromtimestamp(time):%Y/%m/%d %H:%M:%S}.100, {gpu}, {0 if gpu and s >= 20 else 98} %\n"
        for s, time in enumerate(times)
        for gpu in (0, 1)
    )
    (tmp_path / "metrics.jsonl").write_text(metrics)
    (tmp_path / "gpu.csv").write_text(log)
    snapshot = open_run(tmp_path)
    (run,) = snapshot.runs
    name = "system/gpu.1.utilization.gpu"
    (batch,) = (batch for batch in curve_batches(snapshot) if batch.names == (name,))
    assert batch.steps.tolist() == [min(round((time - begin) / 10), 29) for time in times]
    assert batch.values.tolist() == [98.0] * 20 + [0.0] * 40
    assert batch.wall_times.tolist() == times
    entries = {entry.name: entry for entry in around(run, 12)}
    assert (entries[name].step, entries[name].value) == (12, 0.0)


def test_without_a_training_rows_are_numbered_and_drawn_over_time(tmp_path: Path) -> None:
    (tmp_path / "gpu.csv").write_text(LOG)
    snapshot = open_run(tmp_path)
    (run,) = snapshot.runs
    name = "system/gpu.1.utilization.gpu"
    times = run.curve(name).wall_times.tolist()
    assert summarise(run, name).last_step == len(times) - 1
    (batch,) = (batch for batch in curve_batches(snapshot) if batch.names == (name,))
    assert (batch.steps.tolist(), batch.wall_times.tolist()) == ([*range(len(times))], times)
    assert run.axes() == ("time", "duration")
    assert ChartOptions().axis_of(run) == "time"
