"""Shell completion and the manual page contain every command and option, and the shells accept the scripts."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support.terminal import Terminal

from tuimon.commands import main
from tuimon.commands._described import described


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(list(words)) == 0
    return capsys.readouterr().out


def completed(script: str, line: str, directory: Path) -> set[str]:
    """Return the completions of bash at the end of the command line."""
    words = line.split(" ")
    quoted = " ".join(f"'{word}'" for word in words)
    program = (
        f'{script}\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _tuimon; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, cwd=directory, check=True)
    assert done.stderr == ""
    return set(done.stdout.split("\n")) - {""}


def test_bash_completes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    script = printed(capsys, "completion", "bash")
    (tmp_path / "a run").mkdir()
    (tmp_path / "exports").mkdir()
    assert completed(script, "tuimon exp", tmp_path) == {"export", "exports"}
    assert completed(script, "tuimon summary a", tmp_path) == {"a run"}
    assert completed(script, "tuimon export exports --format p", tmp_path) == {"parquet", "png", "pdf"}
    assert completed(script, "tuimon summary --sch", tmp_path) == {"--schema"}
    assert completed(script, "tuimon --onc", tmp_path) == {"--once"}
    assert completed(script, "tuimon exports --theme l", tmp_path) == {"light"}
    assert completed(script, "tuimon completion z", tmp_path) == {"zsh"}
    assert completed(script, "tuimon at x --step 1", tmp_path) == set()


LINES = {
    "tuimon expo": "tuimon export",
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
    set_up = f"cd {script.parent}; autoload -Uz compinit; compinit -D -u; source ./{script.name}"
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


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_and_option_is_in_a_completion(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    script = printed(capsys, "completion", shell)
    for command in described():
        for option in command.options:
            assert all(
                (flag if shell != "fish" else f"-l {flag[2:]}" if flag[:2] == "--" else f"-s {flag[1:]}") in script
                for flag in option.flags
            )
            if shell != "bash":
                assert option.help.replace("'", "").replace("[", "\\[").split(":")[0].split("[")[0][:20] in script
    for line in script.splitlines():  # quotes are closed on the line on which they open
        plain = re.sub(r"\\.", "", line.replace("'\\''", ""))
        assert plain.count("'") % 2 == 0, line


def test_the_manual_has_every_option_and_only_known_requests(capsys: pytest.CaptureFixture[str]) -> None:
    page = printed(capsys, "man")
    for command in described():
        assert f".SS {command.name}" in page
        for option in command.options:
            assert option.flags[-1].replace("-", "\\-") in page
    for line in page.splitlines():
        assert line.isascii()
        assert not line.startswith((".", "'")) or re.fullmatch(r"\.(TH|SH|SS|TP|PP|nf|fi)\b.*", line)


def test_the_manual_begins_with_the_dashboard_and_is_plain_text_on_a_terminal_without_man(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = printed(capsys, "man")
    assert page.split(".SH SYNOPSIS\n")[1].startswith("\\fBtuimon\\fR [PATH ...]")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr("tuimon.commands.man.shutil.which", lambda name: None)
    text = printed(capsys, "man")
    assert "tuimon [PATH ...]" in text
    assert "--json" in text
    assert not re.search(r"\\f[BIR]|^\.(TP|SH|PP)", text, re.MULTILINE)
