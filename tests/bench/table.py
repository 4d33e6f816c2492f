"""The table of what must be fast: each figure beside what is demanded of it and beside its peers, in one run.

    python -m tests.bench.table [--full] [--json PATH] [SECTION …]

Sections: reading, store, screen, drawing, explore, runs, export. Quick corpora by default: about five minutes.
Times are CPU time but where a person waits; peers that are not installed are said to be missing.
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
    found: list[Row] = []
    print(HEAD)
    for section in options.sections or SECTIONS:
        rows = importlib.import_module(f"tests.bench._{section}_rows").rows
        with tempfile.TemporaryDirectory(prefix="bench") as folder:
            for row in rows(Path(folder), options.full):
                print(row, flush=True)
                found.append(replace(row, section=section))
    failed = [row for row in found if row.verdict == "NOT MET"]
    aims = sum(row.verdict == "aim" for row in found)
    paced = sum(row.verdict == "met *" for row in found)
    print(f"{len(found)} figures: {aims} reach the aim, {len(failed)} are not met; {time.monotonic() - begun:.0f} s")
    if paced:
        print(f"* {paced} are met at the pace of this machine, which the limit in the same line tells")
    busy = os.getloadavg()[1]
    print(
        f"{os.cpu_count()} cores, load {busy:.1f}; what a person waits for is wall time: judge it where load is below 1"
    )
    if options.json:
        machine = {"python": platform.python_version(), "machine": platform.machine(), "cores": os.cpu_count()}
        machine |= {"load": busy, "full": options.full}
        options.json.write_text(json.dumps({**machine, "rows": [row.as_json() for row in found]}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
