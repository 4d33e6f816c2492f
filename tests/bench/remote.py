"""Runs on another machine over a link of 80 ms and 50 Mbit/s, beside `ssh -t host tuimon` over the same link.

The host is an sshd on this machine; the link is a proxy with a delay, a rate and a byte counter. Bytes are those of the
TCP connection, without those of `ssh host true`.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil
from support.grid import Grid
from support.slow_link import SlowLink
from support.sshd import Sshd, children, descendants, kill
from support.terminal import TUIMON, Terminal

DELAY = 0.04
RATE = 50e6 / 8
ROUNDS = 30
SIZE = (120, 40)
_IDLE = 15.0
_METRICS = ("loss", "kl", "entropy", "grad_norm", "learning_rate", "response_length", "throughput", "clip_fraction")


def reward(number: int) -> int:
    """A number of which every digit differs from the previous one: only changed cells are sent to the terminal."""
    return 1111 * (number % 9 + 1)


def row(number: int) -> str:
    """A line of a log, of about 250 bytes."""
    values = {name: round(1.0 + number % 97 / 1000 + index, 6) for index, name in enumerate(_METRICS)}
    return json.dumps({"step": number, "timestamp": time.time(), "reward": reward(number), **values}) + "\n"


class Bench:
    """The host, the link to it, and a directory of mirrors."""

    def __init__(self, directory: Path, server: Sshd, link: SlowLink) -> None:
        self.directory, self.server, self.link = directory, server, link
        self.environment = {
            **os.environ,
            **server.environment,
            "TUIMON_MIRROR": str(directory / "mirror"),
            "XDG_STATE_HOME": str(directory / "state"),
        }

    def run(self, name: str, runs: int, rows: int) -> Path:
        """Write logs below a new directory, and return it."""
        path = self.directory / "logs" / name
        for number in range(runs):
            log = path / f"run{number:03}" / "metrics.jsonl"
            log.parent.mkdir(parents=True)
            log.write_text("".join(map(row, range(rows))))
        return path

    def forget(self) -> None:
        """Delete the mirrors."""
        shutil.rmtree(self.directory / "mirror", ignore_errors=True)

    def here(self, path: Path) -> Terminal:
        """Start `tuimon gpu01:PATH`."""
        return Terminal([*TUIMON, f"gpu01:{path}"], SIZE, self.environment)

    def there(self, path: Path) -> Terminal:
        """Start `ssh -t gpu01 tuimon PATH`."""
        variables = [
            f"PYTHONPATH={os.pathsep.join(filter(None, sys.path))}",
            "TERM=xterm-256color",
            "COLORTERM=truecolor",
        ]
        words = ["ssh", "-F", str(self.server.config), "-tt", "gpu01", "env", *variables, *TUIMON, str(path)]
        return Terminal(words, SIZE, self.environment)

    @property
    def bytes(self) -> int:
        return self.link.sent + self.link.received

    def login(self) -> tuple[float, int]:
        """Return (seconds, bytes) of `ssh gpu01 true`."""
        before, start = self.bytes, time.perf_counter()
        subprocess.run(["ssh", "-F", str(self.server.config), "gpu01", "true"], check=True)
        return time.perf_counter() - start, self.bytes - before


@contextmanager
def bench() -> Iterator[Bench]:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory)
        with Sshd(path / "ssh") as server, SlowLink(server.port, DELAY, RATE) as link:
            server.write_config(link.port)
            yield Bench(path, server, link)


def until_screen(terminal: Terminal, text: str) -> float:
    """Return the seconds from now until the screen has a text of which some cells may not have changed."""
    began = time.perf_counter()
    grid, fed = Grid(*SIZE), 0
    while text not in str(grid):
        grid.feed(bytes(terminal.output[fed:]))
        fed = len(terminal.output)
        terminal.read(0.02)
        assert time.perf_counter() - began < 120, str(grid)
    return time.perf_counter() - began


def until_shown(terminal: Terminal, text: str, start: int = 0) -> float:
    """Return the seconds from now until a text is on the terminal."""
    began = time.perf_counter()
    while text.encode() not in terminal.output[start:]:
        terminal.read(0.002)
        assert time.perf_counter() - began < 120, bytes(terminal.output[-2000:])
    return time.perf_counter() - began


def appended(terminal: Terminal, log: Path, begin: int) -> list[float]:
    """Return the seconds from each appended row to its value on the terminal."""
    times = []
    terminal.read(1.0)
    for number in range(begin, begin + ROUNDS):
        size = len(terminal.output)
        with log.open("a") as file:
            file.write(row(number))
        times.append(until_shown(terminal, str(reward(number)), size))
        terminal.read(0.3 + 0.37 * (number % 3) / 3)
    return times


def print_start(name: str, bench: Bench, terminal: Terminal, last: str, login: tuple[float, int]) -> None:
    """Print when the first curve and the last value are on the terminal, and what it cost; quit."""
    before = bench.bytes
    with terminal:
        first = until_shown(terminal, "reward")
        whole = first + until_shown(terminal, last)
        terminal.read(2.0)
        cost = bench.bytes - before - login[1]
        terminal.type("q")
        terminal.wait()
    print(f"  {name:<46} curve {first:5.2f} s   last value {whole:5.2f} s   {cost / 1000:8.1f} kB", flush=True)


def print_times(name: str, seconds: Sequence[float]) -> None:
    ordered = sorted(seconds)
    last = ordered[int(len(ordered) * 0.95)]
    print(f"  {name:<46} p50 {statistics.median(ordered):5.3f} s   p95 {last:5.3f} s", flush=True)


def print_faults(bench: Bench, path: Path, begin: int) -> None:
    """Print how long a loss of the link takes to be shown, and to be caught up."""
    log = next(path.rglob("metrics.jsonl"))
    with bench.here(path) as terminal:
        until_screen(terminal, "gpu01 live")
        terminal.read(2.0)
        (client,) = (pid for pid in descendants(terminal.process.pid) if "-oEscapeChar=none" in _words(pid))
        size = len(terminal.output)
        kill(client)
        with log.open("a") as file:
            file.write(row(begin))
        print(
            f"  {'caught up after kill -9 of ssh':<46} {until_shown(terminal, str(reward(begin)), size):5.2f} s",
            flush=True,
        )
        until_screen(terminal, "gpu01 live")
        bench.link.stall()
        print(
            f"  {'loss shown after the network has gone':<46} {until_screen(terminal, 'gpu01 lost'):5.2f} s", flush=True
        )
        with log.open("a") as file:
            file.write(row(begin + 1))
        terminal.read(3.0)
        size = len(terminal.output)
        bench.link.resume()
        seconds = until_shown(terminal, str(reward(begin + 1)), size)
        print(f"  {'caught up after the network is back':<46} {seconds:5.2f} s", flush=True)
        terminal.type("q")
        terminal.wait()


def print_agent(bench: Bench, path: Path) -> None:
    """Print what the agent takes on the host while nothing happens."""
    with bench.here(path) as terminal:
        until_screen(terminal, "gpu01 live")
        terminal.read(5.0)
        (agent,) = (
            pid for pid in descendants(bench.server.server) if "zlib.decompress" in _words(pid) and not children(pid)
        )
        process = psutil.Process(agent)
        used, before = sum(process.cpu_times()[:2]), bench.bytes
        terminal.read(_IDLE)
        share = (sum(process.cpu_times()[:2]) - used) / _IDLE
        print(
            f"  {'agent, 200 idle runs':<46} {100 * share:.1f} % of a core   "
            f"{process.memory_info().rss / 1e6:.0f} MB   {(bench.bytes - before) / _IDLE:.0f} bytes/s"
        )
        terminal.type("q")
        terminal.wait()


def _words(pid: int) -> str:
    try:
        return " ".join(psutil.Process(pid).cmdline())
    except psutil.Error:
        return ""


def main() -> None:
    with bench() as host:
        login = min(host.login() for _ in range(3))
        print(f"ssh gpu01 true: {login[0]:.2f} s, {login[1] / 1000:.1f} kB")
        for name, runs, rows in (
            ("one run of 0.5 MB", 1, 2000),
            ("one run of 25 MB", 1, 100_000),
            ("200 runs of 25 kB", 200, 100),
        ):
            path = host.run(name.replace(" ", "_"), runs, rows)
            last = str(reward(rows - 1))
            host.forget()
            print_start(f"{name}, cold", host, host.here(path), last, login)
            print_start(f"{name}, warm", host, host.here(path), last, login)
            print_start(f"{name}, ssh -t", host, host.there(path), last, login)
        path = host.directory / "logs" / "one_run_of_0.5_MB"
        log = next(path.rglob("metrics.jsonl"))
        count = 2000
        for name, start in (("row to screen", host.here), ("row to screen, ssh -t", host.there)):
            with start(path) as terminal:
                until_shown(terminal, "reward")
                terminal.read(3.0)
                print_times(name, appended(terminal, log, count))
                count += ROUNDS
                terminal.type("q")
                terminal.wait()
        print_faults(host, path, count)
        print_agent(host, host.directory / "logs" / "200_runs_of_25_kB")


if __name__ == "__main__":
    main()
