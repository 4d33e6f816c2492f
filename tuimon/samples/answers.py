"""The answer that a text gives, and whether it equals the reference."""

from __future__ import annotations

from typing import Any

from tuimon import lazy_re as re

_TAGGED = re.compile(r"<answer>(.*?)</answer>", re.DOTALL | re.IGNORECASE)
_NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?")
_CONTROL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
"""Control sequences of a terminal, whose numbers are no answers."""
_MAX = 200
_SEARCHED = 20_000
"""Characters at the end of a text in which an answer is searched for."""


def answer_of(text: str, reference: Any = None) -> str | None:
    r"""Return the last `\boxed{…}`, else the last `<answer>`, else the last number; None without any.

    reference: if the whole text equals it, the text is the answer; the last number is not, if it has several words.
    """
    words = reference.split() if isinstance(reference, str) and len(reference) <= _MAX else []
    if words and len(text) <= 2 * _MAX and text.split() == words:
        return " ".join(words)
    text = _CONTROL.sub("", text[-_SEARCHED:])
    start = text.rfind("\\boxed{")
    if start >= 0 and (inner := _braced(text, start + len("\\boxed{"))) is not None:
        return inner.strip()
    if tagged := _TAGGED.findall(text):
        return str(tagged[-1]).strip()[:_MAX]
    if len(words) > 1 and "####" not in words:
        return None
    numbers = _NUMBER.findall(text)
    return numbers[-1] if numbers else None


def agrees(answer: str | None, reference: Any) -> bool | None:
    """Return whether the answer equals the reference as a text or as a number; None if that cannot be said."""
    if isinstance(reference, list) and len(reference) == 1:
        reference = reference[0]
    if isinstance(reference, dict):
        reference = reference.get("ground_truth", reference.get("answer"))
    if answer is None or not isinstance(reference, (str, int, float)) or isinstance(reference, bool):
        return None
    expected = str(reference).strip()
    if len(expected) > _MAX:
        return None
    if "####" in expected:  # GSM8K
        expected = expected.rpartition("####")[2].strip()
    if _plain(answer) == _plain(expected):
        return True
    try:
        return float(_plain(answer)) == float(_plain(expected))
    except ValueError:
        return False


def _plain(text: str) -> str:
    return re.sub(r"[\s$,]|\\text|\\left|\\right|[{}]", "", text).rstrip(".").lower()


def _braced(text: str, start: int) -> str | None:
    depth = 1
    for index in range(start, min(len(text), start + _MAX)):
        depth += {"{": 1, "}": -1}.get(text[index], 0)
        if not depth:
            return text[start:index]
    return None
