"""No secret of a log's last words, of a notice or of a file's status is in a snapshot."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tuimon.commands import main
from tuimon.model.events import Notice, RunFound, StreamFound, StreamStatus
from tuimon.reader.log_text import LogText
from tuimon.redact import HIDDEN
from tuimon.store import Store

SECRETS = (
    "pw-of-user",
    "T0kenOfUrl",
    "k-0123456789",
    "sk" + "-proj-AbCdEfGh0123456789",
    "hf" + "_AbCdEfGhIjKlMnOpQrStUv",
)
COMMANDS = ("summary", "summary --json", "check", "check --json", "--once", "report -o {out}", "line", "doctor",
            "at --step 10", "export --format jsonl")  # fmt: skip
TRACEBACK = f"""\
step=10 loss=0.5
step=20 loss=0.4
Traceback (most recent call last):
  File "train.py", line 3, in <module>
    main()
requests.exceptions.HTTPError: 401 for url: https://user:{SECRETS[0]}@host/?token={SECRETS[1]} api_key={SECRETS[2]} \
{SECRETS[3]} {SECRETS[4]}
"""


@pytest.fixture
def crashed(tmp_path: Path) -> Path:
    log = tmp_path / "run" / "train.log"
    log.parent.mkdir()
    log.write_text(TRACEBACK)
    os.utime(log, (1e9, 1e9))
    return log


def test_no_output_has_the_secrets_of_an_exception(
    crashed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.html"
    for command in COMMANDS:
        main([*command.replace("{out}", str(out)).split(), str(crashed.parent)])
        captured = capsys.readouterr()
        text = captured.out + captured.err + (out.read_text() if "{out}" in command else "")
        assert text, command
        assert not [secret for secret in SECRETS if secret in text], command
        assert HIDDEN in text or not command.startswith("summary"), command


def test_the_log_view_has_no_secret(crashed: Path) -> None:
    log = LogText(str(crashed))
    lines = log.lines(0, 100)
    text = "\n".join(line.text for line in lines)
    assert "HTTPError: 401" in text
    assert not [secret for secret in SECRETS if secret in text]
    assert log.search(SECRETS[2], 0, False).line is None


def test_notices_and_status_have_no_secret() -> None:
    store = Store()
    store.apply(RunFound(0, "run", "/run"))
    store.apply(StreamFound(0, 0, "a", "/run/a", "jsonl", 1, "", 0))
    unread = f"`password: {SECRETS[0]}`"
    store.apply(StreamStatus(0, "unreadable", f"api_key={SECRETS[2]}", 0, 0, 0.0, 0, unread=unread))
    store.apply(Notice("error", f"The reader stopped: password={SECRETS[0]}", f"token={SECRETS[1]}"))
    snapshot = store.snapshot()
    status = snapshot.runs[0].streams[0].status
    assert status is not None
    text = json.dumps([status.message, status.unread, snapshot.notices[0].message, snapshot.notices[0].hint])
    assert text.count(HIDDEN) == 4
    assert not [secret for secret in SECRETS if secret in text]


def test_the_last_line_of_a_silent_run_has_no_secret(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "train.log"
    log.write_text(f"step=10 loss=0.5\nstep=20 loss=0.4\nlogging in with password={SECRETS[0]}\n")
    os.utime(log, (1e9, 1e9))
    main(["summary", "--json", str(log)])
    assert SECRETS[0] not in capsys.readouterr().out
