"""`tuimon completion SHELL`: print a completion script, which shtab makes from the argument parsers."""

from __future__ import annotations

import argparse

from tuimon.commands import Command, commands
from tuimon.errors import ExitCode

_EPILOG = """\
bash:  tuimon completion bash > ~/.local/share/bash-completion/completions/tuimon
zsh:   tuimon completion zsh > DIR/_tuimon   (DIR: a directory of your $fpath)
fish:  tuimon completion fish > ~/.config/fish/completions/tuimon.fish
tcsh:  tuimon completion tcsh > ~/.tuimon.tcsh   (and `source ~/.tuimon.tcsh` in ~/.tcshrc)
"""
_PATHS_IN_PLACE_OF_A_COMMAND = {
    "bash": "_shtab_tuimon_pos_0_COMPGEN=_shtab_compgen_files\n",
    "zsh": """\
functions[_tuimon_command]=$functions[_shtab_tuimon]
functions[_tuimon_commands]=$functions[_shtab_tuimon_commands]
_shtab_tuimon_commands() { _tuimon_commands; _files }
_shtab_tuimon() {
  local -a names=(NAMES)
  if (( CURRENT > 2 && ! names[(I)$words[2]] )); then words[2]=(watch $words[2]); (( CURRENT++ )); fi
  _tuimon_command
}
""",
    "fish": "complete -c tuimon -n _shtab_tuimon_using -ka '(__fish_complete_path (commandline -ct))'\n",
    "tcsh": "",
}
"""Lines for each shell that complete a path or a command. shtab has no such argument."""


def _run(options: argparse.Namespace) -> int:
    import shtab

    lines = _PATHS_IN_PLACE_OF_A_COMMAND[options.shell].replace("NAMES", " ".join(commands()))
    before = lines if options.shell != "fish" else ""
    print(shtab.complete(whole_parser(), options.shell, preamble=before))
    if not before:
        print(lines)
    return ExitCode.OK


def whole_parser() -> argparse.ArgumentParser:
    """Return one parser with every command and the options of `watch`, which apply without one."""
    parser = argparse.ArgumentParser("tuimon")
    commands()["watch"].describe(parser)
    parser._remove_action(next(action for action in parser._actions if not action.option_strings))
    names = parser.add_subparsers()
    for name, command in sorted(commands().items()):
        command.describe(names.add_parser(name, description=command.help, help=command.help))
    for one in (parser, *names.choices.values()):
        _complete_paths(one)
    return parser


def _complete_paths(parser: argparse.ArgumentParser) -> None:
    """Mark the arguments whose values are paths, as shtab expects it."""
    import shtab

    kinds = {"PATH": shtab.FILE, "FILE": shtab.FILE, "WHERE": shtab.FILE, "DIR": shtab.DIRECTORY}
    for action in parser._actions:
        if action.metavar in kinds:
            action.complete = kinds[action.metavar]  # type: ignore[attr-defined]


_HELP = "print the completion script for bash, zsh, fish or tcsh"
_VALUES = {"SHELL": {"choices": tuple(_PATHS_IN_PLACE_OF_A_COMMAND), "metavar": None}}
COMMAND = Command("completion", _HELP, "SHELL  the shell\n", _run, values=_VALUES, epilog=_EPILOG)
