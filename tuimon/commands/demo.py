"""`tuimon demo`: a real small training run, started in a process of its own, and the dashboard on it."""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path

from tuimon.commands import EXIT_OK, Command
from tuimon.commands._shared import say
from tuimon.errors import TuimonError
from tuimon.scratch import scratch
from tuimon.text import clean


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", metavar="DIR", help="where it writes; kept (default: temporary, removed)")
    parser.add_argument("--steps", type=int, default=400, help="training steps (400)")
    parser.add_argument("--pace", type=float, default=0.5, metavar="S", help="seconds a step takes at least (0.5)")
    parser.add_argument("--seed", type=int, default=0, help="of its random numbers (0)")
    parser.add_argument("--inject", metavar="WHAT@STEP", help="nan@STEP: the learning rate explodes at that step")
    parser.add_argument("--once", action="store_true", help="train at full speed, print the dashboard once, exit")


def _run(options: argparse.Namespace) -> int:
    from tuimon_demo.launch import start

    made = None if options.output else tempfile.mkdtemp(prefix="tuimon-demo-", dir=scratch())
    output = Path(options.output or made or ".")
    training = start(
        output,
        steps=options.steps,
        pace=0.0 if options.once else options.pace,
        seed=options.seed,
        inject=options.inject,
    )
    try:
        from tuimon.commands import main

        while not training.run.exists():
            if training.poll() is not None:
                raise TuimonError("the demo's training did not start", clean(training.errors().strip()[-300:]))
            time.sleep(0.05)

        if options.once:
            training.wait()
            return main([str(output), "--once"])
        code = main([str(output), "--wait"])
    finally:
        training.stop()
        if made is not None:
            shutil.rmtree(made, ignore_errors=True)
    if options.output:
        say(f"tuimon: the demo's logs stay in {options.output}")
    return code if code else EXIT_OK


_EXAMPLES = """\
  tuimon demo                                    the dashboard on a small training run, which ends with it
  tuimon demo --inject nan@60                    the learning rate explodes: see what is told
  tuimon demo -o here/ --steps 100               keep what it writes
"""
COMMAND = Command("demo", "a live training run to look at", _arguments, _run, _EXAMPLES)
