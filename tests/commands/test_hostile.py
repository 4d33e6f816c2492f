"""No control byte of a log reaches a terminal, and no lack of a resource ends in a traceback."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
import unicodedata
from pathlib import Path

import pytest
from hypothesis import strategies as st
from support.event_points import event, file_of, text
from support.programs import write_rows
from support.written_media import histogram

from tuimon.commands import commands, main
from tuimon.draw.table import TextColumn, TextTable
from tuimon.draw.ticks import power_label
from tuimon.exports.table import table_text
from tuimon.tui.copying import write_new

HOSTILE = "x\u009b31m\x1b]0;owned\x07\u202e\u2066y\x7f\u200b\r\n=1+1"
CHARACTERS = st.sampled_from([chr(code) for code in (*range(1, 256), 0x202E, 0x2066, 0xDC80, 0xDCFF, 0x1F600)])
COMMANDS = (
    *(
        "summary",
        "summary --json",
        "compare",
        "compare --json",
        "check",
        "check --json",
        "summary --step 1",
        "line",
        "doctor",
    ),
    *("summary --step 1 --json", "--once", "export --format jsonl -o -"),
    *(
        "summary --strict",
        "summary --ranks",
        "samples",
        "samples --json",
        "export --format openmetrics -o -",
    ),
    "note --tag x",
)
PAGES = ("report -o", "export --format html -o", "compare -o")
TESTED_ELSEWHERE = {
    "watch": "test_hostile_terminal.py",
    "serve": "tests/web",
    "mcp": "tests/agent",
    **dict.fromkeys(("completion", "demo", "skill"), "reads no log of others"),
}


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """Two runs whose names, metrics, settings, sources and last words have control characters."""
    for number in range(2):
        run = tmp_path / f"run{number}\u009b1m\u202e\x1b[2J"
        rows = [{"step": step, "loss": 1 / step, HOSTILE: float(step), "reward": step} for step in range(1, 9)]
        write_rows(run, rows, {"name": HOSTILE, HOSTILE: HOSTILE, "seed": number})
        (run / "train.log").write_text(f"step=1 loss=1.0\nstep=2 loss=0.5\nValueError: {HOSTILE[:30]}\n")
        (run / "rollouts").mkdir()
        sample = {"step": 1, "input": HOSTILE, "output": HOSTILE, "score": 0.5}
        (run / "rollouts" / "1.jsonl").write_text(json.dumps(sample) + "\n")
        messages = [event(step, histogram(HOSTILE, [step, 1, 2]), text(HOSTILE[:9], HOSTILE)) for step in range(3)]
        (run / "events.out.tfevents.1.host.1.0").write_bytes(file_of(*messages))
        (run / "table.csv").write_text(f'step,"{HOSTILE[:20]}"\n1,2\n2,3\n')
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
def test_no_control_character_is_printed(command: str, hostile: Path, capfd: pytest.CaptureFixture[str]) -> None:
    runs = sorted(str(path) for path in hostile.iterdir())
    main([*command.split(), *(runs if "compare" in command else runs[:1])])
    out, err = capfd.readouterr()
    assert out or command == "check"
    printed = (out + err).replace("\n", "")
    assert not {character for character in printed if unicodedata.category(character) in ("Cc", "Cf", "Cs")}
    if "json" in command and "jsonl" not in command:
        assert json.loads(out)


def test_commands_leave_a_run_unchanged(hostile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def state() -> dict[str, tuple[int, int, int]]:
        return {str(p): (p.stat().st_mtime_ns, p.stat().st_ino, p.stat().st_size) for p in hostile.rglob("*")}

    before, runs = state(), sorted(hostile.iterdir())
    monkeypatch.chdir(runs[0])
    for command in COMMANDS:
        main([*command.split(), *map(str, runs if "compare" in command else runs[:1])])
        assert state() == before, command


@pytest.mark.parametrize("command", ["summary", "compare", "report", "export --format wide"])
def test_a_closed_pipe_is_not_an_error(command: str, hostile: Path) -> None:
    line = f'"{sys.executable}" -m tuimon {command} "{hostile}" | true; exit ${{PIPESTATUS[0]}}'
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_command_is_tested_with_hostile_logs() -> None:
    tested = {line.split()[0] for line in (*COMMANDS, *PAGES)}
    assert tested - {"--once"} | TESTED_ELSEWHERE.keys() == commands().keys()


@pytest.mark.parametrize("command", PAGES)
def test_no_control_character_is_in_a_page(command: str, hostile: Path, tmp_path: Path) -> None:
    runs = sorted(str(path) for path in hostile.iterdir())
    page = tmp_path / "page.html"
    main([*command.split(), str(page), *(runs if "compare" in command else runs[:1])])
    text = page.read_text("utf-8") if page.exists() else ""
    assert text or command.startswith("export")
    assert not {c for c in text if unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t"}
    assert not set(text) & set("\u202e\u2066\u200b")


def test_closed_standard_output_is_reported_in_one_sentence(hostile: Path) -> None:
    for redirection in (">&-", "<&- >&-"):
        command = f'"{sys.executable}" -m tuimon summary "{hostile}" {redirection}'
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert done.stderr == "tuimon: cannot write to standard output: it is closed\n"


def test_closed_standard_error_and_input_do_no_harm(hostile: Path) -> None:
    command = f'"{sys.executable}" -m tuimon summary "{hostile}" <&- 2>&-'
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "loss" in done.stdout


def test_too_little_memory_is_no_traceback(hostile: Path, tmp_path: Path) -> None:
    # Without cached bytecode every module is also parsed and compiled within the limit.
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path / "none"), "PYTHONDONTWRITEBYTECODE": "1"}
    codes = []
    for limit in (90, 107, 110, 113, 200):
        done = subprocess.run(
            [sys.executable, "-m", "tuimon", "summary", str(hostile)],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
            preexec_fn=lambda limit=limit: resource.setrlimit(resource.RLIMIT_AS, (limit << 20, limit << 20)),
        )
        codes.append(done.returncode)
        assert "tuimon/" not in done.stderr, done.stderr
        # A failed allocation can crash the interpreter or a C library before anything is printed: once in 400 runs.
        crashed = done.returncode in (-signal.SIGSEGV, -signal.SIGABRT)
        assert crashed or done.returncode == 0 or "memory" in done.stderr.lower(), done.stderr
    assert codes[-1] == 0
    assert 1 in codes


@pytest.mark.parametrize("error", [SyntaxError("expected ':'"), ImportError("failed to map segment"), MemoryError()])
def test_import_that_fails_within_a_memory_limit_is_reported_as_such(
    error: BaseException, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: object) -> int:
        raise error

    monkeypatch.setattr("tuimon.commands._run", fail)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (1 << 45, hard))
    try:
        assert main(["summary"]) == 1
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    assert capsys.readouterr().err.startswith("tuimon: not enough memory")


def test_a_full_disk_leaves_no_part_of_a_file(tmp_path: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    path = tmp_path / "screen.svg"
    code = f"""
from pathlib import Path
from tuimon.tui.copying import write_new
try: write_new(Path({str(path)!r}), "x" * 100000)
except OSError: print("failed")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, preexec_fn=limit, check=True)
    assert done.stdout == "failed\n"
    assert not path.exists()
    write_new(path, "whole")
    with pytest.raises(FileExistsError):
        write_new(path, "again")
    assert path.read_text() == "whole"


def test_the_largest_floats_have_labels() -> None:
    assert power_label(1.7976931348623157e308) == "1.79e308"
    assert power_label(-1.7976931348623157e308) == "-1.79e308"
    assert power_label(1e6) == "1e6"


def test_a_table_of_many_rows_costs_linear_time() -> None:
    names = [f"metric{i}" for i in range(8000)]
    start = time.process_time()
    assert len(list(table_text(TextTable("t", names, [TextColumn(str(i), names) for i in range(8)]), 120))) == 8001
    assert time.process_time() - start < 10  # quadratic: minutes


@pytest.mark.parametrize("command", ["summary", "check", "report"])
def test_values_that_overflow_cause_no_warning(tmp_path: Path, command: str) -> None:
    log = tmp_path / "metrics.jsonl"
    big = 1.7e308
    rows = ({"step": n, "loss": -big if n % 2 else big, "reward": n * 1e306, "kl": -n * 1e300} for n in range(60))
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = [sys.executable, "-W", "error", "-m", "tuimon", command, str(log)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode in (0, 4), done.stderr
    assert done.stderr == ""


@pytest.mark.parametrize("command", ["summary", "doctor", "line"])
def test_current_directory_that_is_gone_is_named(tmp_path: Path, command: str) -> None:
    here = tmp_path / "here"
    here.mkdir()
    script = f'cd "{here}" && rmdir "{here}" && "{sys.executable}" -m tuimon {command}'
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("tuimon: the current directory has been deleted")


def test_threads_that_still_work_do_not_outlive_the_program(tmp_path: Path) -> None:
    """A thread of an executor is waited for by asyncio and at the end of Python, unless the program leaves before."""
    code = (
        "import atexit, concurrent.futures, sys, time; import tuimon.commands as commands\n"
        "pool = concurrent.futures.ThreadPoolExecutor()\n"
        "atexit.register(print, 'bye')\n"
        "commands._run = lambda words: pool.submit(time.sleep, 600) and 5\n"
        "commands.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (5, "bye\n", "")
