"""Drive a headless Chromium with its DevTools protocol over two pipes: no port, no driver, no further package.

https://chromedevtools.github.io/devtools-protocol/; with --remote-debugging-pipe a message is JSON and a zero byte.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome-headless-shell")
_PATIENCE = 250.0
"""Seconds to wait for a message of the browser."""


def chromium_path() -> str | None:
    """Path of the browser, if one is installed."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """A browser process; `page` opens a page."""

    def __init__(self, command: str, home: Path) -> None:
        """home: where it may write."""
        ours, its = os.pipe(), os.pipe()
        high = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (its[0], ours[1])]  # 3 and 4 are the browser's
        options = [
            "--headless",
            "--disable-gpu",
            "--no-first-run",
            "--disable-dev-shm-usage",
            "--remote-debugging-pipe",
        ]
        options += ["--disable-background-networking", "--disable-component-update", f"--user-data-dir={home}"]
        if os.geteuid() == 0:
            options.append("--no-sandbox")  # which it refuses to root; the pages are our own
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$0" "$@" 3<&{high[0]} 4>&{high[1]}', command, *options],
            pass_fds=high,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": str(home)},
        )
        for end in (*high, its[0], ours[1]):
            os.close(end)
        self._in, self._out, self._rest, self._last = its[1], ours[0], b"", 0
        self.events: list[dict[str, Any]] = []

    def close(self) -> None:
        os.close(self._in)  # it ends with its pipe
        os.close(self._out)
        self._process.terminate()
        self._process.wait(60)

    def call(self, method: str, session: str | None = None, **parameters: Any) -> Mapping[str, Any]:
        """The result of a command. Events that come before it are kept in `events`."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters} | (
            {"sessionId": session} if session else {}
        )
        os.write(self._in, json.dumps(message).encode() + b"\0")
        while (heard := self._next()).get("id") != self._last:
            self.events.append(heard)
        assert "error" not in heard, heard
        result: Mapping[str, Any] = heard["result"]
        return result

    def wait(self, session: str, event: str) -> None:
        """Until it has come."""
        while not any(e.get("method") == event and e.get("sessionId") == session for e in self.events):
            self.events.append(self._next())

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            assert select.select([self._out], [], [], _PATIENCE)[0], "the browser says nothing"
            more = os.read(self._out, 1 << 16)
            assert more, "the browser has ended"
            self._rest += more
        message, _, self._rest = self._rest.partition(b"\0")
        heard: dict[str, Any] = json.loads(message)
        return heard

    def page(self, path: Path | str, scripts: bool = True, dark: bool = False, width: int = 1280) -> Page:
        """The file or address, loaded. scripts: whether it may run its own. width: up to 500 is a phone's."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        page.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width <= 500
        )
        page.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        colours = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        page.call("Emulation.setEmulatedMedia", features=[colours])
        page.call("Page.navigate", url=path if isinstance(path, str) else path.as_uri())
        self.wait(session, "Page.loadEventFired")
        return page


class Page:
    """An open page."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser, self._session = browser, session

    def call(self, method: str, **parameters: Any) -> Mapping[str, Any]:
        return self._browser.call(method, self._session, **parameters)

    def run(self, expression: str) -> Any:
        """The value of a JavaScript expression, waited for if it is a promise."""
        reply = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in reply, reply
        return reply["result"].get("value")

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """kind: mouseMoved | mousePressed | mouseReleased, in pixels of the window."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def key(self, key: str, text: str = "") -> None:
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def received(self, *methods: str) -> list[dict[str, Any]]:
        """The parameters of the events of these kinds, so far."""
        self.run("0")  # whatever was under way has come
        events = self._browser.events
        return [e["params"] for e in events if e.get("sessionId") == self._session and e["method"] in methods]

    def complaints(self) -> list[dict[str, Any]]:
        """Console messages: errors, warnings, violations of the content security policy."""
        return self.received("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled")

    def requests(self) -> list[str]:
        """Addresses that it has asked for, itself the first."""
        return [message["request"]["url"] for message in self.received("Network.requestWillBeSent")]

    def picture(self, path: Path) -> None:
        """The whole page as PNG."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(data))

    def print(self, path: Path) -> None:
        """The page on paper, as PDF."""
        path.write_bytes(base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"]))


def violations(page: Page) -> list[Any]:
    """Return what breaks rules of axe-core: WCAG 2.2 A and AA, and its best practices."""
    page.run(files("axe_core_python").joinpath("axe.min.js").read_text("utf-8") + ";0")
    report = page.run("axe.run(document, {resultTypes: ['violations']})")
    assert len(report["passes"]) > 15
    return [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in report["violations"]]
