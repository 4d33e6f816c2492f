"""Shell completion contains every command and option, and the shells complete with the scripts."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support.terminal import Terminal

from tuimon.commands import commands, main, parser_of


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(list(words)) == 0
    return capsys.readouterr().out


def completed(script: str, line: str, directory: Path) -> set[str]:
    """Return the completions of bash at the end of the command line."""
    words = line.split(" ")
    quoted = " ".join(f"'{word}'" for word in words)
    typed = f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}"
    program = f'{script}\n{typed}; _shtab_tuimon; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, cwd=directory, check=True)
    assert done.stderr == ""
    return set(done.stdout.split("\n")) - {""}


def test_bash_completes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name in ("a run", "exports"):
        (tmp_path / name).mkdir()
    for line, words in (
        ("tuimon exp", {"export", "exports"}),
        ("tuimon summary a", {"a run"}),
        ("tuimon export exports --format p", {"parquet", "png", "pdf"}),
        ("tuimon --onc", {"--once"}),
    ):
        assert completed(printed(capsys, "completion", "bash"), line, tmp_path) == words


LINES = {
    "tuimon expo": "tuimon export",
    "tuimon ar": "tuimon arun",
    "tuimon summary a": "tuimon summary arun",
    "tuimon export arun --format par": "tuimon export arun --format parquet",
    "tuimon export arun -o me": "tuimon export arun -o metrics.jsonl",
    "tuimon summary --sch": "tuimon summary --schema",
    "tuimon arun --theme li": "tuimon arun --theme light",
    "tuimon completion z": "tuimon completion zsh",
}
"""Command line before and after pressing tab."""


def in_bash(script: Path) -> dict[str, str]:
    completed_lines = {}
    for line in LINES:
        [word] = completed(script.read_text(), line, script.parent)
        completed_lines[line] = f"{line.rpartition(' ')[0]} {word}"
    return completed_lines


def in_fish(script: Path) -> dict[str, str]:
    completed_lines = {}
    for line in LINES:
        program = f"source {script.name}; complete -C '{line}'"
        words = ["fish", "--no-config", "-c", program]
        done = subprocess.run(words, capture_output=True, text=True, cwd=script.parent, check=True)
        assert done.stderr == ""
        [word] = [offered.partition("\t")[0].rstrip("/") for offered in done.stdout.splitlines()]
        completed_lines[line] = f"{line.rpartition(' ')[0]} {word}"
    return completed_lines


def in_zsh(script: Path) -> dict[str, str]:
    """Type the lines at the prompt of zsh: it completes nowhere else."""
    script.rename(script.parent / "_tuimon")
    set_up = f"cd {script.parent}; fpath=({script.parent} $fpath); autoload -Uz compinit; compinit -D -u"
    completed_lines = {}
    with Terminal(["zsh", "-f", "-i"], (200, 40), {"HOME": str(script.parent)}) as zsh:
        zsh.type(f"{set_up}; tuimon() {{ print -r -- \"<<tuimon $*>>\" }}; print rea''dy\n")
        zsh.until(lambda output: b"ready" in output)
        for number, line in enumerate(LINES, 1):
            zsh.type(f"{line}\t\n")
            ran = zsh.until(lambda output, number=number: output.count(b">>\r\n") == number)
            completed_lines[line] = re.findall(r"<<(tuimon .*?)>>\r\n", ran.decode())[-1]
    return completed_lines


SHELLS = {"bash": in_bash, "zsh": in_zsh, "fish": in_fish}


@pytest.mark.parametrize("shell", [shell for shell in SHELLS if shell == "bash" or shutil.which(shell)])
def test_shells_complete_with_the_script(shell: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    script = tmp_path / f"completion.{shell}"
    script.write_text(printed(capsys, "completion", shell))
    (tmp_path / "arun").mkdir()
    (tmp_path / "metrics.jsonl").touch()
    assert SHELLS[shell](script) == LINES


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "tcsh"])
def test_every_command_and_option_is_in_a_completion(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = set(re.findall(r"[\w-]+", printed(capsys, "completion", shell)))
    for name, command in commands().items():
        assert name in words
        for flag in parser_of(command)._option_string_actions:
            assert flag in words or (shell in ("fish", "tcsh") and flag.lstrip("-") in words), flag
