"""python -m tests.corpus {update,diff,show} [CASE …] [--logs DIR --goldens DIR]"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

os.environ["TUIMON_CONFIG"] = os.devnull  # no settings of the developer
sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.corpus.cases import DATA, GOLDENS, cases_below, private_copy
from tests.corpus.faults import FAULTS
from tests.corpus.record import as_text, changes, record


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.corpus")
    parser.add_argument("action", choices=["update", "diff", "show"])
    parser.add_argument("cases", nargs="*", metavar="CASE", help="name of a case; by default all")
    parser.add_argument("--logs", type=Path, default=DATA, help="directory of the cases")
    parser.add_argument("--goldens", type=Path, default=GOLDENS, help="directory of the goldens")
    options = parser.parse_args()
    paths = cases_below(options.logs)
    makers = FAULTS if options.logs == DATA else {}
    changed = 0
    for name in options.cases or [*paths, *makers]:
        with tempfile.TemporaryDirectory() as folder:
            directory = Path(folder)
            case = paths[name] if name in paths else makers[name](directory / "made")
            found = record(private_copy(case, directory))
        if options.action == "show":
            print(as_text(found))
            continue
        golden = options.goldens / f"{name}.json"
        known = json.loads(golden.read_text()) if golden.exists() else {}
        lines = list(changes(known, found))
        changed += bool(lines)
        for line in lines:
            print(f"{name}: {line}")
        if options.action == "update" and (lines or not golden.exists()):
            golden.parent.mkdir(parents=True, exist_ok=True)
            golden.write_text(as_text(found))
    print(f"{changed} cases changed", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
