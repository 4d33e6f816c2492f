"""Which files belong to one training job. A pure function of paths, so that the same tree is always grouped alike.

A file belongs to the run directory that is left when the facets at the end of its path are taken away
(…/grpo-1.5b/tensorboard/events… and …/grpo-1.5b/log/run.log: run grpo-1.5b). Then, in this order:

1. Parts. Event files below a directory that holds event files itself are a part of its run (torch's add_scalars and
   add_hparams), unless a directory on the way is a run of its own (seed0, version_1, a time stamp), is a facet, or
   holds other metric files. So is a role (train/, validation/). A part's metrics get the prefix "<directory>/",
   because its tags repeat; a role that is alone gets none.
2. Sessions. What a tracker names by its start (wandb/offline-run-…, swanlab/run-…, runs/<stamp>) belongs to the
   directory that holds the tracker's, if it is the only one there and something else is known of that directory.
   Several are several runs: a project directory collects the runs of many jobs, and a job taken for two does less
   harm than two taken for one. HF's runs/<stamp> beside a trainer_state.json are always its restarts.
3. Twins. Directories whose paths differ only by facets (tb/version_0 and csv/version_0) are one run if their formats
   differ. Lightning's csv/version_0 and mlp/version_0 may be one fit as well, but the names cannot prove it: two runs.
4. Companions. Files without metrics of their own (console text) join the only run below their directory, or else the
   nearest above. Where several runs lie below, they stay by themselves. A config joins the run of its own directory
   (the facets of that taken away), and no other.
5. Files of one directory are one run, except metric files named as runs of their own (ppo_seed0.jsonl beside
   ppo_seed1.jsonl).

Growth. Pass the groups given before as `known`: a file stays in its run with its prefix, a run keeps path and name,
and new files join the run that their group's files are in. Without it, a file that appears can move others.
"""

from __future__ import annotations

import posixpath
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from msgspec import Struct

from tuimon.sources import layout
from tuimon.sources.names import run_names

Parts = tuple[str, ...]
Home = tuple[str, Parts]
"""A run directory: the path asked for (or the directory of the file asked for), and the parts below it."""


class GroupedFile(Struct, frozen=True):
    """A log as far as grouping goes."""

    path: str
    """Absolute."""
    format: str
    """Id of its format."""
    directory_is_source: bool = False
    """All such files of a directory are one source (event files)."""
    companion: bool = False
    """It goes with a run but makes none: console text."""
    beside: bool = False
    """A companion of the run of its own directory, and of no other: a config."""
    source: str = ""
    """Not empty: absolute path of the source that it is a part of; it is no run by itself, whatever its name."""


class Member(Struct, frozen=True):
    """A file of a run."""

    path: str
    source: str
    """Path below the path asked for, of the file or of its directory; "." for that path itself."""
    prefix: str
    """"" or "<part>/": put before metric names."""


class RunGroup(Struct, frozen=True):
    """The logs of one training job."""

    path: str
    """Absolute; tells runs apart."""
    name: str
    members: tuple[Member, ...]
    """By source, then by path."""


class _Located(Struct):
    """A file on its way to a run."""

    file: GroupedFile
    source: str
    directory: Home
    home: Home
    prefix: str = ""


def group_runs(
    files: Iterable[GroupedFile], roots: Sequence[str], known: Sequence[RunGroup] = ()
) -> tuple[RunGroup, ...]:
    """Runs by path. roots: the paths asked for, absolute; each file lies below one of them. known: see above."""
    located = [_locate(file, roots) for file in files]
    _find_parts(located)
    _split_named_files(located)
    groups: dict[Home, list[_Located]] = defaultdict(list)
    for item in located:
        groups[item.home].append(item)
    _fold_sessions(groups)
    _join_twins(groups)
    _join_companions(groups)
    return _with_known(groups, known)


def _locate(file: GroupedFile, roots: Sequence[str]) -> _Located:
    above = [root for root in roots if file.path == root or file.path.startswith(root.rstrip("/") + "/")]
    root = max(above, key=len, default=posixpath.dirname(file.path))
    directory = posixpath.dirname(file.path)
    base = directory if file.path == root else root
    if file.path == root:
        source = posixpath.basename(file.path)
    else:
        whole = file.source or (directory if file.directory_is_source else file.path)
        inside = whole == root or whole.startswith(root.rstrip("/") + "/")
        source = posixpath.relpath(whole, root) if inside else "."  # else the path asked for is a part of the source
    below = posixpath.relpath(directory, base)
    parts = () if below == "." else tuple(below.split("/"))
    return _Located(file, source, (base, parts), (base, parts))


class _Directories(Struct):
    """Those that hold metric files."""

    events: set[Home]
    others: set[Home]
    roles: Counter[Home]
    """How many of those in a directory are named as roles."""


def _find_parts(located: list[_Located]) -> None:
    """Sets home and prefix of each file from its directory."""
    events = {item.directory for item in located if item.file.directory_is_source}
    others = {item.directory for item in located if not (item.file.directory_is_source or item.file.companion)}
    roles = Counter((base, parts[:-1]) for base, parts in events | others if parts and layout.is_role(parts[-1]))
    directories = _Directories(events, others, roles)
    found: dict[Home, tuple[Home, str]] = {}
    for item in located:
        if item.directory not in found:
            base, parts = item.directory
            parts, prefix = _part(base, _within_unit(parts), directories)
            found[item.directory] = (base, _without_facets(parts)), prefix
        item.home, item.prefix = found[item.directory]


def _part(base: str, parts: Parts, directories: _Directories) -> tuple[Parts, str]:
    """The directory whose part `parts` is, and the prefix; (parts, "") if it is none."""
    events, others = directories.events, directories.others
    if layout.WORKERS in parts:
        cut = parts.index(layout.WORKERS)
        inner = [part for part in parts[cut + 1 :] if not layout.is_facet(part)]
        return parts[:cut], "/".join([*inner, ""])
    if (base, parts) in events and (base, parts) not in others:
        for cut in range(len(parts) - 1, -1, -1):
            if layout.is_own(parts[cut]) or layout.is_facet(parts[cut]):
                break
            holder = base, parts[:cut]
            if holder in events:
                owner, prefix = _part(*holder, directories)
                return owner, prefix + "/".join([*parts[cut:], ""])
            if holder in others:
                break
    if parts and layout.is_role(parts[-1]):
        above = base, parts[:-1]
        owner, prefix = _part(*above, directories)
        siblings = directories.roles[above] - ((base, parts) in events or (base, parts) in others)
        if siblings or above in events or above in others:
            prefix += parts[-1] + "/"
        return owner, prefix
    return parts, ""


def _within_unit(parts: Parts) -> Parts:
    """Cut behind the directory of a tracker's run, and before a container of plots."""
    for index, part in enumerate(parts):
        if layout.is_unit(part):
            return parts[: index + 1]
        if part == layout.CONTAINER:
            return parts[:index]
    return parts


def _without_facets(parts: Parts) -> Parts:
    while parts and layout.is_facet(parts[-1]):
        parts = parts[:-1]
    return parts


def _split_named_files(located: list[_Located]) -> None:
    named: dict[tuple[Home, str], list[_Located]] = defaultdict(list)
    for item in located:
        stem = posixpath.splitext(posixpath.basename(item.file.path))[0]
        alone = not (item.file.directory_is_source or item.file.companion or item.file.source)
        if alone and layout.is_own(stem):
            named[item.directory, item.file.format].append(item)
    for items in named.values():
        if len(items) > 1:
            for item in items:
                base, parts = item.directory
                item.home = (base, (*parts, posixpath.basename(item.file.path)))


def _has_metrics(items: list[_Located]) -> bool:
    return any(not item.file.companion for item in items)


def _fold_sessions(groups: dict[Home, list[_Located]]) -> None:
    holders: dict[Home, dict[Parts, list[Home]]] = defaultdict(lambda: defaultdict(list))
    for home, items in groups.items():
        base, parts = home
        if _has_metrics(items) and len(parts) > 1 and layout.is_session(parts[-1]) and layout.is_facet(parts[-2]):
            holders[base, _without_facets(parts[:-1])][parts[:-1]].append(home)
    for holder, trackers in holders.items():
        own = groups.get(holder, [])
        single = [homes[0] for homes in trackers.values() if len(homes) == 1]
        folded = single if _has_metrics(own) or len(single) > 1 else []
        if any(posixpath.basename(item.file.path) == "trainer_state.json" for item in own):
            folded += [home for tracker, homes in trackers.items() if tracker[-1] == "runs" for home in homes]
        for home in dict.fromkeys(folded):
            groups.setdefault(holder, []).extend(groups.pop(home))


def _bare(home: Home) -> Home:
    """The home without the facets within its path."""
    base, parts = home
    return base, tuple(part for part in parts if not layout.is_facet(part))


def _join_twins(groups: dict[Home, list[_Located]]) -> None:
    twins: dict[Home, list[Home]] = defaultdict(list)
    for home in sorted(groups, key=lambda home: (not _has_metrics(groups[home]), home)):
        twins[_bare(home)].append(home)
    for first, *rest in twins.values():
        formats = _metric_formats(groups[first])
        for home in rest:
            theirs = _metric_formats(groups[home])
            if not formats & theirs:
                formats |= theirs
                groups[first] += groups.pop(home)


def _metric_formats(items: list[_Located]) -> set[str]:
    return {item.file.format for item in items if not item.file.companion}


def _join_companions(groups: dict[Home, list[_Located]]) -> None:
    runs = {home for home, items in groups.items() if _has_metrics(items)}
    below: dict[Home, list[Home]] = defaultdict(list)
    for run in runs:
        base, parts = _bare(run)
        for length in range(len(parts) + 1):
            below[base, parts[:length]].append(run)
    for home in [home for home in groups if home not in runs]:
        inside = below.get(_bare(home), [])
        base, parts = home
        above = [(base, parts[:length]) for length in range(len(parts)) if (base, parts[:length]) in runs]
        joined = inside[0] if len(inside) == 1 else above[-1] if above and not inside else None
        if joined is not None:
            items = groups.pop(home)
            groups[joined] += [item for item in items if not item.file.beside]
            if left := [item for item in items if item.file.beside]:
                groups[home] = left


def _with_known(groups: dict[Home, list[_Located]], known: Sequence[RunGroup]) -> tuple[RunGroup, ...]:
    places = {member.path: (run.path, member.prefix) for run in known for member in run.members}
    members: dict[str, list[Member]] = defaultdict(list)
    for (base, parts), items in groups.items():
        homes = Counter(places[item.file.path][0] for item in items if item.file.path in places)
        path = homes.most_common(1)[0][0] if homes else posixpath.join(base, *parts)
        for item in items:
            run, prefix = places.get(item.file.path, (path, item.prefix))
            members[run].append(Member(item.file.path, item.source, prefix))
    names = run_names(members, {run.path: run.name for run in known})
    return tuple(
        RunGroup(path, names[path], tuple(sorted(members[path], key=lambda member: (member.source, member.path))))
        for path in sorted(members)
    )
