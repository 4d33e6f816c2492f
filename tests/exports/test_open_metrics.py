"""OpenMetrics text, read by the reference parsers of prometheus_client in both formats."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import pytest
from support.made_run import START, store_of
from support.programs import run, write_rows

from tuimon.exports.open_metrics import as_text
from tuimon.model.alerts import Alert
from tuimon.monitor.local import open_run
from tuimon.store import Snapshot

parser = pytest.importorskip("prometheus_client.openmetrics.parser")
older = pytest.importorskip("prometheus_client.parser")
DATA = Path(__file__).parent.parent / "data"
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def text_of(snapshot: Snapshot, now: float = START + 100) -> str:
    return "\n".join(as_text(snapshot, now)) + "\n"


def samples(module: Any, text: str) -> Samples:
    families = list(module.text_string_to_metric_families(text))
    assert {family.type for family in families} <= {"gauge"}
    found = [
        (sample.name, frozenset(sample.labels.items()), float(sample.value)) for f in families for sample in f.samples
    ]
    result = {(name, labels): value for name, labels, value in found}
    assert len(result) == len(found)
    return result


def parsed(text: str) -> Samples:
    """Return the samples, which both parsers must agree on."""
    ours, theirs = samples(parser, text), samples(older, text)
    assert {key: repr(value) for key, value in ours.items()} == {key: repr(value) for key, value in theirs.items()}
    return ours


def value(found: Samples, name: str, **labels: str) -> float:
    (result,) = [v for (n, given), v in found.items() if n == name and labels.items() <= dict(given).items()]
    return result


@pytest.mark.parametrize("name", ["exports", "tensorboard", "csv", "wandb"])
def test_every_last_value_of_the_samples_is_there(name: str) -> None:
    snapshot = open_run(DATA / name)
    found = parsed(text_of(snapshot, time.time()))
    for run_ in snapshot.runs:
        assert value(found, "tuimon_run_points", run=run_.name) == run_.point_count
    wanted = sorted(repr(float(run_.curve(metric).values[-1])) for run_ in snapshot.runs for metric in run_.metrics)
    assert sorted(repr(v) for (n, _), v in found.items() if n == "tuimon_metric") == wanted


def test_values_are_exact_and_may_not_be_finite() -> None:
    store = store_of({"a": ([1], [0.1]), "b": ([2], [math.nan]), "c": ([3], [math.inf]), "d": ([4], [-1e300])})
    found = parsed(text_of(store.snapshot()))
    assert value(found, "tuimon_metric", metric="a") == 0.1
    assert math.isnan(value(found, "tuimon_metric", metric="b"))
    assert value(found, "tuimon_metric", metric="c") == math.inf
    assert value(found, "tuimon_metric", metric="d") == -1e300
    assert value(found, "tuimon_metric_step", metric="d") == 4


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a\\nb", "a{b}=,", "größe ✓", "a\nb\x1b[2J\u202e", " a ", "a\\"])
def test_names_are_escaped(name: str) -> None:
    text = text_of(store_of({name: ([1], [0.5])}).snapshot())
    found = parsed(text)
    (label,) = [dict(labels)["metric"] for n, labels in found if n == "tuimon_metric"]
    assert label == name.replace("\n", "␊").replace("\x1b", "␛").replace("\u202e", "\\u202e")
    assert "\x1b" not in text


def test_names_that_look_alike_are_one_sample() -> None:
    found = parsed(text_of(store_of({"a\n": ([1], [0.5]), "a␊": ([1], [0.25])}).snapshot()))
    assert value(found, "tuimon_metric") == 0.5


def test_alerts_are_counted_by_severity() -> None:
    store = store_of({"loss": ([1], [0.5])})
    store.set_alerts((Alert("a", "critical", 0, "", 1, ""), Alert("b", "critical", 0, "", 1, "", until=3)))
    found = parsed(text_of(store.snapshot()))
    assert value(found, "tuimon_run_alerts", severity="critical") == 1
    assert value(found, "tuimon_run_alerts", severity="warning") == 0
    (state,) = [dict(labels) for name, labels in found if name == "tuimon_run_state"]
    assert state["run"] == "run"


def test_the_command_replaces_a_file_at_once(tmp_path: Path) -> None:
    rows = [{"step": step, "loss": 1 / (step + 1)} for step in range(10)]
    write_rows(tmp_path / "run", rows)
    printed = run("export", str(tmp_path / "run"), "--format", "openmetrics").stdout
    assert printed.endswith("# EOF\n")
    assert value(parsed(printed), "tuimon_metric", metric="loss") == 0.1
    target = tmp_path / "out.prom"
    run("export", str(tmp_path / "run"), "-o", str(target))
    assert value(parsed(target.read_text()), "tuimon_metric", metric="loss") == 0.1
    assert "already exists" in run("export", str(tmp_path / "run"), "-o", str(target), expect=2).stderr
    run("export", str(tmp_path / "run"), "-o", str(target), "--force")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
