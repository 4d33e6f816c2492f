"""The part of the texts view that reads other steps: the changes of prompts since then, and the lists of steps."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from tuimon.rollouts.searching import TooSlow
from tuimon.rollouts.selection import SINCE_FIRST
from tuimon.tui.screens.text_choice import GROUPS, STEPS, Choice
from tuimon.tui.screens.text_reader import TextReader

if TYPE_CHECKING:
    from tuimon.rollouts import Sample
    from tuimon.rollouts.library import Library
    from tuimon.rollouts.overview import StepNumbers
    from tuimon.rollouts.selection import PromptNumbers


class TextSteps(TextReader):
    """The texts view as far as it compares steps."""

    _compared: tuple[int | None, str] = None, ""
    """Step and split whose prompts were compared last with an earlier step."""
    _compared_first: tuple[object, ...] = ()
    """Step, split and prompts that were compared last with the first steps that have the prompts."""
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
        if self._both.has_class("groups") != (self.choice.mode == GROUPS):
            self.place()
        self.chosen()
        self.compare_steps()
        self.compare_with_first()
        self.dashboard.redraw()

    def compare_again(self) -> None:
        """Compare the prompts of the step with earlier steps, as its entries have changed."""
        self._compared = None, ""
        if self.choice.firsts is None:
            self._compared_first = ()
        self.compare_steps()
        self.compare_with_first()

    def compare_with_first(self) -> None:
        """Read the numbers of each prompt in the first step that has it, if the order needs them."""
        library, step, choice = self.library, self.step, self.choice
        if library is None or step is None or self.busy or choice.sort != SINCE_FIRST:
            return
        split, prompts = choice.split_listed, frozenset(entry.prompt for entry in choice.entries)
        compared = step, split, prompts
        if compared == self._compared_first:
            return
        self._compared_first = compared

        def is_wanted() -> bool:
            return compared == self._compared_first and choice.sort == SINCE_FIRST and self.is_attached

        def read() -> list[PromptNumbers] | None:
            from tuimon.rollouts.overview import first_numbers

            return first_numbers(library, step, split, prompts, is_wanted)

        async def work() -> None:
            self.comparing = "reading earlier steps"
            async with self.reading:
                firsts = await asyncio.to_thread(read)
            self.comparing = ""
            if compared != self._compared_first:
                return
            if firsts is None or step != self.step:
                self._compared_first = ()
            elif firsts:
                self.change(lambda choice: choice.set_firsts(firsts))
            else:
                self.say("No change is known: no step before has these prompts")

        self.run_worker(work())

    def compare_steps(self) -> None:
        """Read how often each prompt passed in an earlier step, if the change since then is listed."""
        library, step, choice = self.library, self.step, self.choice
        compared = step, choice.split_listed
        if library is None or step is None or self.busy or not choice.shows_change or compared == self._compared:
            return
        self._compared = compared
        prompts = {entry.prompt for entry in choice.entries}

        def is_wanted() -> bool:
            return compared == self._compared and step == self.step and self.is_attached

        def read() -> PromptNumbers | None:
            from tuimon.rollouts.overview import earlier_numbers

            return earlier_numbers(library, step, compared[1], prompts, is_wanted)

        async def work() -> None:
            async with self.reading:
                earlier = await asyncio.to_thread(read)
            if not is_wanted():
                return
            if earlier is not None:
                self.change(lambda choice: choice.set_earlier(earlier))
            elif choice.sort == "|change|":
                self.say("No change is known: the steps before do not have these prompts")

        self.run_worker(work())

    def same_prompt(self) -> None:
        """List the steps that have the prompt of the selected sample; again: the samples."""
        entry = self.entry
        if self.choice.mode == STEPS or entry is None:
            self.change(lambda choice: choice.toggle(STEPS) if choice.mode == STEPS else None)
            return

        from tuimon.rollouts.overview import has_prompt, numbers_by_step

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

        from tuimon.rollouts.overview import has_match, numbers_by_step

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

        def scan() -> None:
            for numbers in read(library):
                if self.choice.by_step is not found or self.choice.mode != STEPS or not self.is_attached:
                    return
                loop.call_soon_threadsafe(extend, numbers)

        async def work() -> None:
            async with self.reading:
                try:
                    await asyncio.to_thread(scan)
                except TooSlow as slow:
                    self.say(str(slow))

        self.run_worker(work())


def _is_there(numbers: StepNumbers) -> bool:
    """Return whether a step has the prompt."""
    return numbers.count > 0
