"""Places of panels: inside the screen, without overlap, each exactly once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuimon.draw.chart import plot_cells
from tuimon.draw.layout import Box, PanelRequest, neighbour, pages
from tuimon.model.views import Size

WISHES = st.lists(
    st.builds(PanelRequest, st.sampled_from(["chart", "chart", "bars", "heat", "text", "heading"]), st.integers(0, 20)),
    max_size=40,
)


@given(st.integers(0, 260), st.integers(0, 90), WISHES, st.integers(-4, 4))
def test_every_panel_has_one_place_inside_the_screen(
    width: int, height: int, wishes: list[PanelRequest], larger: int
) -> None:
    drawn = pages(width, height, wishes, larger)
    assert drawn
    for page in drawn:
        taken = np.zeros((max(height, 1), max(width, 1)), int)
        for box in page:
            taken[box.y : box.y + box.height, box.x : box.x + box.width] += 1
            assert 0 <= box.x <= box.x + box.width <= max(width, 1)
            assert 0 <= box.y <= box.y + box.height <= max(height, 1)
            assert wishes[box.index].kind != "heading" or not height or (box.width, box.height) == (max(width, 1), 1)
        assert taken.max() <= 1, "two panels overlap"
    placed = [box.index for page in drawn for box in page]
    if width and height:
        assert sorted(placed) == list(range(len(wishes)))
    if width >= 10 and height >= 3 and {wish.kind for wish in wishes} <= {"chart", "heading"}:
        assert placed == sorted(placed)
        for page in drawn[:-1]:
            last = page[-1].index
            alone = wishes[last].kind == "heading" and wishes[last + 1].kind == "chart"
            assert not alone or len(page) == 1, "a heading is on the page of its charts"


DASHBOARD = [
    PanelRequest("chart"),
    PanelRequest("chart"),
    PanelRequest("chart"),
    PanelRequest("bars", 12),
    PanelRequest("heat", 12),
    *[PanelRequest("chart")] * 6,
]


def test_a_narrow_pane_shows_reward_loss_kl_and_the_step() -> None:
    first = pages(80, 21, DASHBOARD)[0]
    assert [box.index for box in first] == [0, 1, 2, 3, 4]
    reward, loss, kl, phases, memory = first
    assert reward.width == 80
    assert loss.y == kl.y > reward.y
    assert phases.y == memory.y > loss.y
    assert phases.height == memory.height >= 8, "a bar, headings, and a line for each"
    assert plot_cells(Size(reward.width, reward.height))[1] >= 5
    assert plot_cells(Size(kl.width, kl.height))[1] >= 4


def test_a_tall_pane_has_high_charts_above_the_step_and_the_memory() -> None:
    first = pages(60, 97, DASHBOARD)[0]
    places = {box.index: box for box in first}
    assert set(range(len(DASHBOARD))) <= set(places)
    assert min(box.height for box in first) >= 9
    assert places[4].y > places[3].y > places[2].y
    assert places[3].width == places[4].width == 60


def test_a_medium_screen_shows_charts_above_the_step_and_the_memory() -> None:
    first = pages(120, 37, DASHBOARD)[0]
    places = {box.index: box for box in first}
    assert {0, 1, 2, 3, 4} <= set(places)
    assert places[0].y == places[1].y == places[2].y == 0
    assert places[3].y == places[4].y > places[0].y


@pytest.mark.parametrize(
    ("width", "height", "panels"), [(100, 10, 5), (120, 13, 5), (140, 16, 5), (159, 18, 5), (60, 18, 5), (99, 17, 3)]
)
def test_a_low_pane_keeps_two_panels_below_the_first_charts(width: int, height: int, panels: int) -> None:
    """A narrow one from 18 rows on, where two lines of charts have their least height above."""
    first = pages(width, height, DASHBOARD)[0]
    assert [box.index for box in first] == [*range(panels)]
    assert min(box.height for box in first) >= 5


def test_a_wide_screen_puts_them_beside_each_other() -> None:
    first = pages(200, 47, DASHBOARD)[0]
    places = {box.index: box for box in first}
    assert {0, 1, 2, 3, 4} <= set(places)
    assert places[3].x == places[4].x > places[1].x


def test_neighbours_by_direction() -> None:
    page = (Box(0, 0, 0, 40, 10), Box(1, 42, 0, 40, 10), Box(2, 0, 10, 40, 10), Box(3, 42, 10, 40, 10))
    assert neighbour(page, 0, "right") == 1
    assert neighbour(page, 0, "down") == 2
    assert neighbour(page, 3, "left") == 2
    assert neighbour(page, 3, "up") == 1
    assert neighbour(page, 0, "left") is None
    assert neighbour(page, 0, "up") is None


@pytest.mark.parametrize("charts", range(3, 30))
@pytest.mark.parametrize(("width", "height"), [(300, 75), (300, 77), (200, 47), (160, 40), (120, 37)])
def test_no_chart_is_higher_than_the_first_ones(width: int, height: int, charts: int) -> None:
    requests = [PanelRequest("chart")] * 3 + [PanelRequest("bars", 14)] * 2 + [PanelRequest("chart")] * (charts - 3)
    first, *_ = pages(width, height, requests)
    heights = [box.height for box in first if requests[box.index].kind == "chart"]
    assert heights[0] == max(heights)
