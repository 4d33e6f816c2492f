"""The checkpoints that a run has on disk, told by the names of their directories: no file of one is opened."""

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
"""checkpoint-40 of transformers, global_step_40 of verl, iter_0000040 of Megatron, epoch=3-step=40 of Lightning, 40 of
Orbax; not a date, nor what counts epochs."""


def step_of(directory: str) -> int | None:
    """The training step that the name of a checkpoint's directory tells; None where it tells none."""
    found = _STEP.search(os.path.basename(directory))
    return int(found[1] or found[2]) if found else None


class Checkpoints:
    """Which run has checkpoints of which steps. What was told is not told again."""

    def __init__(self) -> None:
        self._looked_at: tuple[Sequence[str], int] = ((), 0)
        self._told: dict[int, tuple[int, ...]] = {}

    def news(self, directories: Sequence[str], runs: Mapping[str, int]) -> Iterator[CheckpointsFound]:
        """directories: of all checkpoints there are, absolute. runs: the id of each by its path."""
        looked_at = directories, len(runs)
        if looked_at == self._looked_at:
            return
        self._looked_at = looked_at
        owners: dict[str, int | None] = {}
        steps: dict[int, set[int]] = {run: set() for run in self._told}
        for directory in directories:
            above = os.path.dirname(directory)
            if above not in owners:
                owners[above] = _owner(above, runs)
            run, step = owners[above], step_of(directory)
            if run is not None and step is not None:
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
