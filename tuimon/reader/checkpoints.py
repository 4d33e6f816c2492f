"""The checkpoints of each run on disk, by the names of their directories or files; none is opened."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from tuimon import lazy_re as re
from tuimon.model.events import CheckpointsFound
from tuimon.sources.job_hosts import merged
from tuimon.sources.layout import is_facet

_STEP = re.compile(
    r"(?:^|[-_=.])(?:checkpoint|ckpt|global_?step|step|iter|iteration)[-_=]?(\d{1,15})(?![-_.:]?\d)|^(\d{1,15})$",
    re.IGNORECASE,
)
"""checkpoint-40 of transformers, global_step_40 of verl, iter_0000040 of Megatron, epoch=3-step=40.ckpt of Lightning,
40 of Orbax, checkpoint_40.pt and model-step-40.safetensors of scripts; not parts of a model, nor numbers of epochs."""
_DATE = re.compile(r"20\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:[0-2]\d[0-5]\d(?:[0-5]\d)?)?")
"""Numbers that are dates rather than steps."""


def checkpoint_step(path: str) -> int | None:
    """The training step in the name of a checkpoint's directory or file, or None."""
    match = _STEP.search(os.path.basename(path))
    number = (match[1] or match[2]) if match else ""
    return int(number) if number and not _DATE.fullmatch(number) else None


class Checkpoints:
    """The steps of the checkpoints of each run; reports only changes."""

    def __init__(self) -> None:
        self._input: tuple[Sequence[str], int] = ((), 0)
        self._reported: dict[int, tuple[int, ...]] = {}

    def changes(self, paths: Sequence[str], runs: Mapping[str, int]) -> Iterator[CheckpointsFound]:
        """Yield the steps of each run whose checkpoints have changed.

        paths: absolute paths of all checkpoints. runs: ids by path of the run."""
        if (paths, len(runs)) == self._input:
            return
        self._input = paths, len(runs)
        owners: dict[str, int | None] = {}
        steps: dict[int, set[int]] = {run: set() for run in self._reported}
        for path in paths:
            step = checkpoint_step(path)
            if step is None:
                continue
            directory = os.path.dirname(merged(path))
            if directory not in owners:
                owners[directory] = _owner(directory, runs)
            run = owners[directory]
            if run is not None:
                steps.setdefault(run, set()).add(step)
        for run, unsorted in steps.items():
            ascending = tuple(sorted(unsorted))
            if ascending != self._reported.get(run, ()):
                self._reported[run] = ascending
                yield CheckpointsFound(run, ascending)


def _owner(directory: str, runs: Mapping[str, int]) -> int | None:
    """Id of the run that saves there: the nearest that contains the directory, else the only one next to it."""
    above = directory
    while above not in runs and above != os.path.dirname(above):
        above = os.path.dirname(above)
    if above in runs:
        return runs[above]
    while is_facet(os.path.basename(directory)):
        directory = os.path.dirname(directory)
    siblings = [run for path, run in runs.items() if path.startswith(directory.rstrip("/") + "/")]
    return siblings[0] if len(siblings) == 1 else None
