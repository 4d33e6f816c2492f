"""Measure recall, precision and delay of the detectors on generated runs.

    python -m tests.bench.detectors [SEEDS] [FAULT …]

The runs are those of the learners of tests/jobs, healthy or with a planted fault. For each detector: the share of the
faults it should report that it reports (recall), the share of its alerts that are correct (precision; consequences of a
fault count as correct), and the steps from the fault to the alert (median, worst). A run of all faults writes the
figures to detectors.json, from which the documentation takes them.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

from tests.jobs.detecting import CASES, detect

FIGURES = Path(__file__).with_suffix(".json")


def main(words: list[str]) -> None:
    seeds = int(words[0]) if words[:1] and words[0].isdigit() else 40
    wanted = [case for case in CASES if not words[1:] or case[0].name in words[1:]]
    start = time.process_time()
    reported, missed, false = Counter[str](), Counter[str](), Counter[str]()
    delays: dict[str, list[int]] = defaultdict(list)
    healthy = [(domain, seed) for domain in ("policy", "sft") for seed in range(100, 100 + 3 * seeds)]
    quiet = 0
    for domain, seed in healthy:
        found = detect(None, domain, seed)
        false.update(found.false)
        quiet += not found.false
        if found.false:
            print(f"  healthy {domain}, seed {seed}: {', '.join(sorted(found.false))}")
    print(f"healthy runs: {quiet} of {len(healthy)} without any alert\n")
    print(f"{'fault':<20} {'learner':<7} {'runs':>4}  reported by")
    for fault, domain in wanted:
        raised, wrong = Counter[str](), Counter[str]()
        for seed in range(seeds):
            found = detect(fault, domain, seed)
            raised.update(found.reported)
            wrong.update(found.false)
            for rule in fault.must:
                (reported if rule in found.reported else missed)[rule] += 1
            for rule, delay in found.delay.items():
                delays[rule].append(delay)
        false.update(wrong)
        besides = f"   false: {dict(wrong)}" if wrong else ""
        rules = ", ".join(f"{rule} {raised[rule]}/{seeds}" for rule in fault.must)
        print(f"{fault.name:<20} {domain:<7} {seeds:>4}  {rules}{besides}", flush=True)
    print(f"\n{'detector':<20} {'runs':>4} {'recall':>7} {'precision':>10} {'delay, median':>14} {'worst':>6}")
    figures = {}
    for rule in sorted({*reported, *missed, *false}):
        runs = reported[rule] + missed[rule]
        recall = f"{reported[rule] / runs:.2f}" if runs else "-"
        precision = f"{reported[rule] / (reported[rule] + false[rule]):.2f}" if reported[rule] + false[rule] else "-"
        late = f"{statistics.median(delays[rule]):.0f}" if delays[rule] else "-"
        print(f"{rule:<20} {runs:>4} {recall:>7} {precision:>10} {late:>14} {max(delays[rule], default=0):>6}")
        figures[rule] = {"runs": runs, "recall": recall, "precision": precision, "delay": late}
    if wanted == list(CASES):
        known = {"healthy": len(healthy), "quiet": quiet, "detectors": figures}
        FIGURES.write_text(json.dumps(known, indent=1) + "\n", "utf-8")
    print(f"\n{time.process_time() - start:.0f} s of CPU")


if __name__ == "__main__":
    main(sys.argv[1:])
