"""Bars, heat maps, texts and borders as pictures; and for any view and size, rows that fit without control bytes."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuimon import draw
from tuimon.draw.bars import stacked_bar
from tuimon.draw.border import has_border, inside, with_border
from tuimon.draw.heat import level
from tuimon.draw.rows import blank, row_width, title_row, wrap_row
from tuimon.model.views import (
    HEAT_ROLES,
    SERIES_ROLES,
    Axis,
    Bar,
    BarView,
    ChartView,
    Envelope,
    HeatView,
    Line,
    Mark,
    Role,
    Row,
    Size,
    Symbols,
    TextView,
    View,
)
from tuimon.text import cell_width


def details(*texts: str) -> Row:
    return tuple((text, Role.TEXT) for text in texts)


PHASES = BarView(
    "step",
    (("12.4 s", Role.VALUE),),
    (
        Bar("generate", 6.1, SERIES_ROLES[0], details("6.100", "49 %", "5.9 s", "8.8 s")),
        Bar("old_log_probs", 1.9, SERIES_ROLES[1], details("1.900", "15 %", "1.8 s", "2.2 s")),
        Bar("更新", 3.2, SERIES_ROLES[2], details("3.200", "26 %", "3.1 s", "3.6 s")),
        Bar("sync", 0.3, SERIES_ROLES[3], details("0.3000", "2 %", "0.3 s", "0.3 s")),
    ),
    12.4,
    ("phase", "mean", "share", "p50", "p95"),
    (("generate is the bottleneck", Role.WARNING),),
    "mean of 50 steps",
)
MEMORY = HeatView(
    "GPU memory",
    (("92 %", Role.VALUE),),
    ("generate", "update"),
    tuple(f"cuda:{i}" for i in range(4)),
    ((0.2, 0.5, 0.92, None), (0.1, 1.03, 0.84, 0.9)),
    peak=(1, 1),
    sentence=(("cuda:1 is full in update", Role.CRITICAL),),
)


def picture(view: View, width: int, height: int, symbols: Symbols = Symbols.BRAILLE) -> str:
    return "\n" + draw.text_chart(view, Size(width, height), symbols) + "\n"


def test_a_stacked_bar_and_its_table() -> None:
    assert (
        picture(PHASES, 50, 9)
        == """
step                                        12.4 s
███████ generate ███████▊██████▊███ 更新 ███▊█────
  phase            mean  share    p50    p95
■ generate        6.100   49 %  5.9 s  8.8 s
■ old_log_probs   1.900   15 %  1.8 s  2.2 s
■ 更新            3.200   26 %  3.1 s  3.6 s
■ sync           0.3000    2 %  0.3 s  0.3 s
generate is the bottleneck
mean of 50 steps
"""
    )


def test_the_parts_that_do_not_fit_are_summed() -> None:
    assert (
        picture(PHASES, 40, 5, Symbols.ASCII)
        == """
step                              12.4 s
##### generate #####======++ 更新 ++-...
# generate  6.100  49 %  5.9 s  8.8 s
  +3 more
generate is the bottleneck
"""
    )


def test_each_part_of_a_bar_is_as_wide_as_its_share() -> None:
    bar = stacked_bar(PHASES, 62, Symbols.BRAILLE)
    widths = {role: 0.0 for _, role in bar}
    for text, role in bar:
        widths[role] += cell_width(text)
    for part in PHASES.bars:
        assert widths[part.role] == pytest.approx(part.value / 12.4 * 62, abs=1.0)


def test_a_heat_map() -> None:
    assert (
        picture(MEMORY, 42, 6)
        == """
GPU memory                            92 %
         cuda:0 cuda:1 cuda:2 cuda:3
generate     20     50     92      ·
update       10   ▲103     84     90
%  <30  30-50  50-70  70-85  85-95  >95
cuda:1 is full in update
"""
    )
    assert ("▲103", HEAT_ROLES[5]) in [(t.strip(), r) for row in draw.render(MEMORY, Size(42, 6)) for t, r in row]


def test_columns_that_do_not_fit_are_left_out_but_never_the_peak() -> None:
    devices = range(16)
    wide = HeatView("m", (), ("a",), tuple(map(str, devices)), (tuple(i / 16 for i in devices),), peak=(0, 11))
    assert (
        picture(wide, 30, 4)
        == """
m
   0  2  4  6  9 11 13 15  +8
a   0 12 25 38 56▲69 81 94

"""
    )


def test_long_names_of_rows_are_cut_before_columns_are_left_out() -> None:
    view = HeatView("m", (), ("compute_log_probs",), tuple("01234567"), ((0.5,) * 8,))
    assert (
        picture(view, 39, 4)
        == """
m
                0  1  2  3  4  5  6  7
…ute_log_probs  50 50 50 50 50 50 50 50

"""
    )


def test_a_path_longer_than_a_row_is_wrapped_after_its_parts() -> None:
    rows = wrap_row((("the log logs/grpo-1.5b/swanlab/run-20261121_015410 grows a/b", Role.TEXT),), 24, 9)
    assert ["".join(text for text, _ in row) for row in rows] == [
        "the log logs/grpo-1.5b/",
        "swanlab/",
        "run-20261121_015410",
        "grows a/b",
    ]


def test_levels_begin_at_their_threshold() -> None:
    fractions = (0, 0.299, 0.3, 0.5, 0.7, 0.85, 0.95, 2.0)
    assert [HEAT_ROLES.index(level(f)) for f in fractions] == [0, 0, 1, 2, 3, 4, 5, 5]


def test_text_rows_are_cut_and_filled() -> None:
    view = TextView("log", (details("a longer line"), details("b")), note="2 lines")
    assert draw.render(view, Size(8, 5)) == (
        (("log     ", Role.TITLE),),
        (("a longe…", Role.TEXT),),
        (("b       ", Role.TEXT),),
        (("2 lines ", Role.MUTED),),
        (("        ", Role.MUTED),),
    )


def test_the_note_below_text_rows_is_wrapped_into_the_rows_that_are_left() -> None:
    view = TextView("log", (details("a"),), note="22.6 GiB reserved")
    assert [text.rstrip() for ((text, _),) in draw.render(view, Size(9, 5))[2:]] == ["22.6 GiB", "reserved", ""]
    assert [text for ((text, _),) in draw.render(view, Size(9, 3))[2:]] == ["22.6 GiB…"]


# --- any view, any size ------------------------------------------------------------------------------------------

hostile = st.text(st.characters(exclude_categories=[]), max_size=12) | st.sampled_from(
    ["\x1b[31mred\x1b]0;t\x07", "a\nb", "学习率曲线", "é" + "\u0301" * 9, "\u202eabc", "a\tb", "👍", "x" * 300]
)
roles = st.sampled_from(list(Role))
row = st.lists(st.tuples(hostile, roles), max_size=4).map(tuple)
fraction = st.none() | st.floats(0, 1.5)


@st.composite
def charts(draws: st.DrawFn) -> ChartView:
    count = draws(st.integers(0, 40))
    lines = []
    for role in SERIES_ROLES[: draws(st.integers(0, 3))]:
        values = np.array(draws(st.lists(st.floats(), min_size=count, max_size=count)))
        values = np.where(np.isfinite(values), values, np.nan)
        lines.append(
            Line(draws(hostile), role, Envelope(values, values, values, values, values * 0), draws(st.booleans()))
        )
    low, high = draws(st.sampled_from([(0, 1), (1e-9, 1e9), (5e-324, 1e-323), (1e-3, 1.7e308), (1e6, 1e6 + 1e-3)]))
    kind = draws(st.sampled_from(["number", "step", "time", "duration"]))
    scale = "log" if low and draws(st.booleans()) else "linear"
    kinds = st.sampled_from(["nan", "infinity", "best", "restart", "alert", "note"])
    marks = draws(st.lists(st.builds(Mark, st.floats(), kinds, hostile), max_size=4))
    x = Axis(0, draws(st.sampled_from([1, 600, 1e300])), kind=kind, label=draws(hostile))
    y = Axis(low, high, scale, kind, draws(hostile))
    return ChartView(draws(hostile), draws(row), x, y, tuple(lines), tuple(marks), draws(hostile), count)


bars = st.builds(
    BarView,
    hostile,
    row,
    st.lists(st.builds(Bar, hostile, st.floats(0, 1e300), roles, row), max_size=6).map(tuple),
    st.floats(0, 1e300),
    st.lists(hostile, max_size=6).map(tuple),
    row,
    hostile,
)
heats = st.integers(0, 12).flatmap(
    lambda n: st.builds(
        HeatView,
        hostile,
        row,
        st.lists(hostile, max_size=5).map(tuple),
        st.lists(hostile, min_size=n, max_size=n).map(tuple),
        st.lists(st.lists(fraction, min_size=n, max_size=n).map(tuple), min_size=5, max_size=5).map(tuple),
        st.just(()) | st.lists(st.lists(fraction, min_size=n, max_size=n).map(tuple), max_size=5).map(tuple),
        st.none() | st.tuples(st.integers(0, 5), st.integers(0, 12)),
        row,
        hostile,
    )
)
texts = st.builds(TextView, hostile, st.lists(row, max_size=5).map(tuple), row, hostile)


@given(
    charts() | bars | heats | texts,
    st.integers(0, 12) | st.integers(0, 130),
    st.integers(0, 12) | st.integers(0, 40),
    st.sampled_from(list(Symbols)),
)
def test_rows_fit_any_size_and_hold_no_control_byte(view: View, width: int, height: int, symbols: Symbols) -> None:
    rows = draw.render(view, Size(width, height), symbols)
    assert len(rows) == height
    for spans in rows:
        assert sum(cell_width(text) for text, _ in spans) == width
        assert not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for text, _ in spans for c in text)
        assert all(isinstance(role, Role) for _, role in spans)


@pytest.mark.parametrize("view", [PHASES, MEMORY])
def test_ascii_is_ascii(view: View) -> None:
    text = draw.text_chart(view, Size(60, 12), Symbols.ASCII)
    assert text.replace("更新", "").isascii()


def test_a_low_heat_map_keeps_the_fullest_rows_in_order() -> None:
    cells = ((0.4, None), (0.2, 0.1), (0.3, 0.35), (0.1, 0.6), (None, float("nan")), (0.2, 0.2))
    shown = draw.render(HeatView("m", (), tuple("abcdef"), ("0", "1"), cells, peak=(3, 1)), Size(30, 6))
    assert ["".join(text for text, _ in row).split()[0] for row in shown[2:]] == ["a", "c", "d", "+3"]


def test_a_cell_with_its_second_value_only_shows_it() -> None:
    view = HeatView("memory", (), ("train",), ("before", "peak"), ((None, 0.6),), ((0.025, None),), (0, 1))
    shown = "\n".join("".join(text for text, _ in row) for row in draw.render(view, Size(60, 4)))
    assert "·/2" in shown
    assert "▲60" in shown


def test_the_title_is_in_the_border() -> None:
    outer = Size(40, 8)
    size = inside(outer)
    title = title_row("KL", (("0.5", Role.VALUE),), size.width, [(("to reference", Role.MUTED),)])
    rows = with_border((title, *[blank(size.width)] * (size.height - 1)))
    assert len(rows) == outer.height
    assert {row_width(row) for row in rows} == {outer.width}
    first, *body, last = ("".join(text for text, _ in row) for row in rows)
    assert first == "╭ KL  to reference ─────────────── 0.5 ╮"
    assert all(row == f"│{' ' * 38}│" for row in body)
    assert last == f"╰{'─' * 38}╯"
    assert ("KL", Role.TITLE) in rows[0], "the title of the selected panel is highlighted"


def test_a_small_panel_has_no_border() -> None:
    assert has_border(Size(30, 6))
    assert not has_border(Size(29, 40))
    assert not has_border(Size(100, 1)), "the heading of a section"
