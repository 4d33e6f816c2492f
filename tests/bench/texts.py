"""The list of generated texts: 50 MB of verl, 370 MB of NeMo-RL, 200 MB of ms-swift in one line, against json.loads.

Each figure is the best of three processes, from the search for files on; imports, needed once, are apart. Required: the
list of 50 MB in 0.3 s, the first rows of 370 MB in 0.5 s, less than 60 MB of memory more than after the imports.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

_WORDS = [f"word{number}" for number in range(2000)]


def verl_rows(rng: random.Random, rows: int = 2048, size: int = 25_000) -> Iterator[str]:
    """Yield the lines of a step, of about `size` bytes each."""
    for row in range(rows):
        text = " ".join(rng.choices(_WORDS, k=size // 8))
        values = {
            "input": f"user\nquestion {row // 8}\nassistant\n",
            "output": text,
            "gts": "4",
            "score": row % 2,
            "step": 1,
        }
        yield json.dumps(values) + "\n"


def nemo_rows(rng: random.Random, rows: int = 512, tokens: int = 10_000) -> Iterator[str]:
    """Yield the lines of a step whose token lists are padded to `tokens`."""
    numbers = [rng.random() for _ in range(tokens)]
    lists = {
        "token_ids": [[rng.randrange(150_000) for _ in range(tokens)]],
        "token_loss_mask": [[1] * tokens],
        "sample_loss_mask": [1.0],
        "advantages": [numbers],
        "generation_logprobs": [numbers],
        "prev_logprobs": [numbers],
    }
    padding = json.dumps(lists)[1:]
    for row in range(rows):
        text = " ".join(rng.choices(_WORDS, k=1000))
        head = {"content": [[f"question {row // 8}", text]], "rewards": [float(row % 2)], "input_lengths": [2000]}
        yield json.dumps(head)[:-1] + ", " + padding[:-1] + f', "idx": {row}}}\n'


def swift_columns(rng: random.Random, rows: int = 8192, size: int = 25_000) -> Iterator[str]:
    """Yield the line of a step, whose texts have about `size` bytes each."""
    columns = {
        "step": ["1"] * rows,
        "prompt": [f"question {row // 8}" for row in range(rows)],
        "completion": [" ".join(rng.choices(_WORDS, k=size // 8)) for _ in range(rows)],
        "Accuracy": [float(row % 2) for row in range(rows)],
        "advantages": [0.5] * rows,
    }
    yield json.dumps(columns) + "\n"


def measure(directory: str) -> dict[str, float]:
    """Index the last step: seconds until the first rows and all rows, and megabytes of memory."""
    began = time.perf_counter()
    from tuimon.registry import discover
    from tuimon.rollouts.library import Entry, Library

    discover("tuimon.rollouts.shapes", "SHAPE")
    imports = time.perf_counter() - began
    before = _peak()
    began = time.perf_counter()
    library = Library([directory])
    library.refresh()
    first: list[float] = []

    def progress(entries: list[Entry]) -> None:
        first.append(time.perf_counter() - began)

    entries = library.entries(library.steps[-1], progress)
    whole = time.perf_counter() - began
    return {"rows": len(entries), "first": first[0], "all": whole, "imports": imports, "memory": _peak() - before}


def _peak() -> float:
    status = Path("/proc/self/status").read_text("ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def parse_all(path: Path) -> float:
    """Seconds of json.loads of every line."""
    began = time.perf_counter()
    with path.open("rb") as file:
        for line in file:
            json.loads(line)
    return time.perf_counter() - began


def main() -> None:
    if len(sys.argv) > 1:
        print(json.dumps(measure(sys.argv[1])))
        return
    for name, file, rows in (
        ("verl", "rollouts/1.jsonl", verl_rows(random.Random(1))),
        ("NeMo-RL", "exp_001/train_data_step1.jsonl", nemo_rows(random.Random(1))),
        ("ms-swift", "completions.jsonl", swift_columns(random.Random(1))),
    ):
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory, file)
            path.parent.mkdir(exist_ok=True)
            with path.open("w", encoding="utf-8") as stream:
                stream.writelines(rows)
            size, peer = path.stat().st_size / 1e6, parse_all(path)
            command = [sys.executable, "-m", "tests.bench.texts", directory]
            runs = [json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(3)]
            best = {key: min(run[key] for run in runs) for key in runs[0]}
            print(f"{name}: {best['rows']} rows, {size:.0f} MB")
            print(
                f"  first rows {best['first']:.2f} s, all {best['all']:.2f} s, {best['memory']:.0f} MB of memory"
                f" (imports: {best['imports']:.2f} s)"
            )
            print(f"  json.loads of every line: {peer:.2f} s, {peer / best['all']:.1f} times as long")


if __name__ == "__main__":
    main()
