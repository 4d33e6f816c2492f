"""Every command that the README names does what it says there, as it is written there."""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from conftest import DATA

from tuimon.commands import commands, main

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
_DESCRIPTION_AT = 35
LINES = [line[4:_DESCRIPTION_AT].strip() for line in re.findall(r"^    tuimon .*", README, re.MULTILINE)]
IN_TEXT = [
    words
    for words in re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", README, flags=re.DOTALL))
    if re.match(r"tuimon |train\.py |python .* --help|[a-z]+ --", words)
]
"""Commands in the sentences, as they would be typed; some without the name of the program."""
SECOND = str(DATA / "exports" / "qwen3vl_dpo")


def words_of(line: str, tmp_path: Path) -> list[str]:
    """The line with what its capitals stand for. Without a terminal the dashboard is the summary."""
    line = re.sub(r"\[(.*?)\]", r"\1", line).replace("…", "").removeprefix("tuimon")
    if line.split()[:1] == ["demo"]:
        line += " --once --steps 8"
    stands_for = {
        "WHERE": str(tmp_path / "out/"),
        "FILE": str(tmp_path / "file"),
        "N": "20",
        "SHELL": "bash",
        "DIR": str(tmp_path),
    }
    paths = iter([str(DATA / "exports" / "qwen3vl_grpo"), SECOND])
    return [next(paths) if word == "PATH" else stands_for.get(word, word) for word in shlex.split(line)]


@pytest.mark.parametrize("line", LINES)
def test_a_command_of_the_readme_runs(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = words_of(line, tmp_path)
    code = main(words)
    printed = capsys.readouterr()
    assert code == 0 or (code == 4 and words[0] == "check"), printed.err
    assert printed.out or list(tmp_path.iterdir())


@pytest.mark.parametrize("words", IN_TEXT)
def test_a_command_in_a_sentence_runs_in_a_shell(words: str, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    log = tmp_path / "logs" / "grpo-1.5b"
    shutil.copytree(DATA / "console" / "grpo_nan", log)
    for name, does in (
        ("tuimon", f'exec {sys.executable} -m tuimon "$@"'),
        ("python", f'exec {sys.executable} "$@"'),
        ("train.py", f"cat {log}/console.log"),
    ):
        (programs / name).write_text(f"#!/bin/sh\n{does}\n")
        (programs / name).chmod(0o755)
    command = words if words.split()[0] in ("tuimon", "python", "train.py") else f"tuimon {words} {log}"
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": ":".join(paths)}
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.returncode == (4 if "check" in words else 0), done.stderr
    assert done.stdout


def test_every_command_is_among_them() -> None:
    assert {line.split()[1] for line in LINES} >= commands().keys() - {"watch", "man", "line", "check"}


@pytest.mark.parametrize("name", sorted(set(re.findall(r"python -m tests\.bench (\w+)", README))))
def test_a_benchmark_that_it_names_is_there(name: str) -> None:
    """It is not run: it measures for minutes."""
    assert (ROOT / "tests" / "bench" / f"{name}.py").is_file()


@pytest.fixture(scope="module")
def helps() -> str:
    """Of all commands."""
    printed = io.StringIO()
    for name in commands():
        with redirect_stdout(printed), pytest.raises(SystemExit):
            main([name, "-h"])
    return printed.getvalue()


@pytest.mark.parametrize("flag", sorted(set(re.findall(r"`?(--[a-z][a-z-]+)", README))))
def test_every_option_it_names_exists(flag: str, helps: str) -> None:
    assert flag in helps or flag in ("--group", "--help")
