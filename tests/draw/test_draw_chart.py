"""Charts as pictures, and what must hold for every picture: no value is lost, no cell is wrong."""

from __future__ import annotations

import math
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tuimon import draw
from tuimon.draw.chart import plot_cells, plot_columns
from tuimon.draw.frames import GUTTER, FrameKey, x_places, y_places
from tuimon.draw.scatter import Points, render_scatter
from tuimon.model.views import SERIES_ROLES, Axis, ChartView, Envelope, Line, Mark, Role, Row, Rows, Size, Symbols

NAN = math.nan
HEADS = tomllib.loads((Path(__file__).parent / "heads.toml").read_text("utf-8"))
RED, BLUE = Role.SERIES_0, Role.SERIES_1


def envelope(values: npt.ArrayLike, gap_after: float = 0.0) -> Envelope:
    """One point a column; NaN: none."""
    array = np.array(values, dtype=np.float64)
    return Envelope(array, array, array, array, np.full(len(array), gap_after))


def chart(
    *lines: Line, x: tuple[float, float] = (0, 600), y: tuple[float, float] = (0, 1), **more: object
) -> ChartView:
    scale = str(more.pop("scale", "linear"))
    headline: Row = (("0.4523", Role.VALUE),)
    columns = len(lines[0].envelope.low) if lines else 0
    given: dict[str, object] = {"title": "train/loss", "headline": headline, "columns": columns, **more}
    return ChartView(x=Axis(*x, kind="step"), y=Axis(*y, scale=scale), lines=lines, **given)  # type: ignore[arg-type]


def picture(view: ChartView, width: int, height: int, symbols: Symbols = Symbols.BRAILLE) -> str:
    return "\n" + draw.text_chart(view, Size(width, height), symbols) + "\n"


def test_areas_behind_the_lines_share_the_cells_that_they_both_cover() -> None:
    low, half, full = (np.full(64, value) for value in (0.0, 0.5, 1.0))
    bands = [
        Line("", role, Envelope(low, top, low, top, low), filled=True, behind=True)
        for role, top in ((Role.DIM_0, full), (Role.DIM_1, half))
    ]
    rows = draw.render(chart(*bands), Size(40, 12), Symbols.BRAILLE)[1:9]
    seen = ["".join(sorted({str(role) for text, role in row if role in (Role.DIM_0, Role.DIM_1)})) for row in rows]
    assert seen == ["dim-0"] * 4 + ["dim-0", "dim-1"] * 2


def test_an_area_in_ascii_has_no_character_of_a_curve() -> None:
    low, high = np.zeros(64), np.ones(64)
    band = Line("", Role.FAINT, Envelope(low, high, low, high, low), filled=True, behind=True)
    rows = draw.render(chart(band), Size(40, 12), Symbols.ASCII)[1:9]
    cells = "".join(character for row in rows for character, role in row if role is Role.FAINT)
    assert set(cells) == {":", " "}
    assert cells.count(":") * 3 <= len(cells)


def test_a_table_that_does_not_fit_says_how_many_rows_are_left_out() -> None:
    table: Rows = tuple(((f"run{number}", Role.TEXT),) for number in range(12))
    for height, last in ((30, "  … 3 more rows"), (45, "run11")):
        view = chart(Line("", RED, envelope([0, 1])), table=table)
        assert draw.text_chart(view, Size(40, height)).splitlines()[-1].rstrip() == last


def test_a_gap_marks_and_sparse_points() -> None:
    train = [0.9, 0.8, 0.7, 0.6, 0.5, NAN, NAN, 0.3, 0.3, 0.2, 0.2, 0.2] + [0.1] * 4
    gaps = np.zeros(16)
    gaps[4] = 1.0
    array = np.array(train)
    lines = (
        Line("train", RED, Envelope(array, array, array, array, gaps)),
        Line("eval", BLUE, envelope([0.7] + [NAN] * 7 + [0.5] + [NAN] * 6 + [0.3]), markers=True),
    )
    view = chart(*lines, x=(0, 16), marks=(Mark(5.5, "nan"), Mark(12, "best"), Mark(9, "restart", "x")), title="loss")
    assert (
        picture(view, 24, 8, Symbols.ASCII)
        == """
loss  o t~  o e~  0.4523
    1.0+.        :
       |o||      :
    0.5+  '||--.o:
       |         ''--..
       |       ''|..*  o
    0.0+     x   :  ''''
       +0 ------- 10 ---
"""
    )


def test_values_beyond_the_limits_are_arrows_in_the_colour_of_their_line() -> None:
    view = chart(Line("", RED, envelope([0.5, 1e300, 0.5, -1e300, 0.5, 0.5])), x=(0, 6))
    rows = draw.render(view, Size(6, 4), Symbols.ASCII)
    assert ["".join(text for text, _ in row) for row in rows[1:]] == ["|↑|   ", "| | |-", "  |↓| "]
    assert {role for row in rows[1:] for text, role in row if text.strip()} == {RED}


def test_small_sizes_lose_the_labels_before_the_curve() -> None:
    view = chart(Line("", RED, envelope(np.linspace(0, 1, 40))))
    assert picture(view, 20, 5).splitlines()[1:] == [
        "train/loss    0.4523",
        "               ⣀⡠⠤⠒⠉",
        "          ⣀⡠⠔⠒⠉",
        "     ⣀⠤⠔⠊⠉",
        "⣀⠤⠒⠊⠉",
    ]
    assert picture(view, 10, 3).splitlines()[1] == "train/loss"
    assert picture(view, 30, 1).startswith("\ntrain/loss ")
    assert picture(view, 30, 1).rstrip().endswith(" 0.4523")


@pytest.mark.parametrize("case", HEADS)
def test_what_is_left_out_of_a_narrow_chart(case: str) -> None:
    given = dict(HEADS[case])
    rows = {name: given.pop(name, {}) for name in ("head", "foot")}
    names = [label.partition("=") for label in given.pop("lines", [""])]
    lines = [
        Line(name, role, envelope([0.1, 0.5]), metric=name, values=(value,) if value else ())
        for (name, _, value), role in zip(names, SERIES_ROLES, strict=False)
    ]
    first, *change = given.pop("headline", ["0.4523"]) or [""]
    headline = ((first, Role.VALUE), *(part for text in change for part in ((" ", Role.MUTED), (text, Role.GOOD))))
    made = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
    view = chart(*lines, headline=headline, **{name: value for name, value in made.items() if name != "y_label"})
    view = replace(view, y=replace(view.y, label=given.get("y_label", "")))
    for name, height, place in (("head", 6, 0), ("foot", 10, -1)):
        drawn = {width: draw.text_chart(view, Size(int(width), height)).splitlines()[place] for width in rows[name]}
        assert {width: " ".join(row.split()) for width, row in drawn.items()} == rows[name]


def test_a_cut_title_keeps_what_distinguishes_it_from_the_titles_alike() -> None:
    names = [f"env/of/a/very/long/path/{kind}/mean_over_all_environments" for kind in ("alpha", "beta", "gamma")]
    lines = Line("", RED, envelope([0.1, 0.5]))
    views = [chart(lines, title=name, alike=tuple(other for other in names if other != name)) for name in names[:2]]
    titles = [picture(view, width, 6).splitlines()[1].split()[0] for width in (36, 40) for view in views]
    assert titles[:2] == ["env/…alpha…", "env/…beta…"]
    assert titles[2:] == titles[:2], "in charts of any width"
    assert "environments" in picture(chart(lines, title=names[0]), 36, 6).splitlines()[1], "no other one"


def test_the_legend_and_the_roles_of_cells() -> None:
    falling, rising = envelope(np.linspace(1, 0, 66)), envelope(np.linspace(0, 1, 66))
    rows = draw.render(chart(Line("old", RED, falling), Line("new", BLUE, rising)), Size(41, 9))
    assert {(text.strip(), role) for text, role in rows[0]} >= {("● old", RED), ("● new", BLUE), ("0.4523", Role.VALUE)}
    assert [role for text, role in rows[1] if text.strip(" ⠁⠂⠄⡀⠈⠐⠠⢀│┤")] == [Role.AXIS, RED, BLUE]
    assert all(role in {Role.AXIS, RED, BLUE} for row in rows[1:7] for _, role in row)


def test_charts_above_each_other_align() -> None:
    for y in ((0, 1), (-1.23e-7, 4.5e-8), (1e6, 1e6 + 1), (0, 1e308), (-1e308, 1e308), (0, 5e-324)):
        for row in draw.render(chart(Line("", RED, envelope([NAN])), y=y), Size(40, 12))[1:-2]:
            assert row[0][0][GUTTER - 1] in "│┤"


@pytest.mark.parametrize("scale", ["linear", "log"])
@given(low=st.floats(1e-3, 1e3), span=st.floats(0.5, 1e4), height=st.integers(5, 40))
@settings(max_examples=25, deadline=None)
def test_each_y_label_is_in_the_row_of_its_value(scale: str, low: float, span: float, height: int) -> None:
    view = chart(Line("", RED, envelope([NAN])), y=(low, low + span), scale=scale)
    size = Size(40, height)
    rows = draw.render(view, size)
    canvas = plot_cells(size)[1]
    labels = [(y, row[0][0][: GUTTER - 1].strip()) for y, row in enumerate(rows[1 : 1 + canvas])]
    labels = [(y, label) for y, label in labels if label and "…" not in label]
    for y, label in labels:
        value = float(label.rstrip("kMG")) * {"k": 1e3, "M": 1e6}.get(label[-1], 1.0)
        part = (value - low) / span if scale == "linear" else math.log(value / low) / math.log((low + span) / low)
        dot = (1 - part) * (canvas * 4 - 1)
        assert y in {math.floor(dot + slack) // 4 for slack in (0.501, 0.499)}
    assert len(labels) == len({label for _, label in labels})


# --- pixel honesty -----------------------------------------------------------------------------------------------

BRAILLE_DOTS = ((0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1), (3, 0), (3, 1))
"""(row, column) of dots 1 to 8, which are bits 0 to 7 of the code point (Unicode, Braille Patterns)."""
QUADRANTS = {" ": 0, "▘": 1, "▝": 2, "▀": 3, "▖": 4, "▌": 5, "▞": 6, "▛": 7, "▗": 8, "▚": 9, "▐": 10, "▜": 11,
             "▄": 12, "▙": 13, "▟": 14, "█": 15}  # fmt: skip
"""Upper left 1, upper right 2, lower left 4, lower right 8."""


def lit_dots(rows: Rows, symbols: Symbols) -> npt.NDArray[np.bool_]:
    """The dots of a canvas, read back from its characters: (dot rows, dot columns)."""
    texts = ["".join(text for text, _ in row) for row in rows]
    down = 4 if symbols is Symbols.BRAILLE else 2
    dots = np.zeros((len(texts) * down, len(texts[0]) * 2), dtype=bool)
    for y, text in enumerate(texts):
        for x, character in enumerate(text):
            if symbols is Symbols.BRAILLE:
                bits = 0 if character == " " else ord(character) - 0x2800
                for bit, (row, column) in enumerate(BRAILLE_DOTS):
                    dots[y * 4 + row, x * 2 + column] = bits >> bit & 1
            else:
                for bit in range(4):
                    dots[y * 2 + bit // 2, x * 2 + bit % 2] = QUADRANTS[character] >> bit & 1
    return dots


def row_of(value: float, y: Axis, rows: int) -> int:
    """Row of a value by definition: 0 at the top, rows - 1 at the bottom."""
    if y.scale == "log":
        place = (math.log10(y.high) - math.log10(value)) / (math.log10(y.high) - math.log10(y.low)) * (rows - 1)
    else:
        place = (y.high - value) / (y.high - y.low) * (rows - 1)
    assume(abs(place % 1 - 0.5) > 1e-9)  # between two rows: the last bit decides, and either is right
    return round(place)


columns_strategy = st.lists(
    st.none() | st.lists(st.floats(0.001, 1000.0), min_size=1, max_size=4), min_size=20, max_size=20
)


@pytest.mark.parametrize("symbols", [Symbols.BRAILLE, Symbols.BLOCK])
@pytest.mark.parametrize("scale", ["linear", "log"])
@pytest.mark.parametrize("gap", [0.0, 1.0])
@given(columns=columns_strategy, height=st.integers(2, 9))
@settings(max_examples=20, deadline=None)
def test_every_extreme_is_drawn_and_nothing_else(
    symbols: Symbols, scale: str, gap: float, columns: list[list[float] | None], height: int
) -> None:
    array = np.array([[min(c), max(c), c[0], c[-1]] if c else [NAN] * 4 for c in columns]).T
    low, high, first, last = array
    shape = Envelope(low, high, first, last, np.full(len(columns), gap))
    y = Axis(0.001, 1000.0, scale)
    view = ChartView("t", (), Axis(0, 1), y, (Line("", RED, shape),), columns=len(columns))
    dots = lit_dots(draw.render(view, Size(10, height), symbols)[1:], symbols)
    full = [i for i, c in enumerate(columns) if c]
    spans = {i: sorted(row_of(v, y, len(dots)) for v in (min(c), max(c))) for i, c in enumerate(columns) if c}
    for i, (top, bottom) in spans.items():
        assert dots[top : bottom + 1, i].all()
        if gap:
            assert dots[:, i].sum() == bottom - top + 1
    if gap:
        assert not dots[:, [i for i, c in enumerate(columns) if not c]].any()
        return
    for i, j in pairwise(full):  # joined: no hole on the way, and never outside of what the two columns span
        lit = [np.flatnonzero(dots[:, k]) for k in range(i, j + 1)]
        assert all(len(rows) == rows[-1] - rows[0] + 1 for rows in lit)
        assert all(a[0] <= b[-1] + 1 and b[0] <= a[-1] + 1 for a, b in pairwise(lit))
        upper, lower = min(spans[i][0], spans[j][0]), max(spans[i][1], spans[j][1])
        assert all(upper - 1 <= rows[0] and rows[-1] <= lower + 1 for rows in lit[1:-1])


@given(values=st.lists(st.floats(), min_size=1, max_size=60), scale=st.sampled_from(["linear", "log"]))
def test_other_numbers_of_columns_and_any_values_are_drawn(values: list[float], scale: str) -> None:
    array = np.where(np.isfinite(values), values, NAN)
    view = chart(Line("", RED, envelope(array)), y=(1e-3, 1e3), scale=scale)
    for symbols in Symbols:
        rows = draw.render(view, Size(16, 6), symbols)
        body = "".join(text for row in rows[1:] for text, _ in row)
        assert bool(body.strip()) == bool(np.isfinite(array).any())
        arrow = "^" in body or "↑" in body
        assert arrow if (array > 1e4).any() else not arrow or (array > 1e3).any()


def test_merged_columns_keep_a_lonely_spike() -> None:
    values = np.zeros(997)
    values[613] = 1.0
    dots = lit_dots(draw.render(chart(Line("", RED, envelope(values))), Size(20, 5))[1:], Symbols.BRAILLE)
    assert np.flatnonzero(dots[0]).tolist() == [613 * 40 // 997]


def test_merged_columns_keep_their_gap() -> None:
    values = np.where(np.arange(120) < 60, 0.0, 1.0)
    values[45:75] = NAN
    gaps = np.zeros(120)
    joined = Envelope(values, values, values, values, gaps)
    parted = Envelope(values, values, values, values, np.where(np.arange(120) == 44, 1.0, 0.0))
    inside = slice(45 // 3, 75 // 3)  # three columns become one dot column
    for shape, empty in ((joined, False), (parted, True)):
        dots = lit_dots(draw.render(chart(Line("", RED, shape)), Size(20, 5))[1:], Symbols.BRAILLE)
        assert dots[:, inside].any() != empty


def test_the_number_of_columns_of_an_envelope() -> None:
    assert [plot_columns(66, symbols) for symbols in Symbols] == [116, 116, 58]
    assert plot_columns(20) == 40
    assert plot_cells(Size(66, 14)) == (58, 12)
    assert plot_cells(Size(66, 14), note=True) == (58, 11)
    assert plot_columns(0) == 1


@pytest.mark.parametrize(("second", "labels"), [(240.0, 1), (360.0, 2)])
def test_the_label_of_a_mark_is_whole_or_left_out(second: float, labels: int) -> None:
    marks = Mark(200.0, "alert", "nonfinite"), Mark(second, "alert", "nonfinite")
    rows = picture(chart(Line("", RED, envelope([0.0] * 50)), marks=marks), 70, 8).splitlines()
    row = next(row for row in rows if "⚑" in row)
    assert [part.strip() for part in row.split("⚑")[1:]] == [["", "nonfinite"], ["nonfinite", "nonfinite"]][labels - 1]


@pytest.mark.parametrize("rows", range(3, 20))
@pytest.mark.parametrize(
    "limits",
    [
        (3.9528, 3.9572),
        (0.2, 4.2),
        (9.79e-07, 1.001e-06),
        (9.978e-07, 1.0012e-06),
        (0.0, 1.734e308),
        (-1.4e-07, 1.4e-07),
        (1000.0000095, 1000.0000205),
    ],
)
def test_a_y_axis_has_two_ticks_whose_labels_keep_their_first_digits(limits: tuple[float, float], rows: int) -> None:
    key = FrameKey(40, rows, Axis(0.0, 10.0), Axis(*limits), True, Symbols.BRAILLE)
    labels = [label for _, label in y_places(key)]
    assert len(labels) >= 2
    assert all(len(label) < GUTTER and "…" not in label for label in labels)
    margin = (limits[1] - limits[0]) / 5
    if labels[1].startswith("+"):  # the first value, and the distances of the others from it
        assert float(labels[0]) == pytest.approx(limits[0], rel=1e-2)
        assert all(0 < float(label) <= limits[1] - limits[0] for label in labels[1:])
    else:
        assert all(limits[0] - margin <= float(label) <= limits[1] + margin for label in labels)


def test_seconds_on_a_y_axis_of_times_are_not_cut() -> None:
    key = FrameKey(32, 10, Axis(0.0, 1.0), Axis(1795572859.7, 1795572871.7, kind="time"), True, Symbols.BRAILLE)
    assert [label[-3:] for _, label in y_places(key)] == [":20", ":25", ":30"]
    assert all(len(label) < GUTTER for _, label in y_places(key))


@pytest.mark.parametrize("cells", range(24, 140, 4))
def test_the_name_of_an_axis_leaves_the_ticks_at_equal_distances(cells: int) -> None:
    axis = Axis(1795659642.6, 1795659642.6 + 3300, label="2026-11-26", kind="time")
    places = [cell for cell, _ in x_places(FrameKey(cells, 8, axis, Axis(0.0, 1.0), True, Symbols.BRAILLE))]
    distances = np.diff(places)
    assert distances.max() - distances.min() <= 1


def test_the_glyph_of_a_line_behind_never_covers_a_curve_on_top() -> None:
    flat = envelope([0.5] * 64)
    behind = Line("", Role.DIM_0, flat, behind=True, glyph="b")
    shown = draw.render(chart(behind, Line("", RED, flat)), Size(40, 10), Symbols.BRAILLE)
    assert not [text for row in shown[1:] for text, role in row if role is Role.DIM_0]
    below = Line("", Role.DIM_0, envelope([0.1] * 64), behind=True, glyph="b")
    assert "b" in picture(chart(below, Line("", RED, flat)), 40, 10)


def test_the_label_of_a_level_that_is_longer_than_the_chart_is_left_out() -> None:
    level = Line("-1.2345678901234567e-100", Role.WARNING, envelope([0.5, 0.5]), behind=True)
    for width, shown in ((GUTTER + 24, False), (GUTTER + 25, True)):
        assert (level.label in picture(chart(level), width, 8)) is shown


_MANUAL = "any(name.startswith('plotext._doc') for name in sys.modules)"


def _said(code: str) -> str:
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_a_chart_does_not_load_the_manual() -> None:
    assert _said(f"import sys; from tuimon import draw; draw.preload(); print({_MANUAL})") == "False\n"


def test_an_already_imported_plotext_is_not_changed() -> None:
    code = "import plotext; before = plotext.doc; from tuimon import draw; draw.preload(); print(plotext.doc is before)"
    assert _said(code) == "True\n"


def dots(size: Size, x: np.ndarray, y: np.ndarray) -> int:
    rows = render_scatter("t", (), ("x", ""), [Points("", Role.SERIES_0, x, y)], size, Symbols.BRAILLE)
    assert len(rows) == size.height
    text = "".join(text for row in rows for text, _ in row)
    return sum(bin(ord(char) - 0x2800).count("1") for char in text if 0x2800 <= ord(char) < 0x2900)


def test_points_of_one_column_are_separate_dots() -> None:
    y = np.array([0.0, 0.25, 0.5, 0.75, 1.0] * 20)
    x = np.array([0.0] * 50 + [1.0] * 50)
    assert dots(Size(60, 20), x, y) == 10


@pytest.mark.parametrize("seed", range(3))
def test_every_point_has_a_dot(seed: int) -> None:
    chance = np.random.default_rng(seed)
    x, y = chance.normal(size=(2, 300))
    found = dots(Size(200, 60), x, y)
    assert 270 < found <= 300  # a few share a dot


def test_many_points_of_one_column_in_four_colours() -> None:
    chance = np.random.default_rng(0)
    x = np.repeat([0.0, 1.0], 200)
    groups = [Points(str(number), Role.SERIES_0, x, chance.uniform(size=400)) for number in range(4)]
    rows = render_scatter("t", (), ("x", ""), groups, Size(80, 120), Symbols.BRAILLE)
    assert len(rows) == 120


@pytest.mark.parametrize("value", [0.0, 3.5, -1e300])
@pytest.mark.parametrize("width", [1, 10, 23, 80])
def test_equal_values_and_small_sizes(value: float, width: int) -> None:
    for height in range(1, 8):
        points = Points("", Role.SERIES_0, np.full(70, value), np.full(70, value))
        rows = render_scatter("t", (), ("x", ""), [points], Size(width, height), Symbols.ASCII)
        assert len(rows) == height
