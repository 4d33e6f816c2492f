"""Sort the logs of one directory and format into trainings and their attempts.

Example: slurm-1001.out has the steps 1 to 50, slurm-1002.out 41 to 100, slurm-1003.out 1 to 90. The first two are
attempts of one training, the third is a training of its own. Two logs are

- of one training if their names differ only by process or kind of output (slurm-1001.out and .err), or if their values
  are equal at common steps;
- attempts of one training if the later one begins where the earlier one stopped: not at the first step of a training,
  at most two rows after the last one of the earlier log, and after this was written;
- of different trainings otherwise, if they log the same metrics: at least half of those of one of them;
- not separated if they log other metrics.

A log that could continue several ones continues the one that stopped nearest to its first step; of equally near ones
the job numbers decide, as in arrays (slurm-201_2.out continues slurm-200_2.out), and without them it continues none.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence

from tuimon import lazy_re as re
from tuimon.model.equal import is_predictable
from tuimon.reader.log_beginning import Beginning, compared
from tuimon.sources import layout
from tuimon.sources.grouped_files import AttemptFile, natural_order

PROCESS = re.compile(r"(?:global|local|log)?[-_]?(?:rank|worker|node|host|gpu|proc|process)[-_]?\d+", re.IGNORECASE)
"""The part of a file's name that identifies a process of a job."""
_SAME_TIME = 60.0
"""Difference (s) up to which the last time in a log and the first one in another do not decide their order."""
_JOB = re.compile(r"([0-9]+)(?:_([0-9]+))?")
_WORD = re.compile(r"[-_. ]+")

End = tuple[int, float]
"""(last step, its wall time or NaN)."""
Chain = list[str]
"""Paths of the attempts of one training, by their first steps."""


class LogChains:
    """The trainings of some logs, and the attempts of each."""

    def __init__(self, beginnings: Mapping[str, Beginning], end_of: Callable[[str], End | None]) -> None:
        """beginnings: by path. end_of: returns the end of a log as far as it is written, if that is known."""
        self._beginnings = beginnings
        self._end_of = end_of
        self._trainings: list[list[Chain]] = []
        self._are_several = False
        by_key: dict[str, list[Chain]] = {}
        for path in sorted(beginnings, key=lambda path: (beginnings[path].steps[0], natural_order(path))):
            key = training_key(path)
            continued = self._continued(path)
            training = by_key.get(key) or self._training_of(path, continued)
            if continued is not None and continued in training:
                continued.append(path)
            else:
                training.append([path])
            by_key.setdefault(key, training)

    def names(self) -> dict[str, str]:
        """Return the name of the training of each log: that of its first file; {} unless there are several."""
        names: dict[str, str] = {}
        for training in self._trainings if self._are_several else ():
            paths = [path for chain in training for path in chain]
            names |= dict.fromkeys(paths, min(map(os.path.basename, paths), key=natural_order))
        return names

    def attempts(self) -> dict[str, AttemptFile]:
        """Return the attempt of each log that another one continues, or that continues another one."""
        chains = [self._in_order(chain) for training in self._trainings for chain in training if len(chain) > 1]
        return {path: AttemptFile(chain[0], number) for chain in chains for number, path in enumerate(chain)}

    def _in_order(self, chain: Chain) -> Chain:
        """Return attempts in their order: by their times, else by the numbers in names that are equal otherwise.

        A job can resume from an earlier step than the job before it."""
        times = [min(self._beginnings[path].times.values(), default=math.nan) for path in chain]
        if not any(map(math.isnan, times)):
            return [path for _, path in sorted(zip(times, chain, strict=True))]
        is_numbered = len({re.sub("[0-9]+", "0", path) for path in chain}) == 1
        return sorted(chain, key=natural_order) if is_numbered else chain

    def _training_of(self, path: str, continued: Chain | None) -> list[Chain]:
        """Return the training that a log belongs to, which is a new one if it is of no other."""
        with_metrics = [training for training in self._trainings if self._has_same_metrics(training, path)]
        for training in with_metrics:
            if continued in training or any(self._is_copy(other, path) for chain in training for other in chain):
                self._are_several |= len(with_metrics) > 1
                return training
        self._are_several |= bool(with_metrics)
        self._trainings.append([])
        return self._trainings[-1]

    def _has_same_metrics(self, training: Sequence[Chain], path: str) -> bool:
        here = _metrics(self._beginnings[path])
        others = (_metrics(self._beginnings[other]) for chain in training for other in chain)
        return any(2 * len(here & there) >= min(len(here), len(there)) > 0 for there in others)

    def _is_copy(self, other: str, path: str) -> bool:
        """Return whether two logs have equal values at common steps."""
        result = compared(self._beginnings[other].values, self._beginnings[path].values)
        return result.steps > 0 and 2 * result.different <= result.metrics

    def _continued(self, path: str) -> Chain | None:
        """Return the chain that a log continues, if there is one."""
        own = self._beginnings[path]
        if own.is_from_scratch:
            return None
        distances: list[tuple[int, Chain]] = []
        for training in self._trainings:
            for chain in training if self._has_same_metrics(training, path) else ():
                last = chain[-1]
                if _kind(last) != _kind(path) or self._beginnings[chain[0]].steps[0] >= own.steps[0]:
                    continue
                step, time = self._end_of(last) or (own.steps[0], math.nan)
                gap = own.steps[0] - step
                starts = min(own.times.values(), default=math.nan)
                if gap <= 2 * max(own.stride, self._beginnings[last].stride) and not time > starts + _SAME_TIME:
                    distances.append((abs(gap), chain))
        least = min((distance for distance, _ in distances), default=0)
        nearest = [chain for distance, chain in distances if distance == least]
        if len(nearest) > 1:
            nearest = [chain for chain in nearest if _continues_job(chain[-1], path)]
        return nearest[0] if len(nearest) == 1 else None


def training_key(path: str) -> str:
    """Return the part of a file's name that identifies its training: without roles, processes and kinds of output."""
    return "-".join(word for word in _words(path) if not _is_kind(word))


def _metrics(beginning: Beginning) -> set[str]:
    return {metric for metric in beginning.values if not is_predictable(metric)}


def _continues_job(before: str, after: str) -> bool:
    """Return whether a job can continue another one by its numbers: they rise, and the task of an array is the same."""
    first, second = (_JOB.fullmatch(layout.job_number(os.path.basename(path))) for path in (before, after))
    return first is not None and second is not None and int(first[1]) < int(second[1]) and first[2] == second[2]


def _kind(path: str) -> tuple[str, ...]:
    """Return the parts of a file's name that say what is in it: its suffix, role, and kind of output."""
    return os.path.splitext(path)[1], *filter(_is_kind, _words(path))


def _words(path: str) -> list[str]:
    return _WORD.split(PROCESS.sub("", os.path.splitext(os.path.basename(path))[0]))


def _is_kind(word: str) -> bool:
    return layout.is_role(word) or layout.is_output(word)
