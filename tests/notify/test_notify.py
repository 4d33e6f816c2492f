"""Notifications, sent to a real server, a real program and a real terminal."""

from __future__ import annotations

import json
import math
import re
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from queue import Queue
from types import MappingProxyType

import numpy as np
import pytest
from msgspec.structs import replace
from support.stores import store_of

from tuimon.detectors import Checker
from tuimon.errors import TuimonError, UsageError
from tuimon.model.alerts import Alert
from tuimon.model.events import Columns, Notice, Progress
from tuimon.notify import Message, News, Notifier, channels_of
from tuimon.notify.channels import CommandChannel, Webhook, sequence, terminal_kind, wrapped
from tuimon.notify.ledger import Ledger, is_watched
from tuimon.notify.outbox import Outbox, Unreachable
from tuimon.store import Store
from tuimon.tui.bars import AlertBar
from tuimon.tui.launch import _report_unsent

MESSAGE = Message("grpo-1.5b", "/logs/a", "nonfinite", "critical", "loss", 30, "loss is NaN; since step 30", "go back")


class Server:
    """HTTP server that records POST requests and answers with `status` and some headers."""

    def __init__(self, status: int, port: int = 0, headers: Mapping[str, str] = MappingProxyType({})) -> None:
        self.got: Queue[tuple[str, dict[str, object]]] = Queue()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.got.put((self.headers["Content-Type"], json.loads(body)))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, *arguments: object) -> None:
                pass

        self.http = HTTPServer(("127.0.0.1", port), Handler)
        self.thread = threading.Thread(target=self.http.serve_forever, daemon=True)
        self.thread.start()
        self.address = f"http://127.0.0.1:{self.http.server_port}/hook/secret"

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server(204)
    yield server
    server.close()


def test_webhook_gets_a_json_object(server: Server) -> None:
    Webhook(server.address).send(MESSAGE)
    kind, sent = server.got.get(timeout=60)
    assert kind == "application/json"
    assert sent == {
        "schema": 1,
        "text": "grpo-1.5b: loss is NaN; since step 30",
        "run": "grpo-1.5b",
        "path": "/logs/a",
        "rule": "nonfinite",
        "severity": "critical",
        "metric": "loss",
        "step": 30,
        "message": "loss is NaN; since step 30",
        "hint": "go back",
        "more": 0,
        "until": None,
    }


def test_webhook_errors() -> None:
    refusing = Server(500)
    with pytest.raises(Unreachable, match=r"127\.0\.0\.1:\d+ answered with status 500") as caught:
        Webhook(refusing.address).send(MESSAGE)
    assert "secret" not in caught.value.message
    refusing.close()
    with pytest.raises(Unreachable, match=r"cannot reach 127\.0\.0\.1:\d+: Connection refused$") as caught:
        Webhook(refusing.address).send(MESSAGE)
    assert "secret" not in caught.value.message


def test_a_webhook_that_redirects_has_not_got_the_message(server: Server) -> None:
    moved = Server(302, headers={"Location": server.address})
    with pytest.raises(TuimonError, match="answered with status 302: set the address that it redirects to"):
        Webhook(moved.address).send(MESSAGE)
    moved.close()
    assert server.got.empty()


def test_program_gets_environment_and_standard_input(tmp_path: Path) -> None:
    script, out = tmp_path / "hook.py", tmp_path / "out.json"
    script.write_text(
        "import json, os, sys\n"
        "sent = {k: v for k, v in os.environ.items() if k.startswith('TUIMON_')}\n"
        f"json.dump([sys.argv[1:], sent, json.load(sys.stdin)], open({str(out)!r}, 'w'))\n"
    )
    CommandChannel((sys.executable, str(script), "$(touch x); `y`")).send(MESSAGE)
    arguments, environment, document = json.loads(out.read_text())
    assert arguments == ["$(touch x); `y`"], "no shell is involved"
    assert environment["TUIMON_TEXT"] == "grpo-1.5b: loss is NaN; since step 30"
    assert (environment["TUIMON_SEVERITY"], environment["TUIMON_STEP"]) == ("critical", "30")
    assert document == MESSAGE.document()


def test_program_errors(tmp_path: Path) -> None:
    with pytest.raises(TuimonError, match="could not be started"):
        CommandChannel((str(tmp_path / "none"),)).send(MESSAGE)
    with pytest.raises(TuimonError, match="exited with status 3") as caught:
        CommandChannel((sys.executable, "-c", "import sys; print('no bus', file=sys.stderr); sys.exit(3)")).send(
            MESSAGE
        )
    assert caught.value.hint == "no bus"


def test_terminal_sequences() -> None:
    assert sequence("9", MESSAGE) == "\x1b]9;grpo-1.5b: loss is NaN; since step 30\x1b\\"
    assert sequence("777", MESSAGE) == "\x1b]777;notify;tuimon: critical;grpo-1.5b: loss is NaN, since step 30\x1b\\"
    assert sequence("99", MESSAGE) == "\x1b]99;;grpo-1.5b: loss is NaN; since step 30\x1b\\"
    assert wrapped("\x1b]9;a\x1b\\", {}) == "\x1b]9;a\x1b\\"
    assert wrapped("\x1b]9;a\x1b\\", {"TMUX": "socket,1,0"}) == "\x1bPtmux;\x1b\x1b]9;a\x1b\x1b\\\x1b\\"


@pytest.mark.parametrize(
    ("environment", "kind"),
    [
        ({"TERM": "xterm-kitty"}, "99"),
        ({"TERM": "foot"}, "777"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "ghostty"}, "777"),
        ({"TERM": "xterm-256color"}, "9"),
    ],
)
def test_sequence_is_chosen_by_the_terminal(environment: dict[str, str], kind: str) -> None:
    assert terminal_kind(environment) == kind


@pytest.mark.parametrize(
    "options",
    [
        {"pager": True},
        {"bell": "loud"},
        {"terminal": "8"},
        {"command": "notify-send tuimon"},
        {"command": ["a", 3]},
        {"webhook": "ftp://example.org"},
        {"webhook": "file:///etc/passwd"},
        {"severity": "loud"},
        {"urls": "ntfy://ntfy.sh/x"},
        {"urls": ["https//x"]},
        {"quiet": "22-7"},
        {"summary": "25:00"},
        {"alive": "hc-ping.com"},
    ],
)
def test_invalid_settings(options: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=r"config\.toml: \[notify\]"):
        channels_of(options, print)


def grow(store: Store, step: int, value: float) -> None:
    ones = np.ones(1, np.uint32)
    store.apply(Columns(0, ones * 0, ones, np.array([step]), np.array([value]), np.array([step * 1.0])))
    store.set_alerts(Checker().check_all(store.snapshot()))


class Recorder:
    """Records what bell and terminal notifications write, and the notices of errors."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.notices: list[Notice] = []

    def wait_for(self, count: int) -> None:
        """Wait until so many messages were written."""
        end = time.monotonic() + 60
        while len(self.sent) < count:
            assert time.monotonic() < end, self.sent
            time.sleep(0.01)

    def notifier(self, options: dict[str, object]) -> Notifier:
        return Notifier(channels_of(options, self.sent.append), self.notices.append)


def test_one_message_per_incident_one_at_its_end_and_none_for_earlier_incidents() -> None:
    recorder, store = Recorder(), store_of({"loss": [1.0] * 20 + [math.nan] + [1.0] * 20})
    notifier = recorder.notifier({"terminal": "9", "bell": True})
    store.set_alerts(Checker().check_all(store.snapshot()))
    notifier.update(store.snapshot())
    store.apply(Progress(1, 1, True))
    notifier.update(store.snapshot())
    for number in range(6):
        grow(store, 420 + 10 * number, math.nan)
        notifier.update(store.snapshot())
        notifier.update(store.snapshot())
    recorder.wait_for(2)
    for number in range(12):
        grow(store, 500 + 10 * number, 1.0)
        notifier.update(store.snapshot())
    notifier.close()
    bell, end, begin = sorted(recorder.sent)
    assert bell == "\a", "an end does not ring"
    assert begin == "\x1b]9;run 0: loss is NaN since step 420; 1 of 42 points\x1b\\"
    assert "(resolved at step 470)" in end
    assert recorder.notices == []


def test_an_incident_that_gets_more_severe_is_sent_again_once() -> None:
    recorder = Recorder()
    kl = np.concatenate((np.full(300, 0.01), 0.01 * 1.06 ** np.arange(150))) * (1 + 0.01 * np.sin(np.arange(450)))
    store = store_of({"kl": kl[:300].tolist()})
    notifier = recorder.notifier({"terminal": "9"})
    store.apply(Progress(1, 1, True))
    notifier.update(store.snapshot())
    for row in range(300, 450):
        grow(store, 10 * (row + 1), float(kl[row]))
        notifier.update(store.snapshot())
        recorder.wait_for(len(store.snapshot().alerts) and 1)
    notifier.close()
    first, second = recorder.sent
    assert "kl has risen from 0.01001 to 0.1" in first
    factor = re.search(r"\((\d+) times\)", second)
    assert factor is not None
    assert int(factor[1]) >= 100
    assert first.rpartition("since")[2] == second.rpartition("since")[2], "the same incident"


def test_failing_channel_is_reported_and_others_still_send(tmp_path: Path) -> None:
    recorder, store = Recorder(), store_of({"loss": [1.0] * 20})
    notifier = recorder.notifier({"command": [str(tmp_path / "none")], "bell": True})
    store.apply(Progress(1, 1, True))
    notifier.update(store.snapshot())
    grow(store, 210, math.inf)
    notifier.update(store.snapshot())
    notifier.close(timeout=60)
    assert recorder.sent == ["\a"]
    (notice,) = recorder.notices
    assert notice.level == "warning"
    assert notice.message.startswith(f"command failed: {tmp_path / 'none'} could not be started: No such file")
    assert notice.message.endswith("; 1 alert not sent"), "a program may have sent it: it is not started again"


def test_a_webhook_that_is_down_gets_the_alert_when_it_is_up_again() -> None:
    """The incident has ended meanwhile: the alert arrives with the step of its end."""
    closed = Server(204)
    closed.close()
    notices: Queue[Notice] = Queue()
    notifier = Notifier(channels_of({"webhook": closed.address}, print), notices.put, pauses=(0.01,))
    store = store_of({"loss": [1.0] * 5})
    store.apply(Progress(1, 1, True))
    notifier.update(store.snapshot())
    alert = Alert("nonfinite", "critical", 0, "loss", 60, "loss is NaN")
    store.set_alerts([alert])
    notifier.update(store.snapshot())
    down = [notices.get(timeout=60) for _ in range(3)][-1]
    assert re.fullmatch(
        rf"webhook down: cannot reach 127\.0\.0\.1:{closed.http.server_port}: Connection refused; "
        r"tried 3 times, 1 alert queued, next try at \d\d:\d\d:\d\d",
        down.message,
    )
    store.apply(down)
    (shown,) = store.snapshot().notices
    assert shown.message == down.message, "nothing of it is hidden"
    row = AlertBar()._content(store.snapshot(), store.snapshot().run(0))
    assert [text for text, _ in row] == [" ✗ 1 alert: ", "loss is NaN", " webhook down ", "  a: all"]

    store.set_alerts([replace(alert, until=70)])
    notifier.update(store.snapshot())
    server = Server(204, closed.http.server_port)
    _, sent = server.got.get(timeout=60)
    assert sent["text"] == "run 0: loss is NaN (resolved at step 70)"
    assert sent["until"] == 70
    while (notice := notices.get(timeout=60)).level != "info":
        pass
    assert notice.message.startswith("webhook works again after ")
    store.apply(notice)
    assert [notice.mark for notice in store.snapshot().notices] == [""], "it has replaced the one before"
    notifier.close(timeout=60)
    server.close()
    assert server.got.empty(), "the alert was sent once"


def test_the_newest_alerts_are_kept_while_a_channel_is_down() -> None:
    works, notices = threading.Event(), Queue[Notice]()
    sent: list[int | None] = []

    class Gate:
        name = "gate"

        def send(self, message: Message) -> None:
            if not works.is_set():
                raise Unreachable("closed")
            sent.append(message.step)

    outbox = Outbox(Gate(), notices.put, pauses=(1e6,))
    for step in range(130):
        outbox.offer([News(str(step), 2, replace(MESSAGE, step=step))])
    notices.get(timeout=60)  # the first attempt has failed
    works.set()
    outbox.close()
    outbox.join(60)
    assert sent == list(range(30, 130))


def test_an_alert_that_is_refused_at_the_end_is_printed_once() -> None:
    closed = threading.Event()

    class Gate:
        name = "gate"

        def send(self, message: Message) -> None:
            closed.wait(60)
            raise TuimonError("refused") if message.step == 0 else Unreachable("closed")

    outbox = Outbox(Gate(), Queue[Notice]().put)
    for step, text in enumerate(("refused", "held up")):
        outbox.offer([News(str(step), 2, replace(MESSAGE, step=step, message=text))])
    outbox.close()
    closed.set()
    assert outbox.join(60) == ["grpo-1.5b: refused", "grpo-1.5b: held up"]


def test_alerts_that_could_not_be_delivered_are_printed_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    class Gate:
        name = "gate"

        def send(self, message: Message) -> None:
            if message.step == 0:
                raise TuimonError("refused")
            if message.step == 2:
                raise Unreachable("closed")

    notices = Queue[Notice]()
    outbox = Outbox(Gate(), notices.put, pauses=(1e6,))
    outbox.offer([News("2", 2, replace(MESSAGE, step=2, message="held up"))])
    notices.get(timeout=60)  # the first attempt has failed
    outbox.offer([News("3", 2, replace(MESSAGE, step=3, message="behind"))])
    outbox.close()
    unsent = outbox.join(60)
    assert unsent == ["grpo-1.5b: held up", "grpo-1.5b: behind"]
    _report_unsent({"gate": unsent})
    assert capsys.readouterr().err.splitlines() == [f"tuimon: gate did not get: {text}" for text in unsent]
    refusing, delivered = (Outbox(Gate(), notices.put) for _ in range(2))
    refusing.close()
    refusing.offer([News("0", 2, replace(MESSAGE, step=0))])
    delivered.offer([News("1", 2, replace(MESSAGE, step=1))])
    delivered.close()
    assert delivered.join(60) == []
    assert refusing.join(60) == [replace(MESSAGE, step=0).text]


def test_many_alerts_at_once_are_one_message() -> None:
    recorder = Recorder()
    store = store_of({"loss": [1.0] * 5})
    notifier = recorder.notifier({"terminal": "9"})
    store.apply(Progress(1, 1, True))
    notifier.update(store.snapshot())
    store.set_alerts([Alert("nonfinite", "critical", 0, f"metric{n}", 60, f"metric{n} is NaN") for n in range(5)])
    notifier.update(store.snapshot())
    notifier.close()
    assert len(recorder.sent) == 1
    assert "(and 4 more)" in recorder.sent[0]


def test_only_critical_alerts_are_sent_in_quiet_hours() -> None:
    recorder = Recorder()
    store = store_of({"loss": [1.0] * 5})
    notifier = recorder.notifier({"terminal": "9", "quiet": "22:00-07:00"})
    store.apply(Progress(1, 1, True))
    night, morning = (time.mktime((2026, 11, day, hour, 0, 0, 0, 0, -1)) for day, hour in ((28, 23), (29, 7)))
    notifier.update(store.snapshot(), now=night)
    kl, loss = Alert("kl", "warning", 0, "kl", 60, "kl has risen"), Alert("nonfinite", "critical", 0, "loss", 60, "NaN")
    store.set_alerts([kl, loss])
    notifier.update(store.snapshot(), now=night)
    recorder.wait_for(1)
    store.set_alerts([replace(kl, until=90), loss])
    notifier.update(store.snapshot(), now=morning)
    notifier.close(60)
    assert [text[4:-2] for text in recorder.sent] == ["run 0: NaN", "run 0: kl has risen (resolved at step 90)"]


def test_a_dashboard_leaves_the_channels_to_a_watch_of_the_same_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: Server
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    paths, recorder, store = [str(tmp_path / "runs")], Recorder(), store_of({"loss": [1.0] * 5})
    channels = channels_of({"terminal": "9", "webhook": server.address}, recorder.sent.append)
    notifier = Notifier(channels, recorder.notices.append, is_told=lambda: is_watched(paths))
    store.apply(Progress(1, 1, True))
    notifier.update(store.snapshot())
    watch = Ledger(paths)
    assert is_watched(paths)
    first, second = (Alert("nonfinite", "critical", 0, name, 60, f"{name} is NaN") for name in ("loss", "kl"))
    store.set_alerts([first])
    notifier.update(store.snapshot())
    watch.close()
    store.set_alerts([first, second])
    notifier.update(store.snapshot())
    notifier.close(60)
    assert [text[4:-2] for text in recorder.sent] == ["run 0: loss is NaN", "run 0: kl is NaN"]
    assert server.got.get(timeout=60)[1]["text"] == "run 0: kl is NaN"
    assert server.got.empty()


def test_log_text_cannot_control_a_terminal() -> None:
    recorder, store = Recorder(), store_of({"loss": [1.0] * 5, "evil\x1b]52;c;x\x07/loss": [1.0] * 5})
    notifier = recorder.notifier({"terminal": "9", "severity": "info"})
    store.apply(Progress(1, 1, True))
    notifier.update(store.snapshot())
    store.apply(
        Columns(
            0, np.array([1], np.uint32), np.ones(1, np.uint32), np.array([60]), np.array([math.nan]), np.array([6.0])
        )
    )
    store.set_alerts(Checker().check_all(store.snapshot()))
    notifier.update(store.snapshot())
    notifier.close()
    (sent,) = recorder.sent
    assert sent.startswith("\x1b]9;")
    assert sent.endswith("\x1b\\")
    assert not any(character < " " or "\x7f" <= character < "\xa0" for character in sent[4:-2])


def test_dashboard_sends_messages(tmp_path: Path) -> None:
    """End to end: a log grows, a detector finds an incident, the terminal is notified and a program is started."""
    from support.terminal import TUIMON, Terminal

    log, out = tmp_path / "run" / "metrics.jsonl", tmp_path / "sent"
    log.parent.mkdir()
    log.write_text("".join(f'{{"step": {step}, "loss": 0.5}}\n' for step in range(1, 30)))
    script = tmp_path / "hook.py"
    script.write_text(f"import os; open({str(out)!r}, 'a').write(os.environ['TUIMON_MESSAGE'] + '\\n')\n")
    config = tmp_path / "config.toml"
    config.write_text(
        '[[rules]]\nrule = "loss < 1"\n[notify]\nterminal = "9"\nbell = true\n'
        f"command = {json.dumps([sys.executable, str(script)])}\n"
    )
    command = (*TUIMON, str(log.parent))
    with Terminal(command, environment={"TUIMON_CONFIG": str(config), "TMUX": ""}) as terminal:
        terminal.until(
            lambda shown: b"loss < 1: loss has reached" in shown, 30
        )  # shown on the screen only, because it is not new
        with log.open("a") as file:
            file.write('{"step": 30, "loss": NaN}\n')
        name, sent = tmp_path.name, b": loss is NaN since step 30; 1 of 30 points\x1b\\"
        terminal.until(lambda shown: sent in shown, 30)
        until = time.monotonic() + 60
        while not out.exists() and time.monotonic() < until:
            terminal.read(0.05)
        assert b"\x1b]9;" not in bytes(terminal.output).replace(b"\x1b]9;" + name.encode() + sent, b"")
    assert out.read_text() == "loss is NaN since step 30; 1 of 30 points\n"


def test_an_end_is_told_where_the_beginning_was_however_mild_it_is() -> None:
    recorder, store = Recorder(), store_of({"loss": [1.0] * 5})
    notifier = recorder.notifier({"terminal": "9", "severity": "critical"})
    store.apply(Progress(1, 1, True))
    notifier.update(store.snapshot())
    told, other = Alert("nonfinite", "critical", 0, "loss", 60, "NaN"), Alert("kl", "warning", 0, "kl", 60, "risen")
    store.set_alerts([told, other])
    notifier.update(store.snapshot())
    recorder.wait_for(1)
    store.set_alerts([replace(told, severity="warning", until=70), replace(other, until=70)])
    notifier.update(store.snapshot())
    notifier.close(60)
    assert [text[4:-2] for text in recorder.sent] == ["run 0: NaN", "run 0: NaN (resolved at step 70)"]


def test_a_channel_goes_on_when_what_it_has_got_cannot_be_noted() -> None:
    def fail(stages: Mapping[str, int]) -> None:
        raise OSError(28, "No space left on device")

    notices, sent = Queue[Notice](), Queue[str]()

    class Gate:
        name = "gate"

        def send(self, message: Message) -> None:
            sent.put(message.message)

    outbox = Outbox(Gate(), notices.put, fail)
    for text in ("first", "second"):
        outbox.offer([News(text, 2, replace(MESSAGE, message=text))])
    outbox.close()
    assert outbox.join(60) == []
    assert [sent.get(timeout=60), sent.get(timeout=60)] == ["first", "second"]
    assert "No space left" in notices.get(timeout=60).message
