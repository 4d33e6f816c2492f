"""make_job(): the files of one random training job, and what is true of it.

Example: `make_job(7, directory)` writes a sweep of three runs that were started hours apart, one of which overfits.

- Times are relative to NOW, which is passed to whatever depends on the present; a seed gives the same files again.
- A restarted attempt goes on at a checkpoint: the later steps of the attempt before it are superseded.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from support.rank_jobs import START

from tests.jobs.learners import FAULTS, Fault, Floats, Learner, learner
from tests.jobs.ranks import RankTruth, random_ranks, write_ranks
from tests.jobs.trainers import ASYNC, TRAINERS, Attempt, Points, Trainer, append

NOW = START
"""The present of all jobs (s since the epoch)."""
HOUR = 3600.0
_HEALTHY = 0.3
"""Share of the jobs of one run, and of the sweeps, without a planted fault; runs that are compared have none."""
_BETTER = 0.6
"""Share by which a better learner learns more."""


@dataclass(frozen=True)
class Story:
    """What the scheduler does with a run.

    - states: right words for it. said: right words if a console has the words at its end.
    - part: share of the steps that it does. silence: time since its last step (s).
    - is_open: whether its writer lives. alerts: rules that tell this end.
    """

    name: str
    states: tuple[str, ...]
    part: tuple[float, float] = (1.0, 1.0)
    silence: tuple[float, float] = (2 * HOUR, 40 * HOUR)
    is_open: bool = False
    words: str = ""
    said: tuple[str, ...] = ()
    alerts: tuple[str, ...] = ()


_TRACE = 'Traceback (most recent call last):\n  File "train.py", line 212, in <module>\n    main()\n'
_NOT_ENDED = ("ended", "quiet")
_ENDS = ("liveness", "rank_failure")
STORIES = (
    Story("finished", ("finished",)),
    Story("running", ("running",), (0.45, 0.85), (0, 0), is_open=True),
    Story("hung", ("quiet",), (0.4, 0.8), (1.5 * HOUR, 4 * HOUR), is_open=True, alerts=("liveness",)),
    Story("killed", _NOT_ENDED, (0.4, 0.8), alerts=_ENDS),
    Story("memory", _NOT_ENDED, (0.4, 0.8), said=("crashed",), alerts=_ENDS,
          words=f"{_TRACE}torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB.\n"),
    Story("traceback", _NOT_ENDED, (0.4, 0.8), said=("crashed",), alerts=_ENDS,
          words=f"{_TRACE}    batch = next(batches)\nKeyError: 'answer'\n"),
)  # fmt: skip
_PREEMPTED = "slurmstepd: error: *** JOB 4711 ON node1 CANCELLED AT 2026-03-01T10:00:00 DUE TO PREEMPTION ***\n"


@dataclass(frozen=True)
class Layout:
    """Where the runs of a job write: the directory and the group of equal settings of each run.

    - console: a second log of the same metrics. own_files: each attempt has a file of its own.
    - restarts: numbers of restarts, of which one is drawn.
    - part: what the runs of a group differ in.
    """

    name: str
    bases: tuple[str, ...] = ("",)
    groups: tuple[int, ...] = (0,)
    console: bool = False
    own_files: bool = False
    restarts: tuple[int, ...] = (0,)
    domains: tuple[str, ...] = ("rl", "sft")
    part: str = ""

    @property
    def is_async(self) -> bool:
        return self.name.startswith("async")

    @property
    def is_even(self) -> bool:
        """Whether its runs are all healthy and finished, as those of a comparison."""
        return bool(self.part) or self.name == "pair"


_OFTEN = (0, 0, 0, 1, 2)
_SEEDS = tuple(f"{name}_seed{n}" for name in ("base", "new") for n in range(3))
LAYOUTS = (
    Layout("one", restarts=_OFTEN),
    Layout("one", restarts=_OFTEN),
    Layout("console", console=True, restarts=_OFTEN),
    Layout("attempt files", own_files=True, restarts=(1, 1, 2)),
    Layout("sweep", ("lr1e-6", "lr3e-6", "lr1e-5"), (0, 1, 2)),
    Layout("pair", ("base", "longer"), (0, 1)),
    Layout("seeds", _SEEDS, (0, 0, 0, 1, 1, 1), part="seed"),
    Layout("folds", tuple(f"fold_{n}" for n in range(4)), (0, 0, 0, 0), domains=("sft",), part="fold"),
    Layout("nodes"),
    Layout("async", domains=("rl",)),
    Layout("async directories", domains=("rl",)),
)  # fmt: skip


@dataclass(frozen=True)
class Rhythm:
    """Steps between two rows and between two evaluations; how many steps an evaluation takes."""

    log_every: int
    eval_every: int
    pause: float


@dataclass
class RunTruth:
    """What is true of one run.

    - points: metric -> step -> values, of which one is right where two logs round differently.
    - names: name in a log -> metric. last: lowest and highest right last step.
    - total, pace, eta: None if no log says what they follow from.
    """

    base: str
    group: int
    story: Story
    attempts: list[Attempt]
    learner: Learner
    states: tuple[str, ...] = ()
    points: dict[str, dict[int, list[float]]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    last: tuple[int, int] = (0, 0)
    total: int | None = None
    pace: float | None = None
    eta: float | None = None

    @property
    def fault(self) -> Fault | None:
        return self.learner.fault

    @property
    def restarts(self) -> list[tuple[int, bool]]:
        """First logged step after each restart, and whether it was logged before, so that it can be seen in the steps.

        An attempt whose steps were all logged again leaves no trace.
        """
        every = self.attempts[0].log_every
        found: dict[int, bool] = {}
        for before, own in pairwise(self.attempts):
            first = -(-own.first // every) * every
            found = {step: seen for step, seen in found.items() if step < first}
            if first > every:
                found[first] = before.last >= first
        return sorted(found.items())


@dataclass
class Job:
    """One made job.

    - held: files that its writers hold open. has_settings: whether a file of settings has the total of steps.
    - better: the better group; -1 if all are equal, None if not compared.
    """

    seed: int
    root: Path
    layout: Layout
    trainer: Trainer
    runs: list[RunTruth]
    held: list[Path] = field(default_factory=list)
    has_settings: bool = True
    better: int | None = None
    ranks: RankTruth | None = None

    def __str__(self) -> str:
        stories = ", ".join(f"{run.story.name} ({len(run.attempts)})" for run in self.runs)
        own = self.runs[-1]
        fault = f"{own.fault.name} from {own.learner.onset}, due {own.learner.due}" if own.fault else "healthy"
        trainer, noise = (
            f"{self.trainer.name} {self.trainer.domain}",
            f"rho {own.learner.rho}, tails {own.learner.tails}",
        )
        return f"seed {self.seed}: {trainer}, {self.layout.name}, {stories}, {fault}, {noise}"


def make_job(seed: int, root: Path) -> Job:
    """Write the job of a seed below a directory, and return it with its truth."""
    rng = np.random.default_rng([seed, 38])
    layout = LAYOUTS[rng.integers(len(LAYOUTS))]
    trainers = [own for own in TRAINERS if own.domain in layout.domains]
    trainer = trainers[rng.integers(len(trainers))]
    names = {name for own in ASYNC.values() for name in own} if layout.is_async else set(trainer.names)
    fault = None
    if not layout.is_even and rng.random() > _HEALTHY:
        logged = [own for own in FAULTS if names.issuperset(own.metrics)]
        fault = logged[rng.integers(len(logged))]
    rhythm = Rhythm(int(rng.choice([1, 1, 1, 5])), int(rng.choice([10, 20])), float(rng.choice([0, 0, 2, 6])))
    total = int(rng.choice([200, 300, 400])) * (2 if rhythm.log_every > 1 else 1)
    best = max(layout.groups) if len(set(layout.groups)) > 1 and rng.random() < 0.5 else -1
    state = int(rng.integers(2**31))
    is_compared = len(layout.bases) > 1 and fault is None
    job = Job(
        seed, root, layout, trainer, [], has_settings=bool(rng.random() < 0.6), better=best if is_compared else None
    )
    for base, group in zip(layout.bases, layout.groups, strict=True):
        own = fault if base == layout.bases[-1] else None
        gain = _BETTER if group == best and is_compared else 0.0
        learns = learner(np.random.default_rng(state), trainer.domain, total, own, gain)
        story = STORIES[0 if layout.is_even else rng.integers(len(STORIES))]
        attempts = _attempts(rng, learns, story, layout, rhythm)
        run = RunTruth(base, group, story, attempts, learns)
        job.runs.append(run)
        _write(job, run, rng)
    return job


def _attempts(rng: np.random.Generator, learns: Learner, story: Story, layout: Layout, rhythm: Rhythm) -> list[Attempt]:
    """Return the attempts of a run; the last step of the last one is as long ago as the story says."""
    total = len(learns.means["lr"])
    reached = int(total * rng.uniform(*story.part))
    if reached < total:
        reached = min(max(reached, learns.due + 15 * rhythm.log_every), total - 10)
    restarts = int(rng.choice(layout.restarts))
    ends = [*sorted(int(reached * rng.uniform(0.3, 0.9)) for _ in range(restarts)), reached]
    saved = [0, *(end // 20 * 20 for end in ends[:-1])]
    is_compiled = rng.random() < 0.3
    slow = (reached - 6, reached - 4) if rng.random() < 0.2 else ()
    until, later = NOW - rng.uniform(*story.silence), reached
    attempts: list[Attempt] = []
    for number in reversed(range(len(ends))):
        values = learns.draw(rng)
        first = saved[number] + 1
        if is_compiled:
            values["step_time"][first - 1 : first + 1] *= 5
        values["step_time"][[step - 1 for step in slow]] *= 8
        took = values["step_time"].copy()
        took[rhythm.eval_every :: rhythm.eval_every] += rhythm.pause * float(np.median(took))
        wall: Floats = np.cumsum(took)
        if number == restarts and story.name == "running":
            until = NOW - float(rng.uniform(0.05, 0.9) * took[later])
        wall += until - wall[ends[number] - 1]
        begin = float(wall[first - 1] - took[first - 1] - 20)
        is_last = number == restarts
        end = until if story.is_open and is_last else until + 2
        words = story.words if is_last else _PREEMPTED
        attempts.append(
            Attempt(
                number, total, first, ends[number], wall, begin, end, values, rhythm.log_every, rhythm.eval_every,
                frozenset(metric.name for metric in learns.metrics if metric.validation), saved[number], slow, words,
                is_last and reached == total,
            )
        )  # fmt: skip
        until = begin - rng.uniform(300, 2 * HOUR)
    return attempts[::-1]


def _write(job: Job, run: RunTruth, rng: np.random.Generator) -> None:
    """Write the logs of a run, and note what they say."""
    directory = job.root / run.base
    directory.mkdir(parents=True, exist_ok=True)
    total, last = run.attempts[-1].total, run.attempts[-1]
    logs = [job.trainer]
    if job.layout.is_async:
        template = next(own for own in TRAINERS if own.name == "jsonl")
        place = "{}/metrics.jsonl" if "directories" in job.layout.name else "{}.jsonl"
        logs = [replace(template, file=place.format(name), names=names) for name, names in ASYNC.items()]
    elif job.layout.console and not job.trainer.is_console:
        logs.append(next(own for own in TRAINERS if own.name == "prints" and own.domain == job.trainer.domain))
    says_total = any(log.says_total for log in logs)
    settings = {"learning_rate": 1e-6 * (1 + run.group), "model": "base-1.5b"}
    if job.layout.part == "seed":
        settings["seed"] = int(run.base[-1])
    if not says_total and job.has_settings:
        settings["max_steps"], says_total = total, True
    append(directory / "config.yaml", "".join(f"{name}: {value}\n" for name, value in settings.items()))
    for log in logs:
        _write_log(job, run, log, directory)
    if job.layout.name == "nodes":
        crashes = bool(run.story.words)
        job.ranks = random_ranks(rng, last.last, crashes)
        write_ranks(directory, last, job.ranks, rng)
    for path in directory.rglob("*"):  # files of earlier attempts were given their times
        if path.is_file() and path.stat().st_mtime > NOW:
            os.utime(path, (last.end, last.end))
            if run.story.is_open and path.name != "config.yaml":
                job.held.append(path)
    os.utime(directory / "config.yaml", (run.attempts[0].begin, run.attempts[0].begin))
    _note_progress(job, run, logs, says_total)


def _write_log(job: Job, run: RunTruth, log: Trainer, directory: Path) -> None:
    kept: Points = {}
    for attempt in run.attempts:
        path = directory / log.file
        if job.layout.own_files and not log.own_files:
            path = path.with_stem(f"{path.stem}_{4000 + attempt.number}")
        before = {own for own in directory.rglob("*") if own.is_file()}
        said = attempt
        if job.layout.is_async and "orchestrator" in log.file and attempt.completed is False:
            ahead = min(attempt.last + 3, attempt.total)
            said = replace(attempt, last=ahead, wall=np.minimum(attempt.wall, attempt.end))
        points = log.write(path, said, log.names)
        for own in {own for own in directory.rglob("*") if own.is_file()} - before:
            if attempt is not run.attempts[-1] and (job.layout.own_files or log.own_files):
                os.utime(own, (attempt.end, attempt.end))
        kept = {name: {s: v for s, v in values.items() if s < attempt.first} for name, values in kept.items()}
        for name, values in points.items():
            kept.setdefault(name, {}).update(values)
    metrics = {name: metric for metric, name in log.names.items()}
    for name, values in kept.items():
        run.names[name] = metrics[name]
        for step, value in values.items():
            run.points.setdefault(metrics[name], {}).setdefault(step, []).append(value)


def _note_progress(job: Job, run: RunTruth, logs: list[Trainer], says_total: bool) -> None:
    last, total = run.attempts[-1], run.attempts[-1].total
    logged = max(step for values in run.points.values() for step in values)
    run.last = (min(logged, last.last // last.log_every * last.log_every), max(logged, last.last))
    run.total = total if says_total else None
    run.states = run.story.states
    if any(log.is_console for log in logs) or (job.ranks is not None and job.ranks.failed >= 0):
        run.states = run.story.said or run.states
    if run.story.name == "finished" and not says_total and not any(log.ends for log in logs):
        run.states = ("finished", "ended", "quiet")
    took = np.diff(last.wall[max(last.first, last.last - 100) - 1 : last.last])
    if run.story.is_open and last.last - last.first >= 60:
        if not last.slow and (run.fault is None or not run.fault.is_slower):
            run.pace = float(np.mean(took))
        if run.story.name == "running" and says_total:
            run.eta = float(last.wall[-1]) - NOW
