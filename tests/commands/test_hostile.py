"""No control byte of a log reaches a terminal, and no lack of a resource ends in a traceback."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from support.event_points import event, file_of, text
from support.programs import write_rows
from support.written_media import histogram

from tuimon.commands import commands, main
from tuimon.draw.table import TextColumn, TextTable
from tuimon.exports.table import table_text
from tuimon.tui.copying import write_new

HOSTILE = "x\u009b31m\x1b]0;owned\x07\u202e\u2066y\x7f\u200b\r\n=1+1"
COMMANDS = (
    """
summary | summary --json | summary --strict | summary --ranks | summary --step 1 | summary --step 1 --json | --once
compare | compare --json | check | check --json | line | doctor | samples | samples --json | note --tag x
export --format jsonl -o - | export --format openmetrics -o -
""".replace("\n", " | ")
    .strip(" |")
    .split(" | ")
)
PAGES = ("report -o", "compare -o")
TESTED_ELSEWHERE = {
    "watch": "test_hostile_terminal.py",
    "serve": "tests/web",
    "mcp": "tests/agent",
    **dict.fromkeys(("completion", "demo", "skill"), "reads no log of others"),
}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs whose names, metrics, settings, sources and last words have control characters."""
    root = tmp_path_factory.mktemp("hostile")
    for number in range(2):
        run = root / f"run{number}\u009b1m\u202e\x1b[2J"
        rows = [{"step": step, "loss": 1 / step, HOSTILE: float(step), "reward": step} for step in range(1, 9)]
        write_rows(run, rows, {"name": HOSTILE, HOSTILE: HOSTILE, "seed": number})
        (run / "train.log").write_text(f"step=1 loss=1.0\nstep=2 loss=0.5\nValueError: {HOSTILE[:30]}\n")
        (run / "rollouts").mkdir()
        sample = {"step": 1, "input": HOSTILE, "output": HOSTILE, "score": 0.5}
        (run / "rollouts" / "1.jsonl").write_text(json.dumps(sample) + "\n")
        messages = [event(step, histogram(HOSTILE, [step, 1, 2]), text(HOSTILE[:9], HOSTILE)) for step in range(3)]
        (run / "events.out.tfevents.1.host.1.0").write_bytes(file_of(*messages))
        (run / "table.csv").write_text(f'step,"{HOSTILE[:20]}"\n1,2\n2,3\n')
    return root


@pytest.mark.parametrize("command", [*COMMANDS, *PAGES])
def test_no_control_character_is_printed_and_nothing_changed(
    command: str, hostile: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def state() -> dict[str, tuple[int, int, int]]:
        return {str(p): (p.stat().st_mtime_ns, p.stat().st_ino, p.stat().st_size) for p in hostile.rglob("*")}

    before, runs, page = state(), sorted(hostile.iterdir()), tmp_path / "page.html"
    monkeypatch.chdir(runs[0])
    output = [str(page)] if command in PAGES else []
    main([*command.split(), *output, *map(str, runs if "compare" in command else runs[:1])])
    assert state() == before
    out, err = capfd.readouterr()
    assert out or command == "check" or page.exists()
    printed = (out + err).replace("\n", "")
    assert not {character for character in printed if unicodedata.category(character) in ("Cc", "Cf", "Cs")}
    if "json" in command and "jsonl" not in command:
        assert json.loads(out)
    if page.exists():
        written = page.read_text("utf-8")
        assert not {c for c in written if unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t"}
        assert not set(written) & set("\u202e\u2066\u200b")


def test_every_command_is_tested_with_hostile_logs() -> None:
    tested = {line.split()[0] for line in (*COMMANDS, *PAGES)}
    assert tested - {"--once"} | TESTED_ELSEWHERE.keys() == commands().keys()


# ---------------------------------------------------------------------- resources that are missing


CLOSED = "tuimon: cannot write to standard output: it is closed\n"
GONE = "tuimon: the current directory has been deleted"


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ('{tuimon} summary "{logs}" | true; exit ${{PIPESTATUS[0]}}', 0, ""),
        ('{tuimon} report "{logs}" | true; exit ${{PIPESTATUS[0]}}', 0, ""),
        ('{tuimon} summary "{logs}" >&-', 1, CLOSED),
        ('{tuimon} summary "{logs}" <&- >&-', 1, CLOSED),
        ('{tuimon} summary "{logs}" <&- 2>&- | grep -q loss', 0, ""),
        ("rmdir {here} && {tuimon} summary", 1, GONE),
        ("rmdir {here} && {tuimon} doctor", 1, GONE),
    ],
)
def test_a_closed_stream_or_a_deleted_directory_is_no_traceback(
    line: str, code: int, said: str, hostile: Path, tmp_path: Path
) -> None:
    command = line.format(tuimon=f'"{sys.executable}" -m tuimon', logs=hostile, here=tmp_path)
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(said) if said else done.stderr == ""
    assert done.stderr.count("\n") <= 1


def test_too_little_memory_is_no_traceback(hostile: Path, tmp_path: Path) -> None:
    # Without cached bytecode every module is also parsed and compiled within the limit.
    uncached = {"PYTHONPYCACHEPREFIX": str(tmp_path / "none"), "PYTHONDONTWRITEBYTECODE": "1"}
    for limit, environment, codes in ((90, uncached, {1}), (110, uncached, {0, 1}), (200, {}, {0})):
        done = subprocess.run(
            [sys.executable, "-m", "tuimon", "summary", str(hostile)],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | environment,
            preexec_fn=lambda limit=limit: resource.setrlimit(resource.RLIMIT_AS, (limit << 20, limit << 20)),
        )
        assert "tuimon/" not in done.stderr, done.stderr
        # A failed allocation can crash the interpreter or a C library before anything is printed: once in 400 runs.
        if done.returncode not in (-signal.SIGSEGV, -signal.SIGABRT):
            assert done.returncode in codes, limit
            assert done.returncode == 0 or "memory" in done.stderr.lower(), done.stderr


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


def test_a_table_of_many_rows_costs_linear_time() -> None:
    names = [f"metric{i}" for i in range(8000)]
    assert len(list(table_text(TextTable("t", names, [TextColumn(str(i), names) for i in range(8)]), 120))) == 8001


@pytest.mark.parametrize("command", ["check", "report"])
def test_values_that_overflow_cause_no_warning(tmp_path: Path, command: str) -> None:
    log = tmp_path / "metrics.jsonl"
    big = 1.7e308
    rows = ({"step": n, "loss": -big if n % 2 else big, "reward": n * 1e306, "kl": -n * 1e300} for n in range(60))
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = [sys.executable, "-W", "error", "-m", "tuimon", command, str(log)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


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
