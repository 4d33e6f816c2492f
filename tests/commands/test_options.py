"""The options that a user has to know: few, and a help that fits a terminal."""

from __future__ import annotations

import argparse

import pytest

from tuimon.commands import commands, main, parser_of
from tuimon.commands._options import PATH_OPTIONS

MOST, LINES = 90, 40


def described(parser: argparse.ArgumentParser) -> list[str]:
    """Return the options that the help of a command lists, without --help."""
    shown = [own for own in parser._actions if own.option_strings and own.help != argparse.SUPPRESS]
    return [own.option_strings[-1] for own in shown if own.dest != "help"]


def test_all_commands_have_few_options() -> None:
    options = {name: described(parser_of(command)) for name, command in commands().items()}
    assert sum(map(len, options.values())) <= MOST, options


@pytest.mark.parametrize("name", sorted(commands()))
def test_a_help_fits_a_terminal(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    with pytest.raises(SystemExit):
        main([name, "-h"])
    assert len(capsys.readouterr().out.splitlines()) <= LINES


def test_the_options_of_paths_are_described_once(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["-h"])
    printed = capsys.readouterr().out
    for option in PATH_OPTIONS:
        assert f"\n  {option} " in printed
        accepting = [
            name for name, command in commands().items() if option in parser_of(command)._option_string_actions
        ]
        assert len(accepting) >= 9
