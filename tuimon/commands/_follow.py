"""`tuimon check --follow`: watch runs without a terminal, for days, and tell what changes.

Standard output has the alerts of the start, as `tuimon check` prints them, and then a line for each new alert, for one
that gets more severe or ends, for a run that has finished and for the summary of a day. The channels of [notify] get
the same. A file has what each channel received: after a restart only the rest is sent.

    [notify]
    summary = "08:00"                        # a line for each run, once a day
    alive = "https://hc-ping.com/<uuid>"     # asked every five minutes while the logs are read
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from msgspec import Struct
from msgspec.structs import replace

from tuimon.commands._shared import live_monitor
from tuimon.commands._stderr import print_status
from tuimon.errors import TuimonError, UsageError
from tuimon.text import clean

if TYPE_CHECKING:
    from tuimon.config import Settings
    from tuimon.detectors import Checker
    from tuimon.model.alerts import Alert
    from tuimon.model.events import Notice
    from tuimon.notify import Message, News
    from tuimon.store import Run, Snapshot

_ALIVE_EVERY = 300.0
"""Seconds from one request that says that the watch goes on to the next."""
_PATIENCE = 10.0
"""Maximum seconds for which the end waits until messages are sent."""
_WIDTH = 200
"""Maximum width of a run's line in a summary."""


def follow(paths: Sequence[str], settings: Settings, checker: Checker, severity: str, as_json: bool) -> NoReturn:
    """Watch until a signal ends the program. severity: the mildest alert that is printed."""
    from tuimon.notify import Channels, Ledger, Notifier, channels_of

    channels = channels_of(settings.notify, _write_to_terminal)
    if not channels.channels:
        print_status("alerts are only printed: config.toml has no [notify] that sends them (docs/settings.md)")
    watch = _Watch(settings.notify.get("summary", ""), severity, as_json)
    monitor = live_monitor(paths, settings, checker)
    ledger = Ledger(paths)
    notifiers = (
        Notifier(Channels(severity, (_Printed(as_json),)), _print_notice),
        Notifier(channels, _print_notice, ledger=ledger, draw=picture_of if _can_draw() else None),
    )

    def tell(snapshot: Snapshot) -> None:
        now = time.time()
        watch.begin(snapshot, now)
        for notifier in notifiers:
            notifier.update(snapshot, watch.news(snapshot, now), now)

    monitor.listen_to_alerts(tell)
    monitor.start()
    try:
        _stay_alive(settings.notify.get("alive", ""), lambda: monitor.caught_up, lambda: watch.print_notices(monitor))
    finally:
        monitor.close()
        for notifier in notifiers:
            for channel, texts in notifier.close(_PATIENCE).items():
                for text in texts:
                    print_status(f"{channel} did not get: {text}")
        ledger.close()


class _Watch:
    """What is told beside alerts: the state at the start, runs that have finished, summaries, what cannot be read."""

    def __init__(self, summary: str, severity: str, as_json: bool) -> None:
        self._summary, self._severity, self._as_json = summary, severity, as_json
        self._has_begun = False
        self._finished: dict[int, News] = {}
        """News of the runs that have finished, by their ids."""
        self._printed: set[str] = set()

    def begin(self, snapshot: Snapshot, now: float) -> None:
        """Print the alerts of the start, once."""
        from tuimon.exports.alerts import as_text, check_document
        from tuimon.exports.documents import dumps

        if self._has_begun:
            return
        self._has_begun = True
        if self._as_json:
            _print_line(dumps(check_document(snapshot, self._severity, now), compact=True))
        else:
            for line in as_text(snapshot, self._severity):
                _print_line(line)

    def news(self, snapshot: Snapshot, now: float) -> Iterator[News]:
        """Yield the runs that have finished, and the summary when it is due."""
        for run in snapshot.runs:
            if run.id not in self._finished and (news := _finished(run, snapshot, now)) is not None:
                self._finished[run.id] = news
        yield from self._finished.values()
        if self._summary and time.strftime("%H:%M", time.localtime(now)) >= self._summary.zfill(5):
            yield _summary(snapshot, now)

    def print_notices(self, monitor: Any) -> None:
        """Print once what could not be read and other notices of the dashboard."""
        for notice in monitor.snapshot().notices:
            if notice.level != "info" and notice.message not in self._printed:
                self._printed.add(notice.message)
                _print_notice(notice)


class _Printed(Struct, frozen=True):
    """Standard output as a channel."""

    as_json: bool
    name: str = "standard output"

    def send(self, message: Message) -> None:
        from tuimon.exports.documents import dumps

        if self.as_json:
            _print_line(dumps(message.document(), compact=True))
        else:
            word = message.severity if message.until is None else "ended"
            _print_line(f"{time.strftime('%Y-%m-%d %H:%M:%S')}  {word:<8}  {message.text}")


def _print_line(text: str) -> None:
    try:
        print(text, flush=True)
    except OSError as error:
        raise TuimonError(f"cannot write to standard output: {error.strerror}") from error


def _print_notice(notice: Notice) -> None:
    print_status(clean(notice.message))


def _write_to_terminal(text: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(text)
        sys.stderr.flush()


def _finished(run: Run, snapshot: Snapshot, now: float) -> News | None:
    from tuimon.analysis.progress_inputs import progress_of
    from tuimon.exports.line import line
    from tuimon.notify import finished_news

    progress = progress_of(run, now)
    if progress.state != "finished":
        return None
    words = line(replace(snapshot, runs=(run,)), now, _WIDTH)
    return finished_news(run.path, run.name, progress.step, f"finished: {words}")


def _summary(snapshot: Snapshot, now: float) -> News:
    from tuimon.exports.line import line
    from tuimon.notify import Message, News
    from tuimon.notify.message import ENDED

    day = time.strftime("%Y-%m-%d", time.localtime(now))
    lines = [line(replace(snapshot, runs=(run,)), now, _WIDTH) for run in snapshot.runs]
    message = Message("summary", "", "summary", "info", "", None, "\n".join((day, *lines)), "")
    return News(f"summary {day}", ENDED, message)


def _can_draw() -> bool:
    from importlib.util import find_spec

    return find_spec("matplotlib") is not None


def picture_of(snapshot: Snapshot, alert: Alert) -> bytes:
    """Return a picture of the curve that an alert is about (PNG); b"" if the metric has no chart."""
    import io

    from tuimon.exports.pictures import COLUMNS, charts_of, draw_charts, options_of

    run, stream = snapshot.run(alert.run), io.BytesIO()
    charts = list(charts_of(run, lambda name: name == alert.metric, options_of(), COLUMNS))
    if charts:
        draw_charts(charts[:1], stream, "png", run.name)
    return stream.getvalue()


def _stay_alive(address: str, is_reading: Callable[[], bool], each: Callable[[], None]) -> NoReturn:
    """Wait for a signal. Ask for the address now and then, so that the service there misses a watch that has died."""
    asked = -_ALIVE_EVERY
    failed = False
    while True:
        each()
        if address and is_reading() and time.monotonic() - asked >= _ALIVE_EVERY:
            asked = time.monotonic()
            problem = _problem_of(address)
            if bool(problem) != failed:
                print_status(f"the address of alive {problem or 'answers again'}")
            failed = bool(problem)
        time.sleep(1.0)


def _problem_of(address: str) -> str:
    """Ask for an address; return why that failed, or ""."""
    import urllib.request

    from tuimon.notify.channels import request_problem

    try:
        with urllib.request.urlopen(address, timeout=10) as answer:
            answer.read(1)
    except (OSError, ValueError) as error:
        return f"cannot be reached: {request_problem(error)}"
    return ""


def unit_text(words: Sequence[str]) -> str:
    """Return a unit of systemd that runs `tuimon` with these arguments in the current directory.

    Raises UsageError if one of them cannot stand in a unit.
    """
    directory = str(Path.cwd())
    program = shutil.which(sys.argv[0]) or sys.argv[0]
    command = [os.path.abspath(program), *words]
    if any(not word.isprintable() for word in (*command, directory)):
        raise UsageError("a path with control characters cannot stand in a unit of systemd")
    return f"""\
# Save it as ~/.config/systemd/user/tuimon.service, then: systemctl --user enable --now tuimon
# It goes on after a logout with: loginctl enable-linger
[Unit]
Description=tuimon watches training runs

[Service]
WorkingDirectory={directory.replace("%", "%%")}
ExecStart={" ".join(map(_unit_word, command))}
Restart=always
RestartSec=30

[Install]
WantedBy=default.target
"""


def _unit_word(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'
