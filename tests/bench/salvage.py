"""Damage to logs of every format: false points, losses without a report, and what is left.

    python -m tests.bench.salvage [--times 20] [--seed 0] [FORMAT …]

For each kind of damage: in how many trials a point was read that was never written (of a text without checksums, a
changed digit and halves of lines that fit each other look like text that was written), in how many fewer points were
read and nothing was reported (a stream that is cut looks like one that is being written), and the part of the points
that was read.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.damage import KINDS, placed, read, samples_of
from support.samples import kind

from tuimon.formats import all_formats


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=20, help="trials for each sample and kind of damage (20)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("formats", nargs="*", metavar="FORMAT")
    options = parser.parse_args()
    print(f"{'format':20}" + "".join(f" {name:>20}" for name in KINDS))
    print(f"{'':20}" + f" {'false silent  read':>20}" * len(KINDS))
    for known in all_formats():
        if kind(known) == "unsupported" or (options.formats and known.id not in options.formats):
            continue
        if figures := [_figures(known.id, name, options.times, options.seed) for name in KINDS]:
            print(f"{known.id:20}" + "".join(f" {figure:>20}" for figure in figures), flush=True)


def _figures(format_id: str, damage: str, times: int, seed: int) -> str:
    trials = false = silent = 0
    kept = 0.0
    for sample in samples_of(format_id):
        with tempfile.TemporaryDirectory() as folder:
            whole = read(placed(Path(folder), sample, sample.data)).points
        if not whole:
            continue
        for trial in range(times):
            damaged = KINDS[damage](sample.data, random.Random(f"{seed} {sample.path} {damage} {trial}"))
            with tempfile.TemporaryDirectory() as folder:
                actual = read(placed(Path(folder), sample, damaged.data))
            trials += 1
            false += bool(actual.points.keys() - whole.keys())
            silent += actual.points != whole and not actual.reported
            kept += (actual.points & whole).total() / whole.total()
    return f"{false}/{trials} {silent}/{trials} {100 * kept / trials:4.0f}%" if trials else "-"


if __name__ == "__main__":
    main()
