"""Print all performance figures with their requirements and peers, measured in the same run.

    python -m tests.bench.table [--full] [--json PATH] [SECTION …]

Sections: reading, store, screen, drawing, explore, runs, export. Quick corpora by default: about five minutes.
Times are CPU time, or wall time where the user waits. Peers that are not installed are listed as missing.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from tests.bench._row import HEAD, Row

SECTIONS = ("reading", "store", "screen", "drawing", "explore", "runs", "export")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument("--full", action="store_true", help="the corpora of the demands in their full size")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the rows there as well")
    options = parser.parse_args()
    unknown = [name for name in options.sections if name not in SECTIONS]
    if unknown:
        parser.error(f"no section {unknown[0]!r}: {', '.join(SECTIONS)}")
    begun = time.monotonic()
    figures: list[Row] = []
    print(HEAD)
    for section in options.sections or SECTIONS:
        rows = importlib.import_module(f"tests.bench._{section}_rows").rows
        with tempfile.TemporaryDirectory(prefix="bench") as folder:
            for row in rows(Path(folder), options.full):
                print(row, flush=True)
                figures.append(replace(row, section=section))
    failed = [row for row in figures if row.verdict == "NOT MET"]
    aims = sum(row.verdict == "aim" for row in figures)
    paced = sum(row.verdict == "met *" for row in figures)
    print(f"{len(figures)} figures: {aims} reach the aim, {len(failed)} are not met; {time.monotonic() - begun:.0f} s")
    if paced:
        print(f"* {paced} are met relative to the speed of this machine, given by the limit in the same line")
    busy = os.getloadavg()[1]
    print(f"{os.cpu_count()} cores, load {busy:.1f}; times the user waits for are wall times: valid if load < 1")
    if options.json:
        machine = {"python": platform.python_version(), "machine": platform.machine(), "cores": os.cpu_count()}
        machine |= {"load": busy, "full": options.full}
        options.json.write_text(json.dumps({**machine, "rows": [row.as_json() for row in figures]}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
