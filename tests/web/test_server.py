"""The protocol of the live page: a real server, its reader process, and a client of its own."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.client import IncompleteRead
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from support.pages import HOSTILE, write_hostile
from support.web_server import Events, WebServer, children_gone


def append(path: Path, *steps: int, **more: Any) -> None:
    with path.open("a") as file:
        for step in steps:
            file.write(json.dumps({"step": step, "train/reward": step / 10, "loss": 1 / (step + 1), **more}) + "\n")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "grpo" / "metrics.jsonl"
    path.parent.mkdir()
    append(path, *range(10))
    return path


class Standing:
    """A server that several tests share, and its log."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self.last = -1
        """Last step of the log."""
        self.grow(10)
        self.server = WebServer(log.parent)

    def grow(self, steps: int = 1) -> None:
        append(self.log, *range(self.last + 1, self.last + 1 + steps))
        self.last += steps


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standing]:
    """A server for tests that neither end it nor change more than the last step."""
    path = tmp_path_factory.mktemp("standing") / "grpo" / "metrics.jsonl"
    path.parent.mkdir()
    shared = Standing(path)
    with shared.server:
        yield shared


def has_step(step: int) -> Callable[[Events], Any]:
    """Return a condition: the state of the run has this step."""
    return lambda page: re.search(rf"<dt>step</dt><dd>{step}\b", page.html.get("state", ""))


# ---------------------------------------------------------------------- the page and its files


def test_the_page_loads_only_files_of_the_server(standing: Standing) -> None:
    server = standing.server
    server.run_key()
    page = server.ask()
    assert page.status == 200
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert page.headers["Cache-Control"] == "no-store"
    assert page.headers["Referrer-Policy"] == "no-referrer"
    assert "style" not in re.sub(r'<link rel="stylesheet" href="\w+\.css">', "", page.text).lower()
    files = re.findall(r'<(?:link|script)[^>]* (?:href|src)="(.+?)"', page.text)
    assert len(files) == 5
    for name in files:
        assert re.fullmatch(r"\w+\.(css|js|svg)", name)
        assert server.ask(name).status == 200
    for name in ("macros.html", "live.html", "..%2fmacros.html", "base.html", "__init__.py", "%2e%2e/x"):
        assert server.ask(name).status == 404
    report = server.ask("report")
    assert all(words in report.text for words in ("Provenance", "sha256-"))
    assert report.headers["Content-Security-Policy"] == "frame-ancestors 'none'"


def test_requests_that_only_read_are_answered(standing: Standing) -> None:
    server = standing.server
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        assert server.ask("", method).status == 405
    assert server.ask("/").status == 404
    assert server.ask(f"/{'x' * 32}/").status == 404
    assert server.ask(server.base.rstrip("/")).status == 308
    assert server.ask(headers={"Host": "evil.example"}).status == 421
    assert server.ask("events", headers={"Origin": "http://evil.example"}).status == 403
    for body in ("", "{}", "[", '{"page": 1, "keys": []}', '{"page": "x", "keys": "abc"}'):
        assert server.ask("view", "POST", body=body).status == 400
    assert server.ask("view", "POST", body='{"page": "unknown", "keys": []}').status == 404
    assert server.ask("view", "POST", body=json.dumps({"page": "x" * 100_000, "keys": []})).status == 413
    assert server.ask("?run=unknown").status == 404
    assert "evil" not in server.ask("?run=<evil>").text


def test_names_with_markup_are_escaped_and_each_server_has_its_token(standing: Standing, tmp_path: Path) -> None:
    write_hostile(tmp_path)
    with WebServer(tmp_path) as server, server.events(server.run_key()) as events:
        assert len(server.base.strip("/")) >= 32
        assert server.ask(standing.server.base).status == 404
        events.until(has_step(11))
        events.see_all()
        text = "".join(events.html.values()) + server.ask().text
        assert all(re.fullmatch(r"[a-z0-9-]+", key) for key in events.keys)
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
        assert not re.search(r"<(script|img|style|iframe)\b(?! src=\"(chart|live).js)", text)
        assert not any(words in text for words in ("\x1b", "\u202e", "sk-abcdefghijklmnop", HOSTILE[0]))


# ---------------------------------------------------------------------- events


def test_a_point_that_is_written_arrives_and_only_what_changed_is_sent(standing: Standing) -> None:
    server = standing.server
    with server.events(server.run_key()) as events:
        events.until(has_step(standing.last))
        events.see_all()
        assert [name for name, keys in events.layout.items() if keys] == [
            *("state", "curves", "texts", "metrics", "sources")
        ]
        chart = events.html[events.layout["curves"][0]]
        standing.grow()
        events.until(has_step(standing.last))
        events.until(lambda page: page.html[page.layout["curves"][0]] != chart)
        assert "layout" not in events.last


def test_what_is_not_in_view_is_not_drawn(standing: Standing) -> None:
    server = standing.server
    with server.events(server.run_key()) as events:
        events.until(has_step(standing.last))
        events.see_all()
        events.see("state")
        standing.grow()
        events.until(has_step(standing.last))  # what was drawn for the view before has arrived, too
        drawn = dict(events.html)
        standing.grow()
        events.until(has_step(standing.last))
        assert {key for key, html in events.html.items() if html != drawn[key]} == {"state"}
        events.see("state", "metrics-0")
        events.until(lambda page: page.html["metrics-0"] != drawn["metrics-0"])


def write_texts(log: Path, step: int, *responses: str) -> None:
    """Write the file of a step as verl does."""
    folder = log.parent / "rollouts"
    folder.mkdir(exist_ok=True)
    rows = [
        {"input": "What is 7 * 8?", "output": text, "score": float(n), "step": step} for n, text in enumerate(responses)
    ]
    (folder / f"{step}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_a_new_metric_texts_a_reader_that_dies_and_a_hang_up(log: Path) -> None:
    with WebServer(log.parent) as server, server.events(server.run_key()) as events:
        events.until(has_step(9))
        events.see_all()
        assert "No file of this run has generated texts" in events.html["texts"]
        before = events.layout
        append(log, 10, entropy=0.5)
        events.until(lambda page: page.layout != before)
        assert events.last["metrics"] == 3
        assert len(events.layout["curves"]) == len(before["curves"]) + 1
        write_texts(log, 1, "<script>alert(1)</script>\x1b[31m", "key sk-" + "a1B2" * 8, "fifty-six")
        events.until(lambda page: "Texts of step 1" in page.html["texts"])
        shown = events.html["texts"]
        assert all(words in shown for words in ("&lt;script&gt;", "fifty-six", "mean reward 1"))
        assert not any(words in shown for words in ("<script", "\x1b", "a1B2a1B2"))
        write_texts(log, 2, "8 * 7 = 56")
        events.until(lambda page: "Texts of step 2" in page.html["texts"])
        assert "8 * 7 = 56" in events.html["texts"]
        [reader] = server.readers()
        os.kill(reader, signal.SIGKILL)
        append(log, 11)
        events.until(has_step(11))
        assert reader not in server.readers()
        ends(server, events, signal.SIGHUP)


def ends(server: WebServer, events: Events, number: signal.Signals) -> None:
    """A signal ends the server, its reader and its connections."""
    readers = server.readers()
    code, errors = server.end(number)
    assert code == 128 + number
    assert all(words in errors for words in ("Serving /", "Ctrl+C ends it"))
    assert not any(words in errors for words in ("Traceback", "rror")), errors
    assert children_gone(readers)
    with suppress(ConnectionError, IncompleteRead):
        assert events.response.read() is not None  # the connection ends


def test_a_page_that_reconnects_loses_nothing(log: Path) -> None:
    with WebServer(log.parent) as server:
        run = server.run_key()
        with server.events(run) as kept:
            kept.until(has_step(9))
            kept.see_all()
            with server.events(run) as lost:
                lost.until(has_step(9))
                lost.see_all()
            append(log, 10, 11)
            kept.until(has_step(11))
            with server.events(run, last_id=lost.last_id) as again:
                again.html, again.layout = lost.html, lost.layout
                append(log, 12)
                for page in (kept, again):
                    page.see_all()
                    page.until(has_step(12))
                    page.until(lambda page: ">13</td>" in page.html["metrics-0"])
                charts = kept.layout["curves"]
                again.until(lambda page: all(page.html[key] == kept.html[key] for key in [*charts, "metrics-0"]))
                assert again.layout == kept.layout
                ends(server, again, signal.SIGINT)


def test_only_an_id_of_this_server_is_continued(standing: Standing) -> None:
    server = standing.server
    run = server.run_key()
    with server.events(run) as kept:
        kept.until(has_step(standing.last))
        for since in ("00000000-999999", "nonsense", "00000000-" + "9" * 40):
            with server.events(run, last_id=since) as events:
                events.until(has_step(standing.last))
                assert events.layout == kept.layout
        with server.events(run, last_id=kept.last_id) as events:
            standing.grow()
            events.until(has_step(standing.last))
            assert events.layout == {}


def test_a_page_opened_before_the_first_log_is_loaded_again(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    with WebServer(tmp_path) as server:
        assert "waiting for the first log" in server.ask().text
        with server.events() as events:
            append(tmp_path / "run" / "metrics.jsonl", 1, 2, 3)
            events.wait_for("reload")
            assert events.response.read() == b""  # the connection has ended
        assert "metrics" in server.ask().text


def test_several_runs_have_a_page_each(log: Path) -> None:
    for name in ("b", "c"):
        (log.parent.parent / name).mkdir()
        append(log.parent.parent / name / "metrics.jsonl", 1, 2, 3)
    with WebServer(log.parent.parent) as server, server.events(server.run_key()) as events:
        events.until(lambda page: page.html.get("runs", "").count('href="?run=') == 3)
        runs = events.html["runs"]
        keys = re.findall(r'href="\?run=(\w+)"', runs)
        assert len(set(keys)) == 3
        titles = {server.ask(f"?run={key}").text.partition("<title>")[2].partition("</title>")[0] for key in keys}
        assert len(titles) == 3
        assert runs.count("aria-current") == 1


# ---------------------------------------------------------------------- the end


def test_half_open_connections_keep_nobody_out(log: Path) -> None:
    """With 256 files, as a shell may allow, 400 connections that never end their headers are too many to keep."""
    limit = "import os, resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256)); "
    limit += "os.execv(sys.executable, sys.argv[1:])"
    command = [sys.executable, "-c", limit, sys.executable, "-m", "tuimon", "serve", str(log.parent), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        address = urlsplit(process.stdout.readline().strip())
        opened = []
        for _ in range(400):
            with suppress(OSError):
                opened.append(socket.create_connection(("127.0.0.1", address.port), timeout=10))
                opened[-1].sendall(b"GET / HTTP/1.1\r\nHost: \x1b[31m")
        connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=60)
        connection.request("GET", address.path)
        assert connection.getresponse().status == 200
        connection.close()
        for waiting in opened:
            waiting.close()
        process.terminate()
        errors = process.communicate(timeout=60)[1]
    assert "Traceback" not in errors
    assert "\x1b" not in errors


def test_a_port_in_use_is_an_error(standing: Standing) -> None:
    server = standing.server
    command = [sys.executable, "-m", "tuimon", "serve", str(standing.log.parent), "--port", str(server.port)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert f"cannot listen on 127.0.0.1:{server.port}" in done.stderr


def test_without_the_extra_the_command_says_what_to_install(log: Path, tmp_path: Path) -> None:
    code = "import sys; sys.modules['aiohttp'] = None; from tuimon.commands import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", code, "serve", str(log)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert "pip install 'tuimon[web]'" in done.stderr
    assert "Traceback" not in done.stderr
