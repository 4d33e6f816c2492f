"""Completions and the manual: every command and option is in them, and the programs that read them accept them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tuimon.commands import main
from tuimon.commands._described import described


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(list(words)) == 0
    return capsys.readouterr().out


def completed(script: str, line: str, directory: Path) -> set[str]:
    """What bash offers for a command line that ends where the cursor is."""
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


def test_the_manual_has_every_option_and_no_request_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    page = printed(capsys, "man")
    for command in described():
        assert f".SS {command.name}" in page
        for option in command.options:
            assert option.flags[-1].replace("-", "\\-") in page
    for line in page.splitlines():
        assert line.isascii()
        assert not line.startswith((".", "'")) or re.fullmatch(r"\.(TH|SH|SS|TP|PP)\b.*", line)
