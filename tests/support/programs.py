"""Run the program, in this process or in one of its own."""

from __future__ import annotations

import io
import json
import math
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from tuimon.commands import main


def run(*arguments: str, expect: int = 0) -> subprocess.CompletedProcess[str]:
    """Run tuimon in this process, with streams that are not terminals: ten times as fast as `run_process`."""
    out, err = io.BytesIO(), io.StringIO()
    with io.TextIOWrapper(out, "utf-8", write_through=True) as stdout, redirect_stdout(stdout), redirect_stderr(err):
        try:
            code = main(arguments)
        except SystemExit as end:  # of argparse
            code = end.code if isinstance(end.code, int) else 1
        stdout.flush()
        text = out.getvalue().decode()
    assert code == expect, err.getvalue()
    return subprocess.CompletedProcess(arguments, code, text, err.getvalue())


def run_process(
    *arguments: str, expect: int = 0, stdin: str | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run tuimon in a subprocess whose streams are not terminals."""
    command = [sys.executable, "-m", "tuimon", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, input=stdin, cwd=cwd)
    assert done.returncode == expect, done.stderr
    assert "Traceback" not in done.stderr
    return done


def default_signals() -> None:
    """Let signals end the program, as a shell does; under nohup some are inherited as ignored."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)


def same_number(ours: str, theirs: str) -> bool:
    """Return True if our value, rounded to four decimals, is theirs, or both are the same text."""
    try:
        return math.isclose(float(ours), float(theirs), abs_tol=5e-5 if "." in theirs else 0)
    except ValueError:
        return ours == theirs


def write(root: Path, name: str, steps: int, lr: float, **config: object) -> Path:
    rows = ({"step": s, "reward": s * lr, "loss": 1 / (s + 1)} for s in range(steps))
    return write_rows(root / name, rows, {"optim": {"lr": lr}, "max_steps": 40, **config})


def write_two_runs(root: Path) -> None:
    """Write the runs a and b, which pages of the documentation are about."""
    for name in ("a", "b"):
        rows = ({"step": s, "loss": 2 / s, "eval_loss": 3 / s, "reward": s / 9} for s in range(1, 40))
        write_rows(root / name, ({**row, "num_tokens": 512 * row["step"]} for row in rows))


def write_rows(run: Path, rows: Iterable[Mapping[str, object]], settings: Mapping[str, object] | None = None) -> Path:
    """Write rows to the metrics.jsonl of a run, whose directory is made, and settings, if any, to its config.json."""
    run.mkdir(parents=True, exist_ok=True)
    (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    if settings is not None:
        (run / "config.json").write_text(json.dumps(settings))
    return run
