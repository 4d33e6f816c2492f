"""Texts view: what the model wrote in one step, as a list of samples or groups with the text of the selected one.

Nothing is read before the view is opened. A thread reads the files, so that a large step does not delay keys.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Container, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from textual.containers import Vertical

from tuimon.draw.rows import wrap_text
from tuimon.model.views import Role, Row, Span
from tuimon.panels import plural
from tuimon.samples.export import as_markdown, group_of, shown_lines
from tuimon.samples.group_labels import GroupLabels
from tuimon.samples.searching import TooSlow
from tuimon.samples.selection import mean_and_std, rewards_of
from tuimon.store import Snapshot
from tuimon.text import clean, home_relative
from tuimon.tui.action import Action, key_names
from tuimon.tui.copying import copy, new_file, write_new
from tuimon.tui.picture import Picture, obstacle
from tuimon.tui.screens.document import Document
from tuimon.tui.screens.table import TableScreen
from tuimon.tui.screens.text_choice import GROUPS, Choice, Place
from tuimon.tui.screens.text_list import SampleTable
from tuimon.tui.screens.text_pane import difference_rows, sample_rows
from tuimon.tui.screens.work_screen import UNQUEUED
from tuimon.tui.state import ViewState

if TYPE_CHECKING:
    from tuimon.samples import Sample
    from tuimon.samples.library import Entry, Library

_WIDE = 110
"""Width (cells) from which the text is displayed beside the list instead of below it."""
_SOURCES = 3
"""Maximum number of sources that are named."""
_SPLITS = {"train": "training", "validation": "validation"}


class TextsScreen(TableScreen[SampleTable]):
    """The texts of the run that is shown, one step at a time."""

    WHERE = "texts"
    PROMPT = "texts"
    PLACEHOLDER = "text  re:expression  format<1  length>512"

    def __init__(self, actions: tuple[Action, ...], paths: tuple[str, ...], step: int | None) -> None:
        """paths: directories that are searched; step: step to begin at, None: the last."""
        self.pane, self.picture = Document(), Picture()
        super().__init__(actions, SampleTable(self.chosen), Vertical(self.pane, self.picture))
        self._body.id = "texts"
        self.paths, self._wanted = paths, step
        self.choice = Choice()
        """Entries of the step, and which of them are listed in which order."""
        self.library: Library | None = None
        self.steps: tuple[int | None, ...] = ()
        self.step: int | None = None
        self.entry: Entry | None = None
        """Selected entry."""
        self.sample: Sample | None = None
        """Sample whose text is displayed: that of `entry`, or the one before while its text is being read."""
        self.other: Sample | None = None
        """Sample that the displayed one is compared with."""
        self.selecting = asyncio.Lock()
        """Queue of the reading of selected texts, so that a later key never acts before an earlier one."""
        self.touched = False
        """Whether a sample was chosen in this step; until then a newer step replaces it."""
        self._followed = ""
        """Digest of the prompt that stays selected in other steps, or ""."""
        self.folded, self.raw, self.zoomed = True, False, False
        self.busy, self.saving = "looking for texts", ""
        """What is being read, and what is being saved."""
        self.search_problem = ""
        """Why the search of the step was ended early."""
        self._laid_out: tuple[object, ...] = ()
        """What the rows of the text were made from."""
        self._check: tuple[object, ...] = ()
        self._note = ""

    def on_mount(self) -> None:
        self.place()
        self.call_after_refresh(self._open)

    def on_unmount(self) -> None:
        self.saving = ""
        if self.choice.search is not None:
            self.choice.search.cancel()

    # ------------------------------------------------------------------ reading, in a thread

    def _open(self) -> None:
        self.app.monitor.want_texts(self._wanted)

        def read() -> list[str]:
            from tuimon.samples.discovery import unreadable_files
            from tuimon.samples.library import Library

            library = Library(self.paths)
            self.look(library.refresh)
            self.library = library
            return [] if library.steps else [file for path in self.paths for file in unreadable_files(path)]

        def show(pickles: list[str]) -> None:
            assert self.library is not None
            self.steps = self.library.steps
            if self.steps:
                self.go_to(self.nearest(self._wanted))
            else:
                self.busy = ""
                self._advise(self.library, pickles)

        self.in_thread(read, show)

    def _advise(self, library: Library, pickles: list[str]) -> None:
        """Display how to make the trainer write texts."""
        from tuimon.samples.discovery import advice, path_below

        run = self.app.run_shown
        lines = advice(run.config if run is not None else {})
        if run is not None and run.link is not None:
            lines = [f"Texts that are on {run.link.host} are shown when they are here.", *lines]
        problems = [f"cannot read {problem}" for problem in library.problems.values()]
        problems += [f"{path_below(path, self.paths[0])} is a pickle, which is not loaded" for path in pickles[:3]]
        rows = [(line, Role.WARNING) for line in problems] + [(line, Role.TEXT) for line in lines]
        width = self.pane.size.width - 1
        pieces: list[Row] = [((f" {piece}", role),) for line, role in rows for piece in wrap_text(clean(line), width)]
        head: Row = ((" No generated texts were found for this run.", Role.TITLE),)
        self.pane.show([head, (), *pieces], self.app.state.theme)

    def nearest(self, step: int | None) -> int | None:
        """Return the step with texts that is nearest to `step`; the last one for None."""
        known = [known for known in self.steps if known is not None]
        if step is None or not known:
            return self.steps[-1]
        return min(known, key=lambda other: (abs(other - step), other))

    def go_to(self, step: int | None) -> None:
        """Show the texts of another step, with the same prompt if a group or a sample was chosen, else at the same
        row."""
        self.app.monitor.want_texts(step)
        if self.entry is not None and (self.touched or (self.choice.mode == GROUPS and not self._followed)):
            self._followed = self.entry.prompt
        self.step, self.touched = step, False
        self.choice.matches = None
        self._load()

    def _load(self) -> None:
        """Index the step that is shown."""
        library, step = self.library, self.step
        assert library is not None
        loop = asyncio.get_running_loop()
        self.busy = "reading"

        def progress(entries: list[Entry]) -> None:
            loop.call_soon_threadsafe(self._indexed, step, entries)

        def show(entries: list[Entry]) -> None:
            self.busy = ""
            self._indexed(step, entries)
            if self._followed and not any(entry.prompt == self._followed for entry in entries):
                self.say("This step does not have the prompt")
            self._find()

        self.in_thread(lambda: self.look(lambda: library.entries(step, progress)), show, lambda: step == self.step)

    def _indexed(self, step: int | None, entries: list[Entry]) -> None:
        if step == self.step and self.is_attached:
            self.choice.set_entries(entries)
            if self._followed and not self.touched:
                self.table.cursor = self.choice.index_of_prompt(self._followed, self.table.cursor)
            self.table.cursor = max(0, min(self.table.cursor, len(self.choice.items) - 1))
            self.chosen()
            self.app.redraw()

    def chosen(self) -> None:
        """Load the text of the selected row."""
        entry = self.choice.entry(self.table.cursor)
        if entry == self.entry:
            return
        self.entry = entry

        def show(sample: Sample | None) -> None:
            self.sample, self.other, self.pane.top = sample, None, 0

        if entry is None:
            show(None)
        else:
            self._with_sample(entry, show)

    def _with_sample(self, entry: Entry | None, do: Callable[[Sample | None], object]) -> None:
        """Call `do` with the text of an entry, unless another row is selected before it has been read."""
        library, selected = self.library, self.entry
        if library is None or entry is None:
            self.say("No text is selected")
        else:
            self.in_thread(lambda: library.sample(entry), do, lambda: selected == self.entry, self.selecting)

    def _lay_out(self) -> None:
        """Lay the text out, in a thread, if something that its rows are made from has changed."""
        if not self.steps:
            return
        sample, other, width = self.sample, self.other, self.pane.size.width
        fold, raw, search, entries = self.folded, self.raw, self.choice.search, self.choice.entries
        made_from = sample, other, width, fold, raw, search
        if made_from == self._laid_out:
            return
        self._laid_out = made_from

        def rows() -> list[Row]:
            if sample is None:
                return []
            if other is not None:
                return difference_rows(other, sample, width)
            label = GroupLabels(entry.group for entry in entries).label(group_of(sample))
            try:
                return sample_rows(sample, width, fold, raw, search, label)
            except TooSlow:  # the search of the step says so
                return sample_rows(sample, width, fold, raw, None, label)

        def show(rows: list[Row]) -> None:
            self.pane.show(rows, self.app.state.theme)

        self.in_thread(rows, show, lambda: made_from is self._laid_out, queue=UNQUEUED)

    def tick(self) -> None:
        """Look for new steps and for growth of the step that is shown."""
        library = self.library
        if library is None or not self.may_look:
            return

        def show(changed: Container[int | None]) -> None:
            if not changed:
                return
            last = self.steps[-1] if self.steps else None
            self.steps = library.steps
            newest = self.steps[-1] if self.steps else None
            if self.steps and (last != newest and self.step == last and not self.touched):
                self.go_to(newest)
            elif self.step in changed:
                self._load()

        self.in_thread(lambda: self.look(library.refresh), show)

    # ------------------------------------------------------------------ keys: steps and rows

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

    def next(self, by: int) -> None:
        """Show the texts of a later (by > 0) or an earlier step."""
        if self.step not in self.steps:
            return
        index = self.steps.index(self.step) + by
        if not 0 <= index < len(self.steps):
            self.say(f"No texts {'after' if by > 0 else 'before'} this step")
            return
        self.go_to(self.steps[index])

    def aside(self, by: int) -> None:
        """Show the texts of a later (by > 0) or an earlier step."""
        self.next(by)

    def next_part(self, by: int) -> None:
        """Show the media of the run at this step instead."""
        self.keep_step(self.step, self.steps[-1] if self.steps else None)
        self.app.pop_screen()
        self.app.action_do("media")

    def show_charts(self) -> None:
        """Show the charts, with the cursor at this step."""
        if self.step is None:
            self.say("These texts have no step")
            return
        self.app.state.options = replace(self.app.state.options, cursor=self.step)
        self.app.pop_screen()

    def open(self) -> None:
        """Open the selected group, or give the text the whole screen; again: undo."""
        choice = self.choice
        if choice.mode == GROUPS and self.entry is not None:
            self.touched, group = True, self.entry.group
            self.change(lambda: choice.open_group(group))
            return
        self.zoomed = not self.zoomed
        self.place()

    def go_back(self) -> bool:
        if self.saving:
            self.saving = ""
        elif self.zoomed:
            self.zoomed = False
            self.place()
        elif self.other is not None:
            self._compare_with(None)
        elif self.choice.only:
            self.change(lambda: self.choice.open_group(""))
        elif super().go_back():
            self._search("")
        else:
            return False
        return True

    # ------------------------------------------------------------------ keys: what is listed

    def change(self, apply: Callable[[], object]) -> None:
        """Change the order, the filter or the grouping; the selected sample stays selected if it is listed.

        In another order the first one is selected, unless the user has chosen a sample or its prompt.
        """
        entry, sort, mode = self.choice.entry(self.table.cursor), self.choice.sort, self.choice.mode
        apply()
        self.choice.update()
        if self.choice.sort != sort and not (self.touched or self._followed):
            entry = None
        self.table.cursor = self.choice.index(entry)
        if self.choice.mode != mode:
            self.place()
        self.chosen()

    def next_sort(self, by: int) -> None:
        """Choose the next order: worst, best, longest, shortest, by advantage, as written."""
        self.change(lambda: self.choice.next_sort(by))

    def next_view(self) -> None:
        """Show samples or groups."""
        self.change(self.choice.next_view)

    def next_filter(self) -> None:
        """List only some of the samples: truncated ones, those with a flag, and others."""
        self.change(self.choice.next_filter)

    def next_split(self) -> None:
        """List the texts of the other split, if the step has both."""
        if self.choice.not_listed:
            self.change(self.choice.next_split)
        else:
            self.say(f"This step has only texts of the {_SPLITS[self.choice.split_listed]}")

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
        self.change(lambda: None)
        self._find()

    def _find(self) -> None:
        """Search the texts of the step, in a thread."""
        search, library, step = self.choice.search, self.library, self.step
        self.search_problem = ""
        if search is None or library is None:
            return

        def is_wanted() -> bool:
            return search is self.choice.search and step == self.step and self.is_attached

        def find() -> tuple[frozenset[Place], str]:
            found: list[Place] = []
            try:
                for location, sample in library.samples(step):
                    if not is_wanted():
                        break
                    if search.matches(sample):
                        found.append((sample.source, location))
            except TooSlow as slow:
                return frozenset(found), str(slow)
            return frozenset(found), ""

        def show(result: tuple[frozenset[Place], str]) -> None:
            self.choice.matches, self.search_problem = result
            self.change(lambda: None)

        self.in_thread(find, show, is_wanted)

    # ------------------------------------------------------------------ keys: the text

    def fold(self) -> None:
        """Fold long prompts and tool output; again: undo."""
        self.folded = not self.folded
        self.say("Long prompts and tool output are folded" if self.folded else "Nothing is folded")

    def toggle_raw(self) -> None:
        """Display the prompt and the response as they are in the file; again: undo."""
        self.raw = not self.raw
        self.say("The text as it is in the file" if self.raw else "The text by role")

    def copied(self) -> tuple[str, str] | None:
        """Return the response of the selected sample."""
        if self.sample is None:
            return None
        return "\n".join(shown_lines(self.sample.response)), "the response"

    def copy_all(self) -> None:
        """Copy prompt, response and numbers as Markdown."""
        if self.sample is None:
            self.say("No text is selected")
        else:
            copy(self.app, as_markdown(self.sample), "the text as Markdown")

    def mark(self) -> None:
        """Choose the sample for comparisons with others, also of other steps; again: forget it."""
        if self.app.state.marked_text is None:
            self._with_sample(self.entry, self._mark)
        else:
            self._mark(None)

    def _mark(self, sample: Sample | None) -> None:
        self.app.state.marked_text = sample  # it stays when the view is closed
        self.say("Marked: d compares other texts with it" if sample is not None else "No text is marked")

    def compare(self) -> None:
        """Show the difference to the marked text, or to the best (else the worst) of the group; again: back."""
        marked, entry = self.app.state.marked_text, self.entry
        opposite = self.choice.opposite(entry) if entry is not None else None
        if self.other is not None:
            self._compare_with(None)
        elif marked is not None:
            self._with_sample(entry, lambda sample: self._compare_with(marked))
        elif entry is not None and opposite is None:
            self.say("The group has no other text: mark one with space")
        else:
            self._with_sample(opposite, self._compare_with)

    def _compare_with(self, other: Sample | None) -> None:
        """Show the difference to a text; None shows no difference."""
        self.other, self.pane.top = other, 0

    def export(self) -> None:
        """Save the listed samples as JSON Lines, in a thread; Escape ends it."""
        from tuimon.exports.sample_lines import sample_json

        runs = self.app.snapshot.runs
        path = new_file("-texts.jsonl", runs, () if runs else self.app.paths)
        library, listed = self.library, list(self.choice.listed)
        if library is None or not listed or self.saving:
            self.say("Texts are being saved; Escape ends it" if self.saving else "No text is listed")
            return
        self.saving = "saving; Escape ends it"

        def lines() -> Iterator[str]:
            for entry in listed:
                if not self.saving:
                    raise InterruptedError("ended")
                if (sample := library.sample(entry)) is not None:
                    yield sample_json(sample, self.paths[0])

        def save() -> str:
            try:
                write_new(path, lines())
            except OSError as error:
                return f"No file was saved: {error}"
            return f"Saved {plural(len(listed), 'text')}: {home_relative(path)}"

        def report(message: str) -> None:
            self.saving = ""
            self.say(message)

        self.in_thread(save, report, queue=UNQUEUED)

    # ------------------------------------------------------------------ the screen

    def show(self, snapshot: Snapshot, state: ViewState, now: float) -> None:
        self.table.show(self.choice, state)
        self._lay_out()
        self.pane.draw(state.theme)
        self._show_picture(state.theme)
        self.draw_lines(self._head(), state.theme, self._message or self.search_problem or self._note_of())

    def place(self) -> None:
        """Place the text beside or below the list, or alone."""
        is_wide = self.size.width >= _WIDE
        self._body.set_class(is_wide, "wide")
        self._body.set_class(is_wide and self.choice.mode == GROUPS, "groups")
        self.grid.display = not self.zoomed
        self.call_after_refresh(self.app.redraw)

    def resized(self) -> None:
        self.place()

    def _show_picture(self, theme: str) -> None:
        """Show the pictures of the sample below its text, in half of the height."""
        from tuimon.samples.media import picture_data

        picture, pictures = self.picture, self.sample.pictures if self.sample is not None else ()
        picture.display = bool(pictures) and not obstacle()
        if picture.display:
            picture.styles.height = "1fr"
            picture.show(pictures, picture_data, self.app.settings.pictures, theme)

    def _head(self) -> Row:
        choice = self.choice
        if not self.steps:
            return ((f" {self.busy or 'no texts'}", Role.TITLE),)
        step = "no step" if self.step is None else f"step {self.step}"
        place = f" ({self.steps.index(self.step) + 1} of {len(self.steps)})" if self.step in self.steps else ""
        count = len(choice.entries)
        listed = f"{len(choice.listed)} of {count}" if len(choice.listed) != count else str(count)
        mean, std = mean_and_std(rewards_of(choice.listed))
        pictures = len(self.sample.pictures) if self.sample is not None else 0
        parts = [
            (f"{listed} text{'s' if count != 1 else ''}", Role.TEXT),
            (f"reward {mean:.4g} ± {std:.3g} SD" if mean == mean else "", Role.VALUE),
            ("one group" if choice.only else "", Role.ACCENT),
            ("difference" if self.other is not None else "", Role.ACCENT),
            (f"passed: {clean(choice.pass_field, 40)} 1" if choice.pass_field else "", Role.MUTED),
            (choice.sort, Role.MUTED),
            (choice.filter if choice.filter != "all" else "", Role.ACCENT),
            (f"/{clean(self.query_text, 40)}" if self.query_text else "", Role.ACCENT),
            (plural(pictures, "picture") if pictures else "", Role.TEXT),
            (obstacle() if pictures else "", Role.WARNING),
            (f"{self.busy}…" if self.busy else "", Role.MUTED),
            (f"{self.saving}…" if self.saving else "", Role.MUTED),
            ("paused" if self.app.state.paused else "", Role.WARNING),
        ]
        spans: list[Span] = [(f"  {text}", role) for text, role in parts if text]
        return ((f" {step}", Role.TITLE), (place, Role.MUTED), spans[0], *self._split(), *spans[1:])

    def _split(self) -> list[Span]:
        """Return which split is listed, and the key of the other one."""
        choice = self.choice
        listed = _SPLITS[choice.split_listed]
        if not choice.not_listed:
            return [(f", {listed}", Role.ACCENT)] if choice.split_listed == "validation" else []
        other = _SPLITS["train" if choice.split_listed == "validation" else "validation"]
        key = next((key_names(action.keys) for action in self.actions if action.id == "text_split"), "")
        return [(f", {listed}", Role.ACCENT), (f"; {key}: {other}, {plural(choice.not_listed, 'text')}", Role.MUTED)]

    def _note_of(self) -> str:
        """Return how the rewards of the texts compare with the curves, and the shares of flags."""
        from tuimon.analysis.text_check import check_sentence, parts_sentence, shares_sentence

        run, entries, library = self.app.run_shown, self.choice.entries, self.library
        if not entries or library is None:
            return ""
        problems = tuple(library.problems.values())
        made_from = run, entries, self.step, problems
        if made_from != self._check:
            self._check = made_from
            sources = library.sources(entries)
            parts = (
                f"cannot read {problems[0]}" if problems else "",
                f"{len(problems) - 1} more files" if len(problems) > 1 else "",
                f"{len(sources)} sources: {', '.join(sources[:_SOURCES])}" if len(sources) > 1 else "",
                shares_sentence(entries),
                parts_sentence(entries),
                check_sentence(run, entries, self.step) if run is not None else "no metrics were found",
            )
            self._note = "; ".join(filter(None, parts))
        return self._note
