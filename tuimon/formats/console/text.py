"""Console text: what a trainer printed, into a file, through `tee`, through Ray, or through a logging module.

Lines end with "\\n"; a carriage return begins a line anew (progress bars), and each state that is drawn counts as a
line of its own here. Terminal controls and Ray's prefixes are removed. The modules of the package families say which
lines give which points; a user's own lines are given by patterns in the settings (_patterns). Numbers are as printed,
so they are rounded where the trainer rounds. If several tasks write into one log, each line after its label (srun,
torchrun, mpirun …), the lines of each task are read separately (_tasks).

The text itself is emitted as Fact("console", …), the last lines of each piece, and the end of the training as
Fact("state", …), checkpoints as Fact("checkpoint", …) and Fact("resumed", …); a log view reads the file itself
(tuimon/reader/log_text.py).
A line with NUL bytes, which a crash or a truncation leaves, and one of more than 16 MiB are skipped and reported as
damage: blocks that were open end there, and rows that name no step are left out until a line names it again. Bytes that
are not UTF-8 are replaced. A last line without a newline is read once the log has not changed for long, but for a word
at its end that may be cut.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from tuimon.formats import Format
from tuimon.formats.console._decoder import ConsoleDecoder
from tuimon.formats.console._display import display_line
from tuimon.formats.console._marks import may_have_row, without_repetition
from tuimon.formats.console._patterns import pattern_family
from tuimon.formats.console._recognise import is_console_name, is_text, mentions_training, names_process, wants_name
from tuimon.formats.console.families import Family, parse_timestamp

__all__ = (
    "FORMAT", "ConsoleDecoder", "LineSteps", "display_line", "is_text", "matches",
    "parse_timestamp", "wants_name", "with_patterns",
)  # fmt: skip


class LineSteps:
    """The steps of the rows in a part of a log that begins with a line, except rows whose step is only counted."""

    def __init__(self, patterns: Sequence[str] = (), within: bool = False) -> None:
        """patterns: see `with_patterns`. within: lines precede the part, which may name the step of its first rows."""
        self._decoder = ConsoleDecoder([pattern_family(patterns)] if patterns else ())
        if within:
            self._decoder.interrupt()
        self._steps = self._decoder.record_steps()

    def feed(self, data: bytes) -> None:
        self._decoder.feed(data)

    @property
    def rows(self) -> list[tuple[int, int]]:
        """(offset of the line in the fed data, step) of each row, ascending."""
        return sorted(self._steps)


def matches(name: str, head: bytes, own: Sequence[Family] = ()) -> bool:
    if name == "error.json":  # torchelastic's report of an exception, in one line without its end
        return head.startswith(b'{"message":')
    if not is_text(head):
        return False
    if name.endswith(".jsonl") and b'"message": "' not in head:  # records of a logging module, not rows
        return False
    if is_console_name(name) or mentions_training(name, head) or names_process(head):
        return True
    return may_have_row(head, own) and ConsoleDecoder(own).has_row(without_repetition(head))


FORMAT = Format(
    id="console",
    title="console log",
    writers="ROLL, RLinf, AgentJet, Trinity, verl, TRL, transformers 4 and 5, slime, OpenRLHF, NeMo-RL, prime-rl, "
    "torchtitan, torchtune, Megatron, nanotron, SB3, Baselines, Keras, mmengine, mmcv, detectron2, timm, Swin, YOLO, "
    "XGBoost, LightGBM, CatBoost, DeepSpeed, Composer, rsl_rl, AReaL, open-instruct, OLMo, llm.c, StyleGAN, PaddleNLP, "
    "MindSpore, spaCy, icefall, tqdm bars, lines of k=v",
    rank=10,
    matches=matches,
    decoder=ConsoleDecoder,
    wants_name=wants_name,
)


def with_patterns(patterns: Sequence[str]) -> Format:
    """Return the format extended by a user's own metric lines; see _patterns. Raises UsageError for a bad pattern."""
    own = [pattern_family(patterns)]
    return replace(FORMAT, matches=lambda name, head: matches(name, head, own), decoder=lambda: ConsoleDecoder(own))
