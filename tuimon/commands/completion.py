"""`tuimon completion bash|zsh|fish`: print a completion script, generated from the argument parsers."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tuimon.commands import Command
from tuimon.errors import ExitCode

if TYPE_CHECKING:
    from tuimon.commands._described import Described, Option

_FILES = ("FILE", "DIR", "WHERE", "PATH")
"""Placeholders of option values that are paths."""
_EPILOG = """\
bash:  tuimon completion bash > ~/.local/share/bash-completion/completions/tuimon
zsh:   tuimon completion zsh > DIR/_tuimon   (DIR: a directory of your $fpath)
fish:  tuimon completion fish > ~/.config/fish/completions/tuimon.fish
"""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")


def _run(options: argparse.Namespace) -> int:
    from tuimon.commands._described import described

    make = {"bash": bash, "zsh": zsh, "fish": fish}[options.shell]
    sys.stdout.write("\n".join(make(described())) + "\n")
    return ExitCode.OK


def bash(commands: Sequence[Described]) -> Iterator[str]:
    """Yield the lines of a script for bash 4 and later."""
    names = [command.name for command in commands]
    yield "# bash completion of tuimon"
    yield "_tuimon() {"
    yield "  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=watch words="
    yield "  if ((COMP_CWORD > 1)); then"
    yield f"    case ${{COMP_WORDS[1]}} in {'|'.join(names)}) command=${{COMP_WORDS[1]}};; esac"
    yield "  fi"
    yield "  case $command:$before in"
    for command in commands:
        for option in command.options:
            keys = "|".join(f"{command.name}:{flag}" for flag in option.flags)
            if option.choices:
                yield f"    {keys}) {_words(option.choices)}; return;;"
            elif option.value and option.value not in _FILES:
                yield f"    {keys}) COMPREPLY=(); return;;"
    yield "  esac"
    yield "  case $command in"
    for command in commands:
        flags = " ".join(flag for option in command.options for flag in option.flags)
        yield f'    {command.name}) words="{flags}";;'
    yield "  esac"
    yield '  if [[ $current == -* ]]; then mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current"); return; fi'
    yield "  case $command in"
    for command in commands:
        if command.choices:
            yield f"    {command.name}) {_words(command.choices)}; return;;"
        elif not command.argument:
            yield f"    {command.name}) COMPREPLY=(); return;;"
    yield "  esac"
    yield '  mapfile -t COMPREPLY < <(compgen -f -- "$current")'
    yield "  if ((COMP_CWORD == 1)); then"
    yield f'    mapfile -t -O "${{#COMPREPLY[@]}}" COMPREPLY < <(compgen -W "{" ".join(names)}" -- "$current")'
    yield "  fi"
    yield "}"
    yield "complete -o filenames -F _tuimon tuimon"


def _words(choices: Sequence[str]) -> str:
    return f'mapfile -t COMPREPLY < <(compgen -W "{" ".join(choices)}" -- "$current")'


def zsh(commands: Sequence[Described]) -> Iterator[str]:
    """Yield the lines of a script for the completion system of zsh (compsys)."""
    yield "#compdef tuimon"
    yield "_tuimon() {"
    yield "  local -a commands"
    yield "  commands=("
    for command in commands:
        yield "    " + _quoted(f"{_escaped(command.name)}:{_escaped(command.help)}")
    yield "  )"
    yield "  local command=watch"
    yield "  if (( CURRENT == 2 )); then _describe -t commands command commands; fi"
    yield "  if (( CURRENT > 2 )) && (( ${commands[(I)$words[2]:*]} )); then"
    yield "    command=$words[2]; shift words; (( CURRENT-- ))"
    yield "  fi"
    yield "  case $command in"
    for command in commands:
        yield f"    {command.name})"
        specs = [_zsh_option(option, flag) for option in command.options for flag in option.flags]
        if command.argument:
            specs.append(f"*:{command.argument}:" + (f"({' '.join(command.choices)})" if command.choices else "_files"))
        yield " \\\n        ".join(["      _arguments -s", *map(_quoted, specs)])
        yield "      ;;"
    yield "  esac"
    yield "}"
    yield 'if [[ $funcstack[1] == _tuimon ]]; then _tuimon "$@"; else compdef _tuimon tuimon; fi'


def _zsh_option(option: Option, flag: str) -> str:
    spec = f"{'*' * option.repeated}{flag}[{_escaped(option.help)}]"
    if option.value:
        values = f"({' '.join(option.choices)})" if option.choices else "_files" if option.value in _FILES else " "
        spec += f":{_escaped(option.value)}:{values}"
    return spec


def fish(commands: Sequence[Described]) -> Iterator[str]:
    """Yield the lines of a script for fish 3 and later."""
    names = " ".join(command.name for command in commands)
    yield "# fish completion of tuimon"
    for command in commands:
        yield f"complete -c tuimon -n __fish_use_subcommand -a {command.name} -d {_quoted(command.help, fish=True)}"
    for command in commands:
        seen = f"__fish_seen_subcommand_from {command.name}"
        if command.name == "watch":
            seen = f"not __fish_seen_subcommand_from {names}; or {seen}"
        start = f"complete -c tuimon -n {_quoted(seen, fish=True)}"
        for option in command.options:
            parts = [start]
            parts += [f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags]
            if option.choices:
                parts.append(f"-x -a {_quoted(' '.join(option.choices), fish=True)}")
            elif option.value:
                parts.append("-r" if option.value in _FILES else "-x")
            yield " ".join([*parts, f"-d {_quoted(option.help, fish=True)}"])
        if command.choices:
            yield f"{start} -f -a {_quoted(' '.join(command.choices), fish=True)}"


def _escaped(text: str) -> str:
    for character in "\\:[]":
        text = text.replace(character, "\\" + character)
    return text


def _quoted(text: str, fish: bool = False) -> str:
    return "'" + (text.replace("\\", "\\\\").replace("'", "\\'") if fish else text.replace("'", "'\\''")) + "'"


COMMAND = Command("completion", "print the completion script for bash, zsh or fish", _arguments, _run)
