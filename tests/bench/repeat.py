"""Run the whole test suite several times in a row beside a busy loop on every core, to find tests that fail by luck.

    python -m tests.bench.repeat --times 10        about ten times as long as the suite, times the load

The suite runs at four workers, and SIGINT and SIGHUP are ignored as under nohup. Prints one line per round and the
output of each failed test; exits with 1 if a round failed.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def ignore_signals() -> None:
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("tests", nargs="*", help="paths of tests (default: all)")
    options = parser.parse_args()
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    failed = 0
    try:
        for number in range(1, options.times + 1):
            start = time.monotonic()
            command = [sys.executable, "-m", "pytest", "-q", "-n", str(options.workers), *options.tests]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, preexec_fn=ignore_signals)
            lines = done.stdout.splitlines()
            print(
                f"round {number}: {lines[-1] if lines else done.stderr} ({time.monotonic() - start:.0f} s)", flush=True
            )
            if done.returncode:
                failed += 1
                first = next((i for i, line in enumerate(lines) if re.match(r"=+ (FAILURES|ERRORS) =+$", line)), 0)
                print("\n".join(lines[first:]), flush=True)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    print(f"{options.times - failed} of {options.times} rounds passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
