"""Console text as a stream: any cutting, any bytes, the text for the log view, the outcome of a run, recognition."""

from __future__ import annotations

import tomllib
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.json_points import damage, facts, feed, rows, series

from tuimon.formats import Format, recognise
from tuimon.formats._shared.lines import MAX_LINE, may_be_cut
from tuimon.formats.console import _outcome
from tuimon.formats.console._decoder import ConsoleDecoder
from tuimon.formats.console._display import KEPT
from tuimon.formats.console.families import Family, Line, LineReader, families
from tuimon.formats.console.text import FORMAT
from tuimon.model.points import Fact

DATA = Path(__file__).parent.parent / "data" / "console"
OUTCOMES = tomllib.loads((Path(_outcome.__file__).parent / "outcomes.toml").read_text("utf-8"))
CRASHES = [(line, cause["name"]) for cause in OUTCOMES["cause"] for line in cause["examples"]]
LOGS = sorted(path for path in DATA.rglob("*") if path.suffix in (".log", ".out"))


def read(text: str | bytes, flush: bool = True) -> dict[str, list[tuple[int, str]]]:
    return series(feed(ConsoleDecoder(), text.encode() if isinstance(text, str) else text, flush=flush))


def points(*values: tuple[int, float]) -> list[tuple[int, str]]:
    return [(step, repr(float(value))) for step, value in values]


def state(items: Any) -> tuple[str, str] | None:
    logged = facts(items, "state")
    return (logged[-1]["state"], logged[-1]["evidence"]) if logged else None


def shown(items: Any) -> list[str]:
    return [line for fact in facts(items, "console") for line in fact["lines"]]


# ---------------------------------------------------------------- text and outcome


def test_log_view_gets_lines_as_a_terminal_shows_them() -> None:
    text = (
        "\x1b[31mred\x1b[0m\n\n 10%|#| 1/10\r 20%|##| 2/10\n 50%|#####| 5/10\r          \r{'loss': 1}\r\n"
        "\r 1/2 [00:00]\x1b[A\n\r        \r\n2026-08-21 21:30:01,500 hello\nunfinished"
    )
    items = feed(ConsoleDecoder(), text.encode())
    lines = ["red", "", " 20%|##| 2/10", "{'loss': 1}", "2026-08-21 21:30:01,500 hello"]
    assert shown(items) == lines
    moment = datetime(2026, 8, 21, 21, 30, 1, 500000).timestamp()
    assert facts(items, "console")[0]["times"] == [None] * 4 + [moment]
    assert shown(feed(ConsoleDecoder(), text.encode(), range(len(text)))) == lines


def test_only_the_last_lines_of_a_long_text_are_emitted() -> None:
    text = "".join(f"line {index}\n" for index in range(3 * KEPT)).encode()
    items = feed(ConsoleDecoder(), text)
    assert shown(items) == [f"line {index}" for index in range(2 * KEPT, 3 * KEPT)]
    assert len(facts(items, "console")) == 1


def bar(step: int) -> str:
    return f"\r {step:2}%|####      | {step}/80 [00:08<00:10,  4.20it/s]"


@pytest.mark.parametrize("name", ["", "Training: "])
@pytest.mark.parametrize("read_before", [False, True])
def test_bar_that_is_drawn_again_after_a_traceback_is_no_sign_of_life(name: str, read_before: bool) -> None:
    """The row is held back until the bar after it, which is on the line of the traceback."""
    text = f"\r{name}{bar(1)[1:]}\n{{'loss': '0.5', 'epoch': '0.1'}}\n\r{name}{bar(1)[1:]}"
    text += "".join(f"\r{name}{bar(step)[1:]}" for step in (1, 2)) + "\n{'loss': 'nan', 'epoch': '0.2'}\n"
    crash = f'\r{name}{bar(2)[1:]}Traceback (most recent call last):\n  File "x.py", line 1\n    f()\n'
    crash += f"{bar(2)}\nRuntimeError: bad value\nand why it is bad\n" + f"\r{name}{bar(2)[1:]}\n" * 30
    decoder = ConsoleDecoder()
    items = [*decoder.feed(text.encode()), *(decoder.flush() if read_before else ())]
    items += [*decoder.feed(crash.encode()), *decoder.flush()]
    assert not decoder.must_reread
    assert state(items) == ("crashed", "RuntimeError: bad value")
    assert [item.step for item in items if isinstance(item, Fact) and item.topic == "state"] == [2]
    assert state(decoder.feed(b"step 3 loss 0.5\n")) == ("running", "its log continues")


def test_run_that_continues_has_not_crashed() -> None:
    text = b"Traceback (most recent call last):\n  x\nValueError: bad\n"
    decoder = ConsoleDecoder()
    assert state(decoder.feed(text)) == ("crashed", "ValueError: bad")
    assert state(decoder.feed(b"step 2 loss 0.5\n")) == ("running", "its log continues")
    assert state(feed(ConsoleDecoder(), text + b"step 2 loss 0.5\n")) is None
    assert state(feed(ConsoleDecoder(), text + b"ordinary line\n" * 30)) is None


@pytest.mark.parametrize(
    ("line", "cause"), [*CRASHES, ("srun: error: Node failure on node08", "node failure on node08")]
)
def test_crash_has_a_cause_and_a_step(line: str, cause: str) -> None:
    text = f"step 40 loss 0.5\nstep 41 loss 0.4\n{line}\nbye\n"
    items = feed(ConsoleDecoder(), text.encode())
    assert facts(items, "state")[-1]["cause"] == cause
    assert facts(items, "state")[-1]["evidence"] in line.splitlines()
    logged = [item for item in items if isinstance(item, Fact) and item.topic == "state"]
    assert logged[-1].step == 41


@pytest.mark.parametrize("line", OUTCOMES["last_examples"])
def test_last_words_of_other_trainers(line: str) -> None:
    text = f"step 1 loss 0.5\n{line}\nmodel saved to out/\n"
    finished = state(feed(ConsoleDecoder(), text.encode()))
    assert finished is not None
    assert finished[0] == "finished"
    assert finished[1] in line
    for later in ("step 2 loss 0.5\n", "preparing the next fold\n" * 61):
        assert (state(feed(ConsoleDecoder(), f"{text}{later}".encode())) or ("running",))[0] == "running"
    killed = "slurmstepd: error: *** JOB 1 CANCELLED AT 2026-11-22T03:15:05 DUE TO TIME LIMIT ***\n"
    assert (state(feed(ConsoleDecoder(), f"{text}{killed}".encode())) or ("",))[0] == "crashed"


def test_progress_is_emitted_once_and_with_each_piece_of_a_log_with_bars() -> None:
    items = feed(ConsoleDecoder(), (DATA / "hf_resume" / "console_1.log").read_bytes())
    steps = [2, 74, 76]  # of the first row, and of the last bar before and after its line has ended
    progress = [value for value in facts(items, "progress") if "seconds_per_step" not in value]
    assert progress == [{"step": step, "total": 120} for step in steps]


@pytest.mark.parametrize(
    ("end", "known", "cut"),
    [
        (b"0.5", [b"0.123", b"0.125"], True),
        (b"0.5", [b"0.123", b"0.5"], False),
        (b"0.5", [b"0.123", b"1", b"0.125"], True),  # the decimals of fractions only
        (b"0.5", [b"0.4", b"-100"], False),
        (b"0.5", [b"1", b"2"], False),
        (b"1.2", [b"1e-05", b"2e-05"], True),
        (b"12", [b"124", b"125"], True),
    ],
)
def test_number_that_may_be_the_beginning_of_a_longer_one(end: bytes, known: list[bytes], cut: bool) -> None:
    assert may_be_cut(end, known) is cut


# ---------------------------------------------------------------- any cutting, any bytes


PIECES = [piece.encode() for piece in (
    "step:1 - a:0.5 - b:nan", "{'loss': '0.5', 'epoch': '0.1'}", "{'loss': 1.0,", " 'epoch': 2}", "\n",
    "\r", "\r\n", "\x1b[A", " 10%|#| 5/10 [00:10<01:30, 10.00it/s]", "Step 3: {'a': 1}", "Epoch 1/2",
    "8/8 - 0s - 4ms/step - loss: 0.5", "│",
    "├─ Metric Table ─┤", "├─ Time ─┤", "│ Global Step:    1/10 │", "│a=1 │", "-" * 20, "| time/ |  |",
    "|    total_timesteps | 5 |", "Traceback (most recent call last):", "ValueError: x", "(A pid=1) ",
    "pipeline step 4 start...", '[PID 7] {"a": 1}', 'metrics_tag: {"step": 1, "metrics": {"b": 2}}',
    "  • Loss: 0.5", "= Step 1/2 =", "step 5 loss 0.5", "\xe9",
)]  # fmt: skip


@given(
    st.lists(st.sampled_from(PIECES) | st.binary(max_size=6), max_size=40), st.lists(st.integers(0, 800), max_size=12)
)
def test_random_pieces_cut_anywhere(pieces: list[bytes], cuts: list[int]) -> None:
    data = b"".join(pieces)
    whole, cut = feed(ConsoleDecoder(), data), feed(ConsoleDecoder(), data, cuts)
    assert rows(cut) == rows(whole)
    assert shown(cut) == shown(whole)
    assert len(damage(cut)) == len(damage(whole))


def test_flush_reads_a_complete_last_line_once() -> None:
    decoder = ConsoleDecoder()
    assert series(decoder.feed(b"{'loss': 1.0, 'epoch': 1}")) == {}
    assert series(decoder.flush()) == {"loss": points((1, 1)), "epoch": points((1, 1))}
    assert series([*decoder.feed(b"\nstep:1 - a:0.5"), *decoder.flush()]) == {}
    assert series([*decoder.feed(b"3\n"), *decoder.flush()]) == {"a": points((1, 0.53))}


HOSTILE = ["step:1 - ", "{'", "{'a': ", "=", "|", "\r", "x\r", "step 1 a=", "[a]", "\x1b[", "├─ ", "│a=1", "{'a': ["]


@pytest.mark.parametrize("piece", [*HOSTILE, "'\\'", "a: 1 | ", "1"])
def test_hostile_lines_take_linear_time(piece: str) -> None:
    """Quadratic time would exceed the time limit of the test."""
    hostile = b"step 1: {" + piece.encode() * (300_000 // len(piece.encode()))
    metrics = read(b"step:1 - a:1\n" + hostile[:200_000] + b"\n" + hostile + b"\nstep:2 - a:2\n")
    assert {*points((1, 1), (2, 2))} <= {*metrics["a"]}


def test_too_long_line_is_damage_and_other_lines_are_kept() -> None:
    items = feed(
        ConsoleDecoder(), b"step:1 - a:1\n" + b"x" * (MAX_LINE + 1) + b"\nstep:2 - a:2\n", range(0, MAX_LINE, 1 << 20)
    )
    assert series(items) == {"a": points((1, 1), (2, 2))}
    assert damage(items) == [(13, MAX_LINE + 2, "line longer than 16 MiB")]


# ---------------------------------------------------------------- recognition and runs


def test_every_sample_is_recognised() -> None:
    for path in LOGS:
        log_format = recognise(path.name, path.read_bytes()[:4096])
        assert isinstance(log_format, Format)
        assert log_format is FORMAT, path.name


def test_family_is_added_by_marks_and_a_reader() -> None:
    assert len(families()) == len({family.id for family in families()})
    assert all(family.marks and all(family.marks) for family in families())

    class Mine(LineReader):
        def read(self, line: Line) -> bool:
            return self.sink.add_row([("x", float(line.message.partition("@@")[2]))], 1, line)

    decoder = ConsoleDecoder((Family("mine", ("@@",), Mine, order=1),))
    assert series(decoder.feed(b"hello @@ 0.5\nstep 2 y 1.5\n")) == {"x": points((1, 0.5)), "y": points((2, 1.5))}


def test_a_text_with_many_holes_is_recognised_as_it_was_when_it_grew() -> None:
    text = b"".join(b"step %d loss 0.5\n" % step + b"\0 torn\n" * (step % 5 == 0) for step in range(1, 40))
    assert recognise("/run/train.log", text) is FORMAT
    assert recognise("/run/train.log", b"\0" * 100 + b"step 9 loss 0.5\0" * 9 + b"\n") is None
