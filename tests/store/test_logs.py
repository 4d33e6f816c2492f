"""Curves of the logs in logs.toml, read at once and point by point."""

from __future__ import annotations

import operator
import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.stores import Log

from tuimon.model.events import StreamReplaced
from tuimon.model.points import Floats, Points
from tuimon.reader.events import EventEncoder
from tuimon.store import Run

CASES: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("logs.toml").read_text("utf-8"))["case"]
RANKS = {"wandb": 50, "events": 40, "state": 30, "metrics": 30, "table": 20, "console": 10, "terminal": 10}
_STEPS = re.compile(r"(?<!\S)(\d+)(?:\.\.(\d+)(?:/(\d+))?)?(?!\S)")


def value(steps: Any, primes: str = "", words: str = "") -> Floats:
    """Return logged values, all different; others for each number of primes."""
    values = (np.sin(np.asarray(steps) * 0.7) + 2.0) * (1.0, -1.0, 3.0)[len(primes)]
    if "printed" in words:
        return np.array([float(f"{number:.4g}") for number in values])
    return values.astype(np.float32).astype(float) if "float32" in words else values


def steps_of(text: str) -> list[int]:
    """Return the steps of "0..6/2 9"."""
    spans = [(int(first), int(last or first), int(every or 1)) for first, last, every in _STEPS.findall(text)]
    return [step for first, last, every in spans for step in range(first, last + 1, every)]


def points_of(text: str) -> list[tuple[int, float]]:
    """Return the points of "events 0..4, events' 5"."""
    found = []
    for part in text.split(", "):
        name, _, words = part.partition(" ")
        steps = steps_of(words)
        found += list(zip(steps, value(steps, "'" * name.count("'"), words).tolist(), strict=True))
    return found


def write(log: Log, text: str, known: dict[str, EventEncoder], case: dict[str, Any], one_by_one: bool) -> None:
    """Write the lines of a case; known: logs that were found, each with its encoder."""
    for line in text.strip().splitlines():
        name, _, words = line.partition(" ")
        name, _, metric = name.partition(":")
        key, primes = name.rstrip("'"), "'" * name.count("'")
        source = key.rstrip("0123456789")
        if key not in known:
            known[key] = EventEncoder(len(known))
            log.stream(key, source, RANKS[source], path=case.get("paths", {}).get(key, ""))
        if words.startswith("start"):
            log.start(key, next(iter(steps_of(words)), None), "purge" in words)
        elif words == "replaced":
            log.store.apply(StreamReplaced(list(known).index(key)))
        elif words:
            stated, _, begin = words.partition(" at ")
            steps = steps_of(stated)
            for part in [[step] for step in steps] if one_by_one else [steps]:
                values, times = value(part, primes, stated), int(begin or 0) + np.array(part, float)
                if "encoded" in case:
                    ids, column = np.zeros(len(part), np.uint32), np.array(part, np.int64)
                    points = Points([metric or "loss"], ids, column, values, np.full(len(part), np.nan))
                    for event in known[key].events([points]):
                        log.store.apply(event)
                else:
                    log.add(key, part, values, times if begin else None, metric or "loss")
                _ = [log.curve(known_metric) for known_metric in log.run.metrics if one_by_one]


@pytest.mark.parametrize("one_by_one", [False, True], ids=["at once", "point by point"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_curve_of_logs(case: dict[str, Any], one_by_one: bool) -> None:
    """Earlier snapshots are drawn at last, after newer ones; point by point, also at once, and stay the same."""
    log, known, snapshots = Log(), dict[str, EventEncoder](), []
    for stage in (case, *case.get("then", ())):
        write(log, stage["log"], known, case, one_by_one)
        snapshots.append((log.run, stage))
        if stage.get("shared"):
            series = next(iter(log.store._streams[0].data.series.values()))
            assert np.shares_memory(log.curve().values, series.columns.values)
        if one_by_one:
            check(log.run, stage)
    for run, stage in reversed(snapshots):
        check(run, stage)


def check(run: Run, wanted: dict[str, Any]) -> None:
    drawn = wanted.get("drawn_of", {}) | ({"loss": wanted["drawn"]} if "drawn" in wanted else {})
    for metric, text in drawn.items():
        curve = run.curve(metric)
        assert list(zip(curve.steps.tolist(), curve.values.tolist(), strict=True)) == points_of(text), metric
    for metric, count in wanted.get("superseded_of", {}).items():
        assert run.curve(metric).superseded == count
    for metric in wanted.get("missing", ()):
        assert metric not in run.metrics
        with pytest.raises(KeyError):
            run.curve(metric)
    if "loss" not in run.metrics:
        return
    with pytest.raises(KeyError):
        run.curve_from("loss", "nowhere")
    curve = run.curve("loss")
    hidden = Counter(map(str, curve.superseded_points().hiding_steps.tolist()))
    facts = {
        "restarts": curve.restarts.tolist(),
        "superseded": curve.superseded,
        "hiding": dict(hidden),
        "filled": curve.filled,
        "sources": list(curve.sources),
        "counts": dict(run.provenance("loss")),
        "last_step": run.last_step,
        "disagrees": bool(run.disagreements("loss")),
    }
    for name in facts.keys() & wanted.keys():
        assert facts[name] == wanted[name], name
    assert sum(hidden.values()) == curve.superseded
    if "disagreement" in wanted:
        first = min(run.disagreements("loss"), key=operator.attrgetter("step"))
        assert {field: getattr(first, field) for field in wanted["disagreement"]} == wanted["disagreement"]
        assert first.here == value(first.step)
        assert first.there == pytest.approx(value(first.step, "'"), rel=1e-3)
