"""Which samples of a step are listed, and in which order. Has no widget and reads no file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from tuimon.samples.library import Entry
from tuimon.samples.searching import Search
from tuimon.samples.selection import (
    FILTERS,
    SORTS,
    Group,
    comparison,
    filtered,
    groups_of,
    numbers_of,
    pass_field,
    sorted_by,
)

SAMPLES, GROUPS = "samples", "groups"
"""Kind of the rows of the list."""
Place: TypeAlias = tuple[str, object]
"""File and location of a sample."""


class Choice:
    """The entries of a step and the choices that order or restrict them."""

    def __init__(self) -> None:
        self.every: list[Entry] = []
        """Entries of the step, of both splits."""
        self.split = "train"
        """Split whose entries are listed if the step has both."""
        self.entries: list[Entry] = []
        """Entries of one split."""
        self.listed: list[Entry] = []
        self.mode = SAMPLES
        self.groups: list[Group] = []
        """Groups of the listed entries; [] while samples are listed."""
        self.pass_field = ""
        """Name of the number that is 1 for entries that passed, or "", see selection.pass_field."""
        self.sort, self.filter = SORTS[0], FILTERS[0]
        self.only = ""
        """Key of the group whose samples are listed; "" for all."""
        self.search: Search | None = None
        self.matches: frozenset[Place] | None = None
        """Samples in which the search was found; None: not searched yet."""
        self._test: Callable[[Entry], bool] | None = None

    def set_entries(self, entries: list[Entry]) -> None:
        """Set the entries of a step."""
        self.every = entries
        self._take_split()
        self.update()

    def _take_split(self) -> None:
        self.entries = [entry for entry in self.every if entry.split == self.split] or self.every

    def update(self) -> None:
        """Compute what is listed."""
        listed = filtered(self.entries, self.filter)
        if self.only:
            listed = [entry for entry in listed if entry.group == self.only]
        if self._test is not None:
            listed = list(filter(self._test, listed))
        if self.matches is not None:
            listed = [entry for entry in listed if (entry.file, entry.location) in self.matches]
        self.listed, self.groups, self.pass_field = sorted_by(listed, self.sort), [], ""
        if self.mode == GROUPS:
            self.pass_field = pass_field(numbers_of(self.entries))
            self.groups = sorted_by(groups_of(listed, self.pass_field), self.sort)

    @property
    def split_listed(self) -> str:
        """Split of the entries that are listed."""
        return self.entries[0].split if self.entries else self.split

    @property
    def not_listed(self) -> int:
        """Number of entries of the other split."""
        return len(self.every) - len(self.entries)

    @property
    def items(self) -> Sequence[Entry] | Sequence[Group]:
        """Rows of the list."""
        return self.groups if self.mode == GROUPS else self.listed

    def entry(self, index: int) -> Entry | None:
        """Return the entry at a row, the first of a group; None past the end."""
        item = self.items[index] if index < len(self.items) else None
        return item.entries[0] if isinstance(item, Group) else item

    def index(self, entry: Entry | None) -> int:
        """Return the row of an entry or of its group; 0 if it is not listed."""
        if entry is None:
            return 0
        are_same = (item.key == entry.group if isinstance(item, Group) else item is entry for item in self.items)
        return next((index for index, is_same in enumerate(are_same) if is_same), 0)

    def index_of_prompt(self, prompt: str, index: int) -> int:
        """Return the row of a prompt: `index` if it has the prompt, else the first one, or `index` if none has it.

        A group that is open is replaced by that of the prompt if the step does not have it."""
        if self.only and all(entry.group != self.only for entry in self.entries):
            self.only = next((entry.group for entry in self.entries if entry.prompt == prompt), self.only)
            self.update()
        rows = [row for row in range(len(self.items)) if (entry := self.entry(row)) and entry.prompt == prompt]
        return index if index in rows or not rows else rows[0]

    def opposite(self, entry: Entry) -> Entry | None:
        """Return the sample of the same group to compare with: the worst for the best one, else the best; None if the
        group has no other sample."""
        others = [other for other in self.entries if other.group == entry.group and other is not entry]
        best = sorted_by([entry, *others], "best")
        return None if not others else best[-1] if best[0] is entry else best[0]

    # ------------------------------------------------------------------ choices; `update` applies them

    def next_sort(self, by: int = 1) -> None:
        """Take the next order."""
        self.sort = SORTS[(SORTS.index(self.sort) + by) % len(SORTS)]

    def next_filter(self) -> None:
        """Take the next filter that keeps any sample."""
        names = [name for name in FILTERS if name == self.filter or filtered(self.entries, name)]
        self.filter = names[(names.index(self.filter) + 1) % len(names)]

    def next_view(self) -> None:
        """List groups instead of samples, or samples again."""
        self.mode, self.only = GROUPS if self.mode == SAMPLES else SAMPLES, ""

    def next_split(self) -> None:
        """List the entries of the other split."""
        self.split, self.only = "validation" if self.split_listed == "train" else "train", ""
        self._take_split()

    def open_group(self, key: str) -> None:
        """List the samples of one group; "": the groups again."""
        self.mode, self.only = SAMPLES if key else GROUPS, key

    def set_query(self, text: str) -> None:
        """Set the search: a comparison, else a text or an expression. Raises re.error."""
        test = comparison(text) if text else None
        search = Search(text) if text and test is None else None
        if self.search is not None:
            self.search.cancel()
        self.search, self._test, self.matches = search, test, None
