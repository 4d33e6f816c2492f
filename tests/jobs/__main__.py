"""Judge generated jobs: `python -m tests.jobs --seeds 1-200` prints right, wrong and missing statements by kind.

- `--seed 7 --out DIR` writes one job to look at, with a line about its truth.
- `--notes` prints each statement that is not right, with the truth.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from pathlib import Path

from tests.jobs.judging import judge, table
from tests.jobs.making import make_job


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.jobs", description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", default="1-40", metavar="FIRST-LAST")
    parser.add_argument("--seed", type=int, help="one job; with --out, only write it")
    parser.add_argument("--out", type=Path, metavar="DIR")
    parser.add_argument("--notes", action="store_true", help="print what is not right")
    options = parser.parse_args()
    if options.seed is not None and options.out is not None:
        print(make_job(options.seed, options.out))
        return
    first, _, last = options.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1) if options.seed is None else [options.seed]
    counts: Counter[tuple[str, str]] = Counter()
    for seed in seeds:
        with tempfile.TemporaryDirectory() as scratch:
            job = make_job(seed, Path(scratch) / "job")
            score = judge(job)
        counts += score.counts
        if options.notes and score.notes:
            print(job, *score.notes, sep="\n    ", flush=True)
    print(table(counts))


if __name__ == "__main__":
    main()
