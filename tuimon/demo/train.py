"""The training process: `python -m tuimon.demo.train --output DIR`. SIGTERM and SIGINT end it after a whole step."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuimon.demo.curves import Curves
    from tuimon.demo.logs import Logs

RUN_NAME = "grpo-sort-digits"
STEPS, PACE = 400, 0.4


class Stop:
    """Whether the process has to end: it got a signal, or its parent has died."""

    def __init__(self, parent: int | None = None) -> None:
        self.reason = ""
        self._parent = parent
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._asked)

    def __bool__(self) -> bool:
        if not self.reason and self._parent is not None and os.getppid() != self._parent:
            self.reason = "the end of its parent"
        return bool(self.reason)

    def wait(self, seconds: float) -> None:
        """Sleep; return within 0.05 s once the process is asked to end."""
        until = time.monotonic() + seconds
        while not self and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, 0.05))

    def _asked(self, number: int, frame: FrameType | None) -> None:
        self.reason = signal.Signals(number).name


def train(logs: Logs, curves: Curves, pace: float, stop: Stop) -> None:
    """Write all steps. pace: seconds from step to step; 0: all at once, with the times of a run that ends now."""
    last = curves.settings.max_steps
    begin = time.time() - (0 if pace else last * PACE)
    for step in range(1, last + 1):
        began = time.monotonic()
        logs.console.info(f"pipeline step {step} start...")
        metrics = curves.step(step)
        logs.step(step, metrics, time.time() if pace else begin + step * PACE)
        if "val/score/mean" in metrics:
            logs.validation(step, metrics["val/score/mean"], curves.samples)
        logs.console.info(f"pipeline step {step} finished")
        stop.wait(pace - (time.monotonic() - began))
        if stop and step < last:
            logs.console.warning(f"pipeline stopped by {stop.reason} after step {step} of {last}")
            return
    logs.console.info("pipeline complete!")


def main(arguments: Sequence[str] | None = None) -> int:
    """0: the run is complete or was asked to end; 2: it cannot begin."""
    options = parser().parse_args(arguments)
    from tuimon.demo.curves import DEVICES, Curves, Hyperparameters
    from tuimon.demo.logs import MADE_UP, Logs

    run: Path = options.output.absolute() / RUN_NAME
    if run.exists():
        parser().error(f"{run} holds a run already")
    settings = Hyperparameters(max_steps=options.steps, seed=options.seed)
    stop = Stop(options.parent)
    config = {
        "run": RUN_NAME,
        "output_dir": str(run),
        "task": "write the digits of a prompt in ascending order",
        **asdict(settings),
        "logging_steps": 1,
        "pace_seconds": options.pace,
        "inject_nan_at": options.inject,
        "devices": DEVICES,
        "notes": MADE_UP,
    }
    with closing(Logs(run, config)) as logs:
        train(logs, Curves(settings, options.pace or PACE, options.inject), options.pace, stop)
    return 0


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m tuimon.demo.train", description=__doc__)
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="where the run's directory is made")
    parser.add_argument("--steps", type=int, default=STEPS, help="training steps in all (%(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pace", type=float, default=PACE, metavar="SECONDS", help="per step, at least (%(default)s)")
    parser.add_argument("--inject", type=fault, metavar="nan@STEP", help="let the learning rate explode at that step")
    parser.add_argument("--parent", type=int, metavar="PID", help="end when this parent process is gone")
    return parser


def fault(text: str) -> int:
    """The step in `nan@STEP`."""
    kind, _, step = text.partition("@")
    if kind != "nan" or not step.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not nan@STEP")
    return int(step)


if __name__ == "__main__":
    sys.exit(main())
