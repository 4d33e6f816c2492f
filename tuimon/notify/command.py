"""A program of the user's: started without a shell, told by its environment and its standard input.

TUIMON_TEXT, TUIMON_RUN, TUIMON_PATH, TUIMON_RULE, TUIMON_SEVERITY, TUIMON_METRIC, TUIMON_STEP, TUIMON_MESSAGE and
TUIMON_HINT; standard input is the JSON object that a webhook is sent, too. No word of a log is ever an argument.
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
_TOLD = ("text", "run", "path", "rule", "severity", "metric", "step", "message", "hint")


class Command(Struct, frozen=True):
    """What is started for each message."""

    words: tuple[str, ...]
    name: str = "command"

    @classmethod
    def of(cls, value: Any) -> Command | None:
        """From the setting: a list of the program and its arguments; None for an empty one. ValueError otherwise."""
        if not isinstance(value, list) or not all(isinstance(word, str) and "\0" not in word for word in value):
            raise ValueError(f'is a list of words, as ["notify-send", "tuimon"], not {value!r}')
        return cls(tuple(value)) if value else None

    def tell(self, message: Message) -> None:
        document = message.document()
        told = {f"TUIMON_{key.upper()}": "" if document[key] is None else str(document[key]) for key in _TOLD}
        environment = os.environ | {key: value.replace("\0", "") for key, value in told.items()}
        try:
            done = subprocess.run(
                self.words,
                input=json.dumps(document).encode(),
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=_TIMEOUT,
                check=False,
                start_new_session=True,
            )
        except subprocess.TimeoutExpired as error:
            raise TuimonError(f"{clean(self.words[0])} took more than {_TIMEOUT:g} s and was ended") from error
        except OSError as error:
            raise TuimonError(f"{clean(self.words[0])} cannot be started: {error.strerror}") from error
        if done.returncode:
            last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
            raise TuimonError(
                f"{clean(self.words[0])} ended with {done.returncode}", clean(last[0], 200) if last else ""
            )
