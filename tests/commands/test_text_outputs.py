"""Every command prints cleaned text on both streams, leaves the run unchanged, and survives a closed pipe."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tuimon.commands import main

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b-\u200f]")
HOSTILE = (
    "\x1b]0;title\x07",
    "\x1b]52;c;aGk=\x07",
    "\x9b2J\x9d0;x\x9c",
    "a\u202eb",
    "[link=file:///x]y[/link]",
    "\x1b[2Jx\r\x08",
    "\u2066z\u200b",
)
COMMANDS = (
    "summary PATH",
    "summary --full PATH",
    "compare PATH",
    "compare --all PATH",
    "summary PATH --step 3",
    "export PATH --format csv",
    "export PATH --by-source --format jsonl",
    "doctor PATH",
    "line PATH",
    "check PATH",
    "--once PATH",
)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("hostile")
    for number, name in enumerate(HOSTILE[:2]):
        run = root / f"{name.replace('/', '_')}{number}"
        run.mkdir()
        document = {
            "config": {text: text for text in HOSTILE} | {"n": number},
            "train_history": [{"step": s, "loss": float("nan"), **dict.fromkeys(HOSTILE, s / 2)} for s in range(9)],
            "val_history": [{"step": s, "val_loss": 1.0, **dict.fromkeys(HOSTILE, 1.0)} for s in range(9)],
            "best_checkpoint": {text: text for text in HOSTILE} | {"step": 2},
            "final_metrics": {text: text for text in HOSTILE},
        }
        (run / "training_log.json").write_text(json.dumps(document))
    return root


@pytest.mark.parametrize("line", COMMANDS)
def test_no_control_byte_of_a_log_is_printed(
    line: str, hostile: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "100")
    code = main([str(hostile) if word == "PATH" else word for word in shlex.split(line)])
    printed = capsys.readouterr()
    assert code in (0, 4)
    assert len(printed.out) > 20
    for stream in (printed.out.replace("\r\n", "\n"), printed.err):  # a row of CSV ends so (RFC 4180)
        match = CONTROL.search(stream)
        assert not match, f"{match and stream[max(0, match.start() - 40) : match.end() + 20]!r}"


@pytest.mark.parametrize("line", ["summary PATH", "compare PATH", "report PATH", "export PATH --format wide"])
def test_a_closed_pipe_is_not_an_error(line: str, hostile: Path) -> None:
    words = [str(hostile) if word == "PATH" else word for word in shlex.split(line)]
    command = " ".join(map(shlex.quote, [sys.executable, "-m", "tuimon", *words]))
    done = subprocess.run(["bash", "-c", f"{command} | true; exit ${{PIPESTATUS[0]}}"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("line", COMMANDS)
def test_the_run_is_unchanged(line: str, hostile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def state() -> dict[str, tuple[int, int, int]]:
        return {str(p): (p.stat().st_mtime_ns, p.stat().st_ino, p.stat().st_size) for p in hostile.rglob("*")}

    before = state()
    monkeypatch.chdir(next(path for path in hostile.iterdir() if path.is_dir()))
    main([str(hostile) if word == "PATH" else word for word in shlex.split(line)])
    assert state() == before
