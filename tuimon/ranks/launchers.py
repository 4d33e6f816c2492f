"""Reports of launchers about processes that ended: torchrun, srun, mpirun, Lightning and DeepSpeed.

    srun: error: node01: task 5: Segmentation fault (core dumped)
    mpirun noticed that process rank 5 with PID 4242 on node node01 exited on signal 9 (Killed).
    … failed (exitcode: -9) local_rank: 5 (pid: 88214) of binary: /usr/bin/python          torchrun's agent
    [rank: 5] Child process with PID 4242 terminated with code -9.                          Lightning
    ['/usr/bin/python', …, '--local_rank=7', …] exits with return code = -9                 DeepSpeed, of any process

and the blocks at the end of torchrun's output and of Hydra's (MPICH, Intel MPI), see `BlockReader`. Sources:
torch/distributed/elastic/multiprocessing/errors/__init__.py (2.13), slurm src/srun/libsrun/launch.c (284c3b95),
deepspeed/launcher/launch.py (edaa7221), lightning/fabric/strategies/launchers/subprocess_script.py (2.5).
"""

from __future__ import annotations

import signal

from msgspec import Struct

from tuimon import lazy_re as re

_OWN_SIGNALS = frozenset({signal.SIGILL, signal.SIGBUS, signal.SIGFPE, signal.SIGKILL, signal.SIGSEGV})
"""Signals that end a process by its own fault, or by the kernel. Others are sent to it because another one ended."""
_WORDS = {
    "Segmentation fault": signal.SIGSEGV,
    "Bus error": signal.SIGBUS,
    "Floating point exception": signal.SIGFPE,
    "Illegal instruction": signal.SIGILL,
    "Killed": signal.SIGKILL,
    "Aborted": signal.SIGABRT,
    "Terminated": signal.SIGTERM,
}
_SRUN = re.compile(
    r"srun: error: (?P<node>[\w.-]+): tasks? (?P<tasks>[\d,-]+): "
    r"(?:(?P<word>Out Of Memory|" + "|".join(_WORDS) + r")\b|Exited with exit code (?P<code>\d+))"
)
_MPIRUN = re.compile(
    r"process rank (?P<rank>\d+) with PID (?P<pid>\d+) on node (?P<node>[\w.-]+) exited on signal (?P<signal>\d+)"
)
_AGENT = re.compile(r"failed \(exitcode: (?P<code>-?\d+)\) local_rank: (?P<local>\d+) \(pid: (?P<pid>\d+)\)")
_LIGHTNING = re.compile(
    r"\[rank: (?P<rank>\d+)\] Child process with PID (?P<pid>\d+) terminated with code (?P<code>-?\d+)"
)
_DEEPSPEED = re.compile(r"exits with return code = (?P<code>-?\d+)")
_FIELD = re.compile(r"\s+(time|host|rank|exitcode|traceback)\s*: (.*)")
_RANK = re.compile(r"(\d+) \(local_rank: (\d+)\)")
_CODE = re.compile(r"(-?\d+) +\(pid: (\d+)\)")
_HYDRA = re.compile(r"=\s+RANK (\d+) PID (\d+) RUNNING AT (\S+)")
_HYDRA_END = re.compile(r"=\s+(?:KILLED BY SIGNAL|EXIT CODE): (\d+)")
_BEGINS = ("Failures:", "Root Cause (first observed failure):")


class Exit(Struct):
    """The end of processes as a launcher reports it. What it does not say is None or ""."""

    ranks: list[int]
    """Global ranks."""
    signal: int
    """Number of the signal that ended it; 0 if it exited with a code."""
    code: int = 0
    node: str = ""
    local_rank: int | None = None
    pid: int | None = None
    out_of_memory: bool = False
    """Whether the kernel ended it because the memory of the node, or of the job on it, was used up."""

    def sentence(self, line: str) -> str:
        """Return what the line says, or the exit code if it only says how to get a traceback."""
        said = line.strip().removeprefix("traceback : ")
        return f"exit code {self.code}" if said.startswith("To enable traceback") else said

    @property
    def is_own(self) -> bool:
        """Whether the process ended by its own fault, or by the kernel."""
        return self.signal in _OWN_SIGNALS or self.out_of_memory


def exit_of(text: str) -> Exit | None:
    """Return the end of processes that a line reports, or None."""
    if "srun: error:" in text and (match := _SRUN.search(text)):
        word, code = match["word"], int(match["code"] or 0)
        number, code = (_WORDS.get(word, 0), 0) if word else _of_shell(code)
        tasks = numbers(match["tasks"])
        return Exit(tasks, number, code, match["node"], None, None, word == "Out Of Memory") if tasks else None
    if "exited on signal" in text and (match := _MPIRUN.search(text)):
        return Exit([int(match["rank"])], int(match["signal"]), 0, match["node"], None, int(match["pid"]))
    if "exitcode" in text and (match := _AGENT.search(text)):
        return Exit([], *_of_code(int(match["code"])), "", int(match["local"]), int(match["pid"]))
    if "terminated with code" in text and (match := _LIGHTNING.search(text)):
        return Exit([int(match["rank"])], *_of_code(int(match["code"])), "", None, int(match["pid"]))
    # DeepSpeed prints the command of the last process, whichever one ended: its --local_rank says nothing.
    if "exits with return code" in text and (match := _DEEPSPEED.search(text)):
        return Exit([], *_of_code(int(match["code"])))
    return None


def _of_code(code: int) -> tuple[int, int]:
    """Return (signal, exit code) of Python's return code, which is negative for a signal."""
    return (-code, 0) if code < 0 else _of_shell(code)


def _of_shell(code: int) -> tuple[int, int]:
    """Return (signal, exit code) of a shell's exit code, which is above 128 for a signal."""
    return (code - 128, 0) if 128 < code < 128 + 65 else (0, code)


def numbers(ranges: str) -> list[int]:
    """Return the numbers of Slurm's ranges: "0-2,6" is 0, 1, 2, 6."""
    result: list[int] = []
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        if first.isdigit() and (not last or last.isdigit()):
            result += range(int(first), min(int(last or first), int(first) + 65536) + 1)
    return result


class BlockReader:
    """Reads the blocks about processes that failed.

    Failures:                                              =   RANK 5 PID 4242 RUNNING AT node01
    [1]:                                                   =   EXIT CODE: 9
      time      : 2026-11-22_03:20:30
      host      : node02
      rank      : 14 (local_rank: 6)
      exitcode  : -6 (pid: 88314)
      error_file: <N/A>
      traceback : Signal 6 (SIGABRT) received by PID 88314
    """

    def __init__(self) -> None:
        self.exit: Exit | None = None
        """The process of the block that is being read: the lines of its traceback follow."""
        self._inside = False
        self._fields: dict[str, str] = {}

    def read(self, text: str) -> bool:
        """Read a line; return True if it completes the report about a process, which is then `exit`."""
        first = text[:1]
        if first == "=" and (match := _HYDRA.match(text)):
            self.exit = Exit([int(match[1])], 0, 0, match[3], None, int(match[2]))
            self._inside = False
        elif first == "=" and not self._inside and self.exit is not None and (match := _HYDRA_END.match(text)):
            number = int(match[1])
            self.exit.signal, self.exit.code = (number, 0) if number in _OWN_SIGNALS else _of_shell(number)
            return True
        elif first in ("F", "R") and text.startswith(_BEGINS):
            self._inside, self.exit, self._fields = True, None, {}
        elif self._inside and first == "[" and text.endswith("]:"):
            self.exit, self._fields = None, {}
        elif self._inside and first in ("=", "-"):
            self._inside, self.exit = first == "-", None
        elif self._inside and self.exit is None and (match := _FIELD.match(text)):
            self._fields[match[1]] = match[2].strip()
            if match[1] == "traceback":
                self.exit = self._complete()
                return self.exit is not None
        return False

    def _complete(self) -> Exit | None:
        rank = _RANK.match(self._fields.get("rank", ""))
        code = _CODE.match(self._fields.get("exitcode", ""))
        if rank is None or code is None:
            return None
        host = self._fields.get("host", "")
        return Exit([int(rank[1])], *_of_code(int(code[1])), host, int(rank[2]), int(code[2]))

    @property
    def time(self) -> str:
        """The time of the failure as written, or ""."""
        return self._fields.get("time", "")
