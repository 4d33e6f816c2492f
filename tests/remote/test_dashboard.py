"""The dashboard of a run on another machine: live, while the link is lost, and when the user has to log in."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.grid import Grid
from support.sshd import Sshd
from support.terminal import TUIMON, Terminal

from tuimon.analysis.progress_inputs import progress_of
from tuimon.model.links import Link, RemotePath
from tuimon.monitor.local import LocalMonitor
from tuimon.panels import link_row

SIZE = (120, 30)
PATIENCE = 90.0


class Screen:
    """Context manager: `tuimon gpu01:logs` on a terminal."""

    def __init__(self, server: Sshd, where: Path, *words: str) -> None:
        environment = {**os.environ, **server.environment, "TUIMON_MIRROR": str(where / "mirror")}
        environment["XDG_STATE_HOME"] = str(where / "state")
        self.grid = Grid(*SIZE)
        self.fed = 0
        self.terminal = Terminal([*TUIMON, *words], SIZE, environment)

    def __enter__(self) -> Screen:
        self.terminal.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.terminal.__exit__(None, None, None)

    def until(self, *texts: str) -> str:
        """Wait until the screen has all the texts; return it."""
        deadline = time.monotonic() + PATIENCE
        while True:
            self.terminal.read(0.05)
            self.grid.feed(bytes(self.terminal.output[self.fed :]))
            self.fed = len(self.terminal.output)
            screen = str(self.grid)
            if all(text in screen for text in texts):
                return screen
            assert time.monotonic() < deadline, f"{texts}\n{screen}"

    def leave(self) -> None:
        self.terminal.type("q")
        assert self.terminal.wait() == 0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Sshd]:
    with Sshd(tmp_path / "ssh") as server:
        yield server


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "host" / "grpo" / "log.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(_rows(0, 100))
    return path


def _rows(start: int, end: int) -> str:
    return "".join(f'{{"step": {step}, "loss": {1 / (1 + step)}}}\n' for step in range(start, end))


def _append(log: Path, text: str) -> None:
    with log.open("a") as file:
        file.write(text)


def test_run_is_shown_live_and_through_a_lost_link(server: Sshd, log: Path, tmp_path: Path) -> None:
    target = f"gpu01:{log.parent.parent}"
    with Screen(server, tmp_path, target) as screen:
        screen.until("gpu01 live", "step 99", "loss")
        _append(log, _rows(100, 131))
        screen.until("step 130")
        server.stop()
        screen.until("gpu01 lost", "shown as of")
        screen.terminal.type("C")  # another screen says so, too
        assert screen.until("gpu01 lost", "back").lstrip().startswith("gpu01 lost")
        screen.terminal.type("C")
        screen.until("gpu01 lost", "zoom")
        _append(log, _rows(131, 171))
        server.start()
        screen.terminal.type("\x12")  # Ctrl+r
        screen.until("gpu01 live", "step 170")
        screen.terminal.type("a")  # notes: the run and its files
        notes = screen.until(f"gpu01:{log.parent.parent}")
        assert "mirror" not in notes
        screen.terminal.type("\x1b")
        screen.until("zoom", "step 170")  # the dashboard again: Escape and a letter in one read are Alt and the letter
        screen.leave()
    assert str(tmp_path / "mirror").encode() not in bytes(screen.terminal.output)


def test_run_list_names_the_state_of_the_link(server: Sshd, log: Path, tmp_path: Path) -> None:
    other = log.parent.parent / "sft" / "log.jsonl"
    other.parent.mkdir()
    other.write_text(_rows(0, 50))
    with Screen(server, tmp_path, f"gpu01:{log.parent.parent}") as screen:
        screen.until("2 runs", "gpu01 live")
        server.stop()
        assert screen.until("gpu01 lost").lstrip().startswith("gpu01 lost")
        server.start()
        screen.until("gpu01 live")
        screen.leave()


def test_the_key_logs_in_from_the_dashboard_and_the_log_screen(server: Sshd, log: Path, tmp_path: Path) -> None:
    log.with_name("train.log").write_text("the first line\n")
    keys = server.directory / "authorized_keys"
    known = keys.read_bytes()
    with Screen(server, tmp_path, f"gpu01:{log.parent.parent}") as screen:
        screen.until("gpu01 live", "step 99")
        screen.terminal.type("L")
        screen.until("the first line")
        keys.write_bytes(b"")
        server.stop()
        screen.until("gpu01 lost")
        server.start()
        screen.terminal.type("\x12")  # Ctrl+r
        screen.until("gpu01 login needed", "the first line")
        keys.write_bytes(known)
        screen.terminal.type("\x12")
        while "gpu01 " in screen.until("the first line"):  # heads name links that are down
            pass
        screen.terminal.type("L")
        screen.until("gpu01 live", "step 99")
        screen.leave()
    keys.write_bytes(b"")
    with Screen(server, tmp_path, f"gpu01:{log.parent.parent}") as screen:
        screen.until("gpu01 login needed: press Ctrl+r", "step 99")  # what is here is shown before the host answers
        keys.write_bytes(known)
        _append(log, _rows(100, 151))
        screen.terminal.type("\x12")
        screen.until("gpu01 live", "step 150")
        screen.leave()


# ---------------------------------------------------------------------- without a terminal


@pytest.mark.parametrize(
    ("link", "text"),
    [
        (Link("gpu01:a", "gpu01", "live", delay=0.0841), "gpu01 live 84 ms"),
        (Link("gpu01:a", "gpu01", "connecting"), "gpu01 connecting"),
        (Link("gpu01:a", "gpu01", "offline"), "gpu01 offline"),
        (Link("gpu01:a", "gpu01", "copying", here=34 << 20, total=94 << 20), "gpu01 copying 34.0 MiB of 94.0 MiB"),
        (Link("gpu01:a", "gpu01", "login"), "gpu01 login needed: press Ctrl+r"),
        (Link("gpu01:a", "gpu01", "missing"), "gpu01 no such path"),
        (Link("gpu01:a", "gpu01", "failed", "local disk full"), "gpu01 local disk full"),
        (Link("gpu01:a", "g\x1b[2J", "failed", "\x1b]0;x"), "g␛[2J ␛]0;x"),
    ],
)
def test_states_of_the_link(link: Link, text: str) -> None:
    assert "".join(part for part, _ in link_row(link, 0.0)) == text


def test_lost_link_says_since_when_and_until_when(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    link = Link("gpu01:a", "gpu01", "lost", heard=43_390.0, since=43_395.0, retry=43_442.0)
    text = "".join(part for part, _ in link_row(link, 43_437.0))
    assert text == "gpu01 lost 00:42, shown as of 12:03:10, retry in 5 s (Ctrl+r: now)"
    link.state, link.detail = "connecting", "Connection reset"
    text = "".join(part for part, _ in link_row(link, 43_438.0))
    assert text == "gpu01 lost 00:43, shown as of 12:03:10, connecting"
    monkeypatch.undo()
    time.tzset()


def test_lost_link_is_not_blamed_on_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that logged every 10 s until the link was lost half an hour ago is running, as far as is known."""
    monkeypatch.setenv("TUIMON_MIRROR", str(tmp_path))
    now = time.time()
    rows = "".join(f'{{"step": {step}, "loss": 1.0, "time": {now - 10 * (200 - step)}}}\n' for step in range(200))
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "log.jsonl").write_text(rows)
    link = Link("gpu01:run", "gpu01", "lost", heard=now)
    path = RemotePath(str(tmp_path / "run"), "gpu01:run", str(tmp_path), "gpu01:", link)
    monitor = LocalMonitor([path])
    monitor.read()
    (run,) = monitor.snapshot().runs
    assert (run.path, run.directory, run.link, run.machine) == ("gpu01:run", str(tmp_path / "run"), link, None)
    assert progress_of(run, now + 1800).state == "running"
    link.state = "copying"  # for the first time: what is here is a part of the history
    assert progress_of(run, now + 1800).state == "reading"
    link.state = "live"
    assert progress_of(run, now + 1800).state == "quiet"


def test_link_that_was_never_up_knows_nothing() -> None:
    assert Link("gpu01:a", heard=math.nan, state="lost").last_heard(5.0) == 5.0
    assert Link("gpu01:a", heard=3.0, state="lost").last_heard(5.0) == 3.0
    assert Link("gpu01:a", heard=9.0, state="lost").last_heard(5.0) == 5.0
    assert Link("gpu01:a", heard=3.0, state="live").last_heard(5.0) == 5.0
