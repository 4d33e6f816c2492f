"""Notify a program of the user, which gets the message in its environment and on its standard input.

The variables are TUIMON_TEXT, TUIMON_RUN, TUIMON_PATH, TUIMON_RULE, TUIMON_SEVERITY, TUIMON_METRIC, TUIMON_STEP,
TUIMON_MESSAGE and TUIMON_HINT; standard input is the JSON object that webhooks get, too. The program is started without
a shell, and text from a log is never an argument.
"""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

from msgspec import Struct

from tuimon.errors import TuimonError
from tuimon.notify.message import Message
from tuimon.text import clean

_TIMEOUT = 20.0
_VARIABLES = ("text", "run", "path", "rule", "severity", "metric", "step", "message", "hint")


class CommandChannel(Struct, frozen=True):
    """A program that is started for each message."""

    words: tuple[str, ...]
    name: str = "command"

    @classmethod
    def of(cls, value: Any) -> CommandChannel | None:
        """Build it from the setting, a list of the program and its arguments; None if empty. ValueError otherwise."""
        if not isinstance(value, list) or not all(isinstance(word, str) and "\0" not in word for word in value):
            raise ValueError(f'must be a list of texts like ["notify-send", "tuimon"], not {value!r}')
        return cls(tuple(value)) if value else None

    def send(self, message: Message) -> None:
        document = message.document()
        texts = {key: "" if document[key] is None else str(document[key]) for key in _VARIABLES}
        variables = {f"TUIMON_{key.upper()}": text.replace("\0", "") for key, text in texts.items()}
        try:
            done = subprocess.run(
                self.words,
                input=json.dumps(document).encode(),
                env=os.environ | variables,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=_TIMEOUT,
                check=False,
                start_new_session=True,
            )
        except subprocess.TimeoutExpired as error:
            raise TuimonError(f"{clean(self.words[0])} took longer than {_TIMEOUT:g} s and was killed") from error
        except OSError as error:
            raise TuimonError(f"{clean(self.words[0])} could not be started: {error.strerror}") from error
        if done.returncode:
            last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
            hint = clean(last[0], 200) if last else ""
            raise TuimonError(f"{clean(self.words[0])} exited with status {done.returncode}", hint)
