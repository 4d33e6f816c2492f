"""Test the program on a real terminal: idle output, and that the terminal is restored."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import signal
import time
from pathlib import Path

import psutil
import pytest
from support.terminal import TUIMON, Terminal

from tuimon.tui.terminal.signals import SIGNALS, ExitSignals

LEAVE_ALTERNATE_SCREEN = b"\x1b[?1049l"
SHOW_CURSOR = b"\x1b[?25h"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "run_a" / "metrics.jsonl"
    path.parent.mkdir()
    began = time.time() - 1990 - 9.98 * 86400  # its age, 9 d 23 h, does not change for half an hour
    rows = ({"step": s, "timestamp": began + s * 10, "reward": 0.1 * s, "loss": 1 / (s + 1)} for s in range(200))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def shown(output: bytes) -> bool:
    """Return whether the page is there, and with its keys Textual."""
    return b"reward" in output and b"19.9" in output and b" quit" in output


def restored(terminal: Terminal) -> None:
    assert LEAVE_ALTERNATE_SCREEN in terminal.output
    assert SHOW_CURSOR in terminal.output.rpartition(LEAVE_ALTERNATE_SCREEN)[2] + terminal.output[-200:]
    for mode in (b"?1000l", b"?1003l", b"?1006l", b"?2004l"):
        assert b"\x1b[" + mode in terminal.output, f"{mode!r} is still on"
    assert terminal.settings() == terminal.before, "stty has changed"


def test_a_page_is_sent_once_an_idle_second_writes_nothing_and_a_new_point_little(log: Path) -> None:
    """A page sent four times takes seconds on a slow link. An exported COLUMNS and LINES is ignored."""
    exported = {"COLUMNS": "80", "LINES": "24", "COLD_START": "1"}  # both processes start as slowly
    with Terminal([*TUIMON, str(log.parent)], size=(160, 50), environment=exported) as terminal:
        terminal.until(shown)
        terminal.settle(2.0)
        whole = len(terminal.output)
        # 2 bytes a cell for the page, and 1.3 for a blank one before it if the log is read late; two pages are over 4
        assert whole < 160 * 50 * 4
        assert terminal.read(2.0) == b""
        with log.open("a") as file:
            file.write(json.dumps({"step": 200, "timestamp": time.time(), "reward": 20.0, "loss": 0.0}) + "\n")
        terminal.until(lambda output: b"200" in output[whole:])
        terminal.settle()
        assert len(terminal.output) - whole < whole / 4


@pytest.mark.parametrize("number", SIGNALS)
async def test_every_signal_that_ends_a_program_leaves_the_app(number: signal.Signals) -> None:
    left: asyncio.Queue[int] = asyncio.Queue()
    signals = ExitSignals(left.put_nowait)
    before = signal.getsignal(number)
    signals.install(asyncio.get_running_loop())
    try:
        os.kill(os.getpid(), number)
        assert await asyncio.wait_for(left.get(), 60) == 128 + number
    finally:
        signals.uninstall()
    assert signal.getsignal(number) == before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGABRT])
def test_signal_ends_the_program_and_restores_the_terminal(log: Path, number: signal.Signals) -> None:
    with Terminal([*TUIMON, str(log.parent)]) as terminal:
        terminal.until(shown)
        reader = psutil.Process(terminal.process.pid).children()
        assert reader
        terminal.process.send_signal(number)
        assert terminal.wait() == 128 + number
        restored(terminal)
        _, alive = psutil.wait_procs(reader, timeout=60)
        assert not alive, "the reader outlives the screen"


@pytest.mark.parametrize("keys", ["q", "\x03"])
def test_keys_that_quit_while_standard_error_is_a_file(log: Path, tmp_path: Path, keys: str) -> None:
    errors = tmp_path / "errors"
    command = f"exec {shlex.join([*TUIMON, str(log.parent)])} 2>{shlex.quote(str(errors))}"
    with Terminal(["sh", "-c", command]) as terminal:
        terminal.until(shown)
        terminal.type(keys)
        assert terminal.wait() == 0
        restored(terminal)
    assert errors.read_text() == ""


@pytest.mark.parametrize(
    ("redirection", "message"), [(">/dev/null", "stdout is not a terminal"), ("</dev/null", "stdin is not a terminal")]
)
def test_without_a_terminal_the_stream_is_named(log: Path, tmp_path: Path, redirection: str, message: str) -> None:
    errors = tmp_path / "errors"
    command = f"{shlex.join([*TUIMON, str(log.parent)])} {redirection} 2>{shlex.quote(str(errors))}"
    with Terminal(["sh", "-c", command]) as terminal:
        assert terminal.wait() == 0
    assert message in errors.read_text()


def test_view_that_cannot_be_saved_is_named_after_the_screen(log: Path) -> None:
    with Terminal([*TUIMON, str(log.parent)], environment={"XDG_STATE_HOME": "/proc/none"}) as terminal:
        terminal.until(shown)
        terminal.type("}")
        terminal.until(lambda output: b"smooth" in output)
        terminal.type("q")
        assert terminal.wait() == 0
        after = terminal.output.rpartition(LEAVE_ALTERNATE_SCREEN)[2].decode()
        assert "was not saved: No such file or directory" in after
        assert str(log.parent) in after.replace("\r\n", "")


def test_program_ends_when_the_terminal_goes_away_without_a_signal(log: Path) -> None:
    """SIGHUP may be inherited as ignored, or go to another session."""
    with Terminal([*TUIMON, str(log.parent)], controlling=False) as terminal:
        terminal.until(shown)
        reader = psutil.Process(terminal.process.pid).children()
        terminal.hang_up()
        assert terminal.process.wait(60) == 128 + signal.SIGHUP
        _, alive = psutil.wait_procs(reader, timeout=60)
        assert not alive, "the reader outlives the screen"


@pytest.mark.parametrize("seconds", [0.0, 0.1, 1.0])
def test_program_ends_when_the_terminal_goes_away(log: Path, seconds: float) -> None:
    """At first more output is waiting than the queue to the terminal holds."""
    with Terminal([*TUIMON, str(log.parent)]) as terminal:
        terminal.until(shown)
        terminal.read(seconds)
        children = psutil.Process(terminal.process.pid).children()
        terminal.hang_up()
        terminal.process.wait(timeout=60)
        _, alive = psutil.wait_procs(children, timeout=60)
        assert not alive


def test_blocked_terminal_does_not_prevent_the_end(log: Path) -> None:
    with Terminal([*TUIMON, str(log.parent)]) as terminal:
        terminal.until(shown)
        children = psutil.Process(terminal.process.pid).children()
        for _ in range(40):  # the whole screen in other colours, again and again, and it is not read
            terminal.type("t")
            time.sleep(0.05)
        terminal.process.send_signal(signal.SIGTERM)
        assert terminal.process.wait(timeout=60) == 128 + signal.SIGTERM
        _, alive = psutil.wait_procs(children, timeout=60)
        assert not alive


def test_reader_ends_when_the_screen_is_killed(log: Path) -> None:
    with Terminal([*TUIMON, str(log.parent)]) as terminal:
        terminal.until(shown)
        children = psutil.Process(terminal.process.pid).children()
        terminal.process.kill()
        _, alive = psutil.wait_procs(children, timeout=60)
        assert not alive


def test_suspend_gives_the_terminal_back_and_resume_paints_again(log: Path) -> None:
    with Terminal(["bash", "--norc", "--noprofile", "-i"], environment={"PS1": "shell> "}) as terminal:
        terminal.type(f"{shlex.join([*TUIMON, str(log.parent)])}\r")
        terminal.until(shown)
        terminal.type("\x1a")
        terminal.until(lambda output: LEAVE_ALTERNATE_SCREEN in output and b"Stopped" in output)
        size = len(terminal.output)
        terminal.type("fg\r")
        terminal.until(lambda output: b"reward" in output[size:])
        terminal.type("q")
        # What is typed before the shell has the terminal again is discarded with the terminal's late replies.
        terminal.until(lambda output: b"shell> " in output[size:].partition(LEAVE_ALTERNATE_SCREEN)[2])
        terminal.type("exit 7\r")
        assert terminal.wait() == 7


def test_no_color_and_sixteen_colours(log: Path) -> None:
    with Terminal([*TUIMON, str(log.parent)], environment={"NO_COLOR": "1"}) as terminal:
        output = terminal.until(shown)
        assert not re.search(rb"\x1b\[[0-9;]*[34]8;2;", output), "a colour, although NO_COLOR is set"
    with Terminal([*TUIMON, str(log.parent)], environment={"TERM": "xterm", "COLORTERM": ""}) as terminal:
        output = terminal.until(shown)
        assert not re.search(rb"\x1b\[[0-9;]*[34]8;[25];", output), "more than 16 colours on a 16-colour terminal"
