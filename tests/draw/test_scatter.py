"""Test that a scatter plot has a dot for every point."""

from __future__ import annotations

import numpy as np
import pytest

from tuimon.draw.scatter import Points, render_scatter
from tuimon.model.views import Role, Size, Symbols


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
