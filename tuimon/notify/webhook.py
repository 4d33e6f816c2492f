"""Notify a webhook: the JSON object of Message.document is sent by POST to an address that the user has configured."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

import tuimon
from tuimon.errors import TuimonError
from tuimon.notify.message import Message
from tuimon.notify.outbox import Unreachable
from tuimon.text import clean

_TIMEOUT = 10.0
_PASSING = (404, 408, 425, 429)
"""Statuses below 500 that may end: 404 is also what a proxy answers while the service behind it is down."""


class Webhook(Struct, frozen=True):
    """An address that messages are sent to."""

    address: str
    name: str = "webhook"

    @classmethod
    def of(cls, value: Any) -> Webhook | None:
        """Build it from the setting, an http or https address; None for "". ValueError otherwise."""
        if value == "":
            return None
        if not is_address(value):
            raise ValueError(f"must be an address that begins with https:// or http://, not {value!r}")
        return cls(value)

    def send(self, message: Message) -> None:
        import http.client
        import urllib.error
        import urllib.request  # imported here, because they take 20 ms and are rarely needed

        class NoRedirection(urllib.request.HTTPRedirectHandler):
            """A POST that is redirected becomes a GET without its message, so that is an error."""

            def redirect_request(self, *_: object) -> None:
                return None

        request = urllib.request.Request(
            self.address,
            json.dumps(message.document()).encode(),
            {"Content-Type": "application/json", "User-Agent": f"tuimon/{tuimon.__version__}"},
        )
        host = clean(urlsplit(self.address).netloc.rpartition("@")[2])  # the path often holds a secret
        try:
            with urllib.request.build_opener(NoRedirection).open(request, timeout=_TIMEOUT) as answer:
                answer.read(1)
        except urllib.error.HTTPError as error:
            error.close()
            kind = Unreachable if error.code >= 500 or error.code in _PASSING else TuimonError
            advice = ": set the address that it redirects to" if 300 <= error.code < 400 else ""
            raise kind(f"{host} answered with status {error.code}{advice}") from error
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(f"cannot reach {host}: {_reason(error)}") from error
        except ValueError as error:
            raise TuimonError(f"cannot reach {host}: {_reason(error)}") from error


def is_address(value: Any) -> bool:
    """Return whether a setting is the address of a web service."""
    return isinstance(value, str) and urlsplit(value).scheme in ("http", "https") and bool(urlsplit(value).netloc)


def _reason(error: Exception) -> str:
    """Return why a request failed: "Connection refused" of "<urlopen error [Errno 111] Connection refused>"."""
    inner = getattr(error, "reason", error)
    text = inner.strerror if isinstance(inner, OSError) and inner.strerror else str(inner)
    return clean(text or type(inner).__name__, 200)
