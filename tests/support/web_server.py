"""A real `tuimon serve` in a process of its own, and a client of its events."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from support.programs import default_signals

PATIENCE = 60.0
"""Seconds to wait for an answer."""


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    text: str


class WebServer:
    """Context manager: the command, serving some paths at a free port."""

    def __init__(self, *paths: Path | str, options: tuple[str, ...] = ()) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tuimon", "serve", *map(str, paths), "--port", "0", *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=default_signals,
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        assert self.address.startswith("http://"), self.process.communicate()[1]
        self.base = urlsplit(self.address).path
        self.port = urlsplit(self.address).port
        assert self.port

    def __enter__(self) -> WebServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        self.process.communicate(timeout=PATIENCE)

    def end(self, number: signal.Signals) -> tuple[int, str]:
        """Send a signal; return the exit code and what was written to standard error."""
        self.process.send_signal(number)
        errors = self.process.communicate(timeout=PATIENCE)[1]
        return self.process.returncode, errors

    def ask(
        self, path: str = "", method: str = "GET", headers: Mapping[str, str] | None = None, body: str | None = None
    ) -> Answer:
        """Send a request. path: below the address with the token, or from the root if it starts with a slash."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path if path.startswith("/") else self.base + path, body, dict(headers or {}))
            response = connection.getresponse()
            return Answer(response.status, dict(response.headers), response.read().decode())
        finally:
            connection.close()

    def run_key(self) -> str:
        """Return the key of the run of the page, once there is one."""
        with self.events() as events:
            if not re.search(r'data-run="(\w+)"', self.ask().text):
                events.wait_for("reload")
        found = re.search(r'data-run="(\w+)"', self.ask().text)
        assert found
        return found[1]

    def events(self, run: str = "", since: str = "", last_id: str = "") -> Events:
        return Events(self, f"events?run={run}&since={since}", last_id)

    def readers(self) -> list[int]:
        """Return the process ids of the children of the server: its reader."""
        pid = self.process.pid
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
        return [int(word) for word in text.split()]


class Event(NamedTuple):
    """A server-sent event."""

    name: str
    id: str
    data: str

    @property
    def message(self) -> dict[str, Any]:
        return dict(json.loads(self.data)) if self.name == "message" else {}


class Events:
    """Context manager: a connection that receives events, and the page that they make."""

    def __init__(self, server: WebServer, path: str, last_id: str = "") -> None:
        self._server = server
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
        headers = {"Last-Event-ID": last_id} if last_id else {}
        self._connection.request("GET", server.base + path, headers=headers)
        self.response = self._connection.getresponse()
        assert self.response.status == 200, self.response.read()
        self.last_id = last_id
        self.html: dict[str, str] = {}
        """Key -> HTML of the parts that were received."""
        self.layout: dict[str, list[str]] = {}
        """Section -> keys."""
        self.last: dict[str, Any] = {}
        """The newest message."""
        self._sees_all = False
        self.page = self.wait_for("page").data

    def __enter__(self) -> Events:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    @property
    def keys(self) -> list[str]:
        """The keys of all parts."""
        return [key for keys in self.layout.values() for key in keys]

    def receive(self) -> Event:
        """Wait for an event, and apply it to the page."""
        fields: dict[str, str] = {}
        for raw in self.response:
            line = raw.decode().rstrip("\n")
            if line:
                name, _, value = line.partition(":")
                fields[name] = value.removeprefix(" ")
            elif "data" in fields:
                event = Event(fields.get("event", "message"), fields.get("id", ""), fields["data"])
                self._apply(event)
                return event
        raise AssertionError("the connection has ended")

    def _apply(self, event: Event) -> None:
        self.last_id = event.id or self.last_id
        self.last = event.message
        self.html |= self.last.get("html", {})
        if "layout" in self.last:
            self.layout = dict(self.last["layout"])
            self.html = {key: html for key, html in self.html.items() if key in self.keys}
            if self._sees_all:
                self._send_view(self.keys)

    def wait_for(self, name: str) -> Event:
        """Return the next event with this name."""
        while (event := self.receive()).name != name:
            pass
        return event

    def until(self, condition: Callable[[Events], Any]) -> None:
        """Receive events until the page fulfils a condition."""
        while not condition(self):
            self.receive()

    def see(self, *keys: str) -> int:
        """Say that only these parts are in view from now on; return the status."""
        self._sees_all = False
        return self._send_view(keys)

    def _send_view(self, keys: Iterable[str]) -> int:
        return self._server.ask("view", "POST", body=json.dumps({"page": self.page, "keys": list(keys)})).status

    def see_all(self) -> None:
        """Say that all parts are in view, now and after each change of the layout; wait until all are drawn."""
        self._sees_all = True
        assert self._send_view(self.keys) == 204
        self.until(lambda page: page.layout and page.html.keys() == set(page.keys))


def children_gone(pids: list[int]) -> bool:
    """Return True if none of the processes is left."""
    for pid in pids:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            continue
        return False
    return True
