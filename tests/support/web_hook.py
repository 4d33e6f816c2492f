"""HTTP server of a service that is sent documents, such as notifications."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from threading import Thread
from types import MappingProxyType, TracebackType
from typing import Any


class WebHook:
    """Context manager: answers requests with `status`, and keeps what was posted while that is below 300."""

    def __init__(self, status: int = 204, port: int = 0, headers: Mapping[str, str] = MappingProxyType({})) -> None:
        self.status = status
        self.posted, self.asked, outer = Queue[dict[str, Any]](), Queue[str](), self
        """The documents, and the paths of GET."""
        self.content_type = ""

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.content_type = self.headers["Content-Type"]
                if outer.status < 300:
                    outer.posted.put(json.loads(body))
                self._answer()

            def do_GET(self) -> None:
                outer.asked.put(self.path)
                self._answer()

            def _answer(self) -> None:
                self.send_response(outer.status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, *arguments: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._thread = Thread(target=self._http.serve_forever, daemon=True)
        self._thread.start()
        self.port = self._http.server_port
        self.host = f"127.0.0.1:{self.port}"

    def __enter__(self) -> WebHook:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def document(self) -> dict[str, Any]:
        """Return the next document, once it has come."""
        return self.posted.get(timeout=60)
