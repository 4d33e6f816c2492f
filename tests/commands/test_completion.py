"""Shell completion contains every command and option, and the shells complete with the scripts."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support.programs import run
from support.terminal import Terminal

from tuimon.commands import commands, parser_of

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


def offered(shell: str, script: Path, line: str) -> set[str]:
    """Return what bash or fish offers at the end of a command line."""
    words = line.split(" ")
    quoted = " ".join(f"'{word}'" for word in words)
    typed = f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}"
    ask = {
        "bash": f'{typed}; _shtab_tuimon; printf "%s\\n" "${{COMPREPLY[@]}}"',
        "fish": f"complete -C '{line}'",
    }
    option = {"bash": "--norc", "fish": "--no-config"}[shell]
    command = [shell, option, "-c", f"source ./{script.name}; {ask[shell]}"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=script.parent, check=True)
    assert done.stderr == ""
    return {row.partition("\t")[0].rstrip("/") for row in done.stdout.split("\n")} - {""}


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


@pytest.mark.parametrize(
    "shell", [shell for shell in ("bash", "zsh", "fish") if shell == "bash" or shutil.which(shell)]
)
def test_shells_complete_with_the_script(shell: str, tmp_path: Path) -> None:
    script = tmp_path / f"completion.{shell}"
    script.write_text(run("completion", shell).stdout)
    (tmp_path / "arun").mkdir()
    (tmp_path / "metrics.jsonl").touch()
    if shell == "zsh":
        assert in_zsh(script) == LINES
        return
    for line, completed in LINES.items():
        assert offered(shell, script, line) == {completed.split()[-1]}
    if shell == "bash":
        (tmp_path / "a run").mkdir()
        assert offered(shell, script, "tuimon summary a") == {"arun", "a run"}
        assert offered(shell, script, "tuimon export arun --format p") == {"parquet", "png", "pdf"}


def test_every_command_and_option_is_in_a_completion() -> None:
    for shell in ("bash", "zsh", "fish", "tcsh"):
        words = set(re.findall(r"[\w-]+", run("completion", shell).stdout))
        for name, command in commands().items():
            assert name in words
            for flag in parser_of(command)._option_string_actions:
                assert flag in words or (shell in ("fish", "tcsh") and flag.lstrip("-") in words), flag
