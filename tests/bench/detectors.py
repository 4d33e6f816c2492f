"""Measure recall, precision and delay of the detectors on labelled runs, and their cost.

    python -m tests.bench.detectors [SEEDS] [FAULT …]
    python -m tests.bench.detectors cost

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
from collections.abc import Callable
from pathlib import Path

import numpy as np
from support.labelled.faults import FAULTS, make
from support.labelled.judging import judge

from tuimon.detectors import Checker
from tuimon.model.events import Columns, MetricsFound, RunFound, StreamFound
from tuimon.store import Store

FIGURES = Path(__file__).with_suffix(".json")
HEALTHY = ("policy", "supervised", "preference")
POINTS = 20_000
WATCHED = (
    "critic/score/mean", "val/score/mean", "actor/total_loss", "actor/pg_loss", "actor/grad_norm", "critic/grad_norm",
    "actor/kl_loss", "actor/approxkl", "actor/ppo_ratio_clipfrac", "critic/entropy/mean", "actor/lr", "critic/lr",
    "critic/vf_explained_var", "critic/vf_loss", "tokens/response_length/mean", "response_length/clip_ratio",
    "frac_reward_zero_std", "time/step", "system/tps", "training/rollout_probs_diff_mean", "actor/ratio_mean",
    "memory/cpu/actor_train/train_step/start/rss", "actor/sft_loss", "env/success_once",
)  # fmt: skip
PHASES = (("actor_train", "train_step"), ("actor_infer", "generate"), ("reference", "compute_log_probs"))


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


def cost() -> None:
    """CPU of a check of a run of 600 metrics with 20 000 points each, and what the curves themselves take of it."""
    names = [*WATCHED]
    names += [f"memory/{role}/{op}/start/offload/allocated/{device}" for role, op in PHASES for device in range(8)]
    names += [f"time/actor_train/phase{number}/total" for number in range(600 - len(names))]
    store = Store()
    store.apply(RunFound(0, "run", "/run"))
    store.apply(StreamFound(0, 0, "log", "/run/log.jsonl", "jsonl", 30, "", 0))
    store.apply(MetricsFound(0, 0, tuple(names)))
    for begin in range(0, POINTS, 1000):
        store.apply(_row(len(names), begin, 1000))
    run = store.snapshot().runs[0]
    curves = _milliseconds(lambda: [run.curve(name) for name in names if not name.startswith("time/actor")])
    checker = Checker()
    checker.check(make(None, 0).run())  # the vocabulary is compiled, the detectors are imported
    print(f"\n{len(names)} metrics x {POINTS} points, CPU: their curves {curves:.1f} ms")
    print(f"  the first check                          {_milliseconds(lambda: checker.check(run)):8.2f} ms")
    print(f"  nothing has changed                      {_milliseconds(lambda: checker.check(run)):8.2f} ms")
    for what, count in (("a point more of each metric", len(names)), ("a point more of one metric", 1)):
        took, apart = [], []
        for _ in range(15):
            store.apply(_row(count, POINTS + _grown(store), 1))
            run = store.snapshot().runs[0]
            apart.append(_milliseconds(lambda run=run: [run.curve(n) for n in names if not n.startswith("time/actor")]))
            took.append(_milliseconds(lambda run=run: checker.check(run)))
        print(f"  {what:<40} {statistics.median(took):8.2f} ms, and {statistics.median(apart):.2f} ms for the curves")


def _grown(store: Store) -> int:
    return max(0, (store.snapshot().runs[0].last_step or 0) - POINTS + 1)


def _row(metrics: int, begin: int, count: int) -> Columns:
    steps = np.tile(np.arange(begin, begin + count), metrics)
    values = 1.0 + 0.05 * np.random.default_rng(begin).standard_normal(metrics * count)
    ids, counts = np.arange(metrics, dtype=np.uint32), np.full(metrics, count, np.uint32)
    return Columns(0, ids, counts, steps, values, 1.7e9 + steps.astype(np.float64))


def _milliseconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return (time.process_time() - start) * 1e3


if __name__ == "__main__":
    cost()
    if "cost" not in sys.argv[1:]:
        main(sys.argv[1:])
