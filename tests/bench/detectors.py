"""Measure recall, precision and delay of the detectors on labelled runs.

    python -m tests.bench.detectors [SEEDS] [FAULT …]

The runs are those of simulated learners (tests/support/labelled), healthy or with an injected fault. For each detector:
the share of the faults it should report that it reports (recall), the share of its alerts that are correct (precision;
other real effects of a fault count as correct), and the steps from the fault to the alert (median, worst). A run of all
faults writes the figures to detectors.json, from which the documentation takes them.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

from support.labelled.faults import FAULTS, make
from support.labelled.judging import judge

FIGURES = Path(__file__).with_suffix(".json")
HEALTHY = ("policy", "supervised", "preference")


def main(words: list[str]) -> None:
    seeds = int(words[0]) if words[:1] and words[0].isdigit() else 10
    wanted = [fault for fault in FAULTS if not words[1:] or fault.name in words[1:]]
    start = time.process_time()
    reported, missed, false = Counter[str](), Counter[str](), Counter[str]()
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
    print(f"{'fault':<36} {'runs':>4}  reported by")
    for fault in wanted:
        raised, wrong = Counter[str](), Counter[str]()
        for seed in range(seeds):
            verdict = judge(make(fault, seed))
            raised.update(verdict.raised)
            wrong.update(verdict.false)
            for rule in fault.musts:
                (reported if rule in verdict.raised else missed)[rule] += 1
            for rule, delay in verdict.delay.items():
                delays[rule].append(delay)
        false.update(wrong)
        besides = f"   false: {dict(wrong)}" if wrong else ""
        print(f"{fault.name:<36} {seeds:>4}  {', '.join(f'{r} {raised[r]}/{seeds}' for r in fault.musts)}{besides}")
    print(f"\n{'detector':<20} {'runs':>4} {'recall':>7} {'precision':>10} {'delay, median':>14} {'worst':>6}")
    figures = {}
    for rule in sorted({*reported, *missed, *false}):
        runs = reported[rule] + missed[rule]
        recall = f"{reported[rule] / runs:.2f}" if runs else "-"
        precision = f"{reported[rule] / (reported[rule] + false[rule]):.2f}" if reported[rule] + false[rule] else "-"
        late = f"{statistics.median(delays[rule]):.0f}" if delays[rule] else "-"
        print(f"{rule:<20} {runs:>4} {recall:>7} {precision:>10} {late:>14} {max(delays[rule], default=0):>6}")
        figures[rule] = {"runs": runs, "recall": recall, "precision": precision, "delay": late}
    if wanted == list(FAULTS):
        known = {"healthy": len(healthy), "quiet": quiet, "detectors": figures}
        FIGURES.write_text(json.dumps(known, indent=1) + "\n", "utf-8")
    print(f"\n{time.process_time() - start:.0f} s of CPU")


if __name__ == "__main__":
    main(sys.argv[1:])
