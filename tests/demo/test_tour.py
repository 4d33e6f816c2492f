"""The tour in docs/tour.md: its keys, typed in order, lead to what the page says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.dashboard import opened, until

from tuimon.commands import main

PAGE = (Path(__file__).parent.parent.parent / "docs" / "tour.md").read_text("utf-8")
TOUR = PAGE.partition("\n## ")[0]
"""The part about one run; tests/docs/test_commands_run.py runs the commands of the rest."""
ROWS = re.findall(r"^\| ((?:`[^`]+` ?)*) ?\| (.*) \|$", TOUR, re.MULTILINE)
KEYS = {"Enter": "enter", "Esc": "escape", "/": "slash", ",": "comma", "?": "question_mark"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a run as in the tour, but shorter."""
    folder = tmp_path_factory.mktemp("tour") / "tour"
    words = ["demo", "--once", "--steps", "16", "--inject", "nan@12", "-o", str(folder)]
    subprocess.run([sys.executable, "-m", "tuimon", *words], check=True, capture_output=True, timeout=200)
    return folder


async def test_the_keys_of_the_tour(run: Path) -> None:
    assert len(ROWS) > 10
    async with opened(run, (120, 40)) as (app, pilot):
        for keys, description in ROWS:
            for key in re.findall(r"`([^`]+)`", keys):
                await pilot.press(KEYS.get(key, key))
                await pilot.pause()
            for phrase in re.findall(r"\*\*(.+?)\*\*", description):
                await until(app, pilot, lambda screen, phrase=phrase: phrase in screen)  # type: ignore[misc]


@pytest.mark.parametrize("line", re.findall(r"^    tuimon (?!demo)(.*?)  ", TOUR, re.MULTILINE))
def test_the_commands_of_the_tour(line: str, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = (
        line.replace("tour/", str(run)).replace("tour.html", str(tmp_path / "tour.html")).replace("60", "12").split()
    )
    assert main(words) == (4 if words[0] == "check" else 0), capsys.readouterr().err
    assert capsys.readouterr().out or (tmp_path / "tour.html").exists()
