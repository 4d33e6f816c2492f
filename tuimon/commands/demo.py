"""`tuimon demo`: start a made-up training in a child process and watch it."""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path

from tuimon.commands import Command
from tuimon.commands._stderr import print_status
from tuimon.errors import TuimonError
from tuimon.platform_support import temp_dir
from tuimon.text import clean

_OPTIONS = """\
-o DIR  keep the logs in DIR (default: a temporary directory)
--steps STEPS  training steps (default: 400)
--inject WHAT@STEP  nan@STEP: let the learning rate explode at that step
--once  write the run at once, print the dashboard and exit
"""


def _run(options: argparse.Namespace) -> int:
    from tuimon.demo.launch import Training

    temporary = None if options.output else tempfile.mkdtemp(prefix="tuimon-demo-", dir=temp_dir())
    output = Path(options.output or temporary or ".")
    arguments = [f"--steps={options.steps}", f"--pace={0.0 if options.once else 0.5}"]
    training = Training(output, *arguments, *([f"--inject={options.inject}"] if options.inject else []))
    try:
        from tuimon.commands import main

        while not training.run.exists():
            if training.process.poll() is not None:
                raise TuimonError("the training run of the demo did not start", clean(training.errors().strip()[-300:]))
            time.sleep(0.05)

        if options.once:
            training.process.wait()
            return main([str(output), "--once"])
        code = main([str(output), "--wait"])
    finally:
        training.stop()
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
    if options.output:
        print_status(f"the logs of the demo are in {options.output}")
    return code


_EXAMPLES = """\
  tuimon demo                                    dashboard of a made-up run, which ends with the dashboard
  tuimon demo --inject nan@60                    let the learning rate explode, to see the alerts
  tuimon demo -o here/ --steps 100               keep the logs
"""
_VALUES = {"--steps": {"type": int, "default": 400}}
COMMAND = Command("demo", "start a made-up training run and watch it", _OPTIONS, _run, _EXAMPLES, _VALUES)
