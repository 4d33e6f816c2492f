"""The screen in ASCII: no drawing character is left in the footer, the lists, the help and the log."""

from __future__ import annotations

import pytest

from tuimon.tui.terminal import capabilities


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
