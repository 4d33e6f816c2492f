"""Group log files into training jobs. A pure function of their paths and times: a tree is always grouped alike.

A file belongs to the run directory that remains when the facets at the end of its path are removed
(…/grpo-1.5b/tensorboard/events… and …/grpo-1.5b/log/run.log: run grpo-1.5b). Then, in this order:

1. Parts. Event files below a directory that holds event files itself are a part of its run (torch's add_scalars and
   add_hparams), unless a directory in between is a separate run (seed0, version_1, a time stamp), is a facet, or
   holds other metric files. A role (train/, validation/) is a part as well. The metrics of a part get the prefix
   "<directory>/", because its tags repeat; a single role gets no prefix.
2. Sessions. Directories that a tracker names by start time (wandb/offline-run-…, swanlab/run-…, runs/<stamp>) belong
   to the directory above the tracker's if there is only one of them and that directory has other metrics.
   Several sessions are several runs, because splitting one job in two does less harm than merging two. HF's
   runs/<stamp> next to a trainer_state.json are always restarts of one run.
3. Companions. Files without metrics of their own (console text) join the only run below their directory. If several
   runs are below, they stay separate. Text of one process (rank_0/, node1/) joins the nearest run above. Other text
   below a run stays separate, because it may be that of another training (sweeps/job_0/train.log below a directory with
   a CSV). A config joins the run of its directory.
4. Ranks. The logs of a job's processes are one run: torchrun's attempt directories, and Ray's sessions of several nodes
   (see job_files). Those of hosts whose logs were copied from them count as if they lay in one directory (job_hosts).
5. Files of one directory are one run, except metric files named as separate runs (ppo_seed0.jsonl next to
   ppo_seed1.jsonl; the numbers of attempts do not count), files of different trainings by their content (slurm-1001.out
   next to slurm-1002.out; see `Trainings`), and files that are given by name, if several of one directory are given or
   it holds other logs. Event files that several programs wrote at the same time in one directory are a run for each.
Runs of two directories with equal values (tb/version_0 and csv/version_0) are joined when their points are known
(store/equal_runs).

Growth. The groups of the previous call are passed as `known`; see known_runs.
"""

from __future__ import annotations

import posixpath
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from msgspec.structs import replace

from tuimon.sources import layout
from tuimon.sources.grouped_files import (
    GroupedFile,
    Home,
    Located,
    ParallelWriters,
    Parts,
    RunGroup,
    SplitFiles,
    has_metrics,
)
from tuimon.sources.job_files import homes_of_jobs
from tuimon.sources.job_hosts import merged
from tuimon.sources.known_runs import with_known
from tuimon.sources.run_parts import find_parts, without_facets


class Trainings(Protocol):
    """Knows which files of one directory and one format are of different trainings."""

    def of(self, files: Sequence[GroupedFile]) -> SplitFiles:
        """Return the trainings of the files and their attempts."""
        ...

    def writers(self, files: Sequence[GroupedFile]) -> ParallelWriters:
        """Return the programs that wrote event files of one directory at the same time."""
        ...

    def each(self, files: Sequence[GroupedFile]) -> Mapping[str, str]:
        """Return a name for each file, by path, so that it is a run of its own; {} for the files of one job."""
        ...

    def is_beside_others(self, path: str) -> bool:
        """Return whether the directory of a file also holds logs of other trainings, as far as names show it."""
        ...


def group_runs(
    files: Iterable[GroupedFile],
    roots: Sequence[str],
    known: Sequence[RunGroup] = (),
    trainings: Trainings | None = None,
) -> tuple[RunGroup, ...]:
    """The runs, sorted by path.

    roots: the given paths, absolute; each file is below one of them. known: groups of the previous call. trainings:
    without it the files of a directory are of one training."""
    located = [_locate(file, roots) for file in files]
    find_parts(located)
    _split_named_files(located)
    if trainings is not None:
        _split_given_files(located, roots, trainings)
        _split_trainings((item for item in located if not (item.file.companion or item.prefix)), trainings)
        _split_parallel_writers(located, trainings)
    groups: dict[Home, list[Located]] = defaultdict(list)
    for item in located:
        groups[item.home].append(item)
    _fold_sessions(groups)
    _join_companions(groups)
    if trainings is not None:
        _split_texts(groups, trainings)
        _join_attempts_of_texts(groups, trainings)
    for home, holder in homes_of_jobs({home: has_metrics(items) for home, items in groups.items()}).items():
        groups[holder] += groups.pop(home)
    return with_known(groups, known)


def _locate(file: GroupedFile, roots: Sequence[str]) -> Located:
    above = [root for root in roots if file.path == root or file.path.startswith(root.rstrip("/") + "/")]
    root = max(above, key=len, default=posixpath.dirname(file.path))
    whole = file.source or (posixpath.dirname(file.path) if file.directory_is_source else file.path)
    inside = whole == root or whole.startswith(root.rstrip("/") + "/")
    directory = merged(whole) if file.source and whole != file.path else posixpath.dirname(merged(file.path))
    source = posixpath.relpath(whole, root) if inside else "."  # else the given path is a part of the source
    base = root
    if file.path == root:
        source, base = posixpath.basename(file.path), posixpath.dirname(merged(file.path))
    below = posixpath.relpath(directory, base) if inside else "."
    while file.beside and _is_of_machine(file, posixpath.basename(below)):
        below = posixpath.dirname(below) or "."
    parts = () if below == "." or _is_in_container(file, root) else tuple(below.split("/"))
    joined = posixpath.join(posixpath.dirname(source), posixpath.basename(file.joined)) if file.joined else ""
    return Located(file, source, (base, parts), (base, parts), joined=joined)


def _is_of_machine(file: GroupedFile, directory: str) -> bool:
    """Return whether a directory only says on which machine the file was written, or that it is of machines."""
    return layout.is_monitor(directory) or (bool(file.source) and layout.is_rank(directory))


def _is_in_container(file: GroupedFile, root: str) -> bool:
    """Return whether a given path is a container of plots, or a directory in one, and the file one of the plots."""
    return bool(file.source) and not layout.CONTAINERS.isdisjoint(root.split("/")[-2:])


def _split_named_files(located: list[Located]) -> None:
    named: dict[tuple[Home, str], list[Located]] = defaultdict(list)
    for item in located:
        stem = posixpath.splitext(posixpath.basename(item.file.joined or item.file.path))[0]
        alone = not (item.file.directory_is_source or item.file.companion or item.file.source)
        # Whether attempt0 and attempt1 are attempts of one training is decided by their steps and values.
        if alone and layout.is_own(layout.without_attempt(stem)):
            named[item.directory, item.file.format].append(item)
    for items in named.values():
        if len({posixpath.basename(item.file.joined or item.file.path) for item in items}) > 1:
            for item in items:
                base, parts = item.directory
                item.home = (base, (*parts, posixpath.basename(item.file.joined or item.file.path)))


def _split_given_files(located: list[Located], roots: Sequence[str], trainings: Trainings) -> None:
    """Make files that are given by name runs of their own, if several of one directory are given or it holds others."""
    given = [item for item in located if item.file.path in roots and not _is_part(item)]
    count = Counter(item.directory for item in given)
    for (directory, _), items in _by_directory(given).items():
        if count[directory] > 1 or trainings.is_beside_others(items[0].file.path):
            _set_homes(items, trainings.each([item.file for item in items]))


def _split_trainings(located: Iterable[Located], trainings: Trainings) -> None:
    """Make files of one directory and format that are of different trainings runs of their own, and those of the
    attempts of one training one source."""
    at_home = [item for item in located if not _is_part(item)]
    for items in _by_directory(at_home).values():
        if len(items) > 1:
            split = trainings.of([item.file for item in items])
            _set_homes([item for item in items if not _has_own_run(item)], split.names)
            _set_attempts(items, split)


def _split_parallel_writers(located: Iterable[Located], trainings: Trainings) -> None:
    """Make event files that several programs wrote at the same time a run for each, or a source if they are equal.

    The sources are named "host node1", so that they are ranks (store/curve_builder.py)."""
    events = [item for item in located if item.file.directory_is_source and not item.file.source and not item.prefix]
    for items in _by_directory(events).values():
        writers = trainings.writers([item.file for item in items])
        for item in items:
            if (name := writers.names.get(item.file.path)) is None:
                continue
            if writers.are_equal:
                item.joined = posixpath.normpath(posixpath.join(item.source, f"host {name}"))
            else:
                base, parts = item.home
                item.home = base, (*parts, name)


def _set_attempts(items: Sequence[Located], split: SplitFiles) -> None:
    sources = {item.file.path: item.joined or item.source for item in items}
    for item in items:
        if attempt := split.attempts.get(item.file.path):
            item.joined, item.attempt = sources[attempt.first], attempt.number


def _has_own_run(item: Located) -> bool:
    """Return whether a file is a run by its name, or because it was given by name."""
    return item.home[1][-1:] == (posixpath.basename(item.file.joined or item.file.path),)


def _split_texts(groups: dict[Home, list[Located]], trainings: Trainings) -> None:
    """Make console texts of different trainings runs of their own, unless runs with metrics are below them."""
    runs = [_bare(home) for home, items in groups.items() if has_metrics(items)]
    above = {(base, parts[:length]) for base, parts in runs for length in range(len(parts) + 1)}
    for home in [home for home in groups if not (has_metrics(groups[home]) or _bare(home) in above)]:
        items = groups.pop(home)
        _split_trainings((item for item in items if not item.file.beside), trainings)
        for item in items:
            groups[item.home].append(item)


def _join_attempts_of_texts(groups: dict[Home, list[Located]], trainings: Trainings) -> None:
    """Draw the console texts beside metric files that continue one another as one source."""
    for items in groups.values():
        texts = [item for item in items if item.file.companion and not item.file.beside]
        for of_format in _by_directory(texts).values() if has_metrics(items) else ():
            if len(of_format) > 1:
                _set_attempts(of_format, trainings.of([item.file for item in of_format]))


def _is_part(item: Located) -> bool:
    """Return whether the file is a part of a source with others: an event file, a file of a tracker's directory."""
    return item.file.directory_is_source or bool(item.file.source)


def _by_directory(items: Iterable[Located]) -> dict[tuple[Home, str], list[Located]]:
    found: dict[tuple[Home, str], list[Located]] = defaultdict(list)
    for item in items:
        found[item.directory, item.file.format].append(item)
    return found


def _set_homes(items: Iterable[Located], names: Mapping[str, str]) -> None:
    """Make files runs of these names; a text with a name is a run like a file with metrics."""
    for item in items:
        if name := names.get(item.file.path):
            base, parts = item.directory
            item.home = base, (*parts, name)
            item.file = replace(item.file, companion=False)


def _fold_sessions(groups: dict[Home, list[Located]]) -> None:
    holders: dict[Home, dict[Parts, list[Home]]] = defaultdict(lambda: defaultdict(list))
    for home, items in groups.items():
        base, parts = home
        if has_metrics(items) and len(parts) > 1 and layout.is_session(parts[-1]) and layout.is_facet(parts[-2]):
            holders[base, without_facets(parts[:-1])][parts[:-1]].append(home)
    for holder, trackers in holders.items():
        own = groups.get(holder, [])
        single = [homes[0] for homes in trackers.values() if len(homes) == 1]
        folded = single if has_metrics(own) or len(single) > 1 else []
        if any(posixpath.basename(item.file.path) == "trainer_state.json" for item in own):
            folded += [home for tracker, homes in trackers.items() if tracker[-1] == "runs" for home in homes]
        for home in dict.fromkeys(folded):
            groups.setdefault(holder, []).extend(groups.pop(home))


def _bare(home: Home) -> Home:
    """The home without any facet in its path."""
    base, parts = home
    return base, tuple(part for part in parts if not layout.is_facet(part))


def _join_companions(groups: dict[Home, list[Located]]) -> None:
    runs = {home for home, items in groups.items() if has_metrics(items)}
    below: dict[Home, list[Home]] = defaultdict(list)
    for run in runs:
        base, parts = _bare(run)
        for length in range(len(parts) + 1):
            below[base, parts[:length]].append(run)
    for home in [home for home in groups if home not in runs]:
        inside = below.get(_bare(home), [])
        if len(inside) > 1:
            continue
        joined = inside[0] if inside else _run_of_process(home, runs)
        if joined is not None:
            _move(groups, home, joined, [item for item in groups[home] if not item.file.beside])


def _run_of_process(home: Home, runs: set[Home]) -> Home | None:
    """The nearest run above whose process writes to this directory (rank_0/, attempt_0/3/); None without one."""
    base, parts = home
    for length in range(len(parts) - 1, -1, -1):
        if not (layout.is_rank(parts[length]) or layout.is_facet(parts[length]) or parts[length].isdigit()):
            return None
        if (base, parts[:length]) in runs:
            inner = parts[length:]
            return (base, parts[:length]) if any(map(layout.is_rank, inner)) else None
    return None


def _move(groups: dict[Home, list[Located]], home: Home, other: Home, items: list[Located]) -> None:
    """Move items of the group `home` to another group."""
    left = [item for item in groups.pop(home) if item not in items]
    groups[other] += items
    if left:
        groups[home] = left
