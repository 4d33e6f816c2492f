"""The bar of a long command: on standard error, where a person looks, and gone when it is done."""

from __future__ import annotations

import io
import re

import pytest

from tuimon.commands import _progress
from tuimon.commands._progress import Progress


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_it_says_how_far_and_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr("sys.stderr", screen)
    for name in ("_AFTER", "_EVERY"):
        monkeypatch.setattr(_progress, name, 0.0)
    progress = Progress("writing")
    for done in (0, 2_500, 10_000, 12_000):
        progress.at(done, 10_000, " points")
    progress.close()
    pictures = screen.getvalue().split("\r")[1:]
    assert [re.findall(r"(\d+)%", picture) for picture in pictures] == [["0"], ["25"], ["100"], ["100"], []]
    assert "######------------------" in pictures[1]
    assert "2,500 points" in pictures[1]
    assert pictures[-1] == "\x1b[K"


def test_nothing_is_drawn_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = io.StringIO()
    monkeypatch.setattr("sys.stderr", pipe)
    monkeypatch.setattr(_progress, "_AFTER", 0.0)
    progress = Progress("reading")
    progress.at(1, 0)
    progress.close()
    assert pipe.getvalue() == ""
