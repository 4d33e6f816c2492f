"""Channels made with the standard library: the terminal, a program, a webhook.

- Notification sequences of a terminal are OSC 9 (iTerm2, WezTerm, Windows Terminal), OSC 777 (rxvt, foot, Ghostty) and
  OSC 99 (kitty). Under tmux they are wrapped so that they pass through (tmux 3.3: set -g allow-passthrough on).
- A program gets TUIMON_TEXT, TUIMON_RUN, TUIMON_PATH, TUIMON_RULE, TUIMON_SEVERITY, TUIMON_METRIC, TUIMON_STEP,
  TUIMON_MESSAGE and TUIMON_HINT, and the JSON object of Message.document on its standard input. It is started without a
  shell, and text from a log is never an argument.
- A webhook gets the same object by POST.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

import tuimon
from tuimon.errors import TuimonError
from tuimon.notify.message import Message
from tuimon.notify.outbox import Unreachable
from tuimon.text import clean, fit

TERMINALS = ("auto", "9", "777", "99")
_MAX_WIDTH = 200
_ST = "\x1b\\"
_LONGEST_RUN, _LONGEST_REQUEST = 20.0, 10.0
"""Seconds that a program, and a request, may take."""
_VARIABLES = ("text", "run", "path", "rule", "severity", "metric", "step", "message", "hint")
_PASSING = (404, 408, 425, 429)
"""Statuses below 500 that may pass. A proxy answers 404 while the service is down."""


class Bell(Struct, frozen=True):
    """Writes a BEL character for each message but those of an end."""

    write: Callable[[str], None]
    name: str = "bell"

    def send(self, message: Message) -> None:
        if message.until is None:
            self.write("\a")


class TerminalNotification(Struct, frozen=True):
    """Writes an OSC sequence for each message. kind: one of TERMINALS but auto."""

    kind: str
    write: Callable[[str], None]
    name: str = "terminal"

    def send(self, message: Message) -> None:
        self.write(wrapped(sequence(self.kind, message), os.environ))


def sequence(kind: str, message: Message) -> str:
    """Return the sequence of a notification. Texts have no control characters; ";" separates fields of OSC 777, 99."""
    text = fit(message.text, min(len(message.text), _MAX_WIDTH))
    if kind == "777":
        return f"\x1b]777;notify;tuimon: {message.severity};{text.replace(';', ',')}{_ST}"
    if kind == "99":
        return f"\x1b]99;;{text}{_ST}"
    return f"\x1b]9;{text}{_ST}"


def wrapped(text: str, environment: Mapping[str, str]) -> str:
    """Wrap a sequence so that it passes through tmux; unchanged outside tmux."""
    if not environment.get("TMUX"):
        return text
    return "\x1bPtmux;" + text.replace("\x1b", "\x1b\x1b") + _ST


def terminal_kind(environment: Mapping[str, str]) -> str:
    """Return the kind that the terminal probably supports; 9 is the most common."""
    term, program = environment.get("TERM", ""), environment.get("TERM_PROGRAM", "").lower()
    if "kitty" in term or environment.get("KITTY_WINDOW_ID"):
        return "99"
    return "777" if term.startswith(("rxvt", "foot")) or program == "ghostty" else "9"


class CommandChannel(Struct, frozen=True):
    """A program that is started for each message."""

    words: tuple[str, ...]
    name: str = "command"

    def send(self, message: Message) -> None:
        document, program = message.document(), clean(self.words[0])
        texts = {key: "" if document[key] is None else str(document[key]) for key in _VARIABLES}
        variables = {f"TUIMON_{key.upper()}": text.replace("\0", "") for key, text in texts.items()}
        try:
            done = subprocess.run(
                self.words,
                input=json.dumps(document).encode(),
                env=os.environ | variables,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=_LONGEST_RUN,
                check=False,
                start_new_session=True,
            )
        except subprocess.TimeoutExpired as error:
            raise TuimonError(f"{program} took longer than {_LONGEST_RUN:g} s and was killed") from error
        except OSError as error:
            raise TuimonError(f"{program} could not be started: {error.strerror}") from error
        if done.returncode:
            last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
            raise TuimonError(f"{program} exited with status {done.returncode}", clean(last, 200))


class Webhook(Struct, frozen=True):
    """An address that messages are sent to."""

    address: str
    name: str = "webhook"

    def send(self, message: Message) -> None:
        import http.client
        import urllib.error
        import urllib.request  # imported here, because they take 20 ms and are rarely needed

        class NoRedirection(urllib.request.HTTPRedirectHandler):
            """Treat a redirected POST as an error: the GET would lack the message."""

            def redirect_request(self, *_: object) -> None:
                return None

        request = urllib.request.Request(
            self.address,
            json.dumps(message.document()).encode(),
            {"Content-Type": "application/json", "User-Agent": f"tuimon/{tuimon.__version__}"},
        )
        host = clean(urlsplit(self.address).netloc.rpartition("@")[2])  # the path often holds a secret
        try:
            with urllib.request.build_opener(NoRedirection).open(request, timeout=_LONGEST_REQUEST) as answer:
                answer.read(1)
        except urllib.error.HTTPError as error:
            error.close()
            kind = Unreachable if error.code >= 500 or error.code in _PASSING else TuimonError
            advice = ": set the address that it redirects to" if 300 <= error.code < 400 else ""
            raise kind(f"{host} answered with status {error.code}{advice}") from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            kind = TuimonError if isinstance(error, ValueError) else Unreachable
            raise kind(f"cannot reach {host}: {request_problem(error)}") from error


def is_address(value: Any) -> bool:
    """Return whether a setting is the address of a web service."""
    return isinstance(value, str) and urlsplit(value).scheme in ("http", "https") and bool(urlsplit(value).netloc)


def request_problem(error: Exception) -> str:
    """Return why a request failed: "Connection refused" of "<urlopen error [Errno 111] Connection refused>"."""
    inner = getattr(error, "reason", error)
    text = inner.strerror if isinstance(inner, OSError) and inner.strerror else str(inner)
    return clean(text or type(inner).__name__, 200)
