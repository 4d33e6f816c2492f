"""Reading for the texts view. A thread reads the files, so that a large step does not delay keys."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Container
from sys import intern
from typing import TYPE_CHECKING

from textual.containers import Vertical

from tuimon.model.views import Role, Row
from tuimon.samples.export import group_of
from tuimon.samples.group_labels import GroupLabels
from tuimon.samples.searching import TooSlow
from tuimon.store import Snapshot
from tuimon.text import clean
from tuimon.tui.action import Action
from tuimon.tui.picture import Picture, obstacle
from tuimon.tui.screens.table import TableScreen
from tuimon.tui.screens.text_choice import GROUPS, STEPS, Choice
from tuimon.tui.screens.text_pane import difference_rows, sample_rows, wrap_text
from tuimon.tui.screens.text_widgets import SampleTable, TextPane

if TYPE_CHECKING:
    from tuimon.samples import Sample
    from tuimon.samples.library import Entry, Library

_WIDE = 110
"""Width (cells) from which the text is displayed beside the list instead of below it."""
_SOURCES = 3
"""Maximum number of sources that are named."""
_REST = 10.0
"""The next look for new files is after this many times the duration of the last one."""


class TextReader(TableScreen[SampleTable]):
    """The part of the texts view that reads: steps, the entries of a step, the text of the selected row."""

    WHERE = "texts"
    PROMPT = "texts"
    PLACEHOLDER = "text  re:expression  format<1  length>512"
    CSS = """
    #texts { width: 1fr; height: 1fr; layout: vertical; }
    #texts.wide { layout: horizontal; }
    #texts.wide TableGrid { width: 45%; height: 1fr; }
    #texts.groups TableGrid { width: 60%; }
    #texts.wide Vertical { margin-left: 1; }
    #texts TableGrid { height: 40%; width: 1fr; }
    """

    def __init__(self, actions: tuple[Action, ...], paths: tuple[str, ...], step: int | None) -> None:
        """paths: directories that are searched; step: step to begin at, None: the last."""
        self.pane = TextPane(self.text_changed)
        self.picture = Picture()
        super().__init__(actions, SampleTable(self.chosen), Vertical(self.pane, self.picture))
        self._body.id = "texts"
        self.paths, self._wanted = paths, step
        self.library: Library | None = None
        self.steps: tuple[int | None, ...] = ()
        self.step: int | None = None
        self.sample: Sample | None = None
        """Sample whose text is displayed: that of `entry`, or the one before while its text is being read."""
        self._sample_read: asyncio.Event = asyncio.Event()
        """Set while `sample` is that of `entry`."""
        self.entry: Entry | None = None
        self.other: Sample | None = None
        """Sample that the displayed one is compared with."""
        self._check: tuple[object, ...] = ()
        self._note = ""
        self.search_problem = ""
        """Why the search of the step was ended early."""
        self.touched = False
        """Whether a sample was chosen in this step; until then a newer step replaces it."""
        self._followed = ""
        """Digest of the prompt that stays selected in other steps, or ""."""
        self.folded, self.raw, self.zoomed = 0, False, False
        self.busy = "looking for texts"
        self._pickles: list[str] = []
        self._next_look = 0.0

    @property
    def choice(self) -> Choice:
        """Entries of the step, and which of them are listed in which order."""
        return self.table.choice

    @property
    def marked(self) -> Sample | None:
        """Sample that was chosen for comparisons; it stays when the view is closed."""
        marked: Sample | None = self.dashboard.state.marked_text
        return marked

    @marked.setter
    def marked(self, sample: Sample | None) -> None:
        self.dashboard.state.marked_text = sample

    def on_mount(self) -> None:
        self.place()
        self.call_after_refresh(self._open)

    def on_unmount(self) -> None:
        if self.choice.search is not None:
            self.choice.search.cancel()

    # ------------------------------------------------------------------ reading, in a thread

    def _open(self) -> None:
        self.dashboard.monitor.want_texts(self._wanted)

        def read() -> None:
            from tuimon.samples.library import Library

            library = Library(self.paths)
            self._refresh(library)
            if not library.steps:
                from tuimon.samples.discovery import unreadable_files

                self._pickles = [file for path in self.paths for file in unreadable_files(path)]
            self.library = library

        def show(_: None) -> None:
            self._steps_found()
            if self.steps:
                self.go_to(self.nearest(self._wanted))
            else:
                self.busy = ""
                self._advise()
                self.dashboard.redraw()

        self.in_thread(read, show)

    def _refresh(self, library: Library) -> Container[int | None]:
        """Look for new files; return the steps that have changed."""
        began = time.monotonic()
        changed = library.refresh()
        self._next_look = time.monotonic() + _REST * (time.monotonic() - began)
        return changed

    def _advise(self) -> None:
        """Display how to make the trainer write texts."""
        from tuimon.samples.discovery import advice, path_below

        run = self.dashboard.run_shown
        lines = advice(run.config if run is not None else {})
        if run is not None and run.link is not None:
            lines = [f"Texts that are on {run.link.host} are shown when they are here.", *lines]
        assert self.library is not None
        rows = [(f"cannot read {problem}", Role.WARNING) for problem in self.library.problems.values()]
        rows += [
            (f"{path_below(path, self.paths[0])} is a pickle, which is not loaded", Role.WARNING)
            for path in self._pickles[:3]
        ]
        rows += [(line, Role.TEXT) for line in lines]
        width = self.pane.size.width - 1
        pieces: list[Row] = [((f" {piece}", role),) for line, role in rows for piece in wrap_text(clean(line), width)]
        self.pane.show([((" No generated texts were found for this run.", Role.TITLE),), (), *pieces], self._theme)

    @property
    def _theme(self) -> str:
        return self.dashboard.state.theme

    def _steps_found(self) -> None:
        assert self.library is not None
        self.steps = self.library.steps

    def nearest(self, step: int | None) -> int | None:
        """Return the step with texts that is nearest to `step`; the last one for None."""
        known = [known for known in self.steps if known is not None]
        if step is None or not known:
            return self.steps[-1]
        return min(known, key=lambda other: (abs(other - step), other))

    def go_to(self, step: int | None) -> None:
        """Show the texts of another step, with the same prompt if a group or a sample was chosen, else at the same
        row."""
        self.dashboard.monitor.want_texts(step)
        by_prompt = self.choice.mode in (GROUPS, STEPS) and not self._followed
        if self.entry is not None and (self.touched or by_prompt):
            self._followed = self.entry.prompt
        self.choice.firsts = None
        self.step, self.touched = step, False
        self.choice.set_matches(None)
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
            self.loaded()

        self.in_thread(lambda: library.entries(step, progress), show, lambda: step == self.step)

    def loaded(self) -> None:
        """Called when the entries of another step are complete."""

    def _indexed(self, step: int | None, entries: list[Entry]) -> None:
        if step == self.step and self.is_attached:
            self.choice.set_entries(entries)
            if self._followed and not self.touched:
                self.table.cursor = self.choice.index_of_prompt(self._followed, self.table.cursor)
            self.table.cursor = max(0, min(self.table.cursor, len(self.choice.items) - 1))
            self.chosen()
            self.dashboard.redraw()

    def chosen(self) -> None:
        """Load the text of the selected row."""
        entry = self.choice.entry(self.table.cursor)
        if entry == self.entry or self.library is None or self.choice.mode == STEPS:
            return
        self.entry = entry
        if entry is None:
            self.sample = self.other = None
            self.text_changed(top=True)
            return
        library = self.library
        self._sample_read.clear()

        def show(sample: Sample | None) -> None:
            self.sample, self.other = sample, None
            self._sample_read.set()
            self.text_changed(top=True)

        self.in_thread(lambda: library.sample(entry), show, lambda: entry == self.entry, queued=False)

    def show_picture(self, theme: str) -> None:
        """Show the pictures of the sample below its text, in half of the height."""
        from tuimon.samples.media import picture_data

        picture, pictures = self.picture, self.sample.pictures if self.sample is not None else ()
        picture.display = bool(pictures) and not obstacle()
        if picture.display:
            picture.styles.height = "1fr"
            picture.show(pictures, picture_data, self.dashboard.settings.pictures, theme)

    def when_read(self, do: Callable[[], object]) -> None:
        """Call `do` once the text of the selected sample has been read, unless another one is selected before."""
        entry = self.entry
        if entry is None or self._sample_read.is_set():
            do()
            return

        async def work() -> None:
            await self._sample_read.wait()
            if entry == self.entry and self.is_attached:
                do()

        self.run_worker(work())

    def text_changed(self, top: bool = False) -> None:
        """Lay the text out again, in a thread. top: begin at its first row."""
        sample, width = self.sample, self.pane.size.width
        if not self.steps:
            return
        if top:
            self.pane.top = 0
        if sample is None:
            self.pane.show([], self._theme)
            return
        other, fold, raw, search = self.other, self.folded, self.raw, self.choice.search
        label = GroupLabels(entry.group for entry in self.choice.entries).label(group_of(sample))

        def lay_out() -> list[Row]:
            if other is not None:
                return difference_rows(other, sample, width)
            try:
                return sample_rows(sample, width, fold, raw, search, label)
            except TooSlow:  # the search of the step says so
                return sample_rows(sample, width, fold, raw, None, label)

        def is_latest() -> bool:
            now = self.sample, self.other, self.folded, self.raw, self.pane.size.width
            return all(a is b for a, b in zip(now, (sample, other, fold, raw, width), strict=True))

        self.in_thread(lay_out, lambda rows: self.pane.show(rows, self._theme), is_latest, queued=False)

    def tick(self) -> None:
        """Look for new steps and for growth of the step that is shown."""
        library = self.library
        if library is None or self.reading.locked() or self.dashboard.state.paused:
            return
        if time.monotonic() < self._next_look:
            return

        def show(changed: Container[int | None]) -> None:
            if not changed:
                return
            last = self.steps[-1] if self.steps else None
            self._steps_found()
            newest = self.steps[-1] if self.steps else None
            if self.steps and (last != newest and self.step == last and not self.touched):
                self.go_to(newest)
            elif self.step in changed:
                self._load()
            self.dashboard.redraw()

        self.in_thread(lambda: self._refresh(library), show)

    def note_of(self, snapshot: Snapshot) -> str:
        """Return how the rewards of the texts compare with the curves, and the shares of flags."""
        run, entries = self.dashboard.run_shown, self.choice.entries
        if not entries:
            return ""
        problems = tuple(self.library.problems.values()) if self.library is not None else ()
        inputs = (run, entries, self.step, *map(intern, problems))
        if len(self._check) != len(inputs) or any(a is not b for a, b in zip(self._check, inputs, strict=True)):
            from tuimon.analysis.text_check import check_sentence, parts_sentence, shares_sentence

            self._check = inputs
            problem = f"cannot read {problems[0]}" if problems else ""
            more = f"{len(problems) - 1} more files" if len(problems) > 1 else ""
            library = self.library
            sources = library.sources(entries) if library is not None else []
            several = f"{len(sources)} sources: {', '.join(sources[:_SOURCES])}" if len(sources) > 1 else ""
            check = check_sentence(run, entries, self.step) if run is not None else "no metrics were found"
            shares, parts_of_reward = shares_sentence(entries), parts_sentence(entries)
            parts = problem, more, several, shares, parts_of_reward, check
            self._note = "; ".join(filter(None, parts))
        return self._note

    # ------------------------------------------------------------------ the places of list and text

    def place(self) -> None:
        """Place the text beside or below the list, or alone."""
        self._body.set_class(self.size.width >= _WIDE, "wide")
        self._body.set_class(self.size.width >= _WIDE and self.choice.mode == GROUPS, "groups")
        self.grid.display = not self.zoomed
        self.call_after_refresh(self.resized)

    def resized(self) -> None:
        wide = self.app.size.width >= _WIDE
        if wide != self._body.has_class("wide"):
            self._body.set_class(wide, "wide")
            self._body.set_class(wide and self.choice.mode == GROUPS, "groups")
            self.call_after_refresh(self.resized)
            return
        self.dashboard.redraw()
