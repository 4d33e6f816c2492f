"""Run benchmarks: `python -m tests.bench` lists them, `python -m tests.bench NAME …` runs some, `all` runs all.

Each compares its subjects in the same run and prints ratios, because absolute figures depend on the machine and its
load.
"""

from __future__ import annotations

import ast
import pkgutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent


def main(names: list[str]) -> int:
    known = {module.name: module for module in pkgutil.iter_modules([str(FOLDER)]) if not module.name.startswith("_")}
    unknown = [name for name in names if name not in (*known, "all")]
    if not names or unknown:
        for name in known:
            text = ast.get_docstring(ast.parse((FOLDER / f"{name}.py").read_text("utf-8"))) or ""
            print(f"  {name:<14} {text.splitlines()[0]}")
        return 2 if set(unknown) - {"--help", "-h"} else 0
    failed = 0
    for name in list(known) if "all" in names else names:
        print(f"\n== {name}", flush=True)
        failed |= subprocess.run([sys.executable, "-m", f"tests.bench.{name}"], check=False).returncode
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
