"""What a process must not load, as it costs time or memory or belongs to another process, and what it gives back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import DATA

import tuimon
from tuimon.commands import commands
from tuimon.platform_support import TRIM_AFTER, HeapTrimmer

QUICK_COMMANDS = """
import tuimon.commands
for words in (["--version"], ["-V"], ["summary", "-h"], ["export", "-h"], ["completion", "bash"]):
    try: tuimon.commands.main(words)
    except SystemExit: pass
"""
BEFORE_THE_READER_STARTS = """
from tuimon import config
from tuimon.commands import commands, _shared
commands()
config.load({"TUIMON_CONFIG": "none.toml"})
_shared.checked_paths(["."])
from tuimon.tui.terminal import capabilities as terminal
terminal.can_draw({"TERM": "xterm"})
import tuimon.monitor.spawn
"""
READER_UP_TO_ITS_ARGUMENTS = """
import runpy
sys.argv = ["reader", "--help"]
try: runpy.run_module("tuimon.reader", run_name="__main__")
except SystemExit as end: assert end.code == 0
assert "tuimon.reader.collect" in sys.modules
"""
DASHBOARD = """
from tuimon.platform_support import hidden_modules
with hidden_modules("ssl"): import asyncio
import tuimon.tui.app
from tuimon import draw, panels
from tuimon.notify import channels_of
panels.preload()
draw.preload()
channels_of({"webhook": "https://example.org/hook"}, print)
import plotext
assert plotext.test is None
"""
WEB = "ssl unittest http.client urllib.request PIL yt_dlp numpy.ma statistics"
LOGGERS = "tensorboard wandb swanlab pandas torch tbparse tensorflow mlflow"
OTHER_COMMANDS = " ".join(f"tuimon.commands.{name}" for name in commands() if name != "summary")
LOADED = {
    "quick commands": (QUICK_COMMANDS, "textual numpy plotext orjson watchdog psutil"),
    "one command": ("from tuimon.commands import main; main(['summary', 'there/is/none'])", OTHER_COMMANDS),
    "summary": (
        f"from tuimon.commands import main; main(['summary', {str(DATA / 'tensorboard')!r}])",
        f"{LOGGERS} psutil",
    ),
    "library": ("import tuimon", "numpy msgspec textual rich asyncio tuimon.api"),
    "library that reads": (
        f"import tuimon; tuimon.read({str(DATA / 'tensorboard')!r})",
        "textual rich plotext pyarrow jinja2",
    ),
    # the reader process decodes; the first frame would wait for the expressions of console text
    "screen": ("import tuimon.tui.launch", "tuimon.formats tuimon.reader"),
    "dashboard": (DASHBOARD, WEB),
    "before the reader starts": (
        BEFORE_THE_READER_STARTS,
        "numpy msgspec textual rich tomllib asyncio typing_extensions",
    ),
    "reader": (
        READER_UP_TO_ITS_ARGUMENTS,
        "typing_extensions ssl unittest textual rich plotext asyncio statistics numpy.ma",
    ),
}
"""Process -> (what it does, modules that it does not load)."""


@pytest.mark.parametrize("process", LOADED)
def test_a_process_does_not_load_what_it_does_not_need(process: str, tmp_path: Path) -> None:
    code, absent = LOADED[process]
    code = f"import sys\n{code}\nprint('', *sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True)
    loaded = done.stdout.splitlines()
    if np.__version__.startswith("1."):
        loaded = [name for name in loaded if not name.startswith("numpy.ma")]  # numpy 1 imports it itself
    assert "sys" in loaded
    assert [name for name in loaded if name.startswith(tuple(f"{no}." for no in absent.split()))] == []
    assert set(absent.split()).isdisjoint(loaded)
    if process == "quick commands":
        assert done.stdout.startswith(f"tuimon {tuimon.__version__}\n" * 2)


def test_a_hidden_module_can_be_imported_later_and_a_loaded_one_is_not_hidden() -> None:
    code = """
import json, sys
from tuimon.platform_support import hidden_modules
with hidden_modules("statistics", "sys", "json", "ssl"):
    try: import statistics
    except ImportError: print("hidden")
    import sys, json as again
    assert again is json
import statistics, ssl, urllib.request
assert urllib.request.HTTPSHandler
print(statistics.fmean([1, 3]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["hidden", "2.0"]


def test_the_heap_is_trimmed_after_every_mebibyte() -> None:
    heap = HeapTrimmer()
    totals = (0, TRIM_AFTER - 1, TRIM_AFTER, TRIM_AFTER + 1, 2 * TRIM_AFTER, 10 * TRIM_AFTER)
    assert [heap.trim(total) for total in totals] == [False, False, True, False, True, True]
