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

A file of any name must look like text. A name that only says "log" is not enough: the file must also mention training
or hold a line of metrics. Texts that lie beside many runs but are not their output are excluded by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from tuimon import lazy_re as re
from tuimon.formats import Format
from tuimon.formats.console._display import display_line
from tuimon.formats.console.families import Family, parse_timestamp

if TYPE_CHECKING:
    from tuimon.formats.console._decoder import ConsoleDecoder

__all__ = (
    "FORMAT", "LineSteps", "display_line", "is_text", "matches", "new_decoder", "parse_timestamp", "wants_name",
    "with_patterns",
)  # fmt: skip

_TEXT = re.compile(
    r".*\.(?:log|out|output|err|txt|stdout|stderr|jsonl)|.*(?:log|train|loss).*\.csv|"
    r"(?:std(?:out|err)|console|nohup)[^/]*|.*\.[oe]\d+|error\.json|"
    r".*\.dmesg",
    re.IGNORECASE,
)
_OTHER = re.compile(
    r"readme.*|licen[cs]e.*|notice.*|changelog.*|cmakelists\.txt|.*requirements[^/]*\.txt|.*packages[^/]*\.txt|pip[-_].*\.txt|"
    r"conda.*|merges\.txt|vocab.*\.txt|.*\.json\.log|debug(?:-internal|-core)?\.log|robots\.txt|top_level\.txt|sources\.txt|"
    r"events\.out.*",
    re.IGNORECASE,
)
_CONSOLE = re.compile(
    r"(?:.*[-_.])?(?:console|stdout|stderr|std_?(?:out|err)|output|train(?:ing|er)?|run|driver|main|worker|nohup|slurm|job)"
    r"(?:[-_.].*)?\.(?:log|out|output|err|txt)|(?:std(?:out|err)|console|nohup)[^/]*|log_rank_.*\.log|.*\.(?:out|output|err)|"
    r".*\.[oe]\d+|log\.txt|\d{4}-\d\d-\d\d\.log|run_\w+\.log|metrics\.log",
    re.IGNORECASE,
)
"""Names of files with the output of a program ("stdout", "slurm-123.out")."""
_TRAINING = re.compile(
    rb"\b(?:step|epoch|iter(?:ation)?|loss|reward|train(?:er|ing)?|checkpoint|cuda|gpu|nccl|torch\w*|deepspeed|"
    rb"transformers|ray|vllm|wandb|swanlab|it/s)\b",
    re.IGNORECASE,
)
_CONTROL = re.compile(rb"[\x01-\x06\x0e-\x1a\x1c-\x1f\x7f]")
_TABLE = re.compile(rb"\s*[\w./-]++(?:\s*+[,;\t]\s*+[\w./()@-]++)+\s*")
_PROCESS = re.compile(
    rb"\[rank\d+\]|\blocal[ _]rank:? \d|^srun: error: |^slurmstepd: error: |\bNVRM: |oom-kill|Killed process \d",
    re.MULTILINE,
)
"""Text of a process of a job, or of its launcher, which can report a failure before any metric."""


class LineSteps:
    """The steps of the rows in a part of a log that begins with a line, except rows whose step is only counted."""

    def __init__(self, patterns: Sequence[str] = (), within: bool = False) -> None:
        """patterns: see `with_patterns`. within: lines precede the part, which may name the step of its first rows."""
        self._decoder = new_decoder(_own_families(patterns) if patterns else ())
        if within:
            self._decoder.interrupt()
        self._steps = self._decoder.record_steps()

    def feed(self, data: bytes) -> None:
        self._decoder.feed(data)

    @property
    def rows(self) -> list[tuple[int, int]]:
        """(offset of the line in the fed data, step) of each row, ascending."""
        return sorted(self._steps)


def new_decoder(own: Sequence[Family] = ()) -> ConsoleDecoder:
    """Return a decoder, whose modules and tables of words are loaded for the first text. own: see `ConsoleDecoder`."""
    from tuimon.formats.console._decoder import ConsoleDecoder

    return ConsoleDecoder(own)


def _own_families(patterns: Sequence[str]) -> list[Family]:
    from tuimon.formats.console._patterns import pattern_family

    return [pattern_family(patterns)]


def matches(name: str, head: bytes, own: Sequence[Family] = ()) -> bool:
    if name == "error.json":  # torchelastic's report of an exception, in one line without its end
        return head.startswith(b'{"message":')
    if not is_text(head):
        return False
    if name.endswith(".jsonl") and b'"message": "' not in head:  # records of a logging module, not rows
        return False
    if _CONSOLE.fullmatch(name) or (name.lower().endswith(".log") and _TRAINING.search(head)) or _PROCESS.search(head):
        return True
    from tuimon.formats.console._marks import may_have_row, without_repetition

    return may_have_row(head, own) and new_decoder(own).has_row(without_repetition(head))


def wants_name(name: str) -> bool:
    """Return True if a file of this name may be console text."""
    return _TEXT.fullmatch(name) is not None and _OTHER.fullmatch(name) is None


def is_text(head: bytes) -> bool:
    """Return True for UTF-8 or Latin-1 (cut anywhere) with at least one ended line and few control bytes. The header of
    a table is excluded: the table format recognises the file once it has grown."""
    if not head or b"\0" in head or len(_CONTROL.findall(head)) * 50 > len(head):
        return False
    if head.decode("utf-8", "replace").count("\ufffd") * 5 > len(head):
        return False
    first, ended, _ = head.lstrip().replace(b"\r", b"\n").partition(b"\n")
    return bool(ended) and _TABLE.fullmatch(first) is None


FORMAT = Format(
    id="console",
    title="console log",
    writers="ROLL, RLinf, AgentJet, Trinity, verl, TRL, transformers 4 and 5, slime, OpenRLHF, NeMo-RL, prime-rl, "
    "torchtitan, torchtune, Megatron, nanotron, SB3, Baselines, Keras, mmengine, mmcv, detectron2, timm, Swin, YOLO, "
    "XGBoost, LightGBM, CatBoost, DeepSpeed, Composer, rsl_rl, AReaL, open-instruct, OLMo, llm.c, StyleGAN, PaddleNLP, "
    "MindSpore, spaCy, icefall, tqdm bars, lines of k=v",
    rank=10,
    matches=matches,
    decoder=new_decoder,
    wants_name=wants_name,
)


def with_patterns(patterns: Sequence[str]) -> Format:
    """Return the format extended by a user's own metric lines; see _patterns. Raises UsageError for a bad pattern."""
    own = _own_families(patterns)
    return replace(FORMAT, matches=lambda name, head: matches(name, head, own), decoder=lambda: new_decoder(own))
