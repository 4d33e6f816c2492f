"""Start the agent on a host, in whatever login shell the user has there.

The remote command is one word for sh, csh and fish alike: `exec /bin/sh -c '...'` without a single quote, exclamation
mark, backslash or newline inside. It looks for Python >= 3.6 and executes the source that follows on its stdin.
Options -I, -S and -B: nothing of the user's environment is imported, and no file is written.
"""

from __future__ import annotations

import zlib
from functools import cache
from importlib.resources import files

from tuimon.remote import shell

PYTHONS = " ".join(
    (
        *("/usr/bin/python3", "python3", "/usr/local/bin/python3", "/opt/conda/bin/python3", "/opt/*/bin/python3"),
        *("$HOME/*conda*/bin/python3", "$HOME/m*forge*/bin/python3", "$HOME/.pyenv/versions/*/bin/python3"),
        *("$HOME/.local/share/uv/python/*/bin/python3", "$HOME/*conda*/envs/*/bin/python3"),
        *("/usr/libexec/platform-python", "python"),
    )
)
NO_PYTHON = b"tuimon-no-python"
"""Line that is printed if the interpreter that the user has named is not there."""
SHELL = b"tuimon-shell"
"""Line that is printed if there is no Python on the host; the script of shell.py is read and executed then."""
_PARTS = (
    *("sources/copies.py", "sources/mounts.py", "sources/open_files.py"),
    *("remote/agent_walk.py", "remote/agent_writers.py", "remote/agent.py"),
)
"""Files of the agent, in the order in which they need each other."""
READY = "tuimon-ready"
"""Line that is printed before the agent's source is read, for a shell that gets the command on its stdin."""
_TEMPLATE = (
    'for p in {pythons}; do "$p" -c "import sys,zlib,json;sys.exit(sys.version_info<(3,6))" </dev/null >/dev/null 2>&1 '
    '&& {ready}exec "$p" -ISB -c "import sys,zlib;exec(zlib.decompress(sys.stdin.buffer.read({size})))"; done; '
    "{otherwise}"
)
_WITHOUT = "echo {line}; exit 127"
# dd with blocks of one byte and `read` take no byte more than they need from a pipe
_FALLBACK = 'echo {line}; {skip}s=$(dd bs=1 count={size} 2>/dev/null); eval "$s"; exit 127'


@cache
def agent() -> bytes:
    """Return the source of the agent, compressed."""
    source = "".join(files("tuimon").joinpath(name).read_text("utf-8") + "\n" for name in _PARTS)
    lines = (line for line in source.splitlines(keepends=True) if not line.startswith("from tuimon."))
    return zlib.compress("".join(lines).encode(), 9)


def script(python: str = "", ready: bool = False) -> str:
    """Return the shell script that starts the agent. python: the interpreter; "": look for one.

    ready: print READY before the source is read. Raise ValueError if `python` is not a plain path.
    """
    if python and (not python.isascii() or set(python) & set("'\"!\\\n`$;&|<>()")):
        raise ValueError(f"not a plain path: {python!r}")
    if python:
        otherwise = _WITHOUT.format(line=NO_PYTHON.decode())
    else:
        skip = "" if ready else f"dd bs=1 count={len(agent())} of=/dev/null 2>/dev/null; read -r s; "
        otherwise = _FALLBACK.format(line=SHELL.decode(), skip=skip, size=len(shell.script()))
    words = f'"{python}"' if python else PYTHONS
    announce = f"echo {READY} && " if ready else ""
    return _TEMPLATE.format(pythons=words, ready=announce, size=len(agent()), otherwise=otherwise)


def command(python: str = "") -> str:
    """Return the remote command for ssh: a single word for the login shell of the user."""
    return f"exec /bin/sh -c '{script(python)}'"
