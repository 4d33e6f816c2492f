"""Find the directories that hold the files of one distributed job, by the layouts of its launchers.

torchrun    <log dir>/<run id>_<8 random characters>/attempt_<n>/<local rank>/stdout.log: one such directory of agents a
            node; all of them below one log directory are one job
Ray         <node>/session_<stamp>/logs/: one session a node; sessions of sibling directories are one job if no node
            has several
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from tuimon import lazy_re as re
from tuimon.sources.grouped_files import RunDirectory

_ATTEMPT, _AGENT = re.compile(r"attempt_\d+"), re.compile(r".+_[a-z0-9_]{8}|none_.*")
_LOG_DIRECTORY = re.compile(r"(torchrun|torchelastic|elastic|rank|torch)?[-_]?(logs?|logdir|metrics)", re.IGNORECASE)
_SESSION = re.compile(r"session_(latest|\d{4}-\d\d-\d\d_.*)")


def homes_of_jobs(homes: Mapping[RunDirectory, bool]) -> dict[RunDirectory, RunDirectory]:
    """Return the home of the job for each home that is a part of one. homes: whether each has metrics."""
    jobs = _torchrun(homes) | _ray(homes)
    for job in sorted(set(jobs.values())):
        parts = [home for home, holder in jobs.items() if holder == job]
        for part in parts:
            jobs[part] = _holder(job, homes, set(parts))
    return {home: holder for home, holder in jobs.items() if home != holder}


def _holder(job: RunDirectory, homes: Mapping[RunDirectory, bool], parts: set[RunDirectory]) -> RunDirectory:
    """Return the only run with metrics in or below the directory of the job, or else that directory."""
    base, prefix = job
    inside = [
        home
        for home, has_metrics in homes.items()
        if has_metrics and home[0] == base and home[1][: len(prefix)] == prefix and home not in parts
    ]
    return inside[0] if len(inside) == 1 else job


def _torchrun(homes: Mapping[RunDirectory, bool]) -> dict[RunDirectory, RunDirectory]:
    jobs: dict[RunDirectory, RunDirectory] = {}
    for home in homes:
        base, parts = home
        if len(parts) > 2 and parts[-1].isdigit() and _ATTEMPT.fullmatch(parts[-2]) and _AGENT.fullmatch(parts[-3]):
            above = parts[:-3]
            while above and _LOG_DIRECTORY.fullmatch(above[-1]):
                above = above[:-1]
            jobs[home] = base, above
    return jobs


def _ray(homes: Mapping[RunDirectory, bool]) -> dict[RunDirectory, RunDirectory]:
    nodes: dict[RunDirectory, dict[str, list[RunDirectory]]] = defaultdict(lambda: defaultdict(list))
    for home in homes:
        base, parts = home
        for index, part in enumerate(parts):
            if index and _SESSION.fullmatch(part):
                nodes[base, parts[: index - 1]][parts[index - 1]].append(home)
                break
    return {
        home: job
        for job, sessions in nodes.items()
        if len(sessions) > 1 and all(len(inside) == 1 for inside in sessions.values())
        for inside in sessions.values()
        for home in inside
    }
