"""`tuimon serve PATH…`: a live page of runs, at an address with a random token."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tuimon.commands import Command
from tuimon.commands._options import PATHS, whole
from tuimon.commands._shared import checked_paths, live_monitor, missing_extra
from tuimon.commands._stderr import print_status
from tuimon.text import clean, home_relative

_OPTIONS = f"""\
{PATHS}--host ADDRESS  address to listen on (default: 127.0.0.1, so that only this machine can open the page)
--port N  port (default: 8600 or the next free one)
--allow-host NAME…  also answer requests to this name, as a reverse proxy sends them; may be repeated
"""


def _run(options: argparse.Namespace) -> int:
    try:
        from tuimon.web.server import serve
    except ModuleNotFoundError as error:
        raise missing_extra(error, "the live page needs aiohttp", "web") from error
    from tuimon.monitor import load_settings

    monitor = live_monitor(checked_paths(options.paths, live=True, options=options), load_settings())

    def on_ready(address: str) -> None:
        print(address)
        sys.stdout.flush()
        where = ", ".join(map(clean, options.paths)) or f"the current directory, {home_relative(Path.cwd())}"
        print_status(f"Serving {where}")
        if options.host == "127.0.0.1":
            print_status("Only this machine can open it; docs/commands.md has the way over SSH. Ctrl+C ends it.")
        else:
            print_status("Who has this address can read the runs, and the connection is not encrypted. Ctrl+C ends it.")

    monitor.start()
    try:
        return serve(monitor, options.host, options.port, options.allow_host, on_ready)
    finally:
        monitor.close()


_EXAMPLES = """\
  tuimon serve RUN                               print the address of a live page of the run
  tuimon serve sweep/ --port 8600                several runs, at a port of your choice
"""
_VALUES = {"--host": {"default": "127.0.0.1"}, "--port": {"type": whole(0, 65535)}}
COMMAND = Command("serve", "show runs in a browser, live", _OPTIONS, _run, _EXAMPLES, _VALUES)
