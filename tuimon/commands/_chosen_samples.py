"""Which generated texts `tuimon samples` prints, and why there are none."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tuimon.errors import NothingFound, TuimonError, UsageError

if TYPE_CHECKING:
    from tuimon.rollouts import Sample
    from tuimon.rollouts.group_labels import GroupLabels

_NAMED, _NEAREST = 8, 3
"""Maximum number of groups, and of steps, that a message names."""


class ChosenSamples:
    """The samples that the options choose. What was read is remembered for labels and messages."""

    def __init__(self, options: argparse.Namespace) -> None:
        """Raises UsageError if --search is not a regular expression."""
        from tuimon.rollouts.overview import query_test

        self.options = options
        self._labels: dict[tuple[int | None, str], GroupLabels] = {}
        self._splits: set[str] = set()
        self._steps: set[int] = set()
        self._read = self._in_step = self._searched = 0
        self._groups: dict[str, None] = {}
        """Identifiers of the groups of the chosen steps and splits, if one group is asked for."""
        self._number = int(options.group) if (options.group or "").isdecimal() else None
        self._range = options.steps or (-math.inf, math.inf)
        if options.step is not None and not options.prompts:
            self._range = options.step, options.step
        self._has_labels = options.group is not None or not (options.json or options.markdown)
        try:
            self._test = query_test(options.search) if options.search else None
        except re.error as error:
            raise UsageError(
                f"--search: not a regular expression: {error}", "Without re: a text is searched."
            ) from None

    def of(self, samples: Iterable[Sample]) -> Iterator[Sample]:
        """Yield those of the samples that are chosen. Raises TuimonError if the search takes too long.

        A group is chosen by its identifier, or by its number in the list of each step if no group has the identifier.
        """
        from tuimon.rollouts.export import group_of
        from tuimon.rollouts.searching import TooSlow

        options = self.options
        by_number: list[Sample] = []
        for sample in samples:
            self._read += 1
            self._splits.add(sample.split)
            if sample.step is not None:
                self._steps.add(sample.step)
            if not self._is_in_range(sample.step) or options.split not in (None, "all", sample.split):
                continue
            self._in_step += 1
            group = group_of(sample) if self._has_labels else ""
            number = self._labels_of(sample).add(group) if self._has_labels else 0
            if options.group is not None:
                self._groups[group] = None
                if group != options.group and number != self._number:
                    continue
            self._searched += 1
            try:
                if self._test is not None and not self._test(sample):
                    continue
            except TooSlow as slow:
                raise TuimonError(str(slow), "Use a simpler expression.") from None
            if options.group in (None, group):
                yield sample
            else:
                by_number.append(sample)
        if options.group is not None and options.group not in self._groups:
            yield from by_number

    def _is_in_range(self, step: int | None) -> bool:
        """Return whether the samples of a step are chosen; those without a step are if no step is named."""
        first, last = self._range
        return first <= step <= last if step is not None else first == -math.inf

    def label(self, sample: Sample) -> str:
        """Return the label of the group of a sample that was yielded, as the texts view shows it."""
        from tuimon.rollouts.export import group_of

        return self._labels_of(sample).label(group_of(sample))

    def _labels_of(self, sample: Sample) -> GroupLabels:
        from tuimon.rollouts.group_labels import GroupLabels

        return self._labels.setdefault((sample.step, sample.split), GroupLabels())

    def nothing(self, path: str, pickle: str) -> NothingFound:
        """Return the error that says why no sample was chosen. path, pickle: cleaned paths; pickle "" for none."""
        options = self.options
        if not self._read:
            hint = (
                "Switch on trainer.rollout_data_dir (verl), log_completions (TRL, ms-swift) or rollout_dump_dir (ROLL)."
            )
            return NothingFound(
                f"No generated texts at or below {path}.",
                f"{pickle} is a pickle, which tuimon does not load. {hint}" if pickle else hint,
            )
        if options.step is not None and options.step not in self._steps:
            nearest = sorted(sorted(self._steps, key=lambda step: abs(step - options.step))[:_NEAREST])
            known = f"{len(self._steps)} steps have texts" if len(self._steps) > 1 else "One step has texts"
            hint = f"{known}; nearest: {', '.join(map(str, nearest))}." if nearest else "The texts have no step."
            return NothingFound(f"No generated texts of step {options.step} at or below {path}.", hint)
        if options.steps is not None and not any(map(self._is_in_range, self._steps)):
            known = f"{min(self._steps)} to {max(self._steps)}" if self._steps else ""
            hint = f"The texts are of the steps {known}." if known else "The texts have no step."
            return NothingFound(f"No generated texts of these steps at or below {path}.", hint)
        if not self._in_step:
            return NothingFound(
                f"No generated texts of this split at or below {path}: {options.split}.",
                f"The texts are of the split {' and '.join(sorted(self._splits))}.",
            )
        if options.group is not None and not self._searched:
            return self._no_group(path)
        if options.search:
            return NothingFound(
                f"No generated text at or below {path} matches the search.",
                f"{self._searched} text{'s' if self._searched != 1 else ''} were searched.",
            )
        if options.prompts:
            until = "" if options.step is None else f" until step {options.step}"
            return NothingFound(
                f"No prompt at or below {path} has texts with rewards at several steps{until}.",
                "Leave --prompts out for the texts themselves.",
            )
        return NothingFound(
            f"None of the {self._searched} generated texts at or below {path} has a reward.",
            "Leave --worst and --best out.",
        )

    def _no_group(self, path: str) -> NothingFound:
        from difflib import get_close_matches

        from tuimon.text import clean

        wanted, known = self.options.group, list(filter(None, self._groups))
        near = get_close_matches(wanted, known, _NAMED, 0.4)
        named = ", ".join(
            clean(group, 40) for group in [*near, *(group for group in known if group not in near)][:_NAMED]
        )
        more = f" and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
        last = max(map(len, self._labels.values()), default=0)
        numbers = f"; numbers: 1 to {last}" if last > 1 else ""
        return NothingFound(
            f"No generated texts of this group at or below {path}: {clean(wanted, 80)}.",
            f"Groups{', the nearest first' if near else ''}: {named}{more}{numbers}."
            if known
            else "No group has a name.",
        )
