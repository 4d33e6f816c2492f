"""A random tour of the dashboard: keys, resizes, signals, faults of files, lost terminals.

    python -m tests.soak [--seed 0] [--seconds 120]

Checked all the time: the program runs and prints no traceback. After each session: it has ended as it was asked to, its
terminal is as before, and no process of it is left. At the end: the points of the log that was only appended to are
those that were written. The same seed gives the same actions; what they meet depends on the load.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import psutil
from support.terminal import TUIMON, Terminal

from tuimon.monitor.local import open_run
from tuimon.tui.actions import all_actions

ENDING = {"q", "ctrl+c", "ctrl+q", "ctrl+z"}
KEYS = sorted({key for action in all_actions() for key in action.keys.split(",") if len(key) == 1} - ENDING)
KEYS += ["\r", "\t", " ", "\x1b", "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D", "\x1b[5~", "\x1b[6~", "loss", "\x7f"]
_CONTROLS = re.compile(r"\x1b(?:\[[0-9;?<>]*[A-Za-z]|[()][A-Z0-9]|[=>])")
GROWTH = 200 << 20
"""Bytes of resident memory by which both processes may grow in a session."""
DESCRIPTORS = 40
"""Descriptors that may be opened in a session, as runs appear."""


class Logs:
    """The files of some runs, and what is done to them."""

    def __init__(self, root: Path, draw: random.Random) -> None:
        self._root, self._draw = root, draw
        self.good = root / "good" / "metrics.jsonl"
        self._bad = [
            root / "bad" / name for name in ("metrics.jsonl", "train.log", "metrics.csv", "trainer_state.json")
        ]
        for folder in ("good", "bad"):
            (root / folder).mkdir()
        self.good.touch()
        self.step = 0

    def append(self) -> None:
        """Add rows to the log that is never damaged, and to the others."""
        for _ in range(self._draw.randrange(1, 50)):
            self.step += 1
            row = json.dumps({"step": self.step, "loss": 1 / self.step, "reward": self.step % 7})
            with self.good.open("a") as file:
                file.write(row + "\n")
        with self._bad[0].open("a") as file:
            file.write(row + "\n")
        with self._bad[1].open("a") as file:
            file.write(f"step {self.step} loss {1 / self.step} lr 0.1\n")
        with self._bad[2].open("a") as file:
            file.write(f"{self.step},{1 / self.step}\n" if file.tell() else "step,loss\n")
        self._bad[3].write_text(json.dumps({"log_history": [{"step": s, "loss": 0.5} for s in range(self.step % 99)]}))

    def fault(self) -> None:
        """Damage, cut, replace or delete one of the others."""
        path = self._draw.choice(self._bad)
        with suppress(OSError):
            data = path.read_bytes()
            place = self._draw.randrange(len(data) + 1)
            match self._draw.randrange(6):
                case 0:
                    path.write_bytes(data[:place] + bytes(100) + data[place + 100 :])
                case 1:
                    path.write_bytes(data[:place])
                case 2:
                    path.unlink()
                case 3:
                    path.rename(path.with_name(path.name + ".1"))
                case 4:
                    path.write_bytes(data[:place] + self._draw.randbytes(50) + data[place:])
                case 5:
                    path.chmod(self._draw.choice((0o000, 0o644)))


def session(root: Path, logs: Logs, draw: random.Random, seconds: float) -> list[str]:
    """Run the dashboard for some seconds, and return what is wrong."""
    problems: list[str] = []
    with Terminal([*TUIMON, str(root)]) as terminal:
        terminal.until(lambda output: b"\x1b[?1049h" in output, 60)
        program = psutil.Process(terminal.process.pid)
        terminal.read(2)
        memory, descriptors = usage(program)
        end = time.monotonic() + seconds
        while time.monotonic() < end and terminal.process.poll() is None:
            act(terminal, program, logs, draw)
            terminal.read(draw.choice((0.0, 0.02, 0.1, 0.3)))
        if terminal.process.poll() is not None:
            return [f"ended by itself with {terminal.process.returncode}:\n{last_words(bytes(terminal.output))}"]
        terminal.resize(100, 30)
        more_memory, more_descriptors = usage(program)
        if more_memory > memory + GROWTH or more_descriptors > descriptors + DESCRIPTORS:
            problems.append(f"grew from {memory >> 20} to {more_memory >> 20} MiB, {descriptors} to {more_descriptors}")
        family = [program, *program.children(recursive=True)]
        problems += ended(terminal, draw.choice(("quit", "SIGTERM", "hang up")))
        _, alive = psutil.wait_procs(family, timeout=60)
        problems += [f"left running: {process}" for process in alive if process.status() != psutil.STATUS_ZOMBIE]
    if b"Traceback" in terminal.output:
        place = terminal.output.find(b"Traceback")
        problems.append(f"traceback: {bytes(terminal.output[place : place + 3000]).decode('utf-8', 'replace')}")
    return problems


def last_words(output: bytes) -> str:
    """Return the end of the output without control sequences, in which a traceback can be read."""
    text = _CONTROLS.sub("", output[-40_000:].decode("utf-8", "replace"))
    return "\n".join(line.strip(" │╭╮╰╯─\r") for line in text.splitlines()[-150:] if line.strip(" │╭╮╰╯─\r"))


def act(terminal: Terminal, program: psutil.Process, logs: Logs, draw: random.Random) -> None:
    """Do one thing."""
    match draw.choices(("key", "append", "fault", "resize", "kill", "stop", "signal"), (60, 15, 8, 8, 1, 1, 2))[0]:
        case "key":
            terminal.type(draw.choice(KEYS))
        case "append":
            logs.append()
        case "fault":
            logs.fault()
        case "resize":
            terminal.resize(draw.randrange(1, 200), draw.randrange(1, 60))
        case "signal":
            program.send_signal(signal.SIGWINCH)
        case what:
            with suppress(psutil.Error):
                for reader in program.children():
                    reader.send_signal(signal.SIGKILL if what == "kill" else signal.SIGSTOP)


def usage(program: psutil.Process) -> tuple[int, int]:
    """Return (resident bytes, descriptors) of the program and its reader."""
    memory = descriptors = 0
    for process in (program, *program.children()):
        with suppress(psutil.Error):
            memory += process.memory_info().rss
            descriptors += process.num_fds()
    return memory, descriptors


def ended(terminal: Terminal, way: str) -> list[str]:
    """End the program and return what is wrong with its end."""
    if way == "hang up":
        terminal.hang_up()
        with suppress(Exception):
            terminal.process.wait(60)
        return [] if terminal.process.poll() is not None else ["runs on after its terminal was closed"]
    if way == "SIGTERM":
        terminal.process.send_signal(signal.SIGTERM)
    limit = time.monotonic() + 40
    while terminal.process.poll() is None and time.monotonic() < limit:
        if way == "quit":
            terminal.type("\x1b")
            terminal.read(0.3)
            if terminal.process.poll() is None:
                terminal.type("q")
        terminal.read(0.3)
    if terminal.process.poll() is None:
        return [f"does not end by {way}"]
    terminal.read(0.1)
    problems = [] if terminal.settings() == terminal.before else [f"terminal changed after {way}"]
    if terminal.process.returncode not in (0, 143, -signal.SIGTERM):
        problems.append(f"ended with {terminal.process.returncode} after {way}: {bytes(terminal.output[-2000:])!r}")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=120.0)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    found = 0
    end = time.monotonic() + options.seconds
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "runs"
        root.mkdir()
        for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
            os.environ[name] = str(Path(folder) / name)
        os.chdir(folder)  # a key saves a picture
        logs = Logs(root, draw)
        logs.append()
        while (left := end - time.monotonic()) > 0:
            problems = session(root, logs, draw, min(left, draw.uniform(5, 40)))
            found += len(problems)
            print(f"{options.seconds - max(0.0, end - time.monotonic()):6.0f} s, {logs.step} rows:", flush=True)
            for problem in problems or ["good"]:
                print(f"         {problem}", flush=True)
        steps = open_run(logs.good).runs[0].curve("loss").steps.tolist()
        if steps != list(range(1, logs.step + 1)):
            found += 1
            print(f"{len(steps)} points were read and {logs.step} written")
    print(f"{found} problems with seed {options.seed}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
