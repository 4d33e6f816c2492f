"""`tuimon check --follow`: a real process, and real services that get its messages."""

from __future__ import annotations

import base64
import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from support.terminal import TUIMON
from support.web_hook import WebHook

from tuimon.commands._follow import picture_of, unit_text
from tuimon.model.alerts import Alert
from tuimon.monitor.local import open_run


@pytest.fixture
def service() -> Iterator[WebHook]:
    with WebHook(200) as service:
        yield service


def first_line(service: WebHook) -> str:
    """Return the first line of the next message."""
    text: str = service.document()["message"]
    return text.splitlines()[0]


class Watch:
    """A run with a log, and the process that watches it."""

    def __init__(self, directory: Path) -> None:
        self.log = directory / "runs" / "a" / "metrics.jsonl"
        self.log.parent.mkdir(parents=True)
        self.config = directory / "config.toml"
        self.command = [*TUIMON, "check", "--follow", str(self.log.parent.parent)]
        self.environment = os.environ | {
            "TUIMON_CONFIG": str(self.config),
            "XDG_STATE_HOME": str(directory / "state"),
            "MPLCONFIGDIR": str(directory / "matplotlib"),
        }
        self.processes: list[subprocess.Popen[str]] = []
        self.write(range(40))

    def write(self, steps: range, loss: float | None = None) -> None:
        with self.log.open("a") as file:
            for step in steps:
                value = 1 / (step + 1) if loss is None else loss
                file.write(json.dumps({"step": step, "timestamp": 1.7e9 + step, "loss": value, "lr": 1e-6}) + "\n")

    def start(self, **notify: Any) -> subprocess.Popen[str]:
        rows = [f"{key} = {json.dumps(value)}" for key, value in notify.items()]
        self.config.write_text("\n".join(["[detectors]", "liveness = false", "[notify]", *rows]))
        pipe = subprocess.PIPE
        process = subprocess.Popen(self.command, env=self.environment, stdout=pipe, stderr=pipe, text=True)
        self.processes.append(process)
        assert process.stdout.readline(), "the state at the start"
        return process

    def stop(self) -> tuple[str, str]:
        process = self.processes[-1]
        process.terminate()  # a shell that starts the tests in the background lets them ignore SIGINT
        printed = process.communicate(timeout=60)
        self.processes.pop()
        return printed


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[Watch]:
    watch = Watch(tmp_path)
    yield watch
    for process in watch.processes:
        process.kill()
        process.communicate()


@pytest.fixture
def mails() -> Iterator[tuple[str, Queue[Message]]]:
    """The URL of a mailbox, and what it has got."""
    got = Queue[Message]()

    class Mailbox:
        async def handle_DATA(self, server: object, session: object, envelope: Any) -> str:
            got.put(message_from_bytes(envelope.content))
            return "250 OK"

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    controller = Controller(Mailbox(), hostname="127.0.0.1", port=port)
    controller.start()
    yield f"mailto://127.0.0.1:{port}?from=tuimon@example.org&to=me@example.org&mode=insecure", got
    controller.stop()


def test_an_incident_and_its_end_are_sent_once_also_over_a_restart(
    watch: Watch, service: WebHook, mails: tuple[str, Queue[Message]]
) -> None:
    process = watch.start(urls=[f"json://{service.host}", mails[0]])
    again = subprocess.run(watch.command, env=watch.environment, capture_output=True, text=True, timeout=60)
    assert again.returncode == 2
    assert "another" in again.stderr, "the same paths are watched once"
    watch.write(range(40, 41), float("nan"))
    first = service.document()
    assert first["message"].startswith("a: loss is NaN since step 40")
    assert first["type"] == "failure"
    (picture,) = first["attachments"]
    assert base64.b64decode(picture["base64"]).startswith(b"\x89PNG")
    assert "a: loss is NaN since step 40" in process.stdout.readline()
    parts = {part.get_content_type(): part for part in mails[1].get(timeout=60).walk()}
    assert "image/png" in parts
    assert parts["text/plain"].get_payload(decode=True).startswith(b"a: loss is NaN since step 40")  # type: ignore[union-attr]
    watch.stop()

    watch.write(range(41, 80))  # the incident ends while nobody watches, and another one begins
    watch.write(range(80, 81), float("inf"))
    watch.start(urls=[f"json://{service.host}"])
    told = {first_line(service), first_line(service)}
    assert {"resolved at step 40" in text for text in told} == {True, False}
    assert any("since step 80" in text for text in told)
    watch.stop()

    watch.start(urls=[f"json://{service.host}"])
    watch.write(range(81, 120))
    assert "resolved at step 80" in first_line(service), "and nothing was repeated before"
    watch.stop()
    assert service.posted.empty()


def test_a_message_is_repeated_until_it_is_delivered_also_by_the_next_process(watch: Watch, service: WebHook) -> None:
    service.status = 503
    watch.start(urls=[f"json://{service.host}"])
    watch.write(range(40, 41), float("nan"))
    process = watch.processes[0]
    while "json did not take the message" not in (line := process.stderr.readline()):
        assert line, "the problem is printed"
    _, errors = watch.stop()
    assert "json did not get: a: loss is NaN since step 40" in errors
    service.status = 200
    watch.start(urls=[f"json://{service.host}"])
    assert first_line(service).startswith("a: loss is NaN since step 40")


def test_a_run_that_finishes_the_summary_of_the_day_and_the_sign_of_life(watch: Watch, service: WebHook) -> None:
    options = {"urls": [f"json://{service.host}"], "summary": "00:00", "alive": f"http://{service.host}/alive"}
    watch.start(**options)
    assert service.asked.get(timeout=60) == "/alive"
    (watch.log.parent / "train.log").write_text("pipeline complete!\n")
    finished = first_line(service)
    assert finished.startswith("a: finished: a ")
    watch.stop()
    assert service.posted.empty(), "the first process has begun after the time of the summary"
    (ledger,) = (watch.log.parents[2] / "state" / "tuimon" / "told").glob("*.json")
    told = json.loads(ledger.read_bytes())
    assert service.host not in ledger.read_text()
    ((channel, stages),) = told.items()
    ledger.write_text(json.dumps({channel: {id: stage for id, stage in stages.items() if "summary" not in id}}))
    watch.start(**options)
    summary = service.document()["message"].splitlines()
    assert summary[0] == time.strftime("summary: %Y-%m-%d")
    assert "finished" in summary[1]


def test_the_unit_runs_the_same_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    unit = unit_text(["check", "--follow", 'a "b" 100% $x\\'])
    (line,) = (line for line in unit.splitlines() if line.startswith("ExecStart="))
    assert line.endswith('"check" "--follow" "a \\"b\\" 100%% $$x\\\\"')
    assert f"WorkingDirectory={tmp_path}" in unit


def test_a_metric_without_a_chart_has_no_picture(watch: Watch) -> None:
    snapshot = open_run(watch.log)
    assert picture_of(snapshot, Alert("rule", "warning", snapshot.runs[0].id, "not logged", 3)) == b""
    assert picture_of(snapshot, Alert("rule", "warning", snapshot.runs[0].id, "loss", 3)).startswith(b"\x89PNG")
