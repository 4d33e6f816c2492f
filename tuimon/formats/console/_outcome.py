"""State of a training according to its console: finished or crashed, with the line that shows it.

The last words of a trainer ("pipeline complete!") are believed at once. A traceback alone is weak evidence, as programs
also log those of errors that they survive: it counts only if little else follows, and is withdrawn when metrics or
ordinary lines continue, but not when a progress bar is drawn again. Lines such as "Training finished", which may be
about one of several trainings, are weak evidence as well. Fatal events (out of memory, a signal, a scheduler, a
collective that timed out) count until metrics continue, and are reported with their cause.
"""

from __future__ import annotations

from math import isnan

from tuimon import lazy_re as re
from tuimon.formats.console.families import Line, Sink
from tuimon.formats.console.families._line import PROGRESS_BAR, plain
from tuimon.model.points import Fact, Item, Topic

_TRACEBACK = "Traceback (most recent call last)"
_FINISHED = re.compile(
    r"pipeline complete!|'train_runtime': |Training completed\.|`Trainer\.fit` stopped: |"
    r"wandb: Find logs at: |wandb: You can sync this run|swanlab: .{0,200}has completed|"
    r"\* Run finished\. Uploading logs"
)
_WEAKLY_FINISHED = ("wandb: ", "swanlab: ", "* Run")
_LAST_WORDS = re.compile(
    r"MAX EPOCHS NUM!|\bEnvironment closed\b|(?<![\w-])train_runtime +=|"
    r"(?<![\w-])(?:[Tt]raining|TRAINING)(?: (?:is|has|was|run|process|loop|job))? "
    r"(?:[Cc]omplete|COMPLETE|[Ff]inished|FINISHED|[Ee]nded|[Dd]one\b|DONE\b)|"
    r"\b(?:[Ff]inished|[Dd]one|[Cc]ompleted) (?:the )?[Tt]raining\b|\b[Tt]raining time:? +(?:[\d.]+ *s|\d+:\d\d)|"
    r"\b[Oo]ptimization [Ff]inished|\b[Ee]arly stopping, best iteration|Did not meet early stopping|"
    r"\d+ epochs completed in "
)
"""Last words of frameworks and home-made scripts that are weaker evidence than those of `_FINISHED`."""
_STOPPED_EARLY = re.compile(r"\b[Ee]poch \d+: early stopping|\bSignaling Trainer to stop\b")
"""Words of Keras' EarlyStopping and of Lightning's."""
_BEST_FOLLOWS = " is:"
_BEST = re.compile(r"\[(\d{1,12})\]\s", re.ASCII)
"""The round that LightGBM prints in the line after "best iteration is:", followed by its scores. It need not be among
the logged ones, of which the table shows the best."""
_REFUTED = 60
"""More lines than this after the last words mean that they were about a part of the work."""
_OF_A_PART = re.compile(r"\b(?:epoch|fold|stage|phase|round|iteration|trial|seed|step|batch) *[#:]? *\d", re.IGNORECASE)
"""A line that reports the end of a numbered part of the training."""
_KILLED = re.compile(
    r"CUDA out of memory|OutOfMemoryError|CUDA error: out of memory|[wW]atchdog caught collective operation timeout|"
    r"NCCL watchdog thread terminated|[Oo]ut of memory: Killed process|oom-kill|\bPREEMPTED\b|ChildFailedError|"
    r"[wW]orker died|was killed due to the node running low on memory|"
    r"raylet(?!.{0,200}its owner died).{0,200}(?:died|killed|terminated)|"
    r"slurmstepd: error: .{0,400}CANCELLED|DUE TO (?:TIME LIMIT|PREEMPTION)|srun: error: Node failure on |"
    r"(?:[rR]eceived|[gG]ot|[cC]aught|death) .{0,60}SIGTERM|Signal 15 \(SIGTERM\)|"
    r"Segmentation fault|[Bb]us error|core dumped|exitcode {0,4}: -\d|(?:^|: line \d+: +\d+ )(?:Killed|Terminated)\b|"
    r"CUDA error: (?:uncorrectable|an illegal|device-side|unspecified)|NCCL error in: |EngineDeadError|ActorDiedError|"
    r"DataLoader worker \(pid.{0,200}(?:killed|exited)|loss scale already at minimum"
)
_SOURCE = re.compile(r"\s+raise |\s+File \"")
"""A line of a traceback that quotes the program; the message of the exception follows."""
_CAUSES = (
    (re.compile(r"CUDA (?:error: )?out of memory|(?:cuda|torch)\.OutOfMemory|HIP out of memory"), "GPU out of memory"),
    (re.compile(r"collective operation timeout|NCCL watchdog"), "NCCL timeout"),
    (re.compile(r"No space left on device"), "disk full"),
    (re.compile(r"Disk quota exceeded"), "disk quota exceeded"),
    (re.compile(r"429 Client Error|Too Many Requests"), "too many requests (HTTP 429)"),
    (re.compile(r"loss scale already at minimum"), "loss scale at its minimum"),
    (re.compile(r"DataLoader worker"), "a DataLoader worker died"),
    (re.compile(r"uncorrectable ECC"), "GPU memory error (ECC)"),
    (re.compile(r"device-side assert"), "device-side assert"),
    (re.compile(r"an illegal memory access"), "illegal GPU memory access"),
    (re.compile(r"NCCL error"), "NCCL error"),
    (re.compile(r"EngineDeadError"), "the vLLM engine died"),
    (re.compile(r"ActorDiedError"), "a Ray actor died"),
    (re.compile(r"FileNotFoundError"), "missing file"),
    (re.compile(r"low on memory|[Oo]ut of memory: Killed|oom-kill"), "out of host memory"),
    (re.compile(r"PREEMPT"), "preempted"),
    (re.compile(r"DUE TO TIME LIMIT"), "time limit reached"),
    (re.compile(r"Node failure on (?P<node>[\w.-]{1,99})|DUE TO NODE FAILURE"), "node failure"),
    (re.compile(r"slurmstepd: .{0,400}CANCELLED"), "cancelled"),
    (re.compile(r"raylet|[wW]orker died"), "a Ray worker died"),
    (re.compile(r"SIGTERM|Terminated|exitcode {0,4}: -15\b"), "terminated (SIGTERM)"),
    (re.compile(r"Killed|exitcode {0,4}: -9\b"), "killed (SIGKILL)"),
    (re.compile(r"Segmentation fault|[Bb]us error|core dumped|exitcode {0,4}: -11\b"), "crashed in native code"),
)
"""(expression, cause) of fatal lines and of the last lines of tracebacks, the most specific first."""
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
    *("low on memory", "raylet", "slurmstepd", "DUE TO ", "SIGTERM", "egmentation fault", "us error", "core dumped"),
    *("CUDA error: ", "NCCL error in", "EngineDead", "ActorDied", "DataLoader worker", "loss scale already"),
    *("exitcode: -", "exitcode  : -", "Killed", "Terminated", "oom-kill", "PREEMPTED", "Node failure on "),
    *("MAX EPOCHS", "nvironment closed", "ptimization Finished", "ptimization finished", "arly stopping"),
    "Signaling Trainer",
    *("epochs completed", "TRAINING COMPLETE", "TRAINING FINISHED", "TRAINING DONE"),
    *(f"raining {word}" for word in ("complete", "finished", "done", "ended", "Complete", "Finished", "time")),
    *(f"raining {word} " for word in ("is", "has", "was", "run", "process", "loop", "job")),
    *(f"{word}raining" for word in ("inished t", "inished T", "one t", "one T", "ompleted t", "inished the t")),
)
_SUMMARY = "'train_runtime'"
"""Key in the last dictionary of Hugging Face's Trainer, which is too long to be shown as evidence."""
_LOGGED = re.compile(r"\A(?:\[[^\]]{0,99}\]:? {0,9}|\d{4}-\d\d-\d\d[ T][\d:.,]{5,20}[ |-]{0,9}|[A-Z]{4,8}[ :|-]{1,9})+")
"""Fields that a logging module writes before the message: time, file, level."""
_CHAINED = ("During handling of the above", "The above exception was")
_EPILOGUE = ("wandb:", "swanlab:", "[rank")
_PASSING = 20
"""More ordinary lines than this after a traceback mean that the program survived it."""
_SCANNED = 1 << 16
_MAX_EVIDENCE = 400
_EVALUATION = re.compile(
    r"eval|test|val|predict|epoch$|total_flos|train_(?:runtime|loss|samples_per|steps_per|tokens_per)"
)


def _cause(text: str) -> str:
    """Return the cause that a fatal line shows, with the node if the line names one; "" if it is not known."""
    for pattern, name in _CAUSES:
        if match := pattern.search(text):
            node = match.groupdict().get("node")
            return f"{name} on {node}" if node else name
    return ""


def _is_last(text: str) -> bool:
    """Return whether a line sounds like the last one of a whole training."""
    return bool(_STOPPED_EARLY.search(text) or (_LAST_WORDS.search(text) and not _OF_A_PART.search(text)))


class Outcome:
    """State of a run: reads the lines that contain one of the marks and, while `watching`, all that follow."""

    marks = frozenset(mark.encode() for mark in _MARKS)

    def __init__(self) -> None:
        self.watching = False
        """True while a traceback is being read, and for some lines after it."""
        self._state = "running"
        self._evidence = ""
        self._time: float | None = None
        self._step: int | None = None
        self._cause = ""
        self._weak = False
        self._in_traceback = False
        self._offset = -1
        """Offset of the line that showed the state."""
        self._bar: tuple[str, str] | None = None
        """(steps done, total) of the bar that was last drawn after a traceback."""
        self._lines_after = 0
        self._passing = _PASSING
        """Number of lines after which the state is withdrawn."""
        self._reported = ("running", "", "")

    def read(self, line: Line, step: int | None = None, whole: bytes = b"") -> None:
        """Read a line that contains one of the marks. step: of the last row of metrics. whole: the line including the
        label of its task."""
        text = line.text[:_SCANNED]
        if _TRACEBACK in text:
            if self._state == "running":
                self._set("crashed", line, step, True, whole)
            if self._weak and self._state == "crashed":
                self.watching = self._in_traceback = True
                self._lines_after, self._passing = 0, _PASSING
        elif match := _FINISHED.search(text):
            weak = match[0].startswith(_WEAKLY_FINISHED)
            if self._state == "running" or (not weak and (self._weak or self._state == "finished")):  # the last of fits
                self._set("finished", line, step, weak, whole)
                if match[0].startswith(_SUMMARY):
                    self._evidence = "the trainer printed its final summary"
                else:
                    self._evidence = _LOGGED.sub("", self._evidence) or self._evidence
        elif self._state == "running" and _is_last(text):
            self._set("finished", line, step, True, whole)
            self._evidence = _LOGGED.sub("", self._evidence) or self._evidence
            self.watching, self._lines_after, self._passing = True, 0, _REFUTED
        elif _KILLED.search(text) and (self._state == "running" or self._weak) and not _SOURCE.match(text):
            self._set_fatal(line, step, whole, _cause(text))
        elif self._state == "crashed" and not self._cause and _KILLED.search(text):
            self._cause = _cause(text)  # such as that of a report below

    def follow(self, raw: bytes) -> None:
        """Read a line after a traceback, or after words that sound like the last ones."""
        text = plain(raw[:_SCANNED])
        if not text or text[0].isspace() or text.startswith((_TRACEBACK, *_CHAINED)):
            return
        if self._evidence.endswith(_BEST_FOLLOWS) and (best := _BEST.match(text)):
            scores = [score.replace(": ", " ") for score in re.split(r"\t| {2,}", text[best.end() :]) if score]
            named = [score for score in scores if not score.startswith("training's ")] or scores
            begin = f"{self._evidence.removesuffix(_BEST_FOLLOWS)} {best[1]}"
            self._evidence = ": ".join(filter(None, (begin, ", ".join(named))))[:_MAX_EVIDENCE]
            return
        if bar := PROGRESS_BAR.match(text):
            count = bar["done"], bar["total"]
            redrawn, self._bar = self._bar in (None, count), count
            if self._in_traceback or redrawn:  # tqdm draws its last state again when a program ends
                return
        if self._in_traceback:
            self._in_traceback = False
            self._evidence, self._cause = text[:_MAX_EVIDENCE], _cause(text)
        elif not text.startswith(_EPILOGUE):
            self._lines_after += 1
            if self._lines_after > self._passing:
                self._clear()

    def row_followed(self, sink: Sink) -> None:
        """Withdraw the state, as the last row of a sink was logged after it. A row of a final evaluation does not
        restart a finished run, and one that was held back was logged before."""
        row = sink.last_row
        if sink.last_offset < self._offset:
            self._step = sink.step
            return
        if self._state == "crashed" or (
            self._state == "finished" and not all(_EVALUATION.match(name) for name, _ in row)
        ):
            self._clear()

    @property
    def unaffected_by_rows(self) -> bool:
        """Whether rows and ordinary lines change nothing."""
        return self._state == "running" and not self.watching

    def take(self) -> list[Item]:
        """Return a Fact("state", ...) if the state has changed since the last one."""
        now = (self._state, self._evidence, self._cause)
        if now == self._reported or now[0] == self._reported[0] == "running":
            return []
        self._reported = now
        cause = {"cause": self._cause} if self._cause else {}
        return [Fact(Topic.STATE, {"state": now[0], "evidence": now[1], **cause}, self._step, self._time)]

    def _set_fatal(self, line: Line, step: int | None, whole: bytes, cause: str) -> None:
        """Set the state by a fatal line. A traceback before it stays the evidence if only that has a cause."""
        if self._weak and self._cause and not cause:
            self._weak = self.watching = self._in_traceback = False
            return
        self._set("crashed", line, step, False, whole)
        self._cause = cause

    def _set(self, state: str, line: Line, step: int | None, weak: bool, whole: bytes) -> None:
        self._state, self._step, self._weak, self._cause = state, step, weak, ""
        self._offset, self._bar = line.offset, None
        text = (plain(whole[:_SCANNED]) or line.text).strip()
        if bar := PROGRESS_BAR.match(text):
            text = text[bar.end() :].lstrip() or text
        self._evidence = text[:_MAX_EVIDENCE]
        self._time = None if isnan(line.time) else line.time
        self.watching = self._in_traceback = False

    def _clear(self) -> None:
        self._state, self._evidence, self._cause = "running", "its log continues", ""
        self._time = self._step = None
        self._weak = self.watching = self._in_traceback = False
