"""How serious a line of console text is, by its words."""

from __future__ import annotations

from tuimon import lazy_re as re

ERROR_PATTERN = (
    r"\b(?:ERROR|CRITICAL|FATAL|Traceback \(most recent call last\)|[A-Z][A-Za-z]{0,60}(?:Error|Exception)(?=:|$|\()|"
    r"KeyboardInterrupt$|CUDA out of memory|Segmentation fault|core dumped|SIGKILL|SIGTERM|operation timeout|"
    r"Exception: |nccl[A-Z][A-Za-z]{0,30}Error: |terminate called after|(?:slurmstepd|srun): error: |worker died|"
    r"E[01]\d{3} \d\d:\d\d:\d\d\.\d)"
)
"""Regular expression that matches lines of severity "error", in linear time."""
PROBLEM_WORDS = (
    r"ERROR|CRITICAL|FATAL|Traceback|Error|Exception|KeyboardInterrupt|CUDA out|Segmentation|core dumped|SIGKILL|"
    r"SIGTERM|operation timeout|WARN|Warning|terminate called|: error: |worker died|W[01]\d{3} \d|E[01]\d{3} \d|"
    r"Gradient overflow|OVERFLOW!|Network error|Too Many Requests"
)
"""Regular expression that every line of a severity matches. It is six times as fast as the others."""
_ERROR = re.compile(ERROR_PATTERN)
_WARNING = re.compile(
    r"\bWARN(?:ING)?\b|\b[A-Z][A-Za-z]{0,60}Warning(?=:|$)|\bW[01]\d{3} \d\d:\d\d:\d\d\.\d|"
    r"\bGradient overflow|\bOVERFLOW!|\bNetwork error|\bToo Many Requests"
)
"""Also lines of glog and torch (W1125 10:01:02.123456, where 1125 is November 25), of a loss scaler, and of a service
that is not reached."""


def severity(text: str) -> str:
    """Classify a line by its words: "error", "warning" or ""."""
    if _ERROR.search(text):
        return "error"
    return "warning" if _WARNING.search(text) else ""
