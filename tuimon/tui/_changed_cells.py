"""Of an update of Textual's, the changed cells alone; see _textual.send_changed_cells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.color import ColorSystem
from rich.console import Console
from rich.segment import Segment
from textual._compositor import CompositorUpdate
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from tuimon.tui.box import Cells


class Sent:
    """What a terminal shows, as far as whole rows of widgets were sent to it: they are not sent again. Textual paints
    all of a screen two to four times when it comes or goes, or when a line of the dashboard does."""

    def __init__(self) -> None:
        self._rows: dict[int, dict[tuple[int, int], str]] = {}
        """By row and by first cell and cell after the last; none lies over another."""
        self._size: object = None

    def forget(self) -> None:
        """It shows something else: everything is to be sent again."""
        self._rows.clear()

    def fit(self, size: object) -> None:
        """A terminal of another size has moved or cut what it shows."""
        if size != self._size:
            self._size = size
            self.forget()

    def keep(self, y: int, begin: int, stop: int, cells: str) -> bool:
        """A whole row of a widget is about to be sent. False: it is there already."""
        row = self._rows.setdefault(y, {})
        if row.get((begin, stop)) == cells:
            return False
        self.drop(y, begin, stop)
        row[begin, stop] = cells
        return True

    def drop(self, y: int, begin: int, stop: int) -> None:
        """Some cells of a row are about to be sent."""
        row = self._rows.get(y)
        if row:
            for over in [place for place in row if place[0] < stop and begin < place[1]]:
                del row[over]


def changed_cells(compositor: Any, sent: Sent) -> Any:
    """Takes the dirty regions of a compositor; None where there are none. Spans are (row, first cell, cell after the
    last) and never begin or end inside a wide character (see draw.diff). Of widgets over each other the upper one is
    asked alone."""
    dirty = list(compositor._dirty_regions)
    compositor._dirty_regions.clear()
    sent.fit(compositor.size)
    return _Pieces(list(_pieces(compositor, dirty)), sent) if dirty else None


_Piece = tuple[Widget, Region, Region, int, int, int]
"""A widget, where it is seen, where it lies, and of which row which cells are to be sent."""


def _pieces(compositor: Any, dirty: list[Region]) -> Iterator[_Piece]:
    rows = compositor.layers_visible
    for y, first, end in compositor._regions_to_spans(dirty):
        wanted = [(first, end)]
        for widget, seen, place in rows[y] if 0 <= y < len(rows) else ():
            covered, wanted = wanted, []
            for a, b in covered:
                begin, stop = max(a, seen.x), min(b, seen.right)
                if begin >= stop:
                    wanted.append((a, b))
                    continue
                yield widget, seen, place, y, begin, stop
                wanted += [(left, right) for left, right in ((a, begin), (stop, b)) if left < right]
            if not wanted:
                break


class _Pieces(CompositorUpdate):
    """An update of some cells; each widget is asked once for what is seen of it, one of ours for changed rows alone."""

    def __init__(self, pieces: list[_Piece], sent: Sent) -> None:
        rows: dict[Widget, list[int]] = {}
        for widget, *_, y, _, _ in pieces:
            rows.setdefault(widget, []).append(y)
        self._lines: dict[tuple[Widget, int], Iterable[Segment]] = {}
        """The lines of widgets, as far as they are seen, by their rows on the screen."""
        for widget, seen, place, *_ in pieces:
            if widget in rows:
                wanted = rows.pop(widget)
                found: Sequence[Iterable[Segment]] | None = None
                if isinstance(widget, Cells) and seen.x == place.x:
                    found = widget.segments([y - place.y for y in wanted])
                if found is None:
                    wanted = list(range(min(wanted), max(wanted) + 1))
                    crop = Region(seen.x - place.x, wanted[0] - place.y, seen.width, len(wanted))
                    found = widget.render_lines(crop)
                self._lines |= zip(((widget, y) for y in wanted), found, strict=True)
        self._pieces = pieces
        self._sent = sent

    def render_segments(self, console: Console) -> str:
        """The sequences that the terminal is sent."""
        colors = console._color_system or ColorSystem.TRUECOLOR
        made: list[str] = []
        for widget, seen, _, y, begin, stop in self._pieces:
            cells = _rendered(self._lines[widget, y], begin - seen.x, stop - seen.x, colors)
            if begin > seen.x or stop < seen.right:
                self._sent.drop(y, begin, stop)
            elif not self._sent.keep(y, begin, stop, cells):
                continue
            made += f"\x1b[{y + 1};{begin + 1}H", cells
        return "".join(made)


def _rendered(line: Iterable[Segment], begin: int, stop: int, colors: ColorSystem) -> str:
    """Some cells of a line, as Strip.crop().render() has them, but no strip is made; blanks behind its end."""
    made: list[str] = []
    at = 0
    for segment in line:
        text = segment.text
        end = at + (len(text) if text.isascii() else segment.cell_length)
        if end > begin:
            if begin > at:
                segment = segment.split_cells(begin - at)[1]
            if stop < end:
                segment = segment.split_cells(stop - max(at, begin))[0]
            text, style, _ = segment
            made.append(Strip.render_style(style, text, colors) if style is not None else text)
        if end >= stop:
            break
        at = end
    else:
        made.append(" " * (stop - max(at, begin)))
    return "".join(made)
