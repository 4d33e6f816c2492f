"""Every command in the README, in docs/commands.md and in the last section of docs/tour.md runs as it is written."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import DATA
from support.programs import run, run_process, write_two_runs

from tuimon.commands import commands, main, parser_of

ROOT = Path(__file__).parent.parent.parent
NAMES = ("commands", "screens", "settings", "alerts", "formats", "targets")
PAGES = ("README.md", *(f"docs/{name}.md" for name in NAMES))
TEXT = "\n".join((ROOT / page).read_text("utf-8") for page in PAGES)
COMMANDS = (ROOT / "docs" / "commands.md").read_text("utf-8")
LINES = re.findall(r"^    (tuimon .*?)(?:  .*)?$", COMMANDS, re.MULTILINE)
"""Commands, without the description after two blanks."""
IN_TEXT = [
    words
    for words in re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL))
    if re.match(r"tuimon |train\.py |python .* --help|[a-z]+ --", words) and not re.fullmatch(r"tuimon (\w+|-)", words)
]
"""Commands in sentences, as they would be typed; some are only options, without the name of the program."""
SECOND = str(DATA / "exports" / "qwen3vl_dpo")


def words_of(line: str, tmp_path: Path) -> list[str]:
    """Return the words of a command with real values for its placeholders (PATH, FILE, …)."""
    line = re.sub(r"\[(.*?)\]", r"\1", line).replace("…", "").removeprefix("tuimon")
    if line.split()[:1] == ["demo"]:
        line += " --once --steps 8"
    values = {"WHERE": str(tmp_path / "out/"), "FILE": str(tmp_path / "file"), "DIR": str(tmp_path)}
    values |= {"N": "20", "NAME": "summary", "SHELL": "bash"}
    paths = iter([str(DATA / "exports" / "qwen3vl_grpo"), SECOND])
    return [next(paths) if word == "PATH" else values.get(word, word) for word in shlex.split(line)]


@pytest.fixture
def two_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory `runs`, with the runs a and b, in the current directory."""
    write_two_runs(tmp_path / "runs")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "runs"


@pytest.mark.parametrize("line", LINES)
def test_command_of_the_pages_runs(
    line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], two_runs: Path
) -> None:
    words = words_of(line, tmp_path)
    if words[0] in ("serve", "watch", "mcp") or "--follow" in words:  # until a signal; others tests start them
        assert parser_of(commands()[words[0]]).parse_args(words[1:]).paths
        return
    code = main(words)
    printed = capsys.readouterr()
    assert code == 0 or (code, words[0]) in ((4, "check"), (3, "samples")), printed.err
    assert printed.out or code == 3 or list(tmp_path.iterdir())


@pytest.mark.parametrize("words", IN_TEXT)
def test_command_in_a_sentence_runs_in_a_shell(words: str, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    log = tmp_path / "logs" / "grpo-1.5b"
    shutil.copytree(DATA / "console" / "grpo_nan", log)
    for name, script in (
        ("tuimon", f'exec {sys.executable} -m tuimon "$@"'),
        ("python", f'exec {sys.executable} "$@"'),
        ("train.py", f"cat {log}/console.log"),
    ):
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    for placeholder, value in (("PATH|RUN", log), ("DIR", tmp_path / "out"), ("NAME", "loss")):
        words = re.sub(rf"\b(?:{placeholder})\b", str(value), words)
    expected = 4 if "check" in words and "--unit" not in words else 0
    command = words if words.split()[0] in ("tuimon", "python", "train.py") else f"tuimon {words} {log}"
    if re.fullmatch(r"tuimon (?!watch )[\w ./:=~,-]+", command):  # the shell would only split it into words
        done = run_process(*command.split()[1:], expect=expected, cwd=tmp_path)
        assert done.stdout or done.stderr
        return
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": ":".join(paths)}
    if "watch" in words.split():  # runs until a signal
        with subprocess.Popen(
            ["bash", "-c", f"exec {command}"], stdout=subprocess.PIPE, cwd=tmp_path, env=environment
        ) as it:
            assert it.stdout.readline().startswith(b"{")
            it.terminate()
        return
    in_shell = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert in_shell.returncode == expected, in_shell.stderr
    assert in_shell.stdout


def test_commands_for_a_figure_run_in_order(tmp_path: Path, two_runs: Path) -> None:
    section = (ROOT / "docs" / "tour.md").read_text("utf-8").partition("\n## ")[2]
    lines = re.findall(r"^    tuimon (.+?)(?:   .*)?$", section, re.MULTILINE)
    assert [main(shlex.split(line)) for line in lines] == [0] * 4
    assert {path.name for path in tmp_path.glob("*.*")} == {"fig.pdf", "smoothed.png", "table.csv"}
    columns = (tmp_path / "table.csv").read_text().partition("\n")[0].strip().split(",")
    assert all(f"`{column}`" in section for column in columns)


def test_every_command_is_tested() -> None:
    assert {line.split()[1] for line in LINES} >= commands().keys() - {"watch", "line", "check"}


def test_options_and_benchmarks_exist() -> None:
    """A benchmark is not run, because it takes minutes."""
    helps = "".join(run(name, "-h").stdout for name in commands())
    flags = set(re.findall(r"`?(--[a-z][a-z-]+)", TEXT)) - {"--group", "--help", "--query-gpu", "--format"}
    assert [flag for flag in flags if flag not in helps] == []
    benchmarks = re.findall(r"python -m tests\.bench (\w+)", TEXT)
    assert [name for name in benchmarks if not (ROOT / "tests" / "bench" / f"{name}.py").is_file()] == []
