"""A random tour of the dashboard: bursts of keys, resizes, signals, faults of files, slow and lost terminals.

    python -m tests.soak [--seed 0] [--seconds 120] [--bursts 0]

Three sources are watched: runs whose logs only grow, are resumed and are rotated, and runs that faults are done to.
Checked all the time: the program runs, prints no traceback, and answers a key within ANSWER of its UI thread's time.
After each session: its memory stays as it is once logs stop growing, it has ended as it was asked to, its terminal is
as before, and no process of it is left. At the end: every point that was written is shown or counted as superseded, and
`doctor` says nothing twice about a file. The same seed gives the same actions; what they meet depends on the load.

--bursts: send so many bursts of keys without a pause, and check only that the program goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import psutil
from support.terminal import TUIMON, Terminal

from tuimon.monitor.local import open_run
from tuimon.tui.action import key_names
from tuimon.tui.actions import all_actions

ENDING = {"q", "ctrl+c", "ctrl+q", "ctrl+z"}
NAMED = {key_names(key) for action in all_actions() for key in action.keys.split(",")}
KEYS = sorted({key for key in NAMED if len(key) == 1 and key.isascii()} - ENDING)
KEYS += [
    "\x10",
    "copy path",
    "\r",
    "\t",
    " ",
    "\x1b",
    "\x1b[A",
    "\x1b[B",
    "\x1b[C",
    "\x1b[D",
    "\x1b[5~",
    "\x1b[6~",
    "loss",
    "\x7f",
]
_CONTROLS = re.compile(r"\x1b(?:\[[0-9;?<>]*[A-Za-z]|[()][A-Z0-9]|[=>])")
GROWTH = 200 << 20
"""Bytes of resident memory by which both processes may grow in a session."""
DESCRIPTORS = 40
"""Descriptors that may be opened in a session, as runs appear."""
ANSWER = 0.5
"""Seconds of the UI thread that an answer to a key may take."""
CALM, FLAT = 4.0, 8 << 20
"""Seconds without growth of logs at the end of a session, and bytes that memory may grow by then."""
BURST = (3, 30)
"""Keys of a burst."""


class Logs:
    """The files of some runs, and what is done to them."""

    def __init__(self, root: Path, draw: random.Random, bursts: int) -> None:
        """bursts: of keys that are still to be sent."""
        self._draw, self.bursts = draw, bursts
        self.folders = [root / name for name in ("sound", "resumed", "bad")]
        """The sources: each is named on the command line."""
        names = ("metrics.jsonl", "train.log", "metrics.csv", "trainer_state.json")
        self._bad = [root / "bad" / "run" / name for name in names]
        self.good, self.rotated = root / "sound" / "good" / "metrics.jsonl", root / "sound" / "rotated" / "train.log"
        self.resumed = [root / "resumed" / f"{number}" / "metrics.jsonl" for number in range(3)]
        for path in (self.good, self.rotated, *self.resumed, self._bad[0]):
            path.parent.mkdir(parents=True)
            path.touch()
        self.step = self.rotations = 0
        self.rows = [0] * len(self.resumed)
        """Rows written to each of `resumed`, and the step that comes next there."""
        self._next = [0] * len(self.resumed)

    def append(self) -> None:
        """Add rows to the logs that are never damaged, and to the others; now and then resume or rotate one."""
        for _ in range(self._draw.randrange(1, 50)):
            self.step += 1
            row = json.dumps({"step": self.step, "loss": 1 / self.step, "reward": self.step % 7})
            with self.good.open("a") as file:
                file.write(row + "\n")
            with self.rotated.open("a") as file:
                file.write(f"step={self.step} loss={1 / self.step:.6f}\n")
        for number, path in enumerate(self.resumed):
            if self._draw.random() < 0.1:
                self._next[number] = max(0, self._next[number] - self._draw.randrange(200))
            with path.open("a") as file:
                for _ in range(self._draw.choice((1, 5, 50))):
                    file.write(json.dumps({"step": self._next[number], "loss": self._draw.random()}) + "\n")
                    self._next[number] += 1
                    self.rows[number] += 1
        if self._draw.random() < 0.03:
            self.rotations += 1
            for age in range(self.rotations, 0, -1):
                older = self.rotated.with_name(f"train.log.{age - 1}" if age > 1 else "train.log")
                older.rename(self.rotated.with_name(f"train.log.{age}"))
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

    def problems(self) -> list[str]:
        """Return which points of the sound logs are not shown, and what `doctor` says twice."""
        found: list[str] = []
        steps = list(range(1, self.step + 1))
        for path in (self.good, self.rotated):
            (run,) = open_run(path.parent).runs
            shown = run.curve("loss").steps.tolist()
            if shown != steps:
                found.append(f"{path.parent.name}: {len(shown)} points are shown and {self.step} written")
        for path, rows in zip(self.resumed, self.rows, strict=True):
            runs = open_run(path.parent).runs
            curve = runs[0].curve("loss")
            if len(runs) > 1 or len(curve) + curve.superseded != rows:
                found.append(f"{path.parent.name}: {len(curve)} + {curve.superseded} points of {rows}")
        words = [*TUIMON, "doctor", *map(str, self.folders)]
        said = subprocess.run(words, capture_output=True, text=True, check=False).stdout.split("\n  ")
        found += [f"said twice: {part}" for part in said if len(set(part.splitlines())) < len(part.splitlines())]
        return found


def session(logs: Logs, draw: random.Random, seconds: float) -> list[str]:
    """Run the dashboard for some seconds, or for some bursts of keys, and return what is wrong."""
    problems: list[str] = []
    with Terminal([*TUIMON, *map(str, logs.folders)]) as terminal:
        terminal.until(lambda output: b"\x1b[?1049h" in output, 60)
        program = psutil.Process(terminal.process.pid)
        terminal.read(2)
        memory, descriptors = usage(program)
        end = time.monotonic() + seconds
        while (logs.bursts or time.monotonic() < end) and terminal.process.poll() is None:
            if logs.bursts:
                logs.bursts, end = logs.bursts - 1, 0.0
                terminal.type("".join(draw.choices(KEYS, k=draw.randrange(*BURST))))
                terminal.read(0.02)
                continue
            act(terminal, program, logs, draw)
            terminal.read(draw.choice((0.0, 0.02, 0.1, 0.3)))
            if draw.random() < 0.05:
                problems += slow_answers(terminal, program)
        if terminal.process.poll() == 0:  # by the command in the palette
            return problems
        if terminal.process.poll() is not None:
            return [f"ended by itself with {terminal.process.returncode}:\n{last_words(bytes(terminal.output))}"]
        terminal.resize(100, 30)
        more_memory, more_descriptors = usage(program)
        if more_memory > memory + GROWTH or more_descriptors > descriptors + DESCRIPTORS:
            problems.append(f"grew from {memory >> 20} to {more_memory >> 20} MiB, {descriptors} to {more_descriptors}")
        terminal.read(CALM)
        before, _ = usage(program)
        terminal.read(CALM)
        after, _ = usage(program)
        if after > before + FLAT:
            problems.append(f"grew from {before >> 20} to {after >> 20} MiB while nothing was written")
        family = [program, *program.children(recursive=True)]
        problems += ended(terminal, draw.choice(("quit", "SIGTERM", "hang up")))
        _, alive = psutil.wait_procs(family, timeout=60)
        problems += [f"left running: {process}" for process in alive if process.status() != psutil.STATUS_ZOMBIE]
    if b"Traceback" in terminal.output:
        place = terminal.output.find(b"Traceback")
        problems.append(f"traceback: {bytes(terminal.output[place : place + 3000]).decode('utf-8', 'replace')}")
    return problems


def slow_answers(terminal: Terminal, program: psutil.Process) -> list[str]:
    """Ask for the help and return that it took too long, if it did."""
    terminal.resize(120, 40)
    terminal.type("\x1b")
    terminal.read(0.5)
    before = time_used(program)
    terminal.type("?")
    until = time.monotonic() + 20
    while not terminal.read(0.05) and time.monotonic() < until:
        pass
    used = time_used(program) - before
    return [f"an answer took {used:.2f} s of the UI thread"] if used > ANSWER else []


def time_used(program: psutil.Process) -> float:
    """Return the seconds of processor time of the main thread, which is the UI thread."""
    with suppress(OSError):
        return int(Path(f"/proc/{program.pid}/task/{program.pid}/schedstat").read_text().split()[0]) / 1e9
    return 0.0


def last_words(output: bytes) -> str:
    """Return the end of the output without control sequences, in which a traceback can be read."""
    text = _CONTROLS.sub("", output[-40_000:].decode("utf-8", "replace"))
    return "\n".join(line.strip(" │╭╮╰╯─\r") for line in text.splitlines()[-150:] if line.strip(" │╭╮╰╯─\r"))


def act(terminal: Terminal, program: psutil.Process, logs: Logs, draw: random.Random) -> None:
    """Do one thing."""
    names = ("key", "burst", "slow", "append", "fault", "resize", "kill", "stop", "signal")
    match draw.choices(names, (50, 10, 2, 15, 8, 8, 1, 1, 2))[0]:
        case "key":
            terminal.type(draw.choice(KEYS))
        case "burst":
            terminal.type("".join(draw.choices(KEYS, k=draw.randrange(*BURST))))
        case "slow":  # a link that takes nothing for a while
            for _ in range(10):
                terminal.type(draw.choice(KEYS))
                time.sleep(0.15)
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
    parser.add_argument("--bursts", type=int, default=0)
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
        logs = Logs(root, draw, options.bursts)
        logs.append()
        while (left := end - time.monotonic()) > 0 or logs.bursts:
            problems = session(logs, draw, min(left, draw.uniform(5, 40)))
            found += len(problems)
            passed = options.seconds - max(0.0, end - time.monotonic())
            print(f"{passed:6.0f} s, {logs.step} rows, {logs.bursts} bursts left:", flush=True)
            for problem in problems or ["good"]:
                print(f"         {problem}", flush=True)
            if options.bursts and not logs.bursts:
                break
        for problem in logs.problems():
            found += 1
            print(problem)
    print(f"{found} problems with seed {options.seed}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
