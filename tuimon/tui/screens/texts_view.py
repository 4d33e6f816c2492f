"""Texts view: what the model wrote in one step, as a list of samples or groups with the text of the selected one.

Nothing is read before the view is opened. A thread reads the files, so that a large step does not delay keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from tuimon.model.views import Role, Row, Span
from tuimon.panels import plural
from tuimon.samples.searching import TooSlow
from tuimon.samples.selection import mean_and_std, rewards_of
from tuimon.store import Snapshot
from tuimon.text import clean
from tuimon.tui.action import key_names
from tuimon.tui.copying import copy, new_file, write_new
from tuimon.tui.picture import obstacle
from tuimon.tui.screens.text_choice import GROUPS, HISTOGRAM, SCATTER, STEPS
from tuimon.tui.screens.text_export import TextExport
from tuimon.tui.screens.text_pane import FOLDS, shown_text
from tuimon.tui.screens.text_steps import TextSteps
from tuimon.tui.state import ViewState

if TYPE_CHECKING:
    from tuimon.samples import Sample


_SPLITS = {"train": "training", "validation": "validation"}


class TextsScreen(TextSteps):
    """The texts of the run that is shown, one step at a time."""

    FOOTER: ClassVar = {
        "next": (3, "step"),
        "previous": (4, "before"),
        "compare": (12, "diff"),
        "cursor": (11, "charts"),
        "fold": (10, "fold"),
        "copy": (0, ""),
        "mark": (13, "mark"),
        "export": (14, "save"),
        "tab": (15, "media"),
    }
    _saving: TextExport | None = None
    """Export that has not ended."""

    # ------------------------------------------------------------------ keys

    def move(self, rows: int = 0, pages: int = 0) -> None:
        """Select another sample; scroll the text if it has the whole screen, and for pages."""
        if pages or self.zoomed:
            self.pane.move(rows, pages)
        else:
            self.next_item(rows)

    def next_item(self, by: int) -> None:
        """Select another sample even if the list is hidden."""
        self.touched = True
        self.table.move(by)

    def next_sort(self, by: int) -> None:
        """Choose the next order: worst, best, longest, shortest, by advantage or change, as written."""
        self.change(lambda choice: choice.next_sort(by))

    def copied(self) -> tuple[str, str] | None:
        """Return the response of the selected sample."""
        if self.sample is None:
            return None
        lines = shown_text(self.sample.response).split("\n")
        return "\n".join(clean(line, len(line) + 1) for line in lines), "the response"

    def next(self, by: int) -> None:
        """Show the texts of a later (by > 0) or an earlier step."""
        if self.step not in self.steps:
            return
        index = self.steps.index(self.step) + by
        if not 0 <= index < len(self.steps):
            self.say(f"No texts {'after' if by > 0 else 'before'} this step")
            return
        self.go_to(self.steps[index])
        self.dashboard.redraw()

    def aside(self, by: int) -> None:
        """Show the texts of a later (by > 0) or an earlier step."""
        self.next(by)

    def next_part(self, by: int) -> None:
        """Show the media of the run at this step instead."""
        self.keep_step(self.step, self.steps[-1] if self.steps else None)
        self.dashboard.pop_screen()
        self.dashboard.action_do("media")

    def next_view(self) -> None:
        """Show samples, prompts, the histogram of rewards, or reward against length."""
        self.change(lambda choice: choice.next_view())

    def next_filter(self) -> None:
        """List only some of the samples: truncated ones, those with a flag, and others."""
        self.change(lambda choice: choice.next_filter())

    def show_charts(self) -> None:
        """Show the charts, with the cursor at this step."""
        if self.step is None:
            self.say("These texts have no step")
            return
        self.dashboard.state.options = replace(self.dashboard.state.options, cursor=self.step)
        self.dashboard.pop_screen()
        self.dashboard.redraw()

    def copy_all(self) -> None:
        """Copy prompt, response and numbers as Markdown."""
        from tuimon.samples.export import as_markdown

        if self.sample is None:
            self.say("No text is selected")
        else:
            copy(self.dashboard, as_markdown(self.sample), "the text as Markdown")

    def open(self) -> None:
        """Open the selected group, or give the text the whole screen; again: undo."""
        row, choice = self.table.cursor, self.choice
        if choice.mode == GROUPS and (group := choice.group(row)) is not None:
            self.touched = True
            self.change(lambda choice: choice.open_group(group.key))
            return
        if choice.mode == HISTOGRAM and row < len(choice.bins):
            self.change(lambda choice: choice.open_bin(choice.bins[row]))
            return
        if choice.mode == STEPS and row < len(choice.by_step):
            self.go_to(choice.by_step[row].step)
            self.change(lambda choice: choice.toggle(STEPS))
            return
        self.zoomed = not self.zoomed
        self.place()

    def fold(self) -> None:
        """Fold more or less of the text."""
        self.folded = (self.folded + 1) % len(FOLDS)
        self.text_changed()
        self.say(FOLDS[self.folded].capitalize())

    def toggle_raw(self) -> None:
        """Display the prompt and the response as they are in the file; again: undo."""
        self.raw = not self.raw
        self.text_changed()
        self.say("The text as it is in the file" if self.raw else "The text by role")

    def go_back(self) -> bool:
        if self._saving is not None:
            self._saving.end()
            return True
        if self.zoomed:
            self.zoomed = False
            self.place()
            return True
        if self.other is not None:
            self._compare_with(None)
            return True
        choice = self.choice
        if choice.only or choice.bin is not None or choice.mode in (HISTOGRAM, SCATTER, STEPS):
            back = GROUPS if choice.only else HISTOGRAM if choice.bin is not None else choice.mode
            self.change(lambda choice: choice.toggle(back))
            return True
        if super().go_back():
            self._search("")
            return True
        return False

    # ------------------------------------------------------------------ comparison

    def mark(self) -> None:
        """Choose the sample for comparisons with others, also of other steps; again: forget it."""
        self.when_read(self._mark)

    def _mark(self) -> None:
        if self.sample is None:
            self.say("No text is selected")
        elif self.marked is not None:
            self.marked = None
            self.say("No text is marked")
        else:
            self.marked = self.sample
            self.say("Marked: d compares other texts with it")

    def compare(self) -> None:
        """Show the difference to the marked text, or to the best (else the worst) of the group; again: back."""
        self.when_read(self._compare)

    def _compare(self) -> None:
        if self.other is not None:
            self._compare_with(None)
            return
        sample, entry, library = self.sample, self.entry, self.library
        if sample is None or entry is None or library is None:
            self.say("No text is selected")
            return
        if self.marked is not None:
            self._compare_with(self.marked)
            return
        opposite = self.choice.opposite(entry)
        if opposite is None:
            self.say("The group has no other text: mark one with space")
            return

        self.in_thread(
            lambda: library.sample(opposite), self._compare_with, lambda: self.sample is sample, queued=False
        )

    def _compare_with(self, other: Sample | None) -> None:
        """Show the difference to a text; None shows no difference."""
        self.other = other
        self.text_changed(top=True)
        self.dashboard.redraw()

    def next_problem(self, by: int) -> None:
        """Show the texts of the step at which the next alert of the run began."""
        run, snapshot = self.dashboard.run_shown, self.dashboard.snapshot
        alerts = [*snapshot.alerts, *snapshot.resolved]
        found = {alert.step: alert for alert in alerts if run and alert.run == run.id and alert.step is not None}
        if not found or not self.steps:
            self.say("No alert of this run has a step")
            return
        now = -1 if self.step is None else self.step
        later = [step for step in sorted(found) if self.nearest(step) != self.step and step > now] or sorted(found)
        self.go_to(self.nearest(later[0]))
        self.say(found[later[0]].message)

    # ------------------------------------------------------------------ search

    def filter_edited(self, text: str) -> None:
        """Do nothing: a search begins with Enter."""

    def filter_submitted(self, text: str) -> None:
        super().filter_submitted(text)
        self._search(text)

    def _search(self, text: str) -> None:
        """List the samples that contain a text, or whose number is in a range."""
        try:
            self.choice.set_query(text)
        except re.error as error:
            self.say(f"Not a regular expression: {error}")
            return
        self.change(lambda choice: choice.set_matches(None))
        self.text_changed()
        self.loaded()

    def loaded(self) -> None:
        """Search the texts of the step, and compare its prompts with an earlier one."""
        self.compare_again()
        search, library, step = self.choice.search, self.library, self.step
        self.search_problem = ""
        if search is None or library is None:
            return

        def is_wanted() -> bool:
            return search is self.choice.search and step == self.step and self.is_attached

        def find() -> tuple[frozenset[tuple[str, object]], str]:
            from tuimon.samples.overview import has_anywhere

            found: list[tuple[str, object]] = []
            is_match = has_anywhere(search)
            try:
                for location, sample in library.samples(step):
                    if not is_wanted():
                        break
                    if is_match(sample):
                        found.append((sample.source, location))
            except TooSlow as slow:
                return frozenset(found), str(slow)
            return frozenset(found), ""

        def show(result: tuple[frozenset[tuple[str, object]], str]) -> None:
            found, self.search_problem = result
            self.change(lambda choice: choice.set_matches(found))

        self.in_thread(find, show, is_wanted)

    # ------------------------------------------------------------------ the screen

    def show(self, snapshot: Snapshot, state: ViewState, now: float) -> None:
        self.table.show(state)
        self.pane.draw(state.theme)
        self.show_picture(state.theme)
        self.draw_lines(self._head(), state.theme, self._message or self.search_problem or self.note_of(snapshot))

    def _head(self) -> Row:
        choice = self.choice
        if not self.steps:
            return ((f" {self.busy or 'no texts'}", Role.TITLE),)
        step = "no step" if self.step is None else f"step {self.step}"
        place = f" ({self.steps.index(self.step) + 1} of {len(self.steps)})" if self.step in self.steps else ""
        spans: list[Span] = [(f" {step}", Role.TITLE), (place, Role.MUTED)]
        count = len(choice.entries)
        listed = f"{len(choice.listed)} of {count}" if len(choice.listed) != count else str(count)
        spans.append((f"  {listed} text{'s' if count != 1 else ''}", Role.TEXT))
        spans += self._split()
        mean, std = mean_and_std(rewards_of(choice.listed))
        if mean == mean:
            spans.append((f"  reward {mean:.4g} ± {std:.3g} SD", Role.VALUE))
        if choice.only or choice.bin is not None:
            spans.append(("  one group" if choice.only else "  one range", Role.ACCENT))
        if self.other is not None:
            spans.append(("  difference", Role.ACCENT))
        steps = choice.by_step if choice.mode == STEPS else []
        field = steps[0].pass_field if steps else choice.pass_field if choice.mode == GROUPS else ""
        if field:
            spans.append((f"  passed: {clean(field, 40)} 1", Role.MUTED))
        if choice.shows_change and choice.change and choice.firsts:
            spans.append((f"  change since step {choice.firsts[0].step}", Role.MUTED))
        spans.append((f"  {choice.sort}", Role.MUTED))
        if choice.filter != "all":
            spans.append((f"  {choice.filter}", Role.ACCENT))
        if self.query_text:
            spans.append((f"  /{clean(self.query_text, 40)}", Role.ACCENT))
        if self.sample is not None and self.sample.pictures:
            spans.append((f"  {plural(len(self.sample.pictures), 'picture')}", Role.TEXT))
            spans.append((f": {note}" if (note := obstacle()) else "", Role.WARNING))
        for work in filter(None, (self.busy, self.comparing, self._saving and self._saving.progress)):
            spans.append((f"  {work}…", Role.MUTED))
        if self.dashboard.state.paused:
            spans.append(("  paused", Role.WARNING))
        return tuple(spans)

    def _split(self) -> list[Span]:
        """Return which split is listed, and the key of the other one."""
        choice = self.choice
        listed = _SPLITS[choice.split_listed]
        if not choice.not_listed:
            return [(f", {listed}", Role.ACCENT)] if choice.split_listed == "validation" else []
        other = _SPLITS["train" if choice.split_listed == "validation" else "validation"]
        key = next((key_names(action.keys) for action in self.actions if action.id == "text_split"), "")
        return [(f", {listed}", Role.ACCENT), (f"; {key}: {other}, {plural(choice.not_listed, 'text')}", Role.MUTED)]

    def next_split(self) -> None:
        """List the texts of the other split, if the step has both."""
        if self.choice.not_listed:
            self.change(lambda choice: choice.next_split())
        else:
            self.say(f"This step has only texts of the {_SPLITS[self.choice.split_listed]}")

    def export(self) -> None:
        """Save the listed samples, of the list of steps those of all steps, as JSON Lines, in a thread; Escape ends
        it."""

        runs = self.dashboard.snapshot.runs
        path = new_file("-texts.jsonl", runs, () if runs else self.dashboard.paths)
        library, choice, listed = self.library, self.choice, list(self.choice.listed)
        by_step = choice.mode == STEPS
        if library is None or not (choice.by_step if by_step else listed):
            self.say("No text is listed")
            return
        if self._saving is not None:
            self.say("Texts are being saved; Escape ends it")
            return
        test, split = choice.is_counted, choice.split_listed

        def samples() -> Iterator[Sample | None]:
            from tuimon.samples.overview import samples_of_all_steps

            return samples_of_all_steps(library, split, test) if by_step else map(library.sample, listed)

        self._saving = saving = TextExport(path, self.paths[0])

        def report(message: str) -> None:
            self._saving = None
            self.say(message)

        self.in_thread(lambda: saving.save(samples(), write_new), report)
        self.dashboard.redraw()

    def tick(self) -> None:
        super().tick()
        if self._saving is not None:
            self.dashboard.redraw()

    def on_unmount(self) -> None:
        super().on_unmount()
        if self._saving is not None:
            self._saving.end()
