"""Which samples of a step are listed, and in which order. Has no widget and reads no file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tuimon.samples import Sample
from tuimon.samples.library import Entry
from tuimon.samples.overview import Bin, StepNumbers, histogram, in_bin
from tuimon.samples.searching import Search
from tuimon.samples.selection import (
    FILTERS,
    SINCE_FIRST,
    SORTS,
    Group,
    PromptNumbers,
    changes_since,
    comparison,
    counts,
    filtered,
    groups_of,
    numbers_of,
    pass_field,
    prompt_numbers,
    sorted_by,
    sorted_groups,
)

SAMPLES, GROUPS, HISTOGRAM, STEPS, SCATTER = "samples", "groups", "histogram", "steps", "scatter"
"""Kind of the rows of the list: samples, groups of a prompt, ranges of rewards, or steps; or a plot of the samples."""

VIEWS = (SAMPLES, GROUPS, HISTOGRAM, SCATTER)
"""What the key of the views goes through."""


class Choice:
    """The entries of a step and the choices that order or restrict them."""

    def __init__(self) -> None:
        self.every: list[Entry] = []
        """Entries of the step, of both splits."""
        self.split = "train"
        """Split whose entries are listed if the step has both."""
        self.entries: list[Entry] = []
        """Entries of one split."""
        self._pass_field: str | None = None
        self.listed: list[Entry] = []
        self.mode = SAMPLES
        self.groups: list[Group] = []
        """Groups of the listed entries."""
        self.bins: list[Bin] = []
        """Ranges of the rewards of the listed entries."""
        self.by_step: list[StepNumbers] = []
        """Numbers of each step, for a prompt or a search, the newest first."""
        self.bars = "share"
        """Quantity that the bars of `by_step` show: "share" of the texts that are counted, or "reward"."""
        self.is_counted: Callable[[Sample], bool] = lambda sample: False
        """Test of the samples that `by_step` counts."""
        self.sort, self.filter = SORTS[0], FILTERS[0]
        self.only = ""
        """Key of the group whose samples are listed; "" for all."""
        self.bin: Bin | None = None
        """Range of the rewards that are listed."""
        self.search: Search | None = None
        self.firsts: list[PromptNumbers] | None = None
        """Numbers of the first steps that have prompts of this one; None: not read."""
        self.change: dict[str, float] = {}
        """Change since then of the share of the samples that passed, or of the mean reward, by prompt."""
        self.change_is_share = False
        self._test: Callable[[Entry], bool] | None = None
        self._matches: frozenset[tuple[str, object]] | None = None

    def set_entries(self, entries: list[Entry]) -> None:
        """Set the entries of a step."""
        self.every = entries
        self._take_split()
        self.update()

    def _take_split(self) -> None:
        self.entries = [entry for entry in self.every if entry.split == self.split] or self.every
        self._pass_field = None
        self.set_firsts(self.firsts)

    def _numbers(self) -> PromptNumbers:
        prompts = (entry.prompt for entry in self.entries)
        return prompt_numbers(None, zip(prompts, numbers_of(self.entries), strict=True))

    def set_firsts(self, firsts: list[PromptNumbers] | None) -> None:
        """Compare the prompts with the numbers of the first steps that have them, or with none (None)."""
        self.firsts, self.change = firsts, {}
        if firsts:
            self.change_is_share, self.change = changes_since(firsts, self._numbers())

    @property
    def shows_change(self) -> bool:
        """Whether the change of prompts since an earlier step is listed, or orders the list."""
        return self.mode == GROUPS or self.sort == SINCE_FIRST

    @property
    def pass_field(self) -> str:
        """Name of the number that is 1 for entries that passed, or "", see selection.pass_field."""
        if self._pass_field is None:
            self._pass_field = pass_field(numbers_of(self.entries))
        return self._pass_field

    @property
    def split_listed(self) -> str:
        """Split of the entries that are listed."""
        return self.entries[0].split if self.entries else self.split

    @property
    def not_listed(self) -> int:
        """Number of entries of the other split."""
        return len(self.every) - len(self.entries)

    def update(self) -> None:
        """Compute what is listed."""
        listed = filtered(self.entries, self.filter)
        if self.only:
            listed = [entry for entry in listed if entry.group == self.only]
        if self._test is not None:
            listed = [entry for entry in listed if self._test(entry)]
        if self._matches is not None:
            listed = [entry for entry in listed if (entry.file, entry.location) in self._matches]
        if self.bin is not None:
            listed = [entry for entry in listed if in_bin(entry, self.bin)]
        self.listed = sorted_by(listed, self.sort, self.change)
        self.groups = self._groups(listed) if self.mode == GROUPS else []
        self.bins = histogram(listed)[::-1] if self.mode == HISTOGRAM else []

    def _groups(self, entries: list[Entry]) -> list[Group]:
        return sorted_groups(groups_of(entries, self.pass_field), self.sort, self.change)

    @property
    def items(self) -> Sequence[Any]:
        """Rows of the list: entries, groups, ranges or steps."""
        rows: dict[str, Sequence[Any]] = {GROUPS: self.groups, HISTOGRAM: self.bins, STEPS: self.by_step}
        return rows.get(self.mode, self.listed)

    def entry(self, index: int) -> Entry | None:
        """Return the entry at a row, the first of a group or a range; None past the end."""
        if self.mode == GROUPS:
            group = self.group(index)
            return group.entries[0] if group is not None else None
        if self.mode == HISTOGRAM:
            chosen = self.bins[index] if index < len(self.bins) else None
            return next((entry for entry in self.listed if chosen and in_bin(entry, chosen)), None)
        if self.mode == STEPS:
            return None
        return self.listed[index] if index < len(self.listed) else None

    def group(self, index: int) -> Group | None:
        """Return the group at a row."""
        return self.groups[index] if index < len(self.groups) else None

    def index(self, entry: Entry | None) -> int:
        """Return the row of an entry; 0 if it is not listed."""
        if entry is None:
            return 0
        if self.mode == GROUPS:
            return self.group_index(entry.group)
        if self.mode == HISTOGRAM:
            return next((index for index, chosen in enumerate(self.bins) if in_bin(entry, chosen)), 0)
        return next((index for index, other in enumerate(self.listed) if other is entry), 0)

    def group_index(self, key: str) -> int:
        """Return the row of a group; 0 if it is not listed."""
        return next((index for index, group in enumerate(self.groups) if group.key == key), 0)

    def index_of_prompt(self, prompt: str, index: int) -> int:
        """Return the row of a prompt: `index` if it has the prompt, else the first one, or `index` if none has it.

        A group that is open is replaced by that of the prompt if the step does not have it."""
        if self.only and all(entry.group != self.only for entry in self.entries):
            self.only = next((entry.group for entry in self.entries if entry.prompt == prompt), self.only)
            self.update()
        rows = self.groups if self.mode == GROUPS else self.listed if self.mode == SAMPLES else []
        firsts = [row.entries[0] if isinstance(row, Group) else row for row in rows]
        if index < len(firsts) and firsts[index].prompt == prompt:
            return index
        return next((row for row, entry in enumerate(firsts) if entry.prompt == prompt), index)

    def opposite(self, entry: Entry) -> Entry | None:
        """Return the sample of the same group to compare with: the worst for the best one, else the best; None if the
        group has no other sample."""
        others = [other for other in self.entries if other.group == entry.group and other is not entry]
        if not others:
            return None
        best = sorted_by([entry, *others], "best")
        return best[-1] if best[0] is entry else best[0]

    # ------------------------------------------------------------------ choices; `update` applies them

    def next_sort(self, by: int = 1) -> None:
        """Take the next order."""
        self.sort = SORTS[(SORTS.index(self.sort) + by) % len(SORTS)]

    def next_filter(self) -> None:
        """Take the next filter that keeps any sample."""
        names = [name for name in FILTERS if name in counts(self.entries) or name == self.filter]
        self.filter = names[(names.index(self.filter) + 1) % len(names)]

    def toggle(self, mode: str) -> None:
        """List something else than samples, or samples again."""
        self.mode, self.only, self.bin = SAMPLES if self.mode == mode else mode, "", None

    def next_view(self) -> None:
        """List the next kind of rows; after a list of steps samples."""
        place = VIEWS.index(self.mode) + 1 if self.mode in VIEWS else 0
        self.mode, self.only, self.bin = VIEWS[place % len(VIEWS)], "", None

    def hold_split(self) -> None:
        """Keep to the split that is listed, also in steps that have both."""
        self.split = self.split_listed

    def next_split(self) -> None:
        """List the entries of the other split."""
        self.split = "validation" if self.split_listed == "train" else "train"
        self.only, self.bin, self.firsts = "", None, None
        self._take_split()

    def open_group(self, key: str) -> None:
        """List the samples of one group."""
        self.mode, self.only = SAMPLES, key

    def open_bin(self, chosen: Bin) -> None:
        """List the samples in a range of rewards."""
        self.mode, self.bin = SAMPLES, chosen

    def set_query(self, text: str) -> None:
        """Set the search: a comparison, else a text or an expression. Raises re.error."""
        test = comparison(text) if text else None
        search = Search(text) if text and test is None else None
        if self.search is not None:
            self.search.cancel()
        self.search = search
        self._test, self._matches = test, None

    def set_matches(self, matches: frozenset[tuple[str, object]] | None) -> None:
        """Set the samples (file, location) in which the search was found; None: not searched yet."""
        self._matches = matches
