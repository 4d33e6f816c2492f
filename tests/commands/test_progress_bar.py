"""The progress bar: drawn on a terminal, and erased at the end."""

from __future__ import annotations

import io
import re

import pytest

from tuimon.commands import _stderr
from tuimon.commands._stderr import Progress


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_shows_progress_and_is_erased(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr("sys.stderr", screen)
    for name in ("_AFTER", "_EVERY"):
        monkeypatch.setattr(_stderr, name, 0.0)
    progress = Progress("writing")
    for done in (0, 2_500, 10_000, 12_000):
        progress.update(done, 10_000, " points")
    progress.close()
    pictures = screen.getvalue().split("\r")[1:]
    assert [re.findall(r"(\d+)%", picture) for picture in pictures] == [["0"], ["25"], ["100"], ["100"], []]
    assert "######------------------" in pictures[1]
    assert "2,500 points" in pictures[1]
    assert pictures[-1] == "\x1b[K"
    assert "0 s left" not in screen.getvalue()


def test_nothing_is_drawn_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = io.StringIO()
    monkeypatch.setattr("sys.stderr", pipe)
    monkeypatch.setattr(_stderr, "_AFTER", 0.0)
    progress = Progress("reading")
    progress.update(1, 0)
    progress.close()
    assert pipe.getvalue() == ""
