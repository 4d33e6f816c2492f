"""What a start leaves out."""

from __future__ import annotations

import subprocess
import sys

from tuimon.lean import without


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_is_left_out_is_there_for_who_asks_later() -> None:
    said = python("""
import sys
from tuimon.lean import without
with without("statistics", "sys"):
    try:
        import statistics
    except ImportError:
        print("left out")
    import sys
import statistics
print(statistics.fmean([1, 3]))
""")
    assert said.split() == ["left", "out", "2.0"]


def test_what_is_loaded_stays_loaded() -> None:
    import json

    with without("json"):
        import json as again
    assert again is json


def test_a_screen_loads_nothing_that_it_has_no_use_for() -> None:
    """Every chart and every key works without them; what needs one of them later gets it."""
    python("""
import sys
from tuimon.lean import without
with without("ssl"):
    import asyncio
import tuimon.tui.app
from tuimon import draw, panels
from tuimon.notify import channels_of
panels.prepare()
draw.prepare()
channels_of({"webhook": "https://example.org/hook"}, print)
needless = {"ssl", "unittest", "PIL", "yt_dlp", "http.client", "urllib.request", "numpy.ma", "statistics"}
assert not needless & set(sys.modules), needless & set(sys.modules)
import ssl, urllib.request
assert urllib.request.HTTPSHandler
import plotext
assert plotext.test.__name__ == "_test"
""")


def test_the_reader_is_started_before_anything_heavy_is_loaded() -> None:
    python("""
import sys
from tuimon import config
from tuimon.commands import commands, _shared
commands()
config.load({"TUIMON_CONFIG": "none.toml"})
_shared.checked_paths(["."])
from tuimon.tui import terminal
terminal.can_draw({"TERM": "xterm"})
import tuimon.monitor.spawn
heavy = {"numpy", "msgspec", "textual", "rich", "tomllib", "asyncio", "typing_extensions"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
""")


def test_the_reader_loads_nothing_that_it_has_no_use_for() -> None:
    """As it is really started, up to its arguments."""
    python("""
import runpy, sys
sys.argv = ["reader", "--help"]
try:
    runpy.run_module("tuimon.reader", run_name="__main__")
except SystemExit as end:
    assert end.code == 0
assert "tuimon.reader.collect" in sys.modules
needless = {"typing_extensions", "ssl", "unittest", "textual", "rich", "plotext", "asyncio", "statistics", "numpy.ma"}
assert not needless & set(sys.modules), needless & set(sys.modules)
""")
