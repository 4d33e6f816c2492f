"""Which files are console text: the name says so, or a line has a shape that is known.

Text of any name must look like text; a file that only calls itself a log must speak of training as well, or hold a
line of metrics. Texts that lie beside every run and are none of its output are left out by their names.
"""

from __future__ import annotations

import re

_TEXT = re.compile(
    r".*\.(?:log|out|output|err|txt|stdout|stderr)|(?:std(?:out|err)|console|nohup)[^/]*|.*\.[oe]\d+", re.IGNORECASE
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


def wants_name(name: str) -> bool:
    """Is it worth opening?"""
    return _TEXT.fullmatch(name) is not None and _OTHER.fullmatch(name) is None


def says_console(name: str) -> bool:
    """Is this the name of what a program has printed?"""
    return _CONSOLE.fullmatch(name) is not None


def speaks_of_training(name: str, head: bytes) -> bool:
    """Is this a log by its name, and of a training by its words?"""
    return name.lower().endswith(".log") and _TRAINING.search(head) is not None


def is_text(head: bytes) -> bool:
    """UTF-8 (cut anywhere) without control bytes that no terminal output has; at least one line that has ended, and
    no table or JSON that begins: its format knows better, once it has grown."""
    if not head or b"\0" in head or len(_CONTROL.findall(head)) * 50 > len(head):
        return False
    if head.decode("utf-8", "replace").count("\ufffd") * 20 > len(head):
        return False
    first, ended, _ = head.lstrip().replace(b"\r", b"\n").partition(b"\n")
    return bool(ended) and _TABLE.fullmatch(first) is None
