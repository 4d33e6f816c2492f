"""The command line given anything: a documented exit code and words, never a traceback, and nothing written."""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tuimon.commands import commands, main

DOCUMENTED = {0, 1, 2, 3, 4, 5}
LOGS = {
    "run/metrics.jsonl": b'{"step": 1, "loss": 0.5}\n{"step": 2, "loss": NaN}\n{"step": 3, {{\n',
    "run/training_log.json": b'{"train_history": [{"step": 1, "reward": 0.5}], "config": {"lr": 1e-5, "api_key": "k"}}',
    "run/events.out.tfevents.1.host.1.0": b"\x00garbage" * 20,
    "empty.jsonl": b"",
    "notes.txt": b"nothing",
    "model.bin": bytes(range(256)) * 20,
    "odd \x1b[31mname\n/metrics.jsonl": b'{"step": 1, "a\\u001b]0;b": 1}\n',
}
WORDS = sorted(commands().keys() - {"demo", "mcp", "serve"})
"""Without those that end only with a signal."""
GOOD = ("run", "run/metrics.jsonl", ".", "odd \x1b[31mname\n", "run/../run")
FILES = "empty.jsonl notes.txt model.bin nowhere nowhere/at/all odd - -- run/.. host:"
PATHS = (*GOOD, *FILES.split(), "", "\x1b[2J", "run\0", "é\udcff", "x" * 5000)
GIVEN = "0 -1 1 7 80 1000 0.1 nan inf 1e9 x csv jsonl parquet history 100x30 ascii block dark"
VALUES = (*GIVEN.split(), "9" * 30)
WITH_VALUE = ("--format", "--width", "--height", "--theme", "--step", "--smooth")
FLAGS_TO_LEAVE = {"--wait", "--follow", "--force"}
"""Two go on for ever, and one may overwrite."""


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("logs")
    for name, content in LOGS.items():
        path = root / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    return root


def flags() -> Iterator[str]:
    for name in WORDS:
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
            main([name, "--help"])
        yield from re.findall(r"(?<![\w-])--?[a-z][a-z-]*\b", out.getvalue())


FLAGS = [*sorted(set(flags()) - FLAGS_TO_LEAVE), "--nonsense", "-Z", "-hV", "--once=", "--offline", "--width=-5"]


def called(arguments: list[str]) -> tuple[int, str, str]:
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(arguments)
        except SystemExit as ended:  # argparse, after it has printed a help
            code = ended.code if isinstance(ended.code, int) else 0
    out.flush()
    return code, out.buffer.getvalue().decode(), err.getvalue()  # type: ignore[attr-defined]


some_words = st.one_of(*map(st.sampled_from, (FLAGS, PATHS, VALUES)))
an_option = st.tuples(st.sampled_from(WITH_VALUE), st.sampled_from(VALUES))
a_flag = st.tuples(st.sampled_from([flag for flag in FLAGS if flag not in (*WITH_VALUE, "-o", "--output")]))
a_path = st.tuples(st.sampled_from(GOOD))


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    command=st.sampled_from(["", *WORDS]),
    arguments=st.one_of(
        st.lists(some_words, max_size=6),
        st.lists(st.one_of(an_option, a_flag, a_path), max_size=4).map(
            lambda parts: [w for part in parts for w in part]
        ),
        st.sampled_from(VALUES).map(lambda value: ["--once", "run", "--width", value, "--height", value]),
    ),
)
def test_any_arguments_end_with_a_documented_code(
    logs: Path, monkeypatch: pytest.MonkeyPatch, command: str, arguments: list[str]
) -> None:
    if command in ("", "watch"):
        arguments = [word for word in arguments if word != "--json"]  # prints changes until a signal arrives
    monkeypatch.chdir(logs)
    before = sorted(logs.rglob("*"))
    code, out, err = called([command, *arguments] if command else arguments)
    assert code in DOCUMENTED
    assert "Traceback" not in err
    if code in (1, 2, 3) and command != "doctor":  # doctor's report says itself that there is nothing
        assert err.startswith("tuimon: ")
        assert not out or (code == 3 and command in ("check", "summary"))  # they go on with the other paths
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", err), "a control character of a path reaches the terminal"
    written = [path for path in logs.rglob("*") if path not in before]
    for path in reversed(written):
        assert any(argument.startswith(("-o", "--output")) for argument in arguments)
        if path.is_dir():
            path.rmdir()
        else:
            path.unlink()


@pytest.mark.parametrize("command", ["", *WORDS])
def test_any_path(logs: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.chdir(logs)
    for path in PATHS:
        code, _, err = called([*filter(None, [command]), path])
        exists = os.path.lexists(path.replace("\0", "x")) or path in ("-", "--", "")
        assert code in (DOCUMENTED if exists else {2, 3}), path
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", err), path
