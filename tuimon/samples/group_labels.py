"""Short labels of groups, as lists show them: the identifier if it is short, else a number."""

from __future__ import annotations

from collections.abc import Iterable

LONGEST = 8
"""Characters of the longest identifier that is a label."""


class GroupLabels:
    """Labels of the groups of a step and a split. Groups are numbered from 1, as they were written."""

    def __init__(self, groups: Iterable[str] = ()) -> None:
        self._numbers: dict[str, int] = {}
        for group in groups:
            self.add(group)

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, group: str) -> int:
        """Return the number of a group, which is the next one if the group is new."""
        return self._numbers.setdefault(group, len(self._numbers) + 1)

    def label(self, group: str) -> str:
        """Return the label of a group."""
        is_label = 0 < len(group) <= LONGEST and group.isascii() and group.isprintable() and " " not in group
        return group if is_label else str(self.add(group))

    @property
    def width(self) -> int:
        """Characters of the longest label."""
        return max((len(self.label(group)) for group in self._numbers), default=0)
