"""Compare `tuimon.read` with tbparse: CPU time and memory until every scalar of event files is in a pandas frame.

    python -m tests.bench.library [--events 500000] [--repeat 3]

The corpus is written by TensorBoard's own protos: 50 tags a step, in one file. Each program runs in its own process
and reports the time without and with its imports, and the growth of its resident memory at the peak (VmHWM); the frames
are compared first. The medians of alternating runs are compared.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.bench.event_files import framed, messages

_HEAD = """
import json, resource, sys, time, warnings
warnings.simplefilter("ignore")
def memory():
    lines = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return int(lines["VmHWM"].split()[0]) / 1024
"""
_TAIL = """
used = time.process_time() - begun
print(json.dumps({"seconds": used, "all": time.process_time(), "mib": memory() - before, "rows": len(frame),
                  "sum": float(frame["value"].sum())}))
"""
PROGRAMS = {
    "tuimon": """
import pandas, pyarrow, tuimon
tuimon.read
before, begun = memory(), time.process_time()
frame = pandas.DataFrame.from_arrow(tuimon.read(sys.argv[1])[0].table())
""",
    "tuimon, numpy only": """
import tuimon
tuimon.read
before, begun = memory(), time.process_time()
run = tuimon.read(sys.argv[1])[0]
import numpy
frame = {"value": numpy.concatenate([run[name].values for name in run])}
""",
    "tbparse": """
import pandas
from tbparse import SummaryReader
before, begun = memory(), time.process_time()
frame = SummaryReader(sys.argv[1]).scalars
""",
}


def measure(program: str, folder: str) -> dict[str, float]:
    tail = _TAIL.replace("len(frame)", 'len(frame["value"])')
    done = subprocess.run(
        [sys.executable, "-c", _HEAD + PROGRAMS[program] + tail, folder], capture_output=True, text=True, check=True
    )
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=500_000)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench") as folder:
        data = framed(list(messages("tags50", options.events)))
        (Path(folder) / "events.out.tfevents.1795226051.host.1.0").write_bytes(data)
        results: dict[str, list[dict[str, float]]] = {name: [] for name in PROGRAMS}
        for _ in range(options.repeat):
            for name, runs in results.items():
                runs.append(measure(name, folder))
    reference = results["tbparse"][0]
    for name, runs in results.items():
        assert runs[0]["rows"] == reference["rows"], (name, runs[0]["rows"], reference["rows"])
        assert abs(runs[0]["sum"] - reference["sum"]) < 1e-6 * reference["rows"]
    median = {
        name: {key: statistics.median(run[key] for run in runs) for key in ("seconds", "all", "mib")}
        for name, runs in results.items()
    }
    print(f"{reference['rows']:,.0f} scalars, {len(data) / 2**20:.0f} MiB, median of {options.repeat}")
    print(f"{'':<20} {'reading':>10} {'with imports':>13} {'memory':>10}   tbparse / this")
    for name, figures in median.items():
        ratios = [f"{median['tbparse'][key] / figures[key]:.1f}x" for key in ("seconds", "all", "mib")]
        print(
            f"{name:<20} {figures['seconds']:>8.2f} s {figures['all']:>11.2f} s {figures['mib']:>6.0f} MiB   "
            f"{' '.join(ratios)}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
