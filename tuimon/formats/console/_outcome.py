"""State of a training according to its console: finished or crashed, with the line that shows it.

The last words of a trainer ("pipeline complete!") are believed at once. A traceback alone is weak evidence, as programs
also log those of errors that they survive: it counts only if little else follows, and is withdrawn when metrics or
ordinary lines continue, but not when a progress bar is drawn again. Lines such as "Training finished", which may be
about one of several trainings, are weak evidence as well. Fatal events (out of memory, a signal, a scheduler, a
collective that timed out) count until metrics continue, and are reported with their cause.
"""

from __future__ import annotations

from math import isnan
from pathlib import Path

from tuimon import lazy_re as re
from tuimon.compiled_toml import load_toml
from tuimon.formats.console.families import Line, Sink
from tuimon.formats.console.families._line import PROGRESS_BAR, plain
from tuimon.model.points import Fact, Item, Topic

_KNOWN = load_toml(Path(__file__).with_name("outcomes.toml"))
_FINISHED, _LAST_WORDS, _STOPPED_EARLY, _KILLED = (
    re.compile("|".join(_KNOWN[kind])) for kind in ("finished", "last_words", "stopped_early", "killed")
)
_CAUSES = tuple((re.compile(cause["shown_by"]), cause["name"]) for cause in _KNOWN["cause"])
_TRACEBACK = "Traceback (most recent call last)"
_WEAKLY_FINISHED = ("wandb: ", "swanlab: ", "* Run")
_REFUTED = 60
"""More lines than this after the last words mean that they were about a part of the work."""
_OF_A_PART = re.compile(r"\b(?:epoch|fold|stage|phase|round|iteration|trial|seed|step|batch) *[#:]? *\d", re.IGNORECASE)
"""A line that reports the end of a numbered part of the training."""
_SOURCE = re.compile(r"\s+raise |\s+File \"")
"""A line of a traceback that quotes the program; the message of the exception follows."""
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

    marks = frozenset(mark.encode() for mark in _KNOWN["marks"])

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
