"""Tests of tuimon.platform_support, and of the modules that each process must not import."""

from __future__ import annotations

import subprocess
import sys

from tuimon.platform_support import TRIM_AFTER, HeapTrimmer, hidden_modules


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_hidden_module_can_be_imported_later() -> None:
    output = python("""
import sys
from tuimon.platform_support import hidden_modules
with hidden_modules("statistics", "sys"):
    try:
        import statistics
    except ImportError:
        print("hidden")
    import sys
import statistics
print(statistics.fmean([1, 3]))
""")
    assert output.split() == ["hidden", "2.0"]


def test_a_loaded_module_is_not_hidden() -> None:
    import json

    with hidden_modules("json"):
        import json as again
    assert again is json


def test_the_dashboard_does_not_load_optional_modules() -> None:
    """They can still be imported later."""
    python("""
import sys
from tuimon.platform_support import hidden_modules
with hidden_modules("ssl"):
    import asyncio
import tuimon.tui.app
from tuimon import draw, panels
from tuimon.notify import channels_of
panels.preload()
draw.preload()
channels_of({"webhook": "https://example.org/hook"}, print)
optional = {"ssl", "unittest", "PIL", "yt_dlp", "http.client", "urllib.request", "numpy.ma", "statistics"}
if getattr(sys.modules.get("numpy"), "__version__", "").startswith("1."):
    optional.discard("numpy.ma")  # numpy 1 imports it itself
assert not optional & set(sys.modules), optional & set(sys.modules)
import ssl, urllib.request
assert urllib.request.HTTPSHandler
import plotext
assert plotext.test is None
""")


def test_the_reader_is_spawned_before_heavy_modules_are_loaded() -> None:
    python("""
import sys
from tuimon import config
from tuimon.commands import commands, _shared
commands()
config.load({"TUIMON_CONFIG": "none.toml"})
_shared.checked_paths(["."])
from tuimon.tui.terminal import capabilities as terminal
terminal.can_draw({"TERM": "xterm"})
import tuimon.monitor.spawn
heavy = {"numpy", "msgspec", "textual", "rich", "tomllib", "asyncio", "typing_extensions"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
""")


def test_the_reader_does_not_load_optional_modules() -> None:
    """Runs the reader's main module up to the parsing of its arguments."""
    python("""
import runpy, sys
sys.argv = ["reader", "--help"]
try:
    runpy.run_module("tuimon.reader", run_name="__main__")
except SystemExit as end:
    assert end.code == 0
assert "tuimon.reader.collect" in sys.modules
optional = {"typing_extensions", "ssl", "unittest", "textual", "rich", "plotext", "asyncio", "statistics", "numpy.ma"}
if getattr(sys.modules.get("numpy"), "__version__", "").startswith("1."):
    optional.discard("numpy.ma")  # numpy 1 imports it itself
assert not optional & set(sys.modules), optional & set(sys.modules)
""")


def test_the_heap_is_trimmed_after_every_mebibyte() -> None:
    heap = HeapTrimmer()
    totals = (0, TRIM_AFTER - 1, TRIM_AFTER, TRIM_AFTER + 1, 2 * TRIM_AFTER, 10 * TRIM_AFTER)
    assert [heap.trim(total) for total in totals] == [False, False, True, False, True, True]
