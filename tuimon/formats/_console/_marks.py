"""Which of many short texts a long one holds. Most hold none, so each test that is not made counts: a mark that holds
another ("step: " holds "step") is looked for only where that one is."""

from __future__ import annotations

from functools import lru_cache

Marks = tuple[bytes, ...]


class MarkSet:
    def __init__(self, marks: Marks) -> None:
        ordered = sorted(set(marks), key=lambda mark: (len(mark), mark))
        self._within = [
            (mark, next((part for part in ordered if part != mark and part in mark), None)) for mark in ordered
        ]
        """(mark, one that it holds, which comes before it)."""

    def held(self, text: bytes) -> set[bytes]:
        """The marks that the text holds."""
        found: set[bytes] = set()
        for mark, part in self._within:
            if (part is None or part in found) and mark in text:
                found.add(mark)
        return found


@lru_cache(16)
def mark_set(marks: Marks) -> MarkSet:
    """Made once: every log asks for the same."""
    return MarkSet(marks)


def holds(text: bytes, marks: Marks) -> bool:
    for mark in marks:  # a loop: half the time of any() over a generator  # noqa: SIM110
        if mark in text:
            return True
    return False
