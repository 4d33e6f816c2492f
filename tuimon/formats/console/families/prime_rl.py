"""prime-rl's trainer and orchestrator: one line per step, fields separated by bars.

    16:03:09 SUCCESS Step 3 | 10.21s | Loss 0.0123 | Mismatch KL 0.0012 | Grad. Norm 0.5000 | LR 1.00e-06
             | Throughput 8123 tokens/s | MFU 31.2% | Peak Mem. 61.3 GiB                                  (one line)
    16:03:09 SUCCESS Step 3 |  10.21s | Reward 0.4100 | Trainable 480/512 (93.8%)

Known labels get the names of its metrics.jsonl, others stay as printed; a time without a label is that of the step,
time/step. Older versions write "Step 3 | Time: 10.21s | Loss: 0.0123". Source: prime_rl/trainer/rl/train.py (559b4477).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tuimon.formats.console.families import NUMBER, Family, Pair, Quantity, step_lines

_STEP = re.compile(r"Step (\d{1,18}) \| ", re.ASCII)
_FIELD = re.compile(
    rf"\s*+(?:([A-Za-z][^\d|:]{{0,60}}?):?\s++)?({NUMBER})\s?(s|ms|%|GiB|GB|tokens/s|samples/s)?\s*+(?:\([^()]*+\)\s*+)?",
    re.IGNORECASE | re.ASCII,
)
_OWN = re.compile(r"SUCCESS|Throughput|Mismatch KL|\| {1,4}\d{1,9}\.\d{1,3}s (?:\||$)", re.ASCII)
"""Occurs in its lines, but not in "Step 3 | Loss: 0.5 | LR: 1e-4" of other scripts."""
_NAMES = {
    "Time": "time/step", "Step Time": "time/step", "Loss": "loss/mean", "Entropy": "entropy/all/mean",
    "Mismatch KL": "mismatch_kl/all/mean", "Grad. Norm": "optim/grad_norm", "LR": "optim/lr",
    "Throughput": "perf/throughput", "MFU": "perf/mfu", "Peak Mem.": "perf/peak_memory", "Reward": "reward/all/mean",
}  # fmt: skip


def _fields(text: str) -> Iterator[Pair]:
    for field in text.split("|"):
        match = _FIELD.fullmatch(field) if len(field) < 200 else None
        if match:
            label = match[1] or "Time"
            yield _NAMES.get(label, label), Quantity(float(match[2]), match[3]) if match[3] else float(match[2])


FAMILY = Family(
    "prime-rl", ("| Loss", "| Reward", "| Time", "s | "), step_lines(_STEP, _fields, required=_OWN), order=32
)
