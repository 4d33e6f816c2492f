"""Install the wheel in a bare virtual environment and follow docs/tour.md literally, on a terminal.

    python -m tests.follow_tour [WHEEL]

Without WHEEL it is built from this checkout. The commands and keys of the page are typed as they are written there;
what is printed in bold must appear on the screen. Takes two minutes and a network; part of .ci/nightly.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from support.grid import Grid
from support.programs import write_two_runs
from support.terminal import Terminal

ROOT = Path(__file__).parent.parent
TOUR, _, MORE = (ROOT / "docs" / "tour.md").read_text("utf-8").partition("\n## ")
ROWS = re.findall(r"^\| ((?:`[^`]+` ?)*) ?\| (.*) \|$", TOUR, re.MULTILINE)
KEYS = {"Enter": "\r", "Esc": "\x1b"}
SIZE = (120, 40)
LONGEST_WAIT = 120.0
"""Seconds until what the page says has to be on the screen; the training takes 30 of them."""


def commands_of(text: str) -> list[str]:
    """Return the commands of a part of the page, without their descriptions."""
    return re.findall(r"^    (tuimon .*?)(?:   .*)?$", text, re.MULTILINE)


def install(wheel: str, folder: Path) -> Path:
    """Install the wheel, with what pictures need, and return the directory of its programs."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    subprocess.run([folder / "bin" / "pip", "install", "-q", f"{wheel}[plots]"], check=True)
    return folder / "bin"


def follow_keys(terminal: Terminal) -> None:
    """Type the keys of the table. Raises AssertionError if the screen does not show what a row says."""
    grid, read = Grid(*SIZE), 0
    for keys, description in ROWS:
        for key in re.findall(r"`([^`]+)`", keys):
            terminal.type(KEYS.get(key, key))
            terminal.read(0.5)
        for phrase in re.findall(r"\*\*(.+?)\*\*", description):
            end = time.monotonic() + LONGEST_WAIT
            while phrase not in str(grid):
                assert time.monotonic() < end, f"{keys}: no {phrase!r} on\n{grid}"
                terminal.read(0.2)
                grid.feed(bytes(terminal.output[read:]))
                read = len(terminal.output)
        print(f"{keys or 'start'}: {', '.join(re.findall(r'[*]{2}(.+?)[*]{2}', description))}")


def run_commands(commands: list[str], programs: Path, folder: Path) -> None:
    """Run commands. Raises AssertionError if one fails; `check` exits with 4."""
    for command in commands:
        program, *words = shlex.split(command)
        done = subprocess.run([programs / program, *words], cwd=folder, capture_output=True, text=True)
        assert done.returncode == (4 if words[0] == "check" else 0), f"{command}: {done.stderr}"
        print(f"{command}: {done.stdout.partition(chr(10))[0]}")


def main(arguments: list[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if not arguments:
            build = [sys.executable, "-m", "build", "-q", "--wheel", "--outdir", folder / "dist", ROOT]
            subprocess.run(build, check=True)
            arguments = [str(next((folder / "dist").glob("*.whl")))]
        programs = install(str(Path(arguments[0]).resolve()), folder / "venv")
        environment = {"HOME": name, "PYTHONPATH": "", "XDG_STATE_HOME": str(folder / "state")}
        opening, *rest = commands_of(TOUR)
        program, *words = shlex.split(opening)
        os.chdir(folder)
        with Terminal([str(programs / program), *words], SIZE, environment) as terminal:
            follow_keys(terminal)
            for key in ("\x1b", "\x1b", "q"):
                terminal.type(key)
                terminal.read(1.0)
            assert terminal.wait() == 0
        run_commands(rest, programs, folder)
        write_two_runs(folder / "runs")
        run_commands(commands_of(MORE), programs, folder)


if __name__ == "__main__":
    main(sys.argv[1:])
