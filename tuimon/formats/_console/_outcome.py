"""How a training ended, as far as its console says: finished, crashed, and by which line.

A trainer's own last words ("pipeline complete!") are believed at once. A traceback alone is weak: programs log those
of errors that they survive. It counts while little else follows it, and is taken back when metrics or ordinary lines
go on. What kills (out of memory, a signal, a scheduler, a collective that timed out) counts until metrics go on, and is
told by its name beside the line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isnan

from tuimon.formats._console._line import Line, plain
from tuimon.model.points import Fact, Item

_TRACEBACK = "Traceback (most recent call last)"
_FINISHED = re.compile(
    r"pipeline complete!|'train_runtime': |Training completed\.|`Trainer\.fit` stopped: |"
    r"wandb: Find logs at: |wandb: You can sync this run|swanlab: .{0,200}has completed|"
    r"\* Run finished\. Uploading logs"
)
_WEAKLY_FINISHED = ("wandb: ", "swanlab: ", "* Run")
_KILLED = re.compile(
    r"CUDA out of memory|OutOfMemoryError|CUDA error: out of memory|[wW]atchdog caught collective operation timeout|"
    r"NCCL watchdog thread terminated|[Oo]ut of memory: Killed process|oom-kill|\bPREEMPTED\b|ChildFailedError|"
    r"[wW]orker died|was killed due to the node running low on memory|"
    r"raylet.{0,200}(?:died|killed|terminated)|slurmstepd: error: .{0,400}CANCELLED|DUE TO (?:TIME LIMIT|PREEMPTION)|"
    r"(?:[rR]eceived|[gG]ot|[cC]aught|death) .{0,60}SIGTERM|Signal 15 \(SIGTERM\)|"
    r"Segmentation fault|Bus error|core dumped|exitcode: -\d|(?:^|: line \d+: +\d+ )(?:Killed|Terminated)\b"
)
_CAUSES = (
    (re.compile(r"CUDA (?:error: )?out of memory|(?:cuda|torch)\.OutOfMemory|HIP out of memory"), "GPU out of memory"),
    (re.compile(r"collective operation timeout|NCCL watchdog"), "NCCL timeout"),
    (re.compile(r"low on memory|[Oo]ut of memory: Killed|oom-kill"), "out of the machine's memory"),
    (re.compile(r"PREEMPT"), "preempted"),
    (re.compile(r"DUE TO TIME LIMIT"), "time limit reached"),
    (re.compile(r"slurmstepd: .{0,400}CANCELLED"), "cancelled"),
    (re.compile(r"raylet|[wW]orker died"), "a Ray worker died"),
    (re.compile(r"SIGTERM|Terminated|exitcode: -15\b"), "terminated from outside"),
    (re.compile(r"Killed|exitcode: -9\b"), "killed from outside"),
    (re.compile(r"Segmentation fault|Bus error|core dumped|exitcode: -11\b"), "crashed in native code"),
)
"""What the lines that kill mean, the surest first."""
_MARKS = (
    *(
        _TRACEBACK,
        "pipeline complete",
        "train_runtime",
        "raining completed",
        ".fit` stopped",
        "wandb: Find",
        "wandb: You",
    ),
    *("has completed", "Run finished", "out of memory", "OutOfMemory", "atchdog", "ChildFailed", "orker died"),
    *("low on memory", "raylet", "slurmstepd", "DUE TO ", "SIGTERM", "egmentation fault", "Bus error", "core dumped"),
    *("exitcode: -", "Killed", "Terminated", "oom-kill", "PREEMPTED"),
)
_SUMMARY = "'train_runtime'"
"""Of Hugging Face: a whole dictionary, which says no more than that it has come to its end."""
_LOGGED = re.compile(r"\A(?:\[[^\]]{0,99}\]:? {0,9}|\d{4}-\d\d-\d\d[ T][\d:.,]{5,20}[ |-]{0,9}|[A-Z]{4,8}[ :|-]{1,9})+")
"""What a logger writes before the words: the time, the file, the level."""
_CHAINED = ("During handling of the above", "The above exception was")
_EPILOGUE = ("wandb:", "swanlab:", "[rank")
_PASSING = 20
"""Ordinary lines after a traceback by which it was survived."""
_SCANNED = 1 << 16
_MAX_EVIDENCE = 400
_APART = re.compile(r"eval|test|val|predict|epoch$|total_flos|train_(?:runtime|loss|samples_per|steps_per|tokens_per)")


class Outcome:
    """Reads the lines that hold one of the marks, and, while `watching`, all that follow."""

    marks = tuple(mark.encode() for mark in _MARKS)

    def __init__(self) -> None:
        self.watching = False
        """A traceback is open, or has just ended."""
        self._state = "running"
        self._evidence = ""
        self._time: float | None = None
        self._step: int | None = None
        self._cause = ""
        self._weak = False
        self._open = False
        self._passed = 0
        self._told = ("running", "")

    def read(self, line: Line, step: int | None = None, whole: bytes = b"") -> None:
        """A line that holds one of the marks. step: of the last row of metrics before it. whole: the line as it is in
        the log, with the label of its task."""
        text = line.text[:_SCANNED]
        if _TRACEBACK in text:
            if self._state == "running":
                self._set("crashed", line, step, True, whole)
            if self._weak and self._state == "crashed":
                self.watching = self._open = True
                self._passed = 0
        elif found := _FINISHED.search(text):
            weakly = found[0].startswith(_WEAKLY_FINISHED)
            if self._state == "running" or (self._state == "crashed" and self._weak and not weakly):
                self._set("finished", line, step, weakly, whole)
                if found[0].startswith(_SUMMARY):
                    self._evidence = "the trainer printed its final summary"
                else:
                    self._evidence = _LOGGED.sub("", self._evidence) or self._evidence
        elif _KILLED.search(text) and (self._state == "running" or self._weak):
            self._set("crashed", line, step, False, whole)
            self._cause = next((name for pattern, name in _CAUSES if pattern.search(text)), "")

    def follow(self, raw: bytes) -> None:
        """A line after a traceback."""
        text = plain(raw[:_SCANNED])
        if not text or text[0].isspace() or text.startswith((_TRACEBACK, *_CHAINED)):
            return
        if self._open:
            self._open = False
            self._evidence = text[:_MAX_EVIDENCE]
        elif not text.startswith(_EPILOGUE):
            self._passed += 1
            if self._passed > _PASSING:
                self._clear()

    def went_on(self, row: Sequence[tuple[str, float]]) -> None:
        """Metrics were logged after what was read so far. Those of a last evaluation do not begin a run anew."""
        if self._state == "crashed" or (self._state == "finished" and not all(_APART.match(name) for name, _ in row)):
            self._clear()

    def take(self) -> list[Item]:
        """A Fact if the state is not the one told last."""
        now = (self._state, self._evidence)
        if now == self._told or now[0] == self._told[0] == "running":
            return []
        self._told = now
        cause = {"cause": self._cause} if self._cause else {}
        return [Fact("state", {"state": now[0], "evidence": now[1], **cause}, self._step, self._time)]

    def _set(self, state: str, line: Line, step: int | None, weak: bool, whole: bytes) -> None:
        self._state, self._step, self._weak, self._cause = state, step, weak, ""
        self._evidence = (plain(whole[:_SCANNED]) or line.text).strip()[:_MAX_EVIDENCE]
        self._time = None if isnan(line.time) else line.time
        self.watching = self._open = False

    def _clear(self) -> None:
        self._state, self._evidence, self._cause = "running", "its log goes on", ""
        self._time = self._step = None
        self._weak = self.watching = self._open = False
