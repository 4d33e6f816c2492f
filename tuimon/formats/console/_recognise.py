"""Recognition of console text by file name and content.

A file of any name must look like text. A name that only says "log" is not enough: the file must also mention training
or hold a line of metrics. Texts that lie beside many runs but are not their output are excluded by name.
"""

from __future__ import annotations

from tuimon import lazy_re as re

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


def wants_name(name: str) -> bool:
    """Return True if a file of this name may be console text."""
    return _TEXT.fullmatch(name) is not None and _OTHER.fullmatch(name) is None


def is_console_name(name: str) -> bool:
    """Return True for names of files with the output of a program ("stdout", "slurm-123.out")."""
    return _CONSOLE.fullmatch(name) is not None


def mentions_training(name: str, head: bytes) -> bool:
    """Return True for a .log file that contains words of training."""
    return name.lower().endswith(".log") and _TRAINING.search(head) is not None


def names_process(head: bytes) -> bool:
    """Return True for text of a process of a job, or of its launcher, which can report a failure before any metric."""
    return _PROCESS.search(head) is not None


def is_text(head: bytes) -> bool:
    """Return True for UTF-8 or Latin-1 (cut anywhere) with at least one ended line and few control bytes. The header of
    a table is excluded: the table format recognises the file once it has grown."""
    if not head or b"\0" in head or len(_CONTROL.findall(head)) * 50 > len(head):
        return False
    if head.decode("utf-8", "replace").count("\ufffd") * 5 > len(head):
        return False
    first, ended, _ = head.lstrip().replace(b"\r", b"\n").partition(b"\n")
    return bool(ended) and _TABLE.fullmatch(first) is None
