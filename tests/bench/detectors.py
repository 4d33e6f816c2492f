"""Detectors on labelled runs, and what they cost: python -m tests.bench detectors [seeds] [names of faults …]

Learners that really learn (tests/labelled), healthy or with a fault injected. For each detector: of how many runs that
it had to tell it told (recall), how many of its tellings were right (precision; in a run with a fault, what the fault
really does besides is right), and how many steps after the fault it told (median, worst).
"""

from __future__ import annotations

import statistics
import sys
import time
from collections import Counter, defaultdict

from labelled.faults import FAULTS, make
from labelled.judging import judge

HEALTHY = ("policy", "supervised")


def main(words: list[str]) -> None:
    seeds = int(words[0]) if words[:1] and words[0].isdigit() else 10
    wanted = [fault for fault in FAULTS if not words[1:] or fault.name in words[1:]]
    start = time.process_time()
    told, missed, false = Counter[str](), Counter[str](), Counter[str]()
    delays: dict[str, list[int]] = defaultdict(list)
    healthy = [(learner, seed) for learner in HEALTHY for seed in range(100, 100 + 2 * seeds)]
    quiet = 0
    for learner, seed in healthy:
        verdict = judge(make(None, seed, learner))
        false.update(verdict.false)
        quiet += not verdict.false
        if verdict.false:
            print(f"  healthy {learner}, seed {seed}: {', '.join(sorted(verdict.false))}")
    print(f"healthy runs: {quiet} of {len(healthy)} without any alert\n")
    print(f"{'fault':<36} {'runs':>4}  told by")
    for fault in wanted:
        found, wrong = Counter[str](), Counter[str]()
        for seed in range(seeds):
            verdict = judge(make(fault, seed))
            found.update(verdict.raised)
            wrong.update(verdict.false)
            for rule in fault.musts:
                (told if rule in verdict.raised else missed)[rule] += 1
            for rule, delay in verdict.delay.items():
                delays[rule].append(delay)
        false.update(wrong)
        besides = f"   false: {dict(wrong)}" if wrong else ""
        print(f"{fault.name:<36} {seeds:>4}  {', '.join(f'{r} {found[r]}/{seeds}' for r in fault.musts)}{besides}")
    print(f"\n{'detector':<20} {'runs':>4} {'recall':>7} {'precision':>10} {'delay, median':>14} {'worst':>6}")
    for rule in sorted({*told, *missed, *false}):
        runs = told[rule] + missed[rule]
        recall = f"{told[rule] / runs:.2f}" if runs else "-"
        precision = f"{told[rule] / (told[rule] + false[rule]):.2f}" if told[rule] + false[rule] else "-"
        late = f"{statistics.median(delays[rule]):.0f}" if delays[rule] else "-"
        print(f"{rule:<20} {runs:>4} {recall:>7} {precision:>10} {late:>14} {max(delays[rule], default=0):>6}")
    print(f"\n{time.process_time() - start:.0f} s of CPU")


if __name__ == "__main__":
    main(sys.argv[1:])
