"""Faults in what is read from logs as strangers write them, by writer and kind.

    python -m tests.bench.strangers [--seed 0] [--count 1000] [--writer NAME] [--show]

With --show, one line is printed for each fault, and a seed that has one is shown with `--count 1 --seed N --show`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.strangers.judge import WRITERS, faults, make


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--writer", default="", choices=("", *WRITERS))
    parser.add_argument("--show", action="store_true", help="print each fault; with --count 1 the files, too")
    options = parser.parse_args()
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    cases, wrong = Counter[str](), Counter[str]()
    begin = time.process_time()
    for seed in range(options.seed, options.seed + options.count):
        case = make(seed, options.writer)
        with tempfile.TemporaryDirectory() as folder:
            found = faults(case, Path(folder))
        cases[case.writer] += 1
        wrong[case.writer] += bool(found)
        kinds[case.writer].update({fault.kind for fault in found})
        if options.show:
            if options.count == 1:
                for name, data in case.files:
                    print(f"--- {name}\n{data[:3000].decode('utf-8', 'replace')}")
            for fault in found:
                print(f"{seed} {case.writer} [{'; '.join(case.traits)}] {fault.kind}: {fault.text[:200]}")
    print(f"{'writer':22}{'cases':>6}{'faulty':>7}   kinds (cases)")
    for writer in sorted(cases):
        listed = ", ".join(f"{kind} {count}" for kind, count in kinds[writer].most_common())
        print(f"{writer:22}{cases[writer]:6}{wrong[writer]:7}   {listed}")
    total = sum((counter for counter in kinds.values()), Counter[str]())
    print(f"{'all':22}{cases.total():6}{wrong.total():7}   {', '.join(f'{k} {n}' for k, n in total.most_common())}")
    print(f"{time.process_time() - begin:.0f} s of CPU")


if __name__ == "__main__":
    main()
