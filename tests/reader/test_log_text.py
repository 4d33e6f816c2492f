"""LogText: pages of a growing log at bounded cost, with search, steps and errors; UTF8Stream: its encoding."""

from __future__ import annotations

import codecs
import os
import random
import re
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuimon.model.severity import PROBLEM_WORDS, severity
from tuimon.reader import log_text
from tuimon.reader.encoding import UTF8Stream, utf8
from tuimon.reader.log_text import LogLine, LogText

DATA = Path(__file__).parent.parent / "data" / "console"


def put(path: Path, text: str | bytes) -> LogText:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return LogText(str(path))


def read_all(log: LogText, page: int = 7) -> list[LogLine]:
    lines: list[LogLine] = []
    while more := log.lines(lines[-1].end if lines else 0, page):
        lines += more
    return lines


def texts(lines: list[LogLine]) -> list[str]:
    return [line.text for line in lines]


def test_lines_are_displayed_as_in_a_terminal(tmp_path: Path) -> None:
    log = put(
        tmp_path / "a.log",
        "\x1b[31mred\x1b[0m\n\n 10%|#| 1/10\r 20%|##| 2/10\n 50%|#####| 5/10\r          \r{'loss': 1}\r\n"
        "\r 1/2 [00:00]\x1b[A\n\r        \r\n2026-08-21 21:30:01,500 WARNING hello\nValueError: x\nunfinished",
    )
    lines = read_all(log)
    moment = datetime(2026, 8, 21, 21, 30, 1, 500000).timestamp()
    assert [(line.text, line.level, line.time) for line in lines] == [
        ("red", "", None),
        ("", "", None),
        (" 20%|##| 2/10", "", None),
        ("{'loss': 1}", "", None),
        ("2026-08-21 21:30:01,500 WARNING hello", "warning", moment),
        ("ValueError: x", "error", None),
        ("unfinished", "", None),
    ]
    assert log.before(log.size, 3) == lines[-3:]
    assert log.before(lines[5].offset + 3, 2) == lines[3:5]
    assert log.lines(lines[4].offset + 9, 1) == [lines[4]], "the line in which the byte lies"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_a_log_in_utf_16_is_displayed_as_text(tmp_path: Path, encoding: str) -> None:
    """U+4E0A has the byte of a newline."""
    path, mark = tmp_path / "a.log", "\ufeff".encode(encoding)
    log = put(path, mark + "step 1 loss 0.5\r\n\u4e0a\u6d77\r\n".encode(encoding))
    assert texts(read_all(log)) == ["step 1 loss 0.5", "\u4e0a\u6d77"]
    with path.open("ab") as file:
        file.write("ValueError: x\r\n".encode(encoding))
    assert log.refresh()
    assert not log.refresh()
    assert texts(log.before(log.size, 1)) == ["ValueError: x"]
    assert log.next_error(0, False).line is not None
    assert log.generation == 0
    put(path, "short\n")
    assert log.refresh()
    assert texts(read_all(log)) == ["short"]
    assert log.generation == 1


@given(st.lists(st.sampled_from(["", "a", "step 1", "x" * 70_000, "é" * 50, "\r|"]), max_size=30), st.data())
def test_paging_up_and_down_shows_every_line_once(parts: list[str], draw: st.DataObject) -> None:
    path = Path(os.environ["XDG_CACHE_HOME"] + ".log")
    log = put(path, "".join(f"{index} {part}\n" for index, part in enumerate(parts)))
    lines = read_all(log, draw.draw(st.integers(1, 9)))
    assert [line.text.split()[0] for line in lines if line.text != "|"] == [
        str(index) for index, part in enumerate(parts) if part != "\r|"
    ]
    up: list[LogLine] = []
    while more := log.before(up[0].offset if up else log.size, draw.draw(st.integers(1, 5))):
        up = more + up
    assert up == lines


def test_growth_truncation_and_another_file(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    log = put(path, "one\ntw")
    assert texts(read_all(log)) == ["one", "tw"]
    assert not log.refresh()
    with path.open("a") as file:
        file.write("o\nthree\n")
    assert log.refresh()
    assert (texts(read_all(log)), log.generation) == (["one", "two", "three"], 0)
    path.write_text("new\n")
    assert log.refresh()
    assert (texts(read_all(log)), log.generation) == (["new"], 1)
    path.unlink()
    assert not log.refresh()
    assert read_all(log) == []
    assert log.message == "No such file or directory"


def test_an_endless_line_is_displayed_in_pieces_at_bounded_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bars = b"".join(b"\r%d%%|#| %d/100000 [00:01<00:09, 10.00it/s]" % (n // 1000, n) for n in range(100_000))
    log = put(tmp_path / "bar.log", b"begin\n" + bars + b"\nend\n")
    asked = 0
    read = LogText._read

    def counted(self: LogText, start: int, count: int) -> bytes:
        nonlocal asked
        data = read(self, start, count)
        asked += len(data)
        return data

    monkeypatch.setattr(LogText, "_read", counted)
    last = log.before(log.size, 2)
    assert last[-1].text == "end"
    assert "99999/100000" in last[-2].text
    assert log.lines(0, 1)[0].text == "begin"
    assert asked < 8 * log_text.MAX_RAW


def test_search_in_both_directions_with_a_budget(tmp_path: Path) -> None:
    draw = random.Random(3)
    words = ["alpha"] * 50 + ["Gamma", "ValueError: no"]
    text = "".join(f"{n} {draw.choice(words)} {'x' * draw.randrange(300)}\n" for n in range(9000))
    log = put(tmp_path / "a.log", text)
    wanted = [int(line.split()[0]) for line in text.splitlines() if "Gamma" in line]

    def matches(word: str, backwards: bool) -> list[int]:
        offset, numbers = (log.size if backwards else 0), []
        while True:
            hit = log.search(word, offset, backwards, 1 << 20) if word else log.next_error(offset, backwards, 1 << 20)
            offset = hit.reached
            if hit.line is not None:
                numbers.append(int(hit.line.text.split()[0]))
            elif hit.done:
                return numbers

    assert matches("Gamma", False) == wanted
    assert matches("gamma", True) == wanted[::-1], "without a capital, case does not count"
    assert matches("GAMMA", False) == []
    errors = [int(line.split()[0]) for line in text.splitlines() if "ValueError" in line]
    assert matches("", False) == errors
    assert matches("", True) == errors[::-1]


@pytest.mark.parametrize("name", ["verl.log", "openrlhf.log"])
def test_steps_and_lines_are_mapped_to_each_other(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a log that is long for the windows: that of the trainer, repeated with increasing steps."""
    monkeypatch.setattr(log_text, "_STEP_WINDOWS", (1 << 12, 1 << 14, 1 << 17))
    monkeypatch.setattr(log_text, "_STEP_REACH", 1 << 17)
    rows = [
        f"step:{step} - actor/loss:{step / 7:.3f} - critic/kl:0.1\nnoise of step {step}\n" for step in range(0, 1200, 3)
    ]
    text = "start\n" + "".join(row + "chatter\n" * 20 for row in rows)
    if name == "openrlhf.log":
        text = re.sub(r"step:(\d+) - actor/loss:(\S+) - critic/kl:0.1", r"step \1 loss \2", text)
    log = put(tmp_path / name, text)
    assert log.size > 60_000
    data = text.encode()
    for step in (0, 300, 1197):
        noise = data.index(b"noise of step %d\n" % step)
        assert log.step_of(noise) == step
        assert log.step_of(noise + 60) == step
        assert log.offset_of(step) == data.rindex(b"\n", 0, noise - 1) + 1
    assert log.offset_of(4) == log.offset_of(3), "the last step before it"
    assert log.offset_of(10**6) == log.offset_of(1197)
    assert log.step_of(0) is None


def test_a_hugging_face_row_has_the_step_of_the_next_bar(tmp_path: Path) -> None:
    bar = "\r 10%|#   | {}/100 [00:10<01:30, 10.00it/s]"
    text = bar.format(0) + "".join(f"\n{{'loss': {s}.5}}\n{bar.format(s)}" for s in range(10, 60, 10)) + "\nthe end\n"
    log = put(tmp_path / "hf.log", text)
    assert log.step_of(log.size) == 50
    for step in range(10, 60, 10):
        row = text.index(f"{{'loss': {step}.5}}")
        assert log.offset_of(step) == row
        assert log.step_of(row) == step


def test_steps_of_lines_that_match_a_users_pattern(tmp_path: Path) -> None:
    (tmp_path / "own.log").write_text("it 5 | q 1\nit 6 | q 2\n")
    assert LogText(str(tmp_path / "own.log"), ["it {step} | q {q}"]).step_of(11) == 6
    assert LogText(str(tmp_path / "own.log")).step_of(11) is None
    assert put(tmp_path / "none.log", "no step here\n" * 9000).offset_of(5) is None


def test_rows_of_roll_have_the_step_of_the_line_before(tmp_path: Path) -> None:
    """Where reading begins at a row, its step is not known; it is not the first one."""
    head = "[2026-08-19 12:00:05] [base.py (71)] [INFO] [DRIVER 0 / 1][PID 4242] "
    text = "the model is loaded\n" * 100
    for step in range(40):
        values = ", ".join(f'"time/{number}": {number}.5' for number in range(150 + step % 7))
        text += f"{head}pipeline step {step} start...\n{head}{{{values}}}\n{head}pipeline step {step} finished\n"
    log = put(tmp_path / "train.log", text)
    assert log.size > 100_000
    for step in range(0, 40, 6):
        begin = text.index(head, text.index(f"step {step} start"))
        assert log.offset_of(step) == begin
        assert log.step_of(begin) == step


@pytest.mark.parametrize(
    "line",
    [
        "ERROR a", "CRITICAL a", "FATAL: a", "Traceback (most recent call last):", "ValueError: a", "MyException(",
        "KeyboardInterrupt", "CUDA out of memory", "Segmentation fault", "(core dumped)", "got SIGKILL", "got SIGTERM",
        "operation timeout", "WARN a", "WARNING a", "UserWarning: a", "Exception: a", "ncclRemoteError: a",
        "terminate called after", "slurmstepd: error: a", "srun: error: a", "worker died", "E1125 10:01:02.123456 7 a",
        "W1125 10:01:02.123456 7 a.py:1] a", "Gradient overflow.  Skipping step", "OVERFLOW! Rank 0 Skipping step.",
        "wandb: Network error (ConnectionError), entering retry loop.", "429 Client Error: Too Many Requests for url",
    ],
)  # fmt: skip
def test_every_problem_has_a_word_by_which_it_is_searched(line: str) -> None:
    assert severity(line)
    assert re.search(PROBLEM_WORDS, line)
    for no_date in ("W9925 10:01:02.123456 7 a.py:1] a", "E2125 10:01:02.123456 7 a.py:1] a"):
        assert not severity(no_date)
        assert not re.search(PROBLEM_WORDS, no_date)


LINES = "".join(f"step {step} loss 0.{step}5 é 损失\n" for step in range(1, 8))


ADDED = "".join(f"step {step} loss 0.{step}5\n" for step in range(8, 14))


@pytest.fixture(params=["utf-16-le", "utf-16-be"])
def encoding(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def marked(text: str, encoding: str) -> bytes:
    return (codecs.BOM_UTF16_LE if encoding.endswith("le") else codecs.BOM_UTF16_BE) + text.encode(encoding)


def test_utf8_behind_utf16_is_read_wherever_it_is_cut(encoding: str) -> None:
    data = marked(LINES, encoding) + ADDED.encode()
    for cut in range(len(data)):
        stream = UTF8Stream()
        assert (stream.feed(data[:cut]) + stream.feed(data[cut:])).decode() == LINES + ADDED
    assert utf8(marked(LINES, encoding)).decode() == LINES, "it may end without a change"


@pytest.mark.parametrize("first", ["", "╔"])
@pytest.mark.parametrize("repeated", ["═", "─", "步"])
def test_line_of_one_character_in_utf16_is_no_change_to_utf8(encoding: str, first: str, repeated: str) -> None:
    text = f"{LINES}{first}{repeated * 60}\n{LINES}"
    data = marked(text, encoding) + ADDED.encode()
    for cut in range(0, len(data), 7):
        stream = UTF8Stream()
        assert (stream.feed(data[:cut]) + stream.feed(data[cut:])).decode() == text + ADDED
