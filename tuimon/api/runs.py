"""Snapshots, runs and metrics as a program sees them."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, overload

from msgspec import Struct
from msgspec.structs import replace

from tuimon.analysis.printed_units import meaning_of
from tuimon.analysis.progress import ProgressReport
from tuimon.analysis.progress_inputs import progress_of
from tuimon.api.tables import Metric, Table
from tuimon.detectors import Checker
from tuimon.model.alerts import Alert
from tuimon.model.ranks import JobRanks
from tuimon.redact import redacted, redacted_text
from tuimon.samples import Sample, Turn
from tuimon.store import Run as StoredRun
from tuimon.store import Snapshot as StoredSnapshot
from tuimon.text import clean


class Source(Struct, frozen=True):
    """A file, or a run in a database, that a run was read from."""

    name: str
    """Name in exports: path below the target."""
    path: str
    format: str
    """Id of the format, see docs/formats.md."""
    points: int
    """Points as logged, superseded ones included."""
    state: str
    """waiting | reading | current | writing | gone | superseded | unreadable | unsupported."""
    message: str
    """Reason of the state, or ""."""
    damaged: int
    """Damaged parts; consecutive records that could not be read are one part."""


class Run(Mapping[str, Metric]):
    """One training run: a mapping from the names of its metrics to their points. Immutable; any thread may read it."""

    def __init__(self, run: StoredRun, snapshot: Snapshot) -> None:
        self._run = run
        self._snapshot = snapshot

    @property
    def name(self) -> str:
        """The shortest tail of the path that distinguishes the run from the others."""
        return self._run.name

    @property
    def path(self) -> str:
        """Absolute path of the run's directory or log."""
        return self._run.path

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of all metrics that have points, those of the best source first."""
        return self._run.metrics

    def __getitem__(self, metric: str) -> Metric:
        return Metric(self._run.curve(metric), meaning_of(self._run, metric))

    def __iter__(self) -> Iterator[str]:
        return iter(self.metrics)

    def __len__(self) -> int:
        return len(self.metrics)

    def __bool__(self) -> bool:
        """Return True, also for a run without metrics."""
        return True

    def __contains__(self, metric: object) -> bool:
        return metric in self.metrics

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"<Run {self.name!r}: {self.state}, step {self.step}, {len(self)} metrics>"

    @property
    def step(self) -> int | None:
        """Last step, or None without points."""
        return self._run.last_step

    @cached_property
    def progress(self) -> ProgressReport:
        """State with its evidence, position and estimated end, as of the time of the snapshot."""
        return progress_of(self._run, self._snapshot.time)

    @property
    def state(self) -> str:
        """running | quiet | finished | crashed | ended | unknown, see docs/targets.md."""
        return self.progress.state

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """Settings, merged from all sources; secrets are replaced by "[hidden]"."""
        return redacted(self._run.config)

    @cached_property
    def alerts(self) -> tuple[Alert, ...]:
        """Active alerts of this run, the most severe first."""
        return tuple(alert for alert in self._snapshot.alerts if alert.run == self._run.id)

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        """The files that the run was read from."""
        return tuple(
            Source(
                view.info.source,
                view.info.path,
                view.info.format,
                view.point_count,
                view.status.state if view.status else "waiting",
                view.status.message if view.status else "",
                view.status.damaged if view.status else 0,
            )
            for view in self._run.streams
        )

    @cached_property
    def checkpoints(self) -> tuple[int, ...]:
        """Steps of the checkpoints on disk, ascending."""
        return self._run.checkpoints

    def samples(self, step: int | None = None) -> Iterator[Sample]:
        """Yield the generated texts of one step or of all. They are read from the files as needed.

        Secrets in texts are hidden. A file that cannot be read causes a UserWarning at the end.
        """
        from tuimon.samples.discovery import read_samples

        problems: list[str] = []
        for sample in read_samples(self.path, problems):
            if step is None or sample.step == step:
                yield _redacted_sample(sample)
        for problem in problems:
            warnings.warn(f"cannot read {clean(problem)}", stacklevel=2)

    @cached_property
    def ranks(self) -> JobRanks | None:
        """The ranks of the job: which failed, are slow or went silent; None if the logs of at most one are known."""
        ranks = self._run.ranks
        if ranks is None:
            return None
        rows = tuple(
            replace(row, line=_shown(row.line), evidence=tuple(_shown(text) for text in row.evidence))
            for row in ranks.rows
        )
        cause = ranks.root_cause
        if cause is not None:
            cause = replace(cause, text=_shown(cause.text), evidence=_shown(cause.evidence))
        return replace(ranks, rows=rows, root_cause=cause, verdict=_shown(ranks.verdict), short=_shown(ranks.short))

    def table(self, metrics: Iterable[str] | None = None) -> Table:
        """Return points as an Arrow table: metric, step, value, wall_time. Of all metrics, or of the named ones.

        Raises KeyError if the run has no such metric.
        """
        return Table([(None, self[name]) for name in _chosen_metrics(self.metrics, metrics)])

    def _repr_html_(self) -> str:
        from tuimon.exports.html.report import run_as_html

        return run_as_html(self._run, self._snapshot._with_alerts, self._snapshot.time)


class Snapshot(Sequence[Run]):
    """The runs at one moment: a sequence, with items also by name. Immutable."""

    def __init__(self, snapshot: StoredSnapshot, checker: Checker | None = None) -> None:
        """checker: the detectors that are run when alerts are first asked for; None if they have been run already."""
        self._snapshot = snapshot
        self._checker = checker
        self.version = snapshot.version
        """Increases with every change."""
        self.time = time.time()
        """When the snapshot was made, seconds since the epoch."""
        self._runs = tuple(Run(run, self) for run in snapshot.runs)

    @overload
    def __getitem__(self, index: int | str) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Run]: ...
    def __getitem__(self, index: int | str | slice) -> Run | Sequence[Run]:
        """Return a run by its position, or by its name or path, or some runs by a slice.

        Raises IndexError or KeyError if there is no such run.
        """
        if not isinstance(index, str):
            return self._runs[index]
        for run in self._runs:
            if index in (run.name, run.path) or os.path.abspath(index) == run.path:
                return run
        raise KeyError(index)

    def __len__(self) -> int:
        return len(self._runs)

    def __repr__(self) -> str:
        return f"<Snapshot of {len(self)} runs: {', '.join(repr(run.name) for run in self._runs[:8])}>"

    @cached_property
    def alerts(self) -> tuple[Alert, ...]:
        """Active alerts of all runs, the most severe first. The detectors and rules are those of config.toml."""
        return tuple(alert for alert in self._all_alerts if alert.active)

    @cached_property
    def resolved(self) -> tuple[Alert, ...]:
        """Alerts that are over, the latest first."""
        return tuple(alert for alert in self._all_alerts if not alert.active)

    @cached_property
    def _all_alerts(self) -> tuple[Alert, ...]:
        if self._checker is None:
            return (*self._snapshot.alerts, *self._snapshot.resolved)
        return self._checker.check_all(self._snapshot, self.time)

    @property
    def notices(self) -> tuple[str, ...]:
        """Remarks on what could not be read, oldest first."""
        return tuple(notice.message for notice in self._snapshot.notices)

    def table(self, metrics: Iterable[str] | None = None) -> Table:
        """Return points of all runs: run, metric, step, value, wall_time. Of all metrics, or of the named ones.

        A metric that a run does not have has no rows of this run. Raises KeyError if no run has a metric.
        """
        known = dict.fromkeys(name for run in self._runs for name in run.metrics)
        chosen = _chosen_metrics(tuple(known), metrics)
        return Table([(run.name, run[name]) for run in self._runs for name in chosen if name in run])

    @property
    def _with_alerts(self) -> StoredSnapshot:
        """The snapshot of the store with the alerts."""
        return replace(self._snapshot, alerts=self.alerts, resolved=self.resolved)

    def _repr_html_(self) -> str:
        from tuimon.exports.html.report import runs_as_html

        return runs_as_html(self._with_alerts, self.time)


def _shown(text: str) -> str:
    """Return a line of a log without control characters and secrets."""
    return redacted_text(clean(text))


def _redacted_sample(sample: Sample) -> Sample:
    """Hide the secrets in all texts of a sample."""
    sample.prompt = None if sample.prompt is None else redacted_text(sample.prompt)
    sample.response, sample.error = redacted_text(sample.response), redacted_text(sample.error)
    sample.group = redacted_text(sample.group)
    sample.reference = redacted({"reference": sample.reference})["reference"]
    sample.turns = tuple(Turn(turn.role, redacted_text(turn.text)) for turn in sample.turns)
    return sample


def _chosen_metrics(known: Sequence[str], metrics: Iterable[str] | None) -> Sequence[str]:
    """Return the metrics asked for without repetitions. Raise KeyError for an unknown one."""
    if metrics is None:
        return known
    chosen = tuple(dict.fromkeys([metrics] if isinstance(metrics, str) else metrics))
    present = frozenset(known)
    for name in chosen:
        if name not in present:
            raise KeyError(name)
    return chosen
