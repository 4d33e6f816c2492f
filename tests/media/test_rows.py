"""Pictures of values that are not scalars: size, order of the axes, both sets of symbols."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.written_media import write_run

from tuimon.draw.ascii import ascii_text
from tuimon.draw.rows import row_width
from tuimon.media import Distribution, Item, Kind, Moments, PrecisionRecall
from tuimon.media.library import Tag, read_media
from tuimon.media.rows import COMPARE, HEAT, VIEWS, detail_rows
from tuimon.model.views import Row


def lines(rows: list[Row]) -> list[str]:
    return ["".join(text for text, _ in row) for row in rows]


def seen(rows: list[Row]) -> list[str]:
    """Return the lines as a terminal without other characters shows them."""
    return [ascii_text(line) for line in lines(rows)]


def moving() -> Tag:
    """A histogram with all values in -10 to -9 at step 0, and one higher for each step."""
    tag = Tag(Kind.HISTOGRAM, "w")
    for step in range(20):
        tag.add(Item(Kind.HISTOGRAM, "w", step, 8, "", Distribution((step - 10.0, step - 9.0), (5.0,))))
    return tag


@pytest.mark.parametrize("plain", [False, True])
def test_steps_go_right_and_values_up(plain: bool) -> None:
    shown = lines(detail_rows(moving(), 50, 24, HEAT, 19, None, plain))
    assert len(shown) == 24
    marks = [[x for x, cell in enumerate(line[10:]) if cell != " "] for line in shown[:20]]
    assert marks == [[2 * (19 - row), 2 * (19 - row) + 1] for row in range(20)]
    assert shown[0].split()[0] == "10"
    assert shown[19].split()[0] == "-10"
    assert shown[20].index("^") == 10 + 2 * 19
    assert shown[21].split() == ["step", "0", "19"]
    assert not plain or "".join(shown).isascii()


@pytest.mark.parametrize("plain", [False, True])
def test_limits_and_mean_are_those_of_the_values_and_not_of_the_buckets(plain: bool) -> None:
    tag = Tag(Kind.HISTOGRAM, "w")
    shape = Distribution((-1.0, 0.0, 1.0), (3.0, 1.0))
    tag.add(Item(Kind.HISTOGRAM, "w", 7, 8, "", shape))  # superseded
    tag.add(Item(Kind.HISTOGRAM, "w", 7, 8, "", shape._replace(moments=Moments(-0.75, 0.5, -0.25, 4.0))))
    *_, shown = ("\n".join(lines(detail_rows(tag, 140, height, HEAT, 7, None, plain))) for height in (9, 20))
    assert shown.split()[0] == "0.5000"
    assert "  -0.7500 " in shown
    assert "-1" not in shown
    assert "min -0.7500, max 0.5000  mean -0.0625  4 values" in shown
    buckets = Tag(Kind.HISTOGRAM, "w")
    buckets.add(Item(Kind.HISTOGRAM, "w", 7, 8, "", shape))
    assert "max 1 (borders of buckets)  mean about -0.2500" in "\n".join(
        lines(detail_rows(buckets, 140, 20, HEAT, 7, None, plain))
    )


def test_levels_are_shades_of_one_colour() -> None:
    tag = Tag(Kind.HISTOGRAM, "w")
    tag.add(Item(Kind.HISTOGRAM, "w", 0, 8, "", Distribution((0.0, 1.0, 2.0, 3.0, 4.0), (1.0, 5.0, 10.0, 3.0))))
    rows = detail_rows(tag, 50, 27, HEAT, 0, None, False)[:20]
    roles = {role for row in rows for text, role in row if set(text) & set("░▒▓█")}
    shades = {text[0] for row in rows for text, _ in row if set(text) & set("░▒▓█")}
    assert len(shades) > 1
    assert len(roles) == 1, "several colours would have no order"


def test_one_step_against_another() -> None:
    title, *shown, axis = seen(detail_rows(moving(), 60, 12, COMPARE, 19, 18, True))
    assert title.split() == ["share", "o", "step", "18", "o", "step", "19"]
    assert "value" in axis
    assert all("'" in line or "|" in line for line in shown)


def test_two_steps_have_one_scale() -> None:
    tag = Tag(Kind.HISTOGRAM, "w")
    tag.add(Item(Kind.HISTOGRAM, "w", 0, 8, "", Distribution((0.0, 1.0, 2.0), (8.0, 0.0))))
    tag.add(Item(Kind.HISTOGRAM, "w", 1, 8, "", Distribution((0.0, 1.0, 2.0), (200.0, 200.0))))
    _, *shown, axis = seen(detail_rows(tag, 60, 12, COMPARE, 1, 0, True))
    assert [number for number in axis.split() if number[0].isdigit()] == ["0.5", "1.0", "1.5"]
    full, half = (next(line for line in shown if line.startswith(f"  {label}+")) for label in ("0.020", "0.010"))
    assert "'" in full[8:34], "all values of step 0 are in its lower half"
    assert "'" not in full[36:]
    assert "'" in half[36:], "half of the values of step 1 are in its upper half"
    assert len(detail_rows(tag, 24, 3, COMPARE, 1, 0, True)) == 2, "the steps, if there is no room for a chart"


def test_a_curve_has_recall_to_the_right() -> None:
    tag = Tag(Kind.PR_CURVE, "pr")
    tag.add(Item(Kind.PR_CURVE, "pr", 0, 8, "", PrecisionRecall((1.0, 0.5, 0.0), (0.0, 0.5, 1.0))))
    head, title, *shown = seen(detail_rows(tag, 60, 13, HEAT, 0, None, True))
    assert (head.strip(), title.strip()) == ("step 0: area 0.5", "precision")
    places = [line.index("o") for line in shown if "o" in line]
    assert (len(places), places) == (3, sorted(places))
    assert [line.split("+")[0].strip() for line in shown[:-1] if "+" in line] == ["0.8", "0.4", "0.0"]
    assert "recall" in shown[-1]
    assert [line.strip() for line in seen(detail_rows(tag, 24, 5, HEAT, 0, None, True))] == ["step 0: area 0.5"]
    tag.add(Item(Kind.PR_CURVE, "pr", 1, 8, "", PrecisionRecall((1.0, 1.0, 0.0), (1.0, 0.5, 0.0))))
    title = seen(detail_rows(tag, 70, 13, HEAT, 1, None, True))[0]
    assert title.split() == ["precision", "o", "step", "0:", "area", "0.5", "o", "step", "1:", "area", "0.75"]
    head, title, *shown = seen(detail_rows(tag, 70, 13, HEAT, 1, 1, True))
    assert sum(line.count("o") for line in shown) == 2, "a point at which both are 0 is left out"


@pytest.mark.parametrize("width", [24, 38, 80, 200])
@pytest.mark.parametrize("height", [2, 7, 40])
def test_every_kind_fits(tmp_path: Path, width: int, height: int) -> None:
    found = read_media(str(write_run(tmp_path)))
    assert len(found.tags) == 8
    for tag in found.tags:
        for view in VIEWS:
            rows = detail_rows(tag, width, height, view, 2, 1, False)
            assert rows
            assert len(rows) <= height
            assert all(row_width(row) <= width for row in rows), tag.kind


def test_a_list_names_the_log_files_of_items_at_one_step() -> None:
    tag = Tag(Kind.IMAGE, "img")
    for step, log in ((75, "a.0"), (100, "a.0"), (100, "b.1"), (125, "b.1")):
        tag.add(Item(Kind.IMAGE, "img", step, 380, "8×16", log=log))
    head, *shown = lines(detail_rows(tag, 80, 10, HEAT, 100, None, False, "why not"))
    assert head.strip() == "why not"
    assert [" ".join(line.split()) for line in shown] == [
        "75 380 bytes 8×16",
        "100 380 bytes 8×16, 1 of 2 at this step, from a.0",
        "100 380 bytes 8×16, 2 of 2 at this step, from b.1",
        "125 380 bytes 8×16",
    ]
    assert len(detail_rows(tag, 80, 3, HEAT, 125, None, False)) == 3


def test_a_text_of_wide_characters_is_shown_in_full() -> None:
    tag, text = Tag(Kind.TEXT, "sample"), "模型写了一句很长的话" * 5
    tag.add(Item(Kind.TEXT, "sample", 3, 8, "", text))
    head, *rows = lines(detail_rows(tag, 24, 20, HEAT, 3, None, False))
    assert head.strip() == "step 3"
    assert "".join(row.strip() for row in rows) == text
