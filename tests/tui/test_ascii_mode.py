"""The screen in ASCII: no drawing character is left in the footer, the lists, the help and the log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.dashboard import opened, rows, text, until

from tuimon.config import Settings
from tuimon.model.views import Symbols
from tuimon.tui.ascii_mode import draw_with
from tuimon.tui.terminal import capabilities


@pytest.fixture(autouse=True)
def braille_afterwards() -> Iterator[None]:
    yield
    draw_with(Symbols.BRAILLE)


async def test_no_drawing_character_is_left(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "metrics.jsonl").write_text(rows(*range(20)))
    (run / "config.json").write_text('{"algorithm": {"lr": 1e-5}}')
    (run / "train.log").write_text("45%|████▌     | 3/7 [00:01<00:02]\n")
    async with opened(run, (140, 40), Settings(theme="dark", symbols="ascii")) as (app, pilot):
        shown = await until(app, pilot, lambda s: "reward" in s and "Enter zoom" in s)
        assert shown.isascii(), set(filter(lambda c: not c.isascii(), shown))
        for key, words in (("L", "45%"), ("C", "lr"), ("M", "3 metrics"), ("a", "Notices"), ("question_mark", "Enter")):
            await pilot.press(key)
            shown = await until(app, pilot, lambda s, words=words: words in s)  # type: ignore[misc]
            assert shown.isascii(), (key, set(filter(lambda c: not c.isascii(), shown)))
            await pilot.press("escape")
            await pilot.pause()
        await pilot.press("s")
        await until(app, pilot, lambda s: "⏎ zoom" in s)
        assert not text(app).isascii()


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"LC_ALL": "C"}, "ascii"),
        ({"LC_ALL": "POSIX", "LANG": "en_US.UTF-8"}, "ascii"),
        ({"LC_ALL": "C.UTF-8"}, "braille"),
        ({"LC_CTYPE": "C.UTF-8", "LANG": "C"}, "braille"),
        ({"LANG": "en_US.UTF-8"}, "braille"),
        ({}, "braille"),
    ],
)
def test_the_c_locale_gets_ascii(environment: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stream:
        encoding = "utf-8"

    monkeypatch.setattr("sys.__stderr__", Stream())
    assert capabilities.symbols("auto", environment) == expected
