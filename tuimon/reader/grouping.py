"""Group log files into runs: `group_runs` gives the same runs for the same files, whenever it is called.

A directory with logs is a run; a directory that names a kind of output or a process belongs to the one above
(…/grpo-1.5b/tensorboard/events… and …/grpo-1.5b/log/run.log: run grpo-1.5b). Then, in this order:

1. Parts. Event files below a directory that holds event files itself are a part of its run (torch's add_scalars and
   add_hparams), unless a directory in between is a separate run (seed0, version_1, a time stamp), is a facet, or
   holds other metric files. A role (train/, validation/) is a part as well. The metrics of a part get the prefix
   "<directory>/", because its tags repeat; a single role gets no prefix.
2. Files of one directory that log the same metrics are runs of their own (ppo_seed0.jsonl, ppo_seed1.jsonl), unless
   one begins where another stopped: then it is its next attempt. Event files that several programs wrote at the same
   time in one directory are a run for each. A file that is given by name is a run of its own, unless its name says
   nothing.
3. Sessions. Directories that a tracker names by start time (wandb/offline-run-…, swanlab/run-…, runs/<stamp>) belong
   to the directory above the tracker's if there is only one of them and that directory has other logs or settings.
   Several sessions are several runs, except those with one id of the tracker, and those beside a trainer_state.json.
4. Companions. Files without metrics of their own (console text) join the only run below their directory. Text of one
   process (rank_0/, node1/) joins the nearest run above. A config joins the run of its directory.
5. Ranks. The logs of a job's processes are one run: torchrun's attempt directories, and Ray's sessions of several nodes
   (see job_files). Those of hosts whose logs were copied from them count as if they lay in one directory (job_hosts).
6. The user's word (overrides) is last and wins.
Runs of two directories with equal values (tb/version_0 and csv/version_0) are joined when their points are known
(store/equal_runs).
"""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence

from msgspec.structs import replace

from tuimon.reader.trainings import Trainings
from tuimon.sources import layout
from tuimon.sources.grouped_files import (
    GroupedFile,
    Located,
    Member,
    Parts,
    RunDirectory,
    RunLogs,
    SplitFiles,
    has_metrics,
    natural_order,
)
from tuimon.sources.job_files import homes_of_jobs
from tuimon.sources.job_hosts import merged
from tuimon.sources.overrides import NO_OVERRIDES, Overrides
from tuimon.sources.run_names import run_names
from tuimon.sources.run_parts import find_parts, without_facets

Groups = dict[RunDirectory, list[Located]]


def group_runs(
    files: Iterable[GroupedFile],
    roots: Sequence[str],
    trainings: Trainings | None = None,
    overrides: Overrides = NO_OVERRIDES,
) -> tuple[RunLogs, ...]:
    """The runs, sorted by path.

    roots: the given paths, absolute; each file is below one of them. trainings: without it the files of a directory are
    of one training."""
    located = [_locate(file, roots) for file in files]
    find_parts(located)
    _join_resumed(located)
    of_jobs = homes_of_jobs(dict.fromkeys({item.home for item in located}, False))
    if trainings is not None:
        _order_parts(located, trainings)
        own = (item for item in located if not (item.file.companion or item.prefix or item.home in of_jobs))
        _split_trainings(own, trainings)
        _split_parallel_writers(located, trainings)
        _split_given_files(located, roots, trainings)
    groups: Groups = defaultdict(list)
    for item in located:
        groups[item.home].append(item)
    _fold_sessions(groups)
    _join_companions(groups)
    if trainings is not None:
        _split_texts(groups, trainings, of_jobs)
        _join_attempts_of_texts(groups, trainings)
    for home, holder in homes_of_jobs({home: has_metrics(items) for home, items in groups.items()}).items():
        _move(groups, home, holder, groups[home], "a process of the job")
    _split_by_hand(groups, overrides.split)
    _join_by_hand(groups, overrides.join, trainings)
    return _as_groups(groups)


def _as_groups(groups: Groups) -> tuple[RunLogs, ...]:
    homes = {_path_of(home): home for home in groups}
    names = run_names(homes, {path: base for path, (base, _) in homes.items()})
    return tuple(
        RunLogs(
            path,
            names[path],
            tuple(
                Member(item.file.path, item.source, item.prefix, item.joined, item.attempt, item.part, item.rule)
                for item in sorted(groups[homes[path]], key=lambda item: (item.source, item.file.path))
            ),
            has_metrics(groups[homes[path]]),
        )
        for path in sorted(homes, key=natural_order)
    )


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


def _join_resumed(located: Sequence[Located]) -> None:
    """Make the directories of a tracker with one id one run, of which each directory is an attempt."""
    sessions: dict[tuple[RunDirectory, str], dict[str, list[Located]]] = defaultdict(lambda: defaultdict(list))
    for item in located:
        base, parts = item.home
        if parts and (id := layout.unit_id(parts[-1])):
            sessions[(base, parts[:-1]), id][parts[-1]].append(item)
    for ((base, above), _), directories in sessions.items():
        names = sorted(directories)  # they begin with the time of the start
        _set_sessions(names, [directories[name] for name in names])
        for item in (item for name in names[1:] for item in directories[name]):
            item.home = base, (*above, names[0])
            item.rule = f"the id of the tracker's run {names[0]}"


def _set_sessions(names: Sequence[str], sessions: Sequence[Sequence[Located]]) -> None:
    """Draw the logs of directories, each of which an attempt of one training wrote, as those of the first one."""
    for number, (name, items) in enumerate(zip(names, sessions, strict=True)):
        for item in items if number else ():
            item.joined, item.attempt = (item.joined or item.source).replace(name, names[0]), number


def _order_parts(located: Iterable[Located], trainings: Trainings) -> None:
    logs: dict[str, dict[str, Located]] = defaultdict(dict)
    for item in located:
        logs[item.file.joined or item.file.path][item.file.path] = item
    for parts in logs.values():
        if len(parts) > 1:
            for number, path in enumerate(trainings.in_order(list(parts))):
                parts[path].part = number


def _split_given_files(located: Sequence[Located], roots: Sequence[str], trainings: Trainings) -> None:
    """Make files that are given by name runs of their own, unless it is a single one whose name says nothing."""
    given = [item for item in located if item.file.path in roots and not _is_part(item)]
    for (directory, _), items in _by_directory(given).items():
        if len(items) > 1 and trainings.are_processes([item.file for item in items]):
            continue
        if sum(item.directory == directory for item in given) > 1 or layout.is_telling(items[0].file.path):
            live = {item.file.path: item.file.joined or item.file.path for item in items}
            _set_homes(items, {path: posixpath.basename(name) for path, name in live.items()}, "given by name")


def _split_trainings(located: Iterable[Located], trainings: Trainings) -> None:
    """Make files of one directory and format that are of different trainings runs of their own, and those of the
    attempts of one training one source."""
    at_home = [item for item in located if not _is_part(item)]
    for items in _by_directory(at_home).values():
        if len(items) > 1 and all(layout.is_tracker_run(item.file.path) for item in items):
            names = {item.file.path: posixpath.basename(item.file.path) for item in items}
            _set_homes(items, names, "a file of a tracker's run")
        elif len(items) > 1:
            split = trainings.of([item.file for item in items])
            _set_homes(items, split.names, "it logs the same metrics as files beside it")
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
                item.home, item.rule = (base, (*parts, name)), "programs wrote here at the same time"


def _set_attempts(items: Sequence[Located], split: SplitFiles) -> None:
    sources = {item.file.path: item.joined or item.source for item in items}
    for item in items:
        if attempt := split.attempts.get(item.file.path):
            item.joined, item.attempt = sources[attempt.first], attempt.number
            if attempt.number:
                item.rule = f"it goes on where attempt {attempt.number} stopped"


def _split_texts(groups: Groups, trainings: Trainings, of_jobs: Container[RunDirectory]) -> None:
    """Make console texts of different trainings runs of their own, unless they are those of the processes of a job."""
    for home in [home for home in groups if not (has_metrics(groups[home]) or home in of_jobs)]:
        items = groups.pop(home)
        _split_trainings((item for item in items if not item.file.beside), trainings)
        for item in items:
            groups[item.home].append(item)


def _join_attempts_of_texts(groups: Groups, trainings: Trainings) -> None:
    """Draw the console texts beside metric files that continue one another as one source."""
    for items in groups.values():
        texts = [item for item in items if item.file.companion and not item.file.beside]
        for of_format in _by_directory(texts).values() if has_metrics(items) else ():
            if len(of_format) > 1:
                _set_attempts(of_format, trainings.of([item.file for item in of_format]))


def _is_part(item: Located) -> bool:
    """Return whether the file is a part of a source with others: an event file, a file of a tracker's directory."""
    return item.file.directory_is_source or bool(item.file.source)


def _by_directory(items: Iterable[Located]) -> dict[tuple[RunDirectory, str], list[Located]]:
    found: dict[tuple[RunDirectory, str], list[Located]] = defaultdict(list)
    for item in items:
        found[item.directory, item.file.format].append(item)
    return found


def _set_homes(items: Iterable[Located], names: Mapping[str, str], rule: str) -> None:
    """Make files runs of these names; a text with a name is a run like a file with metrics."""
    for item in items:
        if name := names.get(item.file.path):
            base, parts = item.directory
            item.home, item.rule = (base, (*parts, name)), rule
            item.file = replace(item.file, companion=False)


def _fold_sessions(groups: Groups) -> None:
    holders: dict[RunDirectory, dict[Parts, list[RunDirectory]]] = defaultdict(lambda: defaultdict(list))
    for home, items in groups.items():
        base, parts = home
        if has_metrics(items) and len(parts) > 1 and layout.is_session(parts[-1]) and layout.is_facet(parts[-2]):
            holders[base, without_facets(parts[:-1])][parts[:-1]].append(home)
    for holder, trackers in holders.items():
        own = groups.get(holder, [])
        single = [homes[0] for homes in trackers.values() if len(homes) == 1]
        folded = single if own or len(single) > 1 else []
        if any(posixpath.basename(item.file.path) == "trainer_state.json" for item in own):
            attempts = [home for tracker, homes in trackers.items() if tracker[-1] == "runs" for home in homes]
            attempts.sort(key=lambda home: min(posixpath.basename(item.file.path) for item in groups[home]))
            _set_sessions([parts[-1] for _, parts in attempts], [groups[home] for home in attempts])
            folded += attempts
        for home in dict.fromkeys(folded):
            _move(groups, home, holder, groups[home], "a session of the directory's tracker")


def _bare(home: RunDirectory) -> RunDirectory:
    """The home without any facet in its path."""
    base, parts = home
    return base, tuple(part for part in parts if not layout.is_facet(part))


def _join_companions(groups: Groups) -> None:
    runs = {home for home, items in groups.items() if has_metrics(items)}
    below: dict[RunDirectory, list[RunDirectory]] = defaultdict(list)
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
            rule = "the only run below it" if inside else "a process of the run above"
            _move(groups, home, joined, [item for item in groups[home] if not item.file.beside], rule)


def _run_of_process(home: RunDirectory, runs: set[RunDirectory]) -> RunDirectory | None:
    """The nearest run above whose process writes to this directory (rank_0/, attempt_0/3/); None without one."""
    base, parts = home
    for length in range(len(parts) - 1, -1, -1):
        if not (layout.is_rank(parts[length]) or layout.is_facet(parts[length]) or parts[length].isdigit()):
            return None
        if (base, parts[:length]) in runs:
            inner = parts[length:]
            return (base, parts[:length]) if any(map(layout.is_rank, inner)) else None
    return None


def _move(groups: Groups, home: RunDirectory, other: RunDirectory, items: list[Located], rule: str) -> None:
    """Move items of the group `home` to another group, which need not exist yet."""
    left = [item for item in groups.pop(home) if item not in items]
    for item in items:
        item.home, item.rule = other, rule
    groups.setdefault(other, []).extend(items)
    if left:
        groups[home] = left


def _split_by_hand(groups: Groups, directories: Iterable[str]) -> None:
    """Make each log at or below these paths a run."""
    for directory in directories:
        for home in list(groups):
            for item in [item for item in groups[home] if is_below(item.file.path, directory) and not item.file.beside]:
                live = item.file.source or item.file.joined or item.file.path
                own = directory, tuple(posixpath.relpath(live, directory).split("/")) if live != directory else ()
                item.file = replace(item.file, companion=False)
                item.joined, item.attempt = "", 0
                if own != home:
                    _move(groups, home, own, [item], f"split {directory}")


def _join_by_hand(groups: Groups, joins: Iterable[Sequence[str]], trainings: Trainings | None) -> None:
    """Make the logs at or below the paths of each join one run, at the home of the first."""
    for paths in joins:
        parts = [
            home
            for path in paths
            for home, items in groups.items()
            if is_below(_path_of(home), path) or any(is_below(item.file.path, path) for item in items)
        ]
        first, *others = dict.fromkeys(parts) or [("", ())]
        for home in others:
            whole = any(is_below(_path_of(home), path) for path in paths)
            items = [item for item in groups[home] if whole or any(is_below(item.file.path, path) for path in paths)]
            _move(groups, home, first, items, f"joined with {posixpath.basename(paths[0])}")
        if others and trainings is not None:
            of_format: dict[str, list[Located]] = defaultdict(list)
            for item in groups[first]:
                of_format[item.file.format].append(item)
            for items in of_format.values():
                _set_attempts(items, trainings.of([item.file for item in items]))


def _path_of(home: RunDirectory) -> str:
    base, parts = home
    return posixpath.join(base, *parts)


def is_below(path: str, directory: str) -> bool:
    """Return whether a path is this directory or file, or below it."""
    return path == directory or path.startswith(f"{directory.rstrip('/')}/")
