"""Facts in a line of a rank's log: its rank, node, time, step and the failure that it reports."""

from __future__ import annotations

import time
from datetime import datetime
from functools import lru_cache

import orjson
from msgspec import Struct

from tuimon import lazy_re as re

HARDWARE, APPLICATION, KILLED, OUTSIDE, SIGNAL, TIMEOUT, CONSEQUENCE, EXIT = range(8)
"""Kinds of failure, in the order in which they explain one another."""
CAUSES = {
    HARDWARE: "hardware failure",
    APPLICATION: "exception",
    KILLED: "process killed",
    OUTSIDE: "stop from outside",
    SIGNAL: "signal",
    TIMEOUT: "NCCL timeout",
    CONSEQUENCE: "lost peer or SIGTERM",
    EXIT: "exit with an error code",
}


class Owner(Struct):
    """Identity of the process that wrote a line, as far as the line names it; None and "" if unknown."""

    rank: int | None = None
    role: str = ""
    node: str = ""
    local_rank: int | None = None
    pid: int | None = None
    stamp: str = ""
    """Time stamp that a container runtime wrote before the line."""


_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_PREFIXES = (
    re.compile(r"\[(?!rank\d)(?P<role>[A-Za-z]\w*?)(?P<local>\d+)\]:(?=.)"),  # torchrun --tee: [default5]:
    re.compile(r"\[(?:rank)(?P<rank>\d+)\]:\s?"),  # torch's exception hook and C++ logger
    re.compile(r"\((?P<name>[\w.:-]+) pid=(?P<pid>\d+)(?:, ip=(?P<node>[\w.:-]+))?\) ?"),  # Ray
    re.compile(r"\[\d+,(?P<rank>\d+)\]<std(?:out|err)>: ?"),  # OpenMPI 4
    re.compile(r"\[prterun-[^\]]*@\d+,(?P<rank>\d+)\]<std(?:out|err)>: ?"),  # OpenMPI 5
    re.compile(r"\[pod/(?P<node>[\w.-]+)/[\w.-]+\] ?"),  # kubectl --prefix
    re.compile(r"\[rank: (?P<rank>\d+)\] (?!Child process)"),  # Lightning
)
_NUMBERED_PREFIXES = _PREFIXES[3:4]
"""OpenMPI's, which begins with a digit: most lines that begin with a bracket go on with a time stamp."""
_CONTAINER = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)) std(?:out|err) [FP] ")
"""Head of a line in the log of a container (CRI): its time, the stream, and whether the line is whole."""
HOST = re.compile(r"(?P<node>(?=[a-z.-]*\d)[A-Za-z][\w.-]{0,62}|\d{1,3}(?:\.\d{1,3}){3}): (?=\S)")
"""The node that pdsh writes before each line; other lines can begin like this, too."""
NUMBERED = re.compile(r"(?:P\d+ )? *(?P<srun>\d{1,5}): (?=\S)|\[(?P<mpich>\d{1,5})\] (?=\S)")
"""The rank that srun --label and MPICH -prepend-rank write before each line; other lines can begin like this, too."""
_HEADER = re.compile(r"\[rank(?P<rank>\d+)\]")
_NODE_HEADER = re.compile(r"\[(?P<node>[A-Za-z][\w.-]*)\]\[rank\d+\]")
_WORLD = re.compile(r"\[(?P<role>[A-Za-z][\w-]*) (?P<rank>\d+) ?/ ?(?P<world>\d+)\](?:\[PID (?P<pid>\d+)\])?")
_PLACE = re.compile(r"\brank (?P<rank>\d+) of \d+ \((?P<node>[\w.-]+), local rank (?P<local>\d+)\)")
_COUNTER = re.compile(
    r"epochs?|ep|steps?|it|iter(?:ation)?s?|batch(?:es)?|train(?:ing)?|val(?:id(?:ation)?)?|eval(?:uation)?|test|round"
    r"|episode|fold|trial|seed|phase|stage|task|part|chunk|shard|file|image|sample|page",
    re.IGNORECASE,
)
"""Words that count something else than processes in "[epoch 3/16]"."""
_KEY = re.compile(r"(?<![\w.-])rank=(\d{1,6})\b")
_JSON_RANK = re.compile(r'"(?:global_)?rank": ?(\d+)')


def is_counter(word: bytes | None) -> bool:
    """Return whether a word counts something else than processes: the "epoch" of "[epoch 3/16]"."""
    return word is not None and _COUNTER.fullmatch(word.decode("ascii", "replace")) is not None


def split_owner(line: str) -> tuple[Owner, str]:
    """Return what the line says about its process, and the text without the prefixes of launchers."""
    text, owner = _ANSI.sub("", line) if "\x1b" in line else line, Owner()
    if text[4:5] == "-" and (match := _CONTAINER.match(text)):
        owner.stamp, text = match[1], text[match.end() :]
    prefixes = () if text[:1] not in ("[", "(") else _NUMBERED_PREFIXES if text[1:2].isdigit() else _PREFIXES
    for pattern in prefixes:
        match = pattern.match(text)
        if match is None:
            continue
        fields = match.groupdict()
        if fields.get("local"):
            owner.local_rank = int(fields["local"])
        if fields.get("rank"):
            owner.rank = int(fields["rank"])
        owner.pid = int(fields["pid"]) if fields.get("pid") else owner.pid
        owner.node = fields.get("node") or owner.node
        text = text[match.end() :]
    head = text[:300]
    if "/" in head and (match := _WORLD.search(text[:200])) and (match["pid"] or not _COUNTER.fullmatch(match["role"])):
        owner.role, owner.rank = match["role"], int(match["rank"])
        owner.pid = int(match["pid"]) if match["pid"] else owner.pid
    elif (
        owner.rank is None
        and "rank" in head
        and (match := _HEADER.search(head) or (_JSON_RANK if text.startswith("{") else _KEY).search(head))
    ):
        owner.rank = int(match[1])
    if "][rank" in head and (match := _NODE_HEADER.search(head)):
        owner.node = match["node"]
    if "local rank" in head and (match := _PLACE.search(head)):
        owner.rank, owner.node, owner.local_rank = int(match["rank"]), match["node"], int(match["local"])
    return owner, text


_STAMP = re.compile(r"(\d{4})[-/](\d\d)[-/](\d\d)[T _](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(Z|[+-]\d\d:?\d\d)?(?!\d)")
_GLOG = re.compile(r"(?:^|\[)[IWEF](\d{1,2})(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?")


def time_of(text: str, year: int) -> float | None:
    """Return the time stamp of a line (s since the epoch; in the local time zone if it names none).

    year: of stamps without a year."""
    try:
        if match := _STAMP.search(text[:120]):
            minute, fraction = match.group(1, 2, 3, 4, 5), match[7]
            second = match[6]
            if match[8]:
                moment = datetime.fromisoformat(
                    f"{'-'.join(match.group(1, 2, 3))}T{':'.join(match.group(4, 5, 6))}{match[8]}"
                )
                return moment.timestamp() + (float(f"0.{fraction}") if fraction else 0.0)
        elif match := _GLOG.search(text[:60]):
            minute, fraction = (str(year), *match.group(1, 2, 3, 4)), match[6]
            second = match[5]
        else:
            return None
        return _minute(*minute) + int(second) + (int(fraction) / 10 ** len(fraction) if fraction else 0.0)
    except (ValueError, OverflowError):
        return None


@lru_cache(maxsize=4096)
def _minute(year: str, month: str, day: str, hour: str, minute: str) -> float:
    """Return the begin of a minute (s since the epoch). Raises ValueError if there is no such minute."""
    return time.mktime(datetime(int(year), int(month), int(day), int(hour), int(minute)).timetuple())


_LONGEST_WORD = 10
"""Characters in front of "tep" with which a step's name begins at most: expressions search from there on."""
_STEP = re.compile(
    r'(?:\b[Ss](?:tep|TEP)(?::?\s+|=)|\btrain_step |"step": ?|\b[Ii](?:teration|TERATION):?\s+)(\d{1,12})\b'
)


def step_of(text: str) -> tuple[int, bool] | None:
    """Return (step, whether the line reports that it ended), or None for a line of no step."""
    begin = text.find("tep")
    for word in ("teration", "TE"):
        other = text.find(word, 0, begin + 1 if begin >= 0 else len(text))
        begin = other if other >= 0 else begin
    if begin < 0:
        return None
    match = _STEP.search(text, max(begin - _LONGEST_WORD, 0), 400)
    if match is None:
        return None
    return int(match[1]), "loss" in text or any(word in text.lower() for word in ("loss", '"time"', "elapsed", "grad"))


_NAN_GUARD = re.compile(
    r"\bRank (\d+)(?:, node ([\w.-]+))?[,:][^'\"]{0,200}(?:found NaN in local|Unexpected result nan)"
    r"(?:.{0,300}\bnode: ([\w.-]+))?"
)


def guarded_nan(text: str) -> tuple[int, str] | None:
    """Return (rank, node or "") of the message with which Megatron ends at a gradient that is not a number.

    Source: megatron/core/distributed/param_and_grad_buffer.py and rerun_state_machine.py (d98e8a64)."""
    match = _NAN_GUARD.search(text) if "Rank " in text and ("nan" in text or "NaN" in text) else None
    return (int(match[1]), match[2] or match[3] or "") if match else None


_NAN = re.compile(r"(?:loss|grad_norm|grad norm|gnorm)\W{1,4}nan\b", re.IGNORECASE)


def has_nan(text: str) -> bool:
    """Does the line report a loss or a gradient norm that is not a number?"""
    return ("nan" in text or "NaN" in text or "NAN" in text) and bool(_NAN.search(text))


_WAIT = re.compile(r'"?\b(?:comm|wait|barrier|sync)(?:_time|_s)?"?[:=]? ?=?(\d+\.\d+)')
_LOSS = re.compile(r'(?<!global_)(?<!global )loss"?[:= ]\s*(-?\d[\d.eE+-]*|nan|NaN)')
_MEMORY = re.compile(r"memory: [\d.]+GiB\((\d+(?:\.\d+)?)%\)")


def wait_of(text: str) -> float | None:
    """Return the time (s) for which the process waited for others in a step."""
    match = _WAIT.search(text)
    return float(match[1]) if match and len(match[1]) < _LONGEST_NUMBER else None


def loss_of(text: str) -> str:
    """Return the loss as written, or ""."""
    match = _LOSS.search(text)
    return match[1] if match else ""


def is_of_all_ranks(text: str) -> bool:
    """Does the line report a loss of all processes ("global_loss"), and none of its own?"""
    return "global" in text and re.search("global[_ ]loss", text) is not None and not loss_of(text)


def memory_of(text: str) -> float | None:
    """Return the used fraction of the memory of the GPU."""
    match = _MEMORY.search(text)
    return float(match[1]) / 100 if match else None


_LONGEST_NUMBER = 24
_OWN_TIME = re.compile(
    r'(?:\bcompute(?:_time)?|"(?:compute|own|forward_backward|forward|fwd)(?:_time|_s)?")"?:? ?=?(\d+\.\d+)'
)
_DATA_TIME = re.compile(r'"data(?:_time|_s)?": ?(\d+\.\d+)')
_STEP_TIME = re.compile(r"\btrain_step \d+: .*\btime (\d+(?:\.\d+)?) s\b|\bstep_time=(\d+(?:\.\d+)?)")


def own_time_of(text: str) -> float | None:
    """Return the time (s) that the process computed in a step, without waiting for others."""
    begin = text.find("compute")
    match = _OWN_TIME.search(text, max(begin - 1, 0)) if begin >= 0 or '"' in text else None
    if match is None and '"data' in text:
        match = _DATA_TIME.search(text)
    elif match is None and ("train_step" in text or "step_time=" in text):
        match = _STEP_TIME.search(text)
    number = match[match.lastindex or 1] if match else ""
    return float(number) if 0 < len(number) < _LONGEST_NUMBER else None


class Span(Struct):
    """The begin or the end of a phase of a step."""

    name: str
    """Name of the phase with "_start" or "_end"."""
    rank: int
    local_rank: int | None
    node: str
    step: int
    time: float
    """Wall time (s since the epoch)."""
    seconds: float | None
    """Duration at the end of a phase."""


def span_of(line: str) -> Span | None:
    """Return the event in a line of torchtitan's structured log, or None. Its values are milliseconds."""
    try:
        row = orjson.loads(line)
    except ValueError:
        return None
    name, rank, step, value = (row.get(key) for key in ("log_type_name", "rank", "step", "value"))
    if not isinstance(name, str) or not isinstance(rank, int) or not isinstance(step, int):
        return None
    local, node, moment = row.get("local_rank"), row.get("host_name"), row.get("time_us")
    ended = name.endswith("_end") and isinstance(value, int | float) and value == value
    return Span(
        name,
        rank,
        local if isinstance(local, int) else None,
        node if isinstance(node, str) else "",
        step,
        moment / 1e6 if isinstance(moment, int | float) else 0.0,
        value / 1000 if ended else None,
    )


_LOST_PEER = (
    r"Connection closed by peer|Connection reset by peer|connectFullMesh|Broken pipe|DistBackendError|DistStoreError"
    r"|DistNetworkError|RendezvousConnectionError|RendezvousTimeoutError|ChildFailedError|ncclRemoteError"
    r"|ncclSystemError|NCCL communicator was aborted|SignalException|KeyboardInterrupt|owner died|Socket Timeout"
    r"|DUE to SIGNAL|DUE TO TASK FAILURE|got stuck for \d+ seconds|Gloo|gloo/"
)
_NOT_EVIDENCE = re.compile(r"[Cc]ommon causes include|might be caused by|typically caused by an? OOM|BrokenProcessPool")
_XID = re.compile(r"NVRM: Xid \(PCI:(?P<bus>[0-9a-fA-F:.]+)\): (?P<number>\d+)")
_HARD_XIDS = frozenset({48, 63, 64, 74, 79, 94, 95, 119, 120})
_EXCEPTION = re.compile(r"(?:[A-Za-z_][\w.]*\.)?(?:[A-Z]\w*(?:Error|Exception)|AssertionError|StopIteration)\b(?:: |$)")
_KINDS = (
    (HARDWARE, re.compile(r"uncorrectable ECC error|fallen off the bus")),
    (CONSEQUENCE, re.compile(_LOST_PEER)),
    (
        KILLED,
        re.compile(
            r"ActorDiedError|WorkerCrashedError|oom[-_]kill|OOMKilled|Killed process \d+|node running low on memory"
            r"|Memory on the node \(IP"
        ),
    ),
    (APPLICATION, re.compile(rf"[\w.]*RayTaskError\(|{_EXCEPTION.pattern}")),
    (
        OUTSIDE,
        re.compile(r"DUE TO (?:TIME LIMIT|PREEMPTION|NODE FAILURE|JOB REQUEUE)|Node failure on |Evicted|Preempted"),
    ),
    (OUTSIDE, re.compile(r"\*\*\* (?:STEP|JOB) \S+ ON \S+ CANCELLED AT [-\d:T]+ \*\*\*")),
    (TIMEOUT, re.compile(r"Watchdog caught collective operation timeout")),
    (SIGNAL, re.compile(r"Segmentation fault|Fatal Python error|^Bus error|: \d+ Bus error")),
    (CONSEQUENCE, re.compile(r"received SIGTERM|\*\*\* (?:STEP|JOB) \S+ ON \S+ FAILED")),
)
MARKS = re.compile(
    rb"rror|xception|atchdog|ill|NVRM|slurmstepd|srun:|SIG|Out Of|OOM|fault|Evicted|Preempt|StopIter|Disconnect|exit"
    rb"|elastic|launch\.py|terminated|low on memory|Memory on|lagging|finish(?:ed)? collective"
)
"""Words of which each line that reports a failure has one: the bytes of a file are searched for them first."""


def failure_of(text: str) -> int | None:
    """Return the kind of failure that a line without its prefix reports, or None. MARKS finds all such lines."""
    if _NOT_EVIDENCE.search(text[:120]):
        return None
    for kind, pattern in _KINDS:
        if kind == APPLICATION:
            if pattern.match(text.lstrip()):
                return kind
        elif pattern.search(text):
            if kind == HARDWARE and text.lstrip().startswith(("raise ", "File ")):
                return None
            return kind
    match = _XID.search(text)
    return HARDWARE if match and int(match["number"]) in _HARD_XIDS else None


def xid_of(text: str) -> tuple[str, int] | None:
    """Return (PCI bus as "c1:00", Xid number) of a line of the NVIDIA driver."""
    match = _XID.search(text)
    return (bus_of(match["bus"]), int(match["number"])) if match else None


def bus_of(address: str) -> str:
    """Return the bus and device of a PCI address in one spelling: 00000000:C1:00.0 is c1:00."""
    parts = address.lower().split(".")[0].split(":")
    return ":".join(parts[-2:])
