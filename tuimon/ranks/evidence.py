"""Evidence about the ranks of one job: a bounded record of facts from its files, without the texts they come from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from msgspec import Struct, field

from tuimon.model.ranks import FileLine
from tuimon.ranks.collectives import Collective, CollectiveWork


class Failure(Struct):
    """A failure that a line or an error.json reports."""

    kind: int
    text: str
    place: FileLine
    time: float | None = None
    exact: bool = False
    """Does the line itself have a time stamp, unlike one that only follows a stamped line?"""
    key: tuple[str, int] | None = None
    """(role, rank); None if unknown."""
    node: str = ""
    pid: int | None = None
    collective: Collective | None = None
    """The collective that timed out."""
    bus: str = ""
    is_task: bool = False
    """Is the rank that of a Slurm task, which is not a rank of the job where each task starts several?"""


class Rank(Struct):
    """One process of the job."""

    node: str = ""
    local_rank: int | None = None
    last_step: int | None = None
    stride: int = 1
    """Difference between the newest two steps that it reported."""
    last_time: float | None = None
    """Time of its newest line that has one."""
    begun_step: int | None = None
    """Newest step that was mentioned without a measurement."""
    last_line: str = ""
    place: FileLine | None = None
    progress: dict[str, CollectiveWork] = field(default_factory=dict)
    """Newest work by process group; "" is that of all ranks."""
    stuck: int = 0
    """Seconds for which its NCCL watchdog made no progress."""
    measured: str = ""
    """Newest line with measurements of a step."""
    nan_step: int | None = None
    """First step whose loss or gradient norm was not a number."""
    nan_place: FileLine | None = None


class LogFile(Struct):
    """Knowledge about the process that writes a file, before a line of it is read."""

    path: str
    node: str = ""
    key: tuple[str, int] | None = None
    is_launcher: bool = False
    numbered: bool = False
    """Does each line begin with the rank (srun --label)?"""
    names_hosts: bool = False
    """Does each line begin with the node (pdsh)?"""
    year: int = 1970


class Evidence(Struct):
    """Facts of all files of a job."""

    ranks: dict[tuple[str, int], Rank] = field(default_factory=lambda: defaultdict(Rank))
    """By (role, global rank)."""
    failures: list[Failure] = field(default_factory=list)
    own_times: dict[int, dict[int, float]] = field(default_factory=lambda: defaultdict(dict))
    """Own time (s) by rank, by step."""
    pids: dict[tuple[str, int], tuple[str, int]] = field(default_factory=dict)
    """(role, rank) by (node, pid)."""
    processes: dict[tuple[str, int], float] = field(default_factory=dict)
    """Time of the newest line of a process that has one, by (node, pid)."""
    on_node: dict[str, set[tuple[str, int]]] = field(default_factory=lambda: defaultdict(set))
    heard: dict[str, list[float]] = field(default_factory=dict)
    """[first, last] time of the lines that ranks wrote on a node, by node."""
    launchers: dict[str, str] = field(default_factory=dict)
    """Path of the log of the launcher on a node, by node."""
    buses: dict[tuple[str, str], int] = field(default_factory=dict)
    """Index of the GPU by (node, PCI bus)."""
    step_times: dict[int, list[float]] = field(default_factory=dict)
    """[first, last] time at which a line reports a step."""
    lagging: dict[int, tuple[str, FileLine]] = field(default_factory=dict)
    """(what torch's report about a desynchronisation says, its place) by rank."""
    has_agents: bool = False
    """Does a launcher on each node start several ranks?"""
    has_ended_rank: bool = False
    """Has a launcher named a rank that ended with an error?"""
    finished: bool = False
    quiet_for: float = 0.0
    """Seconds since the newest of the files was written."""
    attempts: Mapping[str, int] = field(default_factory=dict)
    """Number of the attempt of the training by the path of a file, as in `FileLine`; empty if there is only one."""
    unreachable: dict[str, str] = field(default_factory=dict)
    """Why a host cannot be reached now, by its name."""
    lost: dict[tuple[str, int], str] = field(default_factory=dict)
    """Host of each rank whose logs are on a host that cannot be reached: its silence says nothing about the rank."""

    def rank(self, key: tuple[str, int]) -> Rank:
        return self.ranks[key]
