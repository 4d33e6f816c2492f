"""The ranks of one distributed job: the verdict, and the facts about each rank."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct


class FileLine(Struct, frozen=True):
    """A line of a file."""

    path: str
    line: int
    """From 1; 0 if unknown."""
    offset: int = 0
    """Byte offset of the line."""


class RootCause(Struct):
    """Cause of the end of the job, or of an attempt of it."""

    rank: int | None
    """None if no rank is to blame, or if the evidence does not suffice."""
    node: str
    text: str
    evidence: str = ""
    """The line that shows it."""
    place: FileLine | None = None
    rule: str = ""
    time: float | None = None
    """When it happened (s since the epoch), if a line says so."""
    resolved: bool = False
    """Did the job go on after it?"""
    step: int | None = None
    """Newest step that was reported before it, if the job went on after it."""
    count: int = 1
    """Number of failures after which the job went on or ended, this one included."""


class Straggler(Struct, frozen=True):
    """A rank that computes longer than the median rank."""

    rank: int
    excess: float
    """Share by which its own time exceeds the median rank's."""
    z: float
    since: int
    """First step of the slowness."""
    own: float
    """Median own time (s) within the window."""
    others: float
    """Median own time (s) of all ranks within the window."""
    hours_lost: float
    """GPU hours that all ranks waited for this one since it became slow."""
    after: int | None = None
    """Newest step known before `since`, if steps between them were not read. The slowness began after it."""

    @property
    def sentence(self) -> str:
        least = "at least " if self.after is not None else ""
        return (
            f"rank {self.rank} computes {self.excess:.0%} longer than the others since {self.begin}: "
            f"own {self.own:.3g} s, others {self.others:.3g} s (z {self.z:.0f}); "
            f"{least}{self.hours_lost:.2g} GPU hours lost"
        )

    @property
    def begin(self) -> str:
        """First slow step as far as it is known."""
        return f"step {self.since}" if self.after is None else f"a step between {self.after} and {self.since}"


class RankRow(Struct, frozen=True):
    """One process of a job. Measurements are None if no line or file has them."""

    role: str
    """Role in a job with several worker groups, such as "actor_train"; "" in other jobs."""
    rank: int
    node: str
    """Host name or address; "" if unknown."""
    gpu: int | None
    """Local rank, which is the index of the GPU where each process uses one."""
    state: str
    """failed | nan | slow | silent | recovered | lost | timeout | ended | unreachable | done | run. A recovered rank
    failed before the job was restarted; a lost one reported steps until then and none since."""
    strangeness: float
    """0 for a rank about which nothing is unusual; rows are sorted by it."""
    step: int | None = None
    own: float | None = None
    """Seconds that the rank computed in a step, without waiting (median of the newest steps)."""
    wait: float | None = None
    """Seconds that the rank waited for others in its newest step."""
    memory: float | None = None
    """Used fraction of the memory of the GPU."""
    loss: str = ""
    """Newest loss as written."""
    line: str = ""
    """Line of the failure that ended the job, or else the last line of the log."""
    path: str = ""
    """Path of the log with the evidence, below the directory of the job."""
    number: int = 0
    """Line number of the evidence; 0 if unknown."""
    offset: int = 0
    """Byte offset of that line."""
    evidence: tuple[str, ...] = ()
    """Sentences that say what is unusual about the rank."""


def all_well(rows: Iterable[RankRow], failure: str = "no failure") -> str:
    """Return the verdict about ranks without a problem: "no failure and no straggler".

    Without compute times nothing is said about stragglers.
    """
    if any(row.own is not None for row in rows):
        return f"{failure} and no straggler"
    return f"{failure}; no compute times are logged, so a slow rank cannot be found"


class RankProblem(Struct, frozen=True):
    """A problem of ranks that is worth an alert."""

    rule: str
    """rank_failure | straggler | rank_silent | rank_nan."""
    severity: str
    step: int | None
    message: str
    hint: str = ""
    """Advice: which log to open, which node to look at, what to try."""


class JobRanks(Struct, frozen=True):
    """The ranks of the job that wrote a run."""

    directory: str
    """Directory that the paths of the rows are below."""
    verdict: str
    """One sentence: which rank ended the job or is slow, or "all in step"."""
    short: str
    """The verdict in a few words; "" if nothing is wrong."""
    rows: tuple[RankRow, ...]
    """The strangest first."""
    problems: tuple[RankProblem, ...] = ()
    root_cause: RootCause | None = None
    """Cause of the end of the job, or of an earlier attempt of it."""
    stragglers: tuple[Straggler, ...] = ()
    silent: tuple[int, ...] = ()
    restart: str = ""
    """Sentence about the last failure after which the job went on; "" if there was none, or a later one ended it."""
    unread: int = 0
    """Bytes between the beginnings and the ends of the files, which were not read."""
    unreachable: tuple[tuple[str, str], ...] = ()
    """(host, why) of the hosts that cannot be reached now. Nothing new is known of their ranks."""
