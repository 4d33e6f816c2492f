"""Measure how load, append, redraw and memory grow with the points of a run: 10k, 100k, 1M (--full: 10M) points.

    python -m tests.bench.scaling [--full] [--json PATH]

A run has 50 metrics in one event file; each size is measured in a separate process. The slope is that of a line
through the logarithms, over all sizes and over the last two: 1 is proportional, 0 is constant. Load should be near 1,
append and redraw near 0. In the chart a curve is drawn with the first letter of its name.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil

from tests.bench import _corpora
from tests.bench._row import number

METRICS = 50
WHAT = {"load": "ms", "append": "ms", "redraw": "ms", "memory": "MB"}
ROUNDS = 25


def measure(path: Path) -> dict[str, float]:
    """In a fresh process: CPU milliseconds, and MB beyond what the process took before it read."""
    from tuimon.draw import FrameCache, render
    from tuimon.model.views import Size, Symbols
    from tuimon.monitor.local import LocalMonitor
    from tuimon.panels import metric_panel

    names = _corpora.tags(METRICS)
    steps = int(path.name)
    file = path / "events.out.tfevents.1795226051.host"
    warm = LocalMonitor([path.parent / "warm"])
    warm.update()
    process, size, frames = psutil.Process(), Size(66, 16), FrameCache()
    before = process.memory_full_info().pss

    def draw() -> None:
        run = monitor.snapshot().runs[0]
        for name in names[:9]:
            render(metric_panel(name).view(run, size, time.time(), Symbols.BRAILLE), size, Symbols.BRAILLE, frames)

    monitor = LocalMonitor([path])
    found = {"load": cpu(monitor.update)}
    draw()
    found["memory"] = (process.memory_full_info().pss - before) / 1e6
    appended, drawn = [], []
    with file.open("ab") as log:
        for number in range(ROUNDS):
            log.write(b"".join(_corpora.step_records(names, steps + 1 + number, time.time())))
            log.flush()
            time.sleep(0.01)
            appended.append(cpu(lambda: [monitor.store.apply(event) for event in monitor.collector.read([str(file)])]))
            drawn.append(cpu(draw))
    assert monitor.snapshot().runs[0].point_count == METRICS * (steps + ROUNDS)
    return {**found, "append": statistics.median(appended[5:]), "redraw": statistics.median(drawn[5:])}


def cpu(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return (time.process_time() - begun) * 1e3


def slope(points: list[int], costs: list[float]) -> float:
    """Slope of the line through the logarithms."""
    return float(np.polyfit(np.log(points), np.log(np.maximum(costs, 1e-6)), 1)[0])


def chart(points: list[int], found: dict[str, list[float]]) -> str:
    """All costs as curves, each as a multiple of what it is at the smallest size."""
    import plotext

    plotext.terminal.limit(False, False)
    figure = plotext.figure
    figure.clear()
    figure.plot_size(90, 24)
    figure.title("cost as a multiple of that at 10k points, both axes logarithmic")
    highest = 0.0
    for name, costs in found.items():
        ys = [math.log10(max(cost / costs[0], 0.1)) for cost in costs]
        highest = max(highest, *ys)
        xs = [math.log10(count) for count in points]
        fine = np.linspace(xs[0], xs[-1], 40)
        curve = figure.signal(fine.tolist(), np.interp(fine, xs, ys).tolist(), marker=name[0])
        figure.draw(curve.label(name))
    top = math.ceil(highest)
    figure.ruler("y").ticks([float(i) for i in range(top + 1)], [f"{10**i}x" for i in range(top + 1)])
    figure.ruler("x").ticks([math.log10(count) for count in points], [number(count) for count in points])
    figure.legend()
    return str(figure.build().string(colorless=not sys.stdout.isatty()))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="10M points as well")
    parser.add_argument("--json", type=Path, metavar="PATH")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one)))
        return 0
    points = [10_000, 100_000, 1_000_000, *([10_000_000] if options.full else [])]
    found: dict[str, list[float]] = {name: [] for name in WHAT}
    with tempfile.TemporaryDirectory(prefix="bench") as folder:
        _corpora.write_run(Path(folder) / "warm", _corpora.tags(METRICS), 20)
        for count in points:
            path = Path(folder) / str(count // METRICS)
            _corpora.write_run(path, _corpora.tags(METRICS), count // METRICS)
            command = [sys.executable, "-m", "tests.bench.scaling", "--one", str(path)]
            said = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            for name in WHAT:
                found[name].append(said[name])
    print(f"{'points':<12}" + "".join(f"{number(count):>10}" for count in points) + f"{'slope':>10}{'last':>10}")
    slopes = {name: (slope(points, costs), slope(points[-2:], costs[-2:])) for name, costs in found.items()}
    for name, costs in found.items():
        said = "".join(f"{value:>10.2f}" for value in slopes[name])
        print(f"{name + ', ' + WHAT[name]:<12}" + "".join(f"{cost:>10.3g}" for cost in costs) + said)
    print(chart(points, found))
    if options.json:
        options.json.write_text(json.dumps({"points": points, "costs": found, "slopes": slopes}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
