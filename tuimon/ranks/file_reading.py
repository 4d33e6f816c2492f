"""Read the lines of the files of a job into its evidence."""

from __future__ import annotations

from tuimon import lazy_re as re
from tuimon.model.ranks import FileLine
from tuimon.ranks import lines
from tuimon.ranks.collectives import collective_of, group_of, lagging_ranks, progress_of, stuck_seconds
from tuimon.ranks.evidence import Evidence, Failure, LogFile
from tuimon.ranks.launchers import BlockReader, Exit, exit_of

_MOST_EVENTS, _MOST_RANKS, _MOST_LAGGING = 4096, 16_384, 64
_DETAIL_LINES = 80
_LONGEST_TEXT = 400
_MOST_STEP_TIMES = 20_000
_MOST_OWN_TIMES, _FEWEST_STEPS, _KEPT_FIRST = 100_000, 200, 80
"""Own times that are kept of all ranks, and steps that are kept at least; the first steps are the baseline."""
_SECTION = re.compile(r"  ([\w-]+):$")
_RANK_TIME = re.compile(r" +rank +(\d+): +([\d.]+)$")
_OWN_SPANS = ("fwd_bwd_end", "forward_backward_end")
_RAY_PROCESS = re.compile(r"\(pid=(\d+)(?:, ip=([\w.:-]+))?")
_DETAIL = re.compile(r"\s+(pid|name|ip): (\S+)")
_ACTOR = re.compile(r"([A-Za-z]\w*)-(\d+)")
_EXIT_TYPE = re.compile(r"Worker exit type: (\w+)(?: Worker exit detail: (.*))?")
_GUESS = re.compile(r"Some common causes include|There are some potential root causes")
"""Ray's list of possible causes, which is no evidence."""
_RAY_MEMORY = re.compile(r"Memory on the node \(IP: ([\w.:-]+)")
_RAY_NAME, _RAY_PID = re.compile(r"\bname=([A-Za-z]\w*)-(\d+)"), re.compile(r"\bpid=(\d+)")
_CANCELLED = "slurmstepd: error: *** "
_AGENTS = ("torch/distributed/elastic", "torch.distributed.elastic", "launch.py:")
_KILLED_PID = re.compile(r"Killed process (\d+)")
_ON_NODE = re.compile(r"Node failure on ([\w.-]+)")


class FileReading:
    """Reads the lines of one file into the evidence of its job."""

    def __init__(self, evidence: Evidence, file: LogFile) -> None:
        self._evidence, self._file = evidence, file
        if file.is_launcher and file.node:
            evidence.launchers[file.node] = file.path
        self._key = file.key
        self._local: dict[int, tuple[str, int]] = {}
        self._step, self._section = 0, ""
        self._sections: dict[str, dict[int, float]] = {}
        self._open: Failure | None = None
        self._open_lines = 0
        self._time: float | None = None
        self._learned: tuple[tuple[str, int], str, int | None, int | None] | None = None
        """(key, node, local rank, pid) of the line before."""
        self._nodes: dict[tuple[str, int], str] = {}
        """Node of each rank while it wrote this file."""
        self._block = BlockReader()
        self._orderly = False
        """Has the file said that processes were stopped? Later ends are no causes."""

    def feed(self, number: int, line: str, offset: int = 0, marked: bool = True) -> None:
        """Read a line. number: its number in the file, from 1, or 0; offset: that of its first byte.

        marked: whether it has a word of lines.MARKS, without which it reports no failure.
        """
        place = FileLine(self._file.path, number, offset)
        evidence, file = self._evidence, self._file
        if self._section and (times := _RANK_TIME.match(line)):
            self._rank_time(int(times[1]), float(times[2]))
            return
        if line.startswith("{") and '"log_type_name"' in line and (span := lines.span_of(line)) is not None:
            self._span(span, line, place)
            return
        owner, text = lines.split_owner(line)
        if file.numbered and (label := lines.NUMBERED.match(text)):
            owner.rank, text = int(label["srun"] or label["mpich"]), text[label.end() :]
        if file.names_hosts and (host := lines.HOST.match(text)):
            owner.node, (inner, text) = host["node"], lines.split_owner(text[host.end() :])
            owner.rank = inner.rank if owner.rank is None else owner.rank
            owner.local_rank = inner.local_rank if owner.local_rank is None else owner.local_rank
        role = owner.role or (file.key[0] if file.key else "")
        key = (role, owner.rank) if owner.rank is not None else None
        if key is None and owner.local_rank is not None:
            key = self._local.get(owner.local_rank)
        if key is not None and owner.local_rank is not None:
            self._local[owner.local_rank] = key
        if key is not None and not file.is_launcher and owner.pid is None:
            self._key = key
        key = key or (None if file.is_launcher else self._key)
        ended = self._block.exit if self._block.read(text) else exit_of(text) if marked else None
        if key is None and ended is None and self._block.exit is not None:
            key = "", self._block.exit.ranks[0]  # its traceback
        if key is not None and key not in evidence.ranks and len(evidence.ranks) >= _MOST_RANKS:
            key = None
        node = owner.node or file.node
        if key is not None and (key, node, owner.local_rank, owner.pid) != self._learned:
            self._learned = key, node, owner.local_rank, owner.pid
            self._learn(*self._learned)
            if node:
                self._nodes[key] = node
        stamp = lines.time_of(text, file.year)
        if stamp is None and (written := owner.stamp or (self._block.time if self._block.exit else "")):
            stamp = lines.time_of(written, file.year)
        self._time = stamp if stamp is not None else self._time
        step = lines.step_of(text)
        if step is not None:
            self._step = step[0]
        if text.startswith("  ") and (match := _SECTION.match(text)):
            self._section = match[1]
        if self._open is not None:
            self._detail(self._open, text)
        if key is not None:
            if stamp is not None:
                self._hear(key, node, stamp)
                if owner.pid is not None and stamp > evidence.processes.get((node, owner.pid), 0.0):
                    evidence.processes[node, owner.pid] = stamp
            self._progress(key, text, place, step)
        if text.startswith(("END ", "training finished", "Training completed")) and "rc=0" in text:
            evidence.finished = True
        if marked and (text.startswith(_CANCELLED) or _CANCELLED in text[:100]):
            self._orderly = True
        if marked and not evidence.has_agents:
            evidence.has_agents = any(word in text[:120] for word in _AGENTS)
        kind = lines.failure_of(text) if marked and ended is None else None
        if ended is not None:
            self._end(ended, text, place, node, stamp)
        elif kind is not None:
            node = node or (self._nodes.get(key, "") if key is not None else "")
            self._fail(kind, text, place, key, node, owner.pid, stamp)
        elif marked and (lagging := lagging_ranks(text)):
            evidence.lagging.update(dict.fromkeys(lagging[0][:_MOST_LAGGING], (lagging[1], place)))
        elif self._section and not text.startswith("  "):
            self._section = ""

    def _learn(self, key: tuple[str, int], node: str, local_rank: int | None, pid: int | None) -> None:
        evidence = self._evidence
        rank = evidence.rank(key)
        if node:
            rank.node = node if rank.last_time is None else rank.node or node
            evidence.on_node[node].add(key)
        if local_rank is not None:
            rank.local_rank = local_rank
        if pid is not None and self._file.node == node:
            evidence.pids[node, pid] = key

    def _hear(self, key: tuple[str, int], node: str, stamp: float) -> None:
        """Note that a rank wrote a line at this time."""
        rank = self._evidence.rank(key)
        if rank.last_time is None or stamp >= rank.last_time:
            rank.last_time, rank.node = stamp, node or rank.node
        if node:
            _widen(self._evidence.heard.setdefault(node, [stamp, stamp]), stamp)

    def _progress(self, key: tuple[str, int], text: str, place: FileLine, step: tuple[int, bool] | None) -> None:
        rank = self._evidence.rank(key)
        is_newest = self._time is None or rank.last_time is None or self._time >= rank.last_time
        if is_newest and (not text.startswith("{") or not rank.last_line or rank.last_line.startswith("{")):
            rank.place, rank.last_line = place, text[:_LONGEST_TEXT]  # a line of text says more than a row of numbers
        if step is not None:
            if step[1]:
                if rank.last_step is not None and step[0] > rank.last_step:
                    rank.stride = step[0] - rank.last_step
                rank.last_step = max(step[0], rank.last_step or 0)
                if step[0] == rank.last_step and not lines.is_of_all_ranks(text):
                    rank.measured = text[:_LONGEST_TEXT]
                if rank.nan_step is None and lines.has_nan(text):
                    rank.nan_step, rank.nan_place = step[0], place
                if self._time is not None:
                    self._report_step(step[0], self._time)
            else:
                rank.begun_step = step[0]
            if (own := lines.own_time_of(text)) is not None:
                self._own_time(step[0], key[1], own)
        if progress := progress_of(text):
            rank.progress[group_of(text)] = progress
        rank.stuck = stuck_seconds(text) or rank.stuck

    def _report_step(self, step: int, time: float) -> None:
        _widen(self._evidence.step_times.setdefault(step, [time, time]), time)
        if len(self._evidence.step_times) > _MOST_STEP_TIMES:
            del self._evidence.step_times[next(iter(self._evidence.step_times))]

    def _forget_steps(self) -> None:
        """Forget the own times between the first steps, which are the baseline, and the newest ones."""
        steps = sorted(self._evidence.own_times)
        for step in steps[_KEPT_FIRST : _KEPT_FIRST + len(steps) // 8]:
            del self._evidence.own_times[step]

    def _span(self, span: lines.Span, line: str, place: FileLine) -> None:
        """Take an event of a structured log, which says when a phase of a step began or ended."""
        key = ("", span.rank)
        if key not in self._evidence.ranks and len(self._evidence.ranks) >= _MOST_RANKS:
            return
        self._learn(key, span.node, span.local_rank, None)
        rank = self._evidence.rank(key)
        rank.place, rank.last_line = place, line[:_LONGEST_TEXT]
        if span.name.endswith("_start"):
            rank.begun_step = span.step
        elif span.seconds is not None:
            self._report_step(span.step, span.time)
            rank.last_step = max(span.step, rank.last_step or 0)
            if span.name in _OWN_SPANS:
                self._own_time(span.step, span.rank, span.seconds)

    def _own_time(self, step: int, rank: int, seconds: float) -> None:
        evidence = self._evidence
        evidence.own_times[step][rank] = seconds
        if len(evidence.own_times) > max(_FEWEST_STEPS, _MOST_OWN_TIMES // max(len(evidence.ranks), 1)):
            self._forget_steps()

    def _rank_time(self, rank: int, milliseconds: float) -> None:
        """Take a row of Megatron's times across ranks, which have a section for each timer."""
        self._evidence.rank(("", rank))
        if self._section == "forward-compute":
            self._own_time(self._step, rank, milliseconds / 1000)

    def _detail(self, failure: Failure, text: str) -> None:
        """Take the process from the lines that follow Ray's message about an actor that died."""
        self._open_lines += 1
        if match := _DETAIL.match(text):
            if match[1] == "pid":
                failure.pid = int(match[2])
            elif match[1] == "ip":
                failure.node = match[2]
            elif actor := _ACTOR.fullmatch(match[2]):
                failure.key = actor[1], int(actor[2])
        elif (match := _EXIT_TYPE.search(text)) and match[1] not in failure.text:
            said = f"{failure.text.rstrip('.')}; worker exit type {match[1]}"
            detail = _GUESS.split(match[2] or "", 1)[0].strip().rstrip(".")
            failure.text = f"{said}: {detail}"[:_LONGEST_TEXT] if detail else said
        if self._open_lines > _DETAIL_LINES:
            self._open = None

    def _fail(
        self,
        kind: int,
        text: str,
        place: FileLine,
        key: tuple[str, int] | None,
        node: str,
        pid: int | None,
        stamp: float | None,
    ) -> None:
        evidence = self._evidence
        if len(evidence.failures) >= _MOST_EVENTS:
            return
        time = stamp if stamp is not None else self._time
        if self._open is not None and "RayTaskError(" in self._open.text and kind == self._open.kind and key is None:
            # The exception itself follows the traceback of the worker.
            self._open.text, self._open.place, self._open = text.strip()[:_LONGEST_TEXT], place, None
            return
        failure = Failure(kind, text.strip()[:_LONGEST_TEXT], place, time, stamp is not None, key, node, pid)
        if kind == lines.TIMEOUT:
            failure.collective = collective_of(text)
        if xid := lines.xid_of(text):
            failure.bus = xid[0]
        if match := _RAY_PROCESS.search(text):
            failure.pid, failure.node, failure.key = int(match[1]), match[2] or self._file.node, None
        if match := _KILLED_PID.search(text):
            failure.pid = int(match[1])
        if match := _ON_NODE.search(text):
            failure.node = match[1]
        if match := _RAY_MEMORY.search(text):
            failure.node, named, process = match[1], _RAY_NAME.search(text), _RAY_PID.search(text)
            failure.pid = int(process[1]) if process else None
            failure.key = (named[1], int(named[2])) if named else None
        if guarded := lines.guarded_nan(text):
            failure.key, failure.node = ("", guarded[0]), guarded[1] or failure.node
            self._learn(failure.key, failure.node, None, None)
        if kind == lines.KILLED or pid is not None or failure.pid is not None:
            self._open, self._open_lines = failure, 0
        evidence.failures.append(failure)

    def _end(self, ended: Exit, text: str, place: FileLine, node: str, stamp: float | None) -> None:
        """Take the report of a launcher about processes that ended."""
        evidence, is_srun = self._evidence, "srun: error:" in text
        if not (ended.signal or ended.code) and not ended.out_of_memory:
            return
        kind = lines.KILLED if ended.out_of_memory else lines.SIGNAL if ended.is_own else lines.CONSEQUENCE
        if not ended.signal and not ended.out_of_memory:
            kind = lines.EXIT
        if is_srun and kind == lines.SIGNAL and "Killed" in text and (len(ended.ranks) > 1 or self._orderly):
            kind = lines.CONSEQUENCE
        self._orderly = self._orderly or is_srun
        evidence.has_agents = evidence.has_agents or ended.local_rank is not None
        time = stamp if stamp is not None else self._time
        node = ended.node or node
        keys: list[tuple[str, int] | None] = [("", rank) for rank in ended.ranks]
        for key in keys or [None]:
            if len(evidence.failures) >= _MOST_EVENTS:
                return
            if key is not None and not is_srun:
                self._learn(key, node, ended.local_rank, None)
                evidence.has_ended_rank = True
                if ended.pid is not None:
                    evidence.pids[node, ended.pid] = key
            failure = Failure(kind, ended.sentence(text)[:_LONGEST_TEXT], place, time, stamp is not None, key, node)
            failure.pid, failure.is_task = ended.pid, is_srun
            evidence.failures.append(failure)


def _widen(times: list[float], time: float) -> None:
    """Move the first or the last of two times to one that lies outside of them."""
    times[:] = min(times[0], time), max(times[1], time)
