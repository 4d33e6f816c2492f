"""Media view: what a run has logged besides scalars, as a list of tags with a picture of the selected one.

Nothing is read before the view is opened. A thread reads the files, so that a large file does not delay keys.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tuimon.draw.numbers import format_bytes
from tuimon.draw.table import Column, text_column
from tuimon.media.saving import can_save, picture_data, picture_problem, save
from tuimon.model.views import Role, Row, Symbols
from tuimon.panels import plural
from tuimon.store import Run, Snapshot
from tuimon.text import clean, first_names, home_relative
from tuimon.tui.action import Action
from tuimon.tui.box import CellGrid
from tuimon.tui.copying import new_file
from tuimon.tui.picture import Picture, obstacle
from tuimon.tui.screens.table import TableScreen
from tuimon.tui.screens.work_screen import UNQUEUED, head_of
from tuimon.tui.state import ViewState
from tuimon.tui.table import Table

if TYPE_CHECKING:
    from tuimon.media import Item
    from tuimon.media.library import Found, Tag


class MediaTable(Table["Tag"]):
    """Tags."""

    def key(self, item: Tag) -> tuple[object, str]:
        return item.kind, item.name


_COLUMNS: tuple[Column[Tag], ...] = (
    text_column("kind", "", lambda tag: str(tag.kind), 9, right=False),
    text_column("tag", "", lambda tag: (clean(tag.name), Role.TEXT), 8, cut="end", most=200, fills=True, right=False),
    text_column("items", "", lambda tag: f"{tag.count} × {_steps(tag)}", 12, most=50),
    text_column("size", "", lambda tag: format_bytes(tag.bytes), 7, most=8),
)


def _steps(tag: Tag) -> str:
    """Return the steps of the items of a tag: "step 0-90, 2 again"."""
    steps = str(tag.last_step) if tag.first_step == tag.last_step else f"{tag.first_step}-{tag.last_step}"
    return f"step {steps}" + (f", {tag.again} again" if tag.again else "")


_ITEM_ROWS = 3
"""Rows between the list and a picture: a rule, and the steps and sizes of two items."""


class MediaScreen(TableScreen[MediaTable]):
    """Values other than scalars that a run has logged, such as images and tables."""

    WHERE = "media"
    PROMPT = "tags"
    PLACEHOLDER = "words of kinds and tags"

    def __init__(self, actions: tuple[Action, ...], run: Run, step: int | None) -> None:
        """step: step to show, None: the newest."""
        from tuimon.media.rows import VIEWS

        self.pane, self.picture = CellGrid(), Picture()
        super().__init__(actions, MediaTable(), self.pane, self.picture)
        self._directory, self._run_name = run.directory, run.name or ""
        self._media: Found | None = None
        self._known: object = None
        """Signature of the files that `_media` was read from."""
        self._reading = True
        """Whether `_media` is what has been found so far in the first reading."""
        self._left = False
        self.shape = VIEWS[0]
        """How histograms are drawn."""
        self.step = step
        """Selected step; None: the newest."""
        self.marked: int | None = None
        """Step that the selected one is compared with; None: the first."""

    def on_mount(self) -> None:
        self._read()

    def on_unmount(self) -> None:
        self._left = True

    def tick(self) -> None:
        if self.may_look:
            self._read()

    def _read(self) -> None:
        """Read the files if they have changed."""

        def read() -> Found | None:
            from tuimon.media.library import read_media, signature

            files = signature(self._directory)
            is_new, self._known = files != self._known, files
            return read_media(self._directory, (), lambda: self._left, self._note) if is_new else None

        def show(found: Found | None) -> None:
            if found is not None:
                self._media, self._reading = found, False

        self.in_thread(lambda: self.look(read), show)

    def _note(self, found: Found) -> None:
        """Note what the thread that reads the files has found so far, unless a former reading is shown."""
        if self._reading:
            self._media = found

    def show(self, snapshot: Snapshot, state: ViewState, now: float) -> None:
        words = self.query_text.lower().split()
        tags = self._media.tags if self._media is not None else []
        tags = [tag for tag in tags if all(word in f"{tag.kind} {tag.name}".lower() for word in words)]
        self.table.empty = ((f" {self._empty()}", Role.MUTED),)
        self.table.show_items(tags, _COLUMNS, self.order, state.symbols, state.theme)
        self._show_item(state)
        self.draw_lines(self._head(), state.theme)

    def _show_item(self, state: ViewState) -> None:
        """Show the selected item below the list, which takes at most a third of the height: its picture, or rows."""
        from tuimon.media.rows import detail_rows

        item, tag, picture = self._item, self.table.selected, self.picture
        width, height = self._body.size
        if height < 1:  # not laid out yet
            return
        listed = max(min(self.table.count, height // 3), 1) if item is not None else height
        self.grid.styles.height = listed
        note = "" if item is None else picture_problem(item) or obstacle()
        picture.display = item is not None and not note and height > listed + _ITEM_ROWS
        picture.styles.height = height - listed - _ITEM_ROWS
        room = _ITEM_ROWS if picture.display else height - listed
        self.pane.styles.height = room
        if item is None or tag is None:
            return
        if picture.display:
            picture.show(item.parts, picture_data, self.app.settings.pictures, state.theme)
        is_plain = state.symbols is Symbols.ASCII
        rule: Row = ((("-" if is_plain else "─") * width, Role.FAINT),)
        details = detail_rows(tag, width, room - 1, self.shape, item.step, self.marked, is_plain, note)
        self.pane.paint_filled([rule, *details], state.theme)

    @property
    def _item(self) -> Item | None:
        """The selected item; None without any."""
        from tuimon.media.rows import nearest

        tag = self.table.selected
        if tag is None:
            return None
        return nearest(tag.items, tag.last_step if self.step is None else self.step)

    def _empty(self) -> str:
        if self._media is not None and self._media.tags:
            return "no tag matches"
        if self._reading:
            return "reading the log files"
        return "Only scalars: the logs of this run have no histogram, image or text"

    def _head(self) -> Row:
        media, tag, item = self._media, self.table.selected, self._item
        read = f" {math.floor(100 * media.read / media.size)} %" if media is not None and media.size else ""
        problems = media.problems if media is not None else ()
        return head_of(
            clean(self._run_name),
            (f"reading{read}" if self._reading else "", Role.WARNING),
            (plural(self.table.count, "tag") if self.table.items or not self._reading else "", Role.MUTED),
            (f"{len(problems)} not readable" if problems else "", Role.WARNING),
            (f"step {item.step}" if item is not None else "", Role.VALUE),
            (self.shape if tag is not None and tag.kind == "histogram" else "", Role.ACCENT),
        )

    # ------------------------------------------------------------------ keys

    def next_view(self) -> None:
        """Show histograms as a heat map, or one step against another."""
        from tuimon.media.rows import VIEWS

        self.shape = VIEWS[(VIEWS.index(self.shape) + 1) % len(VIEWS)]

    def aside(self, by: int) -> None:
        """Select a later (by > 0) or an earlier step of the tag."""
        tag, selected = self.table.selected, self._item
        if tag is None or selected is None:
            return
        steps = sorted({item.step for item in tag.items})
        place = steps.index(selected.step) + by
        if 0 <= place < len(steps):
            self.step = steps[place] if place < len(steps) - 1 else None  # follow the newest
        else:
            self.say(f"No step {'after' if by > 0 else 'before'} this one")

    def next(self, by: int) -> None:
        """Select a later (by > 0) or an earlier step of the tag."""
        self.aside(by)

    def next_part(self, by: int) -> None:
        """Show the texts of the run at this step instead."""
        tag, item = self.table.selected, self._item
        if tag is not None and item is not None:
            self.keep_step(item.step, tag.last_step)
        self.app.pop_screen()
        self.app.action_do("texts")

    def export(self) -> None:
        """Write what is selected to a new file."""
        item = self._item
        if item is None:
            self.say("No tag is selected")
            return
        if not can_save(item):
            self.say(
                f"Nothing to save of {item.kind}: only histograms, PR curves, texts, images, audio, video and tables"
            )
            return

        runs = self.app.snapshot.runs

        def work() -> str:
            try:
                paths = save(item, lambda end: new_file(end, runs, (self._directory,)))
            except OSError as error:
                return f"Cannot be saved: {error}"
            folder = home_relative(paths[0].absolute().parent)
            return f"Saved {first_names([path.name for path in paths], 1)} in {folder}"

        self.in_thread(work, lambda message: self.say(clean(message)), queue=UNQUEUED)

    def mark(self) -> None:
        """Compare other steps with the selected one; again: with the first."""
        if (item := self._item) is None:
            return
        step = item.step
        self.marked = None if self.marked == step else step
        self.say("Compared with the first step" if self.marked is None else f"Compared with step {step}")
