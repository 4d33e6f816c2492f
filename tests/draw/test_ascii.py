"""ASCII in place of drawing characters."""

from __future__ import annotations

from tuimon.draw.ascii import ascii_text
from tuimon.text import cell_width


def test_ascii_has_the_width_of_the_glyphs_and_letters_stay() -> None:
    text = "▌▾ fold ▸ 45%|████▌     | 3/7 │ loss… ✗ ⚑ 0.5 ± 0.1 → 0.6 764 µs ±"
    assert ascii_text(text) == ">v fold > 45%|####>     | 3/7 | loss~ x ! 0.5 +-0.1 > 0.6 764 us ~"
    assert cell_width(ascii_text(text)) == cell_width(text)
    assert ascii_text("部分 é") == "部分 é"
