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
    from tuimon.demo.checkpoint import Best
    from tuimon.demo.devices import Metrics
    from tuimon.demo.pipeline import Pipeline
    from tuimon.demo.recorder import Recorder

RUN_NAME = "grpo-sort-digits"
STEPS, PACE = 400, 0.4


class Stop:
    """Whether the process has been asked to end, by a signal or by the death of the process that wants it."""

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


def train(
    recorder: Recorder, pipeline: Pipeline, run: Path, done: int, best: Best | None, pace: float, stop: Stop
) -> None:
    """Steps done + 1 to max_steps. `pace`: seconds from step to step, at least; the wait is part of no step."""
    from tuimon.demo.devices import Metrics, timed

    last = pipeline.settings.max_steps
    for step in range(done + 1, last + 1):
        began = time.monotonic()
        recorder.log.info(f"pipeline step {step} start...")
        metrics = Metrics()
        with timed("time/step_total", metrics):
            metrics |= pipeline.step(step)
            validation = validate(pipeline, step, metrics)
            best = keep(pipeline, run, step, validation, best, metrics)
        metrics["system/tps"] = pipeline.tokens(metrics) / metrics["time/step_total"]
        recorder.step(step, metrics, pipeline.progress(step))
        if validation:
            recorder.texts(step, pipeline.texts(step))
            recorder.validated(validation, best)
        recorder.log.info(f"pipeline step {step} finished")
        stop.wait(pace - (time.monotonic() - began))
        if stop and step < last:
            recorder.log.warning(f"pipeline stopped by {stop.reason} after step {step} of {last}")
            return
    recorder.log.info("pipeline complete!")


def validate(pipeline: Pipeline, step: int, metrics: Metrics) -> dict[str, float]:
    """The entry for val_history; empty where this step validates nothing."""
    if step % pipeline.settings.eval_steps and step != pipeline.settings.max_steps:
        return {}
    return {**pipeline.progress(step), **pipeline.validate(metrics)}


def keep(
    pipeline: Pipeline, run: Path, step: int, validation: dict[str, float], best: Best | None, metrics: Metrics
) -> Best | None:
    """Saves a checkpoint where one is due or the validation is the best so far; returns the best."""
    from tuimon.demo import checkpoint
    from tuimon.demo.devices import worker_call

    if not checkpoint.is_sound(pipeline):
        return best
    improved = bool(validation) and (best is None or validation["val_reward"] > best.val_reward)
    if improved:
        path = str(checkpoint.directory(run, step))
        best = checkpoint.Best(**pipeline.progress(step), val_reward=validation["val_reward"], path=path)
    if improved or step % pipeline.settings.save_steps == 0 or step == pipeline.settings.max_steps:
        with worker_call("actor_train/do_checkpoint", metrics, *pipeline.learner.states):
            checkpoint.save(run, step, pipeline, best)
    return best


def main(arguments: Sequence[str] | None = None) -> int:
    """0: the run is complete or was asked to end; 2: it cannot begin."""
    options = parser().parse_args(arguments)
    for library in ("OPENBLAS", "MKL", "OMP"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")  # before numpy: leave the other cores to who is watching
    import numpy as np

    from tuimon.demo import checkpoint
    from tuimon.demo.devices import DEVICES, MODELLED
    from tuimon.demo.learner import Settings
    from tuimon.demo.pipeline import Pipeline
    from tuimon.demo.recorder import Recorder

    run: Path = options.output.absolute() / options.name
    if run.exists() and not options.resume:
        parser().error(f"{run} holds a run already: --resume goes on with it")
    with np.errstate(all="ignore"):  # a run that explodes goes on with its NaN, as real ones do
        try:
            if options.resume:
                done, pipeline, best = checkpoint.load(run, options.inject, options.steps)
            else:
                settings = Settings(max_steps=options.steps or STEPS, seed=options.seed)
                done, pipeline, best = 0, Pipeline(settings, options.inject), None
        except ValueError as error:
            parser().error(str(error))
        stop = Stop(options.parent)
        config = {
            "run": options.name,
            "output_dir": str(run),
            "task": "write the digits of a prompt in ascending order, then stop",
            **asdict(pipeline.settings),
            "temperature": 1.0,
            "logging_steps": 1,
            "pace_seconds": options.pace,
            "inject_nan_at": options.inject,
            "resumed_from": done if options.resume else None,
            "devices": DEVICES,
            "notes": MODELLED,
        }
        with closing(Recorder(run, config, done if options.resume else None, best)) as recorder:
            train(recorder, pipeline, run, done, best, options.pace, stop)
    return 0


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m tuimon.demo.train", description=__doc__)
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="where the run's directory is made")
    parser.add_argument("--name", default=RUN_NAME, help="name of the run's directory (%(default)s)")
    parser.add_argument("--steps", type=int, help=f"training steps in all ({STEPS})")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pace", type=float, default=PACE, metavar="SECONDS", help="per step, at least (%(default)s)")
    parser.add_argument("--resume", action="store_true", help="go on from the newest checkpoint")
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
