"""A JSON object sent by POST to the address that the user has named; see Message.document."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

import tuimon
from tuimon.errors import TuimonError
from tuimon.notify.message import Message
from tuimon.text import clean

_TIMEOUT = 10.0


class Webhook(Struct, frozen=True):
    """Where it goes."""

    address: str
    name: str = "webhook"

    @classmethod
    def of(cls, value: Any) -> Webhook | None:
        """From the setting: an address of http or https; None for "". ValueError otherwise."""
        if value == "":
            return None
        if not isinstance(value, str) or urlsplit(value).scheme not in ("http", "https") or not urlsplit(value).netloc:
            raise ValueError(f"is an address that begins with https:// or http://, not {value!r}")
        return cls(value)

    def tell(self, message: Message) -> None:
        import http.client
        import urllib.error
        import urllib.request  # with all of them a start takes 20 ms longer, and nearly nobody has a webhook

        request = urllib.request.Request(
            self.address,
            json.dumps(message.document()).encode(),
            {"Content-Type": "application/json", "User-Agent": f"tuimon/{tuimon.__version__}"},
        )
        host = clean(urlsplit(self.address).netloc.rpartition("@")[2])  # the path often holds a secret
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:
                answer.read(1)
        except urllib.error.HTTPError as error:
            error.close()
            raise TuimonError(f"{host} answered {error.code}") from error
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise TuimonError(f"{host} cannot be reached: {clean(str(error), 200)}") from error
