"""An S3-compatible server on a loopback port, which counts the requests."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from typing import Any

import boto3
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


class S3Server:
    """Context manager: a server with one bucket."""

    bucket = "runs"

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, str]] = []
        """(method, path with the parameters, range) of each request."""
        self._application: Any = DomainDispatcherApplication(create_backend_app)
        self._server = make_server("127.0.0.1", 0, self._serve, threaded=True)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.environment = {**ENVIRONMENT, "AWS_ENDPOINT_URL": self.url}
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> S3Server:
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self._thread.start()
        self._client = boto3.client(
            "s3",
            endpoint_url=self.url,
            aws_access_key_id="key",
            aws_secret_access_key="secret",
            region_name="us-east-1",
        )
        self._client.create_bucket(Bucket=self.bucket)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._client.close()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def put(self, key: str, data: bytes) -> None:
        self._client.put_object(Bucket=self.bucket, Key=key, Body=data)

    def delete(self, key: str) -> None:
        self._client.delete_object(Bucket=self.bucket, Key=key)

    def gets(self) -> list[tuple[str, str]]:
        """Return (key, range) of each object that was read, and forget the requests."""
        requests, self.requests = self.requests, []
        prefix = f"/{self.bucket}/"
        return [
            (path.removeprefix(prefix), span)
            for method, path, span in requests
            if method == "GET" and path.startswith(prefix) and "?" not in path
        ]

    def _serve(self, environment: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        query = environment.get("QUERY_STRING", "")
        path = environment["PATH_INFO"] + (f"?{query}" if query else "")
        self.requests.append((environment["REQUEST_METHOD"], path, environment.get("HTTP_RANGE", "")))
        return self._application(environment, start)  # type: ignore[no-any-return]
