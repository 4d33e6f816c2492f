"""HTML pages of reports and comparisons, and hostile names to put into them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

from tuimon.exports.html.comparison import as_html as comparison
from tuimon.exports.html.report import as_html as report
from tuimon.monitor.local import open_run
from tuimon.panels.lists.comparison import compare

NOW = time.time()


HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=http://evil.example/x onerror=alert(1)>',
    "' onload='alert(1)",
    "</title></style><style>*{background:url(http://evil.example)}",
    "{{ 7*7 }}{% include '/etc/passwd' %}",
    "]]><svg/onload=alert(1)>",
    "javascript:alert(1)",
    "\x1b]0;title\x07\u202eloss\u2028x",
    "=cmd|' /C calc'!A0",
    "&lt;b&gt;&#x27;",
)


def pages(*paths: Path) -> Iterator[str]:
    snapshot = open_run(*paths)
    yield report(snapshot, NOW)
    if len(snapshot.runs) > 1:
        yield comparison(compare(snapshot.runs), NOW)


def write_hostile(directory: Path) -> None:
    """Two runs in which every name and text contains markup."""
    for run in ("<img src=x onerror=alert(1)>", "b&\"'"):
        (directory / run).mkdir()
        document = {
            "config": {name: name for name in HOSTILE} | {run: 1, "api_key": "sk-abcdefghijklmnopqrstuv0123456789"},
            "train_history": [{"step": s, "loss": s / 9} | dict.fromkeys(HOSTILE, float(s)) for s in range(12)],
            "val_history": [{"step": s, "val_reward": 1.0} | dict.fromkeys(HOSTILE, 2.0) for s in range(0, 12, 4)],
            "best_checkpoint": {name: name for name in HOSTILE} | {"step": 4},
        }
        (directory / run / "training_log.json").write_text(json.dumps(document).replace("0.0,", "NaN,", 3))
