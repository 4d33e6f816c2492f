"""Tests of the safety promises of the README; see also tests/tui/test_terminal.py and tests/commands/."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tuimon
from tuimon.platform_support import temp_dir

PACKAGE = Path(tuimon.__file__).parent
SOURCES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent.name != "demo")
"""All modules but those of the demo, which is a training program of its own and writes logs."""


def test_no_module_executes_data() -> None:
    word = re.compile(r"\bimport pickle|\beval\((?!\?)|(?<![.\w])exec\(|yaml\.load\(|shell=True|os\.system\(")
    matches = {str(path.relative_to(PACKAGE)) for path in SOURCES if word.search(path.read_text("utf-8"))}
    assert not matches - {"remote/boot.py"}, "the host executes the source of the agent, which is ours"


def test_files_are_written_only_on_request() -> None:
    """The exceptions: outputs of -o and similar options, the spool of stdin, files that a key saves or copies, the null
    device in place of a closed pipe or terminal, private copies of databases, saved views, the user's dashboard (W),
    what a watch has told, mirrors of other machines, and compiled tables in tuimon's own folder.
    """
    writing = re.compile(
        r"O_RDWR|O_WRONLY|O_CREAT|write_text|write_bytes|open\([^)]*[\"'][wax]b?[\"']|NamedTemporaryFile"
    )
    sources = {path: path.read_text("utf-8").replace("open('metrics.json', 'w')", "") for path in SOURCES}  # in a hint
    writers = {str(path.relative_to(PACKAGE)) for path, source in sources.items() if writing.search(source)}
    assert writers <= {
        "commands/__init__.py",
        "commands/_output.py",
        "commands/_remote.py",
        "commands/_stdin.py",
        "media/saving.py",
        "notify/ledger.py",
        "remote/expiry.py",
        "remote/mirror.py",
        "remote/places.py",
        "sources/sqlite_copy.py",
        "tui/copying.py",
        "tui/actions/general.py",
        "tui/terminal/signals.py",
        "replacing.py",
    }


def test_commands_open_no_connection(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text(json.dumps({"step": 1, "loss": 2.0}) + "\n")
    code = """
import socket, sys
def refuse(*arguments, **options): raise AssertionError("a socket was made")
socket.socket.connect = socket.socket.bind = socket.getaddrinfo = socket.create_connection = refuse
from tuimon.commands import main
for command in ("summary", "export", "doctor", "report", "summary --step 1"):
    assert main([*command.split(), sys.argv[1]]) == 0
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "loss" in done.stdout


def test_modules_in_the_directory_of_a_run_are_not_imported(tmp_path: Path) -> None:
    """A run directory may contain a numpy.py, which must not be imported when tuimon is started there."""
    for name in ("numpy", "orjson", "tuimon", "textual", "plotext"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('foreign code ran')")
    (tmp_path / "metrics.jsonl").write_text(json.dumps({"step": 1, "loss": 2.0}) + "\n")
    program = Path(sys.executable).with_name("tuimon")
    if not program.exists():
        pytest.skip("tuimon is not installed beside this interpreter")
    done = subprocess.run([program, "summary"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "loss" in done.stdout


def test_temporary_files_never_go_to_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`tempfile` falls back to the current directory, which may be a run's; therefore every use names a directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "none"))
    for name in ("TEMP", "TMP"):
        monkeypatch.delenv(name, raising=False)
    assert temp_dir() == "/tmp"
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(OSError, match="TMPDIR"):
        temp_dir()
    uses = re.compile(r"tempfile\.(?:mk\w+|\w*Temporary\w*)\([^#]*?\)(?=[\s:)])")
    calls = [call for path in SOURCES for call in uses.findall(path.read_text("utf-8"))]
    assert len(calls) >= 4
    assert all("dir=" in call for call in calls)
