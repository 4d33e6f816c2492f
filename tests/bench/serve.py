"""The live page: processor time of server and reader with 1 and 20 open pages, and the delay of a change.

    python -m tests.bench.serve [--seconds 30] [--metrics 600]

A run of 600 metrics gets a row every second. Each page is a connection that has twelve parts in view: the first ones,
or "spread", where 20 pages have other parts each, also those of the table of metrics, which are slow. The delay is the
time from the write until a page has received the step. Required with 20 pages: less than a tenth of a core, and a
median delay of less than a second. Processor time is that of the server and its reader, not of the browsers.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).parent.parent))

from support.web_server import Events, WebServer

from tests.bench import _corpora

STEPS = 2000
IN_VIEW = 12
_STEP = re.compile(r"<dt>step</dt><dd>(\d+)")


class Page(threading.Thread):
    """Receives the events of a page, and notes when each step arrived."""

    def __init__(self, server: WebServer, run: str, number: int) -> None:
        """number: which parts it has in view; 0: the first ones."""
        super().__init__(daemon=True)
        self._events: Events = server.events(run)
        self._events.until(lambda page: _STEP.search(page.html.get("state", "")) and page.layout.get("others"))
        keys = self._events.keys
        first = number * (len(keys) - IN_VIEW) // 19
        self._events.see("state", *keys[first : first + IN_VIEW])
        self.arrived: dict[int, float] = {}
        self.received = 0

    def run(self) -> None:
        try:
            while True:
                event = self._events.receive()
                self.received += len(event.data)
                if match := _STEP.search(event.message.get("html", {}).get("state", "")):
                    self.arrived.setdefault(int(match[1]), time.monotonic())
        except (AssertionError, OSError, ValueError):
            return  # the server has ended


def processor_time(process: psutil.Process) -> float:
    """Return the seconds that a process and its children have used."""
    return sum(sum(one.cpu_times()[:2]) for one in (process, *process.children(recursive=True)))


def measure(log: Path, names: list[str], pages: int, spread: bool, seconds: int) -> tuple[float, list[float], float]:
    """Return (share of a core, delays in seconds, MB received by all pages)."""
    step = STEPS
    log.unlink(missing_ok=True)
    _corpora.write_rows(log, names, step, time.time())
    with WebServer(log.parent) as server:
        run = server.run_key()
        opened = [Page(server, run, number * spread) for number in range(pages)]
        for page in opened:
            page.start()
        process = psutil.Process(server.process.pid)
        time.sleep(5)  # what was in view at first has been drawn
        used, begun, written = processor_time(process), time.monotonic(), {}
        while time.monotonic() - begun < seconds:
            step += 1
            row = _corpora.row(names, step, [step % 100 + i / 7 for i in range(len(names))], time.time())
            with log.open("a") as file:
                file.write(row)
            written[step] = time.monotonic()
            time.sleep(max(0.0, begun + len(written) - time.monotonic()))
        used, took = processor_time(process) - used, time.monotonic() - begun
    delays = [page.arrived[s] - at for page in opened for s, at in written.items() if s in page.arrived]
    return used / took, delays, sum(page.received for page in opened) / 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--metrics", type=int, default=600)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows, met = [], True
    print(f"{'pages':>12} {'% of a core':>12} {'median delay s':>15} {'p95 s':>7} {'worst s':>8} {'MB sent':>8}")
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory, "run", "metrics.jsonl")
        log.parent.mkdir()
        for pages, spread in ((0, False), (1, False), (20, False), (20, True)):
            label = f"{pages} spread" if spread else f"{pages}"
            share, delays, sent = measure(log, _corpora.tags(options.metrics), pages, spread, options.seconds)
            middle = statistics.median(delays) if delays else 0.0
            late = sorted(delays)[int(0.95 * len(delays))] if delays else 0.0
            worst = max(delays, default=0.0)
            print(
                f"{label:>12} {share * 100:>12.1f} {middle:>15.2f} {late:>7.2f} {worst:>8.2f} {sent:>8.1f}", flush=True
            )
            rows.append({"pages": label, "share": share, "median": middle, "p95": late, "worst": worst, "MB": sent})
            met &= share < 0.1 and middle < 1
    print(f"load average {os.getloadavg()[0]:.1f}")
    if options.json:
        options.json.write_text(json.dumps(rows))
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
