"""The checkpoints that a run has on disk, told by the names of their directories or files: none is opened."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence

from tuimon.model.events import CheckpointsFound
from tuimon.sources.layout import is_facet

_STEP = re.compile(
    r"(?:^|[-_=.])(?:checkpoint|ckpt|global_?step|step|iter|iteration)[-_=]?(\d{1,15})(?![-_.:]?\d)|^(\d{1,15})$",
    re.IGNORECASE,
)
"""checkpoint-40 of transformers, global_step_40 of verl, iter_0000040 of Megatron, epoch=3-step=40.ckpt of Lightning,
40 of Orbax, checkpoint_40.pt and model-step-40.safetensors of scripts; not parts of a model, what counts epochs …"""
_DATE = re.compile(r"20\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:[0-2]\d[0-5]\d(?:[0-5]\d)?)?")
"""… nor a date."""


def step_of(path: str) -> int | None:
    """The training step that the name of a checkpoint's directory or file tells; None where it tells none."""
    found = _STEP.search(os.path.basename(path))
    number = (found[1] or found[2]) if found else ""
    return int(number) if number and not _DATE.fullmatch(number) else None


class Checkpoints:
    """Which run has checkpoints of which steps. What was told is not told again."""

    def __init__(self) -> None:
        self._looked_at: tuple[Sequence[str], int] = ((), 0)
        self._told: dict[int, tuple[int, ...]] = {}

    def news(self, paths: Sequence[str], runs: Mapping[str, int]) -> Iterator[CheckpointsFound]:
        """paths: of all checkpoints there are, absolute. runs: the id of each by its path."""
        looked_at = paths, len(runs)
        if looked_at == self._looked_at:
            return
        self._looked_at = looked_at
        owners: dict[str, int | None] = {}
        steps: dict[int, set[int]] = {run: set() for run in self._told}
        for path in paths:
            step = step_of(path)
            if step is None:
                continue
            above = os.path.dirname(path)
            if above not in owners:
                owners[above] = _owner(above, runs)
            run = owners[above]
            if run is not None:
                steps.setdefault(run, set()).add(step)
        for run, known in steps.items():
            told = tuple(sorted(known))
            if told != self._told.get(run, ()):
                self._told[run] = told
                yield CheckpointsFound(run, told)


def _owner(directory: str, runs: Mapping[str, int]) -> int | None:
    """The run that saves there: the nearest that holds the directory, else the only one beside it."""
    above = directory
    while above not in runs and above != os.path.dirname(above):
        above = os.path.dirname(above)
    if above in runs:
        return runs[above]
    while is_facet(os.path.basename(directory)):
        directory = os.path.dirname(directory)
    beside = [run for path, run in runs.items() if path.startswith(directory.rstrip("/") + "/")]
    return beside[0] if len(beside) == 1 else None
