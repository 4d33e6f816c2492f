"""Notifications, sent to a real server, a real program and a real terminal."""

from __future__ import annotations

import json
import math
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from queue import Queue

import numpy as np
import pytest
from msgspec.structs import replace
from support.stores import store_of
from support.terminal import TUIMON, Terminal
from support.web_hook import WebHook

from tuimon.detectors import Checker
from tuimon.errors import TuimonError, UsageError
from tuimon.model.alerts import Alert
from tuimon.model.events import Columns, Notice, Progress
from tuimon.notify import Message, News, Notifier, channels_of
from tuimon.notify.channels import CommandChannel, Webhook, sequence, terminal_kind, wrapped
from tuimon.notify.ledger import Ledger, is_watched
from tuimon.notify.outbox import Outbox, Unreachable
from tuimon.tui.bars import AlertBar
from tuimon.tui.launch import _report_unsent

MESSAGE = Message("grpo-1.5b", "/logs/a", "nonfinite", "critical", "loss", 30, "loss is NaN; since step 30", "go back")
DOCUMENT = {
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
NAN = Alert("nonfinite", "critical", 0, "loss", 60, "NaN")
KL = Alert("kl", "warning", 0, "kl", 60, "risen")


@pytest.fixture
def free_port() -> Iterator[int]:
    """A port at which nothing listens until the test does, and that no other process is given meanwhile."""
    with socket.socket() as reserved:
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.bind(("127.0.0.1", 0))
        yield reserved.getsockname()[1]


# ---------------------------------------------------------------------- channels


def test_webhook_gets_a_json_object_or_is_an_error_without_its_secret(free_port: int) -> None:
    with WebHook() as server, WebHook(302, headers={"Location": f"http://{server.host}/"}) as moved:
        Webhook(f"http://{server.host}/hook/secret").send(MESSAGE)
        assert (server.content_type, server.document()) == ("application/json", DOCUMENT)
        with pytest.raises(TuimonError, match="answered with status 302: set the address that it redirects to"):
            Webhook(f"http://{moved.host}").send(MESSAGE)
        assert server.posted.empty()
        server.status = 500
        with pytest.raises(Unreachable, match=r"127\.0\.0\.1:\d+ answered with status 500") as refused:
            Webhook(f"http://{server.host}/hook/secret").send(MESSAGE)
    with pytest.raises(Unreachable, match=r"cannot reach 127\.0\.0\.1:\d+: Connection refused$") as closed:
        Webhook(f"http://127.0.0.1:{free_port}/hook/secret").send(MESSAGE)
    assert "secret" not in refused.value.message + closed.value.message


def test_program_gets_environment_and_standard_input_and_its_failure_is_reported(tmp_path: Path) -> None:
    script, out = tmp_path / "hook.py", tmp_path / "out.json"
    script.write_text(
        "import json, os, sys\n"
        "sent = {k: v for k, v in os.environ.items() if k.startswith('TUIMON_')}\n"
        f"json.dump([sys.argv[1:], sent, json.load(sys.stdin)], open({str(out)!r}, 'w'))\n"
    )
    CommandChannel((sys.executable, str(script), "$(touch x); `y`")).send(MESSAGE)
    arguments, environment, document = json.loads(out.read_text())
    assert (arguments, document) == (["$(touch x); `y`"], DOCUMENT), "no shell is involved"
    assert [environment[f"TUIMON_{name}"] for name in ("TEXT", "SEVERITY", "STEP")] == [MESSAGE.text, "critical", "30"]
    with pytest.raises(TuimonError, match="could not be started"):
        CommandChannel((str(tmp_path / "none"),)).send(MESSAGE)
    failing = "import sys; print('no bus', file=sys.stderr); sys.exit(3)"
    with pytest.raises(TuimonError, match="exited with status 3") as caught:
        CommandChannel((sys.executable, "-c", failing)).send(MESSAGE)
    assert caught.value.hint == "no bus"


@pytest.mark.parametrize(
    ("environment", "sent"),
    [
        ({"TERM": "xterm-kitty"}, f"\x1b]99;;{MESSAGE.text}\x1b\\"),
        ({"TERM": "foot"}, "\x1b]777;notify;tuimon: critical;grpo-1.5b: loss is NaN, since step 30\x1b\\"),
        (
            {"TERM": "xterm-256color", "TERM_PROGRAM": "ghostty"},
            "\x1b]777;notify;tuimon: critical;grpo-1.5b: loss is NaN, since step 30\x1b\\",
        ),
        ({"TERM": "xterm-256color"}, f"\x1b]9;{MESSAGE.text}\x1b\\"),
        ({"TERM": "screen", "TMUX": "socket,1,0"}, f"\x1bPtmux;\x1b\x1b]9;{MESSAGE.text}\x1b\x1b\\\x1b\\"),
    ],
)
def test_sequence_is_chosen_by_the_terminal(environment: dict[str, str], sent: str) -> None:
    assert wrapped(sequence(terminal_kind(environment), MESSAGE), environment) == sent


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


# ---------------------------------------------------------------------- what is sent when


class Told:
    """A notifier and the store that it looks at, in which all has been read; `sent` is what the terminal got."""

    def __init__(
        self,
        options: Mapping[str, object],
        values: list[float] | None = None,
        metric: str = "loss",
        **more: Callable[[], bool],
    ) -> None:
        """more: passed on to the notifier."""
        self.sent: list[str] = []
        self.notices = Queue[Notice]()
        self.store = store_of({metric: values or [1.0] * 5})
        self._checker = Checker()
        channels = channels_of(options, self.sent.append)
        self.notifier = Notifier(channels, self.notices.put, pauses=(0.01,), **more)

    def read_all(self) -> None:
        """Note that the logs have been read."""
        self.store.apply(Progress(1, 1, True))
        self.update()

    def update(self, *, now: float | None = None) -> None:
        self.notifier.update(self.store.snapshot(), now=now)

    def alert(self, *alerts: Alert, now: float | None = None) -> None:
        self.store.set_alerts(alerts)
        self.update(now=now)

    def check(self) -> None:
        """Set the alerts that the detectors find."""
        self.store.set_alerts(self._checker.check_all(self.store.snapshot()))
        self.update()

    def grow(self, step: int, value: float) -> None:
        """Add a point and check."""
        ones = np.ones(1, np.uint32)
        self.store.apply(Columns(0, ones * 0, ones, np.array([step]), np.array([value]), np.array([step * 1.0])))
        self.check()

    def wait_for(self, count: int) -> None:
        """Wait until so many messages were written."""
        end = time.monotonic() + 60
        while len(self.sent) < count:
            assert time.monotonic() < end, self.sent
            time.sleep(0.01)

    def close(self) -> list[str]:
        """Return the texts of the notifications of the terminal."""
        self.notifier.close(60)
        return [text[4:-2] for text in self.sent]


def at(day: int, hour: int) -> float:
    return time.mktime((2026, 11, day, hour, 0, 0, 0, 0, -1))


@pytest.mark.parametrize(
    ("options", "changes", "sent"),
    [
        (
            {},
            [(0.0, [replace(NAN, metric=f"metric{n}", message=f"metric{n} is NaN") for n in range(5)])],
            ["run 0: metric0 is NaN (and 4 more)"],
        ),
        (
            {"quiet": "22:00-07:00"},
            [(at(28, 23), [KL, NAN]), (at(29, 7), [replace(KL, until=90), NAN])],
            ["run 0: NaN", "run 0: risen (resolved at step 90)"],
        ),
        (
            {"severity": "critical"},
            [(0.0, [NAN, KL]), (0.0, [replace(NAN, severity="warning", until=70), replace(KL, until=70)])],
            ["run 0: NaN", "run 0: NaN (resolved at step 70)"],
        ),
    ],
    ids=["many at once are one message", "quiet hours", "an end is told where the beginning was, however mild it is"],
)
def test_what_is_sent_of_changes(
    options: Mapping[str, object], changes: list[tuple[float, list[Alert]]], sent: list[str]
) -> None:
    told = Told({"terminal": "9", **options})
    told.read_all()
    for number, (now, alerts) in enumerate(changes, 1):
        told.alert(*alerts, now=now)
        told.wait_for(number)
    assert told.close() == sent


def test_one_message_per_incident_one_at_its_end_and_none_for_earlier_incidents() -> None:
    told = Told({"terminal": "9", "bell": True}, [1.0] * 20 + [math.nan] + [1.0] * 20)
    told.check()
    told.read_all()
    for number in range(6):
        told.grow(420 + 10 * number, math.nan)
        told.update()
    told.wait_for(2)
    for number in range(12):
        told.grow(500 + 10 * number, 1.0)
    told.close()
    bell, end, begin = sorted(told.sent)
    assert bell == "\a", "an end does not ring"
    assert begin == "\x1b]9;run 0: loss is NaN since step 420; 1 of 42 points\x1b\\"
    assert "(resolved at step 470)" in end
    assert told.notices.empty()


def test_an_incident_that_gets_more_severe_is_sent_again_once() -> None:
    kl = np.concatenate((np.full(300, 0.01), 0.01 * 1.06 ** np.arange(150))) * (1 + 0.01 * np.sin(np.arange(450)))
    told = Told({"terminal": "9"}, kl[:300].tolist(), "kl")
    told.read_all()
    for row in range(300, 450):
        told.grow(10 * (row + 1), float(kl[row]))
        told.wait_for(len(told.store.snapshot().alerts) and 1)
    first, second = told.close()
    assert "kl has risen from 0.01001 to 0.1" in first
    factor = re.search(r"\((\d+) times\)", second)
    assert factor is not None
    assert int(factor[1]) >= 100
    assert first.rpartition("since")[2] == second.rpartition("since")[2], "the same incident"


def test_log_text_cannot_control_a_terminal() -> None:
    told = Told({"terminal": "9", "severity": "info"}, metric="evil\x1b]52;c;x\x07/loss")
    told.read_all()
    told.grow(60, math.nan)
    (sent,) = told.close()
    assert told.sent == [f"\x1b]9;{sent}\x1b\\"]
    assert not any(character < " " or "\x7f" <= character < "\xa0" for character in sent)


def test_failing_channel_is_reported_and_others_still_send(tmp_path: Path) -> None:
    told = Told({"command": [str(tmp_path / "none")], "bell": True})
    told.read_all()
    told.alert(NAN)
    told.close()
    assert told.sent == ["\a"]
    notice = told.notices.get(timeout=60)
    assert notice.level == "warning"
    assert notice.message.startswith(f"command failed: {tmp_path / 'none'} could not be started: No such file")
    assert notice.message.endswith("; 1 alert not sent"), "a program may have sent it: it is not started again"
    assert told.notices.empty()


def test_a_webhook_that_is_down_gets_the_alert_when_it_is_up_again(free_port: int) -> None:
    """The incident has ended meanwhile: the alert arrives with the step of its end."""
    host = f"127.0.0.1:{free_port}"
    told = Told({"webhook": f"http://{host}/"})
    told.read_all()
    told.alert(NAN)
    down = [told.notices.get(timeout=60) for _ in range(3)][-1]
    words = rf"webhook down: cannot reach {host}: Connection refused; tried 3 times, 1 alert queued, next try at"
    assert re.fullmatch(rf"{words} \d\d:\d\d:\d\d", down.message)
    told.store.apply(down)
    (shown,) = told.store.snapshot().notices
    assert shown.message == down.message, "nothing of it is hidden"
    row = AlertBar()._content(told.store.snapshot(), told.store.snapshot().run(0))
    assert [text for text, _ in row] == [" ✗ 1 alert: ", "NaN", " webhook down ", "  a: all"]

    told.alert(replace(NAN, until=70))
    with WebHook(port=free_port) as server:
        sent = server.document()
        assert (sent["text"], sent["until"]) == ("run 0: NaN (resolved at step 70)", 70)
        while (notice := told.notices.get(timeout=60)).level != "info":
            pass
        assert notice.message.startswith("webhook works again after ")
        told.store.apply(notice)
        assert [notice.mark for notice in told.store.snapshot().notices] == [""], "it has replaced the one before"
        told.close()
    assert server.posted.empty(), "the alert was sent once"


def test_a_dashboard_leaves_the_channels_to_a_watch_of_the_same_paths(tmp_path: Path) -> None:
    paths = [str(tmp_path / "runs")]
    with WebHook() as server:
        options = {"terminal": "9", "webhook": f"http://{server.host}/"}
        told = Told(options, is_told=lambda: is_watched(paths))
        told.read_all()
        watch = Ledger(paths)
        assert is_watched(paths)
        told.alert(NAN)
        watch.close()
        told.alert(NAN, KL)
        assert told.close() == ["run 0: NaN", "run 0: risen"]
        assert server.document()["text"] == "run 0: risen"
    assert server.posted.empty()


# ---------------------------------------------------------------------- the queue of a channel


class Gate:
    """A channel that keeps the steps that it has sent. By step, it refuses a message or cannot be reached."""

    name = "gate"

    def __init__(self, refused: int | None = None, unreachable: int | None = None) -> None:
        self.sent: list[int | None] = []
        self.refused, self.unreachable = refused, unreachable
        self.opened = threading.Event()
        self.opened.set()

    def send(self, message: Message) -> None:
        self.opened.wait(60)
        if message.step == self.refused:
            raise TuimonError("refused")
        if message.step == self.unreachable:
            raise Unreachable("closed")
        self.sent.append(message.step)


def news(step: int) -> list[News]:
    return [News(str(step), 2, replace(MESSAGE, step=step, message=f"step {step}"))]


def test_the_newest_alerts_are_kept_while_a_channel_is_down() -> None:
    gate, notices = Gate(unreachable=0), Queue[Notice]()
    outbox = Outbox(gate, notices.put, pauses=(1e6,))
    outbox.offer(news(0))
    notices.get(timeout=60)  # the first attempt has failed
    for step in range(1, 130):
        outbox.offer(news(step))
    outbox.close()
    assert outbox.join(60) == []
    assert gate.sent == list(range(30, 130))


def test_alerts_that_could_not_be_delivered_are_printed_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    notices = Queue[Notice]()
    outbox = Outbox(Gate(unreachable=2), notices.put, pauses=(1e6,))
    outbox.offer(news(2))
    notices.get(timeout=60)  # the first attempt has failed
    outbox.offer(news(3))
    outbox.close()
    unsent = outbox.join(60)
    assert unsent == ["grpo-1.5b: step 2", "grpo-1.5b: step 3"]
    _report_unsent({"gate": unsent})
    assert capsys.readouterr().err.splitlines() == [f"tuimon: gate did not get: {text}" for text in unsent]

    gate = Gate(refused=0, unreachable=1)
    gate.opened.clear()
    outbox = Outbox(gate, notices.put)
    outbox.offer([*news(0), *news(1)])
    outbox.close()
    gate.opened.set()
    assert outbox.join(60) == ["grpo-1.5b: step 0", "grpo-1.5b: step 1"], "each is printed once"
    outbox = Outbox(Gate(refused=0), notices.put)
    outbox.close()
    outbox.offer(news(0))
    assert outbox.join(60) == ["grpo-1.5b: step 0"]


def test_a_channel_goes_on_when_what_it_has_got_cannot_be_noted() -> None:
    def fail(stages: Mapping[str, int]) -> None:
        raise OSError(28, "No space left on device")

    gate, notices = Gate(), Queue[Notice]()
    outbox = Outbox(gate, notices.put, fail)
    outbox.offer([*news(1), *news(2)])
    outbox.close()
    assert (outbox.join(60), gate.sent) == ([], [1, 2])
    assert "No space left" in notices.get(timeout=60).message


def test_dashboard_sends_messages(tmp_path: Path) -> None:
    """End to end: a log grows, a detector finds an incident, the terminal is notified and a program is started."""
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
    with Terminal((*TUIMON, str(log.parent)), environment={"TUIMON_CONFIG": str(config), "TMUX": ""}) as terminal:
        terminal.until(lambda shown: b"loss < 1: loss has reached" in shown)  # on the screen only: it is not new
        with log.open("a") as file:
            file.write('{"step": 30, "loss": NaN}\n')
        sent = b": loss is NaN since step 30; 1 of 30 points\x1b\\"
        terminal.until(lambda shown: sent in shown)
        terminal.until(lambda shown: out.exists())
        assert b"\x1b]9;" not in bytes(terminal.output).replace(b"\x1b]9;" + tmp_path.name.encode() + sent, b"")
    assert out.read_text() == "loss is NaN since step 30; 1 of 30 points\n"
