"""Boxes of panels without a screen."""

from __future__ import annotations

from support.stores import store_of

from tuimon.draw.rows import row_width
from tuimon.model.views import Size, Symbols
from tuimon.panels import metric_panel
from tuimon.tui.box import Drawing, PanelBox


def test_a_border_of_the_same_size_inside_is_drawn() -> None:
    run = store_of({"loss": [1.0, 2.0, 3.0]}).snapshot().runs[0]
    box = PanelBox()
    box.assign(metric_panel("loss"))
    for bordered, size in ((False, Size(40, 10)), (True, Size(44, 11)), (False, Size(40, 10))):
        box.bordered, box.room = bordered, size
        drawn = [box.is_drawn]
        box.update(Drawing(run, 0.0, Symbols.BRAILLE, "dark"), False)
        assert [*drawn, box.is_drawn] == [False, True]
        assert (row_width(box._rows[0]), len(box._rows)) == (size.width, size.height)
