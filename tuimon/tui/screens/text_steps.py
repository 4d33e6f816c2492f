"""The part of the texts view that reads other steps: the changes of prompts since then, and the lists of steps."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from tuimon.samples.searching import TooSlow
from tuimon.samples.selection import SINCE_FIRST
from tuimon.tui.screens.text_choice import GROUPS, STEPS, Choice
from tuimon.tui.screens.text_reader import TextReader

if TYPE_CHECKING:
    from tuimon.samples import Sample
    from tuimon.samples.library import Library
    from tuimon.samples.overview import StepNumbers
    from tuimon.samples.selection import PromptNumbers


_STEPS_BEFORE = 16
"""Steps before that are read for the change of groups."""


class TextSteps(TextReader):
    """The texts view as far as it compares steps."""

    _compared: tuple[object, ...] = ()
    """Step, split, prompts and number of steps before that were compared last."""
    comparing = ""
    """What is being read for a comparison."""

    def change(self, apply: Callable[[Choice], object]) -> None:
        """Change the order, the filter or the grouping; the selected sample stays selected if it is listed.

        In another order the first one is selected, unless the user has chosen a sample or its prompt.
        """
        entry, sort = self.choice.entry(self.table.cursor), self.choice.sort
        apply(self.choice)
        self.choice.update()
        if self.choice.sort != sort and not (self.touched or self._followed):
            entry = None
        self.table.cursor = self.choice.index(entry)
        if self._body.has_class("groups") != (self.choice.mode == GROUPS):
            self.place()
        self.chosen()
        self.compare_steps()
        self.dashboard.redraw()

    def compare_again(self) -> None:
        """Compare the prompts of the step with earlier steps, as its entries have changed."""
        if self.choice.firsts is None:
            self._compared = ()
        self.compare_steps()

    def compare_steps(self) -> None:
        """Read the numbers of each prompt in the first step that has it, if the change since then is listed.

        Groups are compared with some steps before; the order by the change is worth reading all of them.
        """
        library, step, choice = self.library, self.step, self.choice
        if library is None or step is None or self.busy or not choice.shows_change:
            return
        split, prompts = choice.split_listed, frozenset(entry.prompt for entry in choice.entries)
        steps = 0 if choice.sort == SINCE_FIRST else _STEPS_BEFORE
        compared = step, split, prompts, steps
        if compared == self._compared:
            return
        self._compared = compared

        def is_wanted() -> bool:
            return compared == self._compared and choice.shows_change and self.is_attached

        def read() -> list[PromptNumbers] | None:
            from tuimon.samples.overview import first_numbers

            return first_numbers(library, step, split, prompts, is_wanted, steps)

        def show(firsts: list[PromptNumbers] | None) -> None:
            self.comparing = ""
            if compared != self._compared:
                return
            if firsts is None or step != self.step:
                self._compared = ()
            elif firsts:
                self.change(lambda choice: choice.set_firsts(firsts))
            elif choice.sort == SINCE_FIRST:
                self.say("No change is known: no step before has these prompts")

        self.comparing = "reading earlier steps"
        self.in_thread(read, show)

    def same_prompt(self) -> None:
        """List the steps that have the prompt of the selected sample; again: the samples."""
        entry = self.entry
        if self.choice.mode == STEPS or entry is None:
            self.change(lambda choice: choice.toggle(STEPS) if choice.mode == STEPS else None)
            return

        from tuimon.samples.overview import has_prompt, numbers_by_step

        test = has_prompt(entry.prompt)
        self._by_step("reward", test, lambda library: filter(_is_there, numbers_by_step(library, entry.split, test)))

    def count_matches(self) -> None:
        """List the steps with the number of responses that contain the search; again: the samples."""
        search, split = self.choice.search, self.choice.split_listed
        if self.choice.mode == STEPS:
            self.change(lambda choice: choice.toggle(STEPS))
            return
        if search is None:
            self.say("Nothing to count: press / first")
            return

        from tuimon.samples.overview import has_match, numbers_by_step

        test = has_match(search)
        self._by_step("share", test, lambda library: numbers_by_step(library, split, test))

    def _by_step(
        self, bars: str, is_counted: Callable[[Sample], bool], read: Callable[[Library], Iterator[StepNumbers]]
    ) -> None:
        """List numbers of each step as they are read. bars: value of Choice.bars; is_counted: test of the samples that
        `read` counts."""
        library = self.library
        found: list[StepNumbers] = []
        if library is None:
            return
        loop = asyncio.get_running_loop()
        self.choice.by_step, self.choice.bars, self.choice.is_counted = found, bars, is_counted
        self.choice.hold_split()
        self.change(lambda choice: choice.toggle(STEPS))

        def extend(numbers: StepNumbers) -> None:
            found.append(numbers)
            if self.choice.by_step is found and self.is_attached:
                self.dashboard.redraw()

        def scan() -> str:
            try:
                for numbers in read(library):
                    if self.choice.by_step is not found or self.choice.mode != STEPS or not self.is_attached:
                        break
                    loop.call_soon_threadsafe(extend, numbers)
            except TooSlow as slow:
                return str(slow)
            return ""

        def report(problem: str) -> None:
            if problem:
                self.say(problem)

        self.in_thread(scan, report)


def _is_there(numbers: StepNumbers) -> bool:
    """Return whether a step has the prompt."""
    return numbers.count > 0
