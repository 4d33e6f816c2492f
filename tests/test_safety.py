"""What the README promises about safety, each promise held by a test (see also test_terminal, test_commands)."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tuimon
from tuimon import scratch

PACKAGE = Path(tuimon.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize(
    "word",
    [r"\bimport pickle", r"\beval\((?!\?)", r"(?<![.\w])exec\(", r"yaml\.load\(", r"shell=True", r"os\.system\("],
)
def test_nothing_that_is_read_is_executed(word: str) -> None:
    found = [str(path.relative_to(PACKAGE)) for path in SOURCES if re.search(word, path.read_text("utf-8"))]
    assert not found


def test_no_file_is_opened_for_writing_but_what_a_person_asked_for() -> None:
    """What -o and its like name, what comes through a pipe, the screenshot and copy keys, the null device in place of a
    closed pipe or a hung terminal, private copies of databases, and the views kept in the user's state directory."""
    writing = re.compile(
        r"O_RDWR|O_WRONLY|O_CREAT|write_text|write_bytes|open\([^)]*[\"'][wax]b?[\"']|NamedTemporaryFile"
    )
    found = {str(path.relative_to(PACKAGE)) for path in SOURCES if writing.search(path.read_text("utf-8"))}
    assert found <= {
        "commands/__init__.py",
        "commands/_output.py",
        "commands/_stdin.py",
        "sources/sqlite_copy.py",
        "tui/actions/copying.py",
        "tui/actions/general.py",
        "tui/ending.py",
        "tui/saved_view.py",
    }


def test_no_connection_is_opened(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text(json.dumps({"step": 1, "loss": 2.0}) + "\n")
    code = """
import socket, sys
def refuse(*arguments, **options): raise AssertionError("a socket was made")
socket.socket.connect = socket.socket.bind = socket.getaddrinfo = socket.create_connection = refuse
from tuimon.commands import main
for command in ("summary", "export", "doctor", "report", "at --step 1", "export --format text"):
    assert main([*command.split(), sys.argv[1]]) == 0
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "loss" in done.stdout


def test_the_libraries_that_write_logs_are_never_imported(tmp_path: Path) -> None:
    (tmp_path / "events.out.tfevents.1.host.1.0").write_bytes(b"")
    code = "import sys; from tuimon.commands import main; main(['summary', sys.argv[1]]); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "numpy" in loaded
    assert not loaded & {"tensorboard", "wandb", "swanlab", "pandas", "torch", "tbparse", "tensorflow", "mlflow"}


def test_code_beside_a_log_is_not_imported(tmp_path: Path) -> None:
    """A run's directory may hold a numpy.py: being started there must not run it."""
    for name in ("numpy", "orjson", "tuimon", "textual", "plotext"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('foreign code ran')")
    (tmp_path / "metrics.jsonl").write_text(json.dumps({"step": 1, "loss": 2.0}) + "\n")
    program = Path(sys.executable).with_name("tuimon")
    if not program.exists():
        pytest.skip("tuimon is not installed beside this interpreter")
    done = subprocess.run([program, "summary"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "loss" in done.stdout


def test_temporary_files_never_go_into_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which tempfile falls back to, and which may be a run's; every use of it names a directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "none"))
    for name in ("TEMP", "TMP"):
        monkeypatch.delenv(name, raising=False)
    assert scratch.scratch() == "/tmp"
    monkeypatch.setattr(scratch, "_USUAL", ())
    with pytest.raises(OSError, match="TMPDIR"):
        scratch.scratch()
    uses = re.compile(r"tempfile\.(?:mk\w+|\w*Temporary\w*)\([^#]*?\)(?=[\s:)])")
    found = [use for path in SOURCES for use in uses.findall(path.read_text("utf-8"))]
    assert len(found) >= 5
    assert all("dir=" in use for use in found)
