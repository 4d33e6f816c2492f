"""Notify a service by its URL, such as ntfy, Discord, Slack, Telegram or e-mail. Needs apprise (the extra `notify`)."""

from __future__ import annotations

import logging
from typing import Any

from msgspec import Struct

from tuimon.notify.message import Message
from tuimon.notify.outbox import Unreachable
from tuimon.text import clean

_KINDS = {"info": "info", "warning": "warning", "critical": "failure"}


class Service(Struct, frozen=True):
    """A service that apprise can reach. Its URL holds secrets and is never shown."""

    url: str
    name: str
    """Kind of the service: "ntfy", "discord"."""

    @classmethod
    def of(cls, value: Any) -> Service:
        """Build it from a URL of apprise. ValueError for an invalid one, or without apprise."""
        try:
            from apprise import Apprise
        except ImportError:
            raise ValueError("needs apprise: pip install 'tuimon[notify]'") from None
        logging.getLogger("apprise").disabled = True  # what it logs may hold addresses, and would be on the screen
        if not isinstance(value, str) or Apprise.instantiate(value) is None:
            scheme = clean(str(value).partition("://")[0], 20)
            raise ValueError(f"has an address that apprise does not understand (it begins with {scheme!r})")
        return cls(value, clean(value.partition("://")[0], 20))

    def send(self, message: Message) -> None:
        from apprise import Apprise, AppriseAttachment
        from apprise.attachment.memory import AttachMemory

        service: Any = Apprise.instantiate(self.url)
        attached = None
        if message.draw is not None and service.attachment_support and (picture := message.draw()):
            memory: Any = AttachMemory  # it has no types
            attached = AppriseAttachment(memory(picture, name="curve.png", mimetype="image/png"))
        has_ended = message.until is not None or message.rule == "finished"
        try:
            sent = service.notify(
                body="\n".join(filter(None, (message.text, message.hint if message.until is None else ""))),
                title=f"tuimon: {'ended' if message.until is not None else message.severity}",
                notify_type="success" if has_ended else _KINDS[message.severity],
                attach=attached,
                body_format="text",
            )
        except Exception as error:  # of one of a hundred services
            raise Unreachable(f"{self.name} failed: {type(error).__name__}") from error
        if not sent:
            raise Unreachable(f"{self.name} did not take the message")
