"""Continue known runs: while files appear, files stay in their runs, and new files join the run of their group."""

from __future__ import annotations

import posixpath
from collections import Counter, defaultdict
from collections.abc import Sequence

from tuimon.sources.grouped_files import Home, Located, Member, RunGroup, has_metrics, natural_order
from tuimon.sources.run_names import run_names


def with_known(groups: dict[Home, list[Located]], known: Sequence[RunGroup]) -> tuple[RunGroup, ...]:
    places = {member.path: (run.path, member.prefix) for run in known for member in run.members}
    paths = _known_paths(groups, places)
    members: dict[str, list[Member]] = defaultdict(list)
    roots: dict[str, str] = {}
    with_metrics: set[str] = set()
    for (base, parts), items in groups.items():
        path = paths.get((base, parts)) or posixpath.join(base, *parts)
        for item in items:
            own = path, item.prefix
            run, prefix = places.get(item.file.path, own)
            roots.setdefault(run, base)
            if not item.file.companion:
                with_metrics.add(run)
            members[run].append(Member(item.file.path, item.source, prefix, item.joined, item.attempt))
    names = run_names(members, {run.path: run.name for run in known}, roots)
    return tuple(
        RunGroup(
            path,
            names[path],
            tuple(sorted(members[path], key=lambda member: (member.source, member.path))),
            path in with_metrics,
        )
        for path in sorted(members, key=natural_order)
    )


def _known_paths(groups: dict[Home, list[Located]], places: dict[str, tuple[str, str]]) -> dict[Home, str]:
    """The path of the known run that each group continues, if any: that of most of its files with metrics. A group
    whose only known files are console text continues their run unless another group does."""
    paths: dict[Home, str] = {}
    for with_metrics in (True, False):
        taken = set(paths.values())
        for home in sorted(groups, key=lambda home: [*map(natural_order, home[1])]):
            known = [item for item in groups[home] if item.file.path in places]
            if home in paths or (with_metrics and all(item.file.companion for item in known)):
                continue
            homes = Counter(places[item.file.path][0] for item in known if not (with_metrics and item.file.companion))
            free = [path for path, _ in homes.most_common() if with_metrics or path not in taken]
            if free:
                paths[home] = free[0]
                if has_metrics(groups[home]):
                    taken.add(free[0])
    return paths
