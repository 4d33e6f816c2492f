"""Console text as a stream: any cutting, any bytes, what is kept for the log view, how a run ended, whose it is."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from json_points import damage, facts, feed, rows, series

from tuimon.formats import Format, recognise
from tuimon.formats._console import Family, LineReader, families
from tuimon.formats._console._line import Line
from tuimon.formats._console._tail import KEPT
from tuimon.formats._lines import MAX_LINE
from tuimon.formats.console import FORMAT, ConsoleDecoder, matches, wants_name
from tuimon.model.points import Fact
from tuimon.monitor.local import LocalMonitor, open_run
from tuimon.reader.collect import Collector

DATA = Path(__file__).parent / "data" / "console"
LOGS = sorted(path for path in DATA.rglob("*") if path.suffix in (".log", ".out"))


def read(text: str | bytes, flush: bool = True) -> dict[str, list[tuple[int, str]]]:
    return series(feed(ConsoleDecoder(), text.encode() if isinstance(text, str) else text, flush=flush))


def points(*values: tuple[int, float]) -> list[tuple[int, str]]:
    return [(step, repr(float(value))) for step, value in values]


def state(items: Any) -> tuple[str, str] | None:
    told = facts(items, "state")
    return (told[-1]["state"], told[-1]["evidence"]) if told else None


def shown(items: Any) -> list[str]:
    return [line for fact in facts(items, "console") for line in fact["lines"]]


# ---------------------------------------------------------------- the text, and how it ended


def test_the_log_view_gets_lines_as_a_terminal_shows_them() -> None:
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


def test_only_the_last_lines_of_a_long_text_are_given() -> None:
    text = "".join(f"line {index}\n" for index in range(3 * KEPT)).encode()
    items = feed(ConsoleDecoder(), text)
    assert shown(items) == [f"line {index}" for index in range(2 * KEPT, 3 * KEPT)]
    assert len(facts(items, "console")) == 1


def test_a_traceback_at_the_end_is_a_crash() -> None:
    text = 'step 1 loss 0.5\nTraceback (most recent call last):\n  File "x.py", line 1\n    f()\nValueError: bad\n'
    assert state(feed(ConsoleDecoder(), text.encode())) == ("crashed", "ValueError: bad")


def test_a_run_that_goes_on_has_not_crashed() -> None:
    text = b"Traceback (most recent call last):\n  x\nValueError: bad\n"
    decoder = ConsoleDecoder()
    assert state(decoder.feed(text)) == ("crashed", "ValueError: bad")
    assert state(decoder.feed(b"step 2 loss 0.5\n")) == ("running", "its log goes on")
    assert state(feed(ConsoleDecoder(), text + b"step 2 loss 0.5\n")) is None
    assert state(feed(ConsoleDecoder(), text + b"ordinary line\n" * 30)) is None


@pytest.mark.parametrize(
    "line",
    [
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB",
        "[rank3]:[E1121] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1)",
        "slurmstepd: error: *** JOB 123 ON node7 CANCELLED AT 2026-11-21T01:00:00 DUE TO TIME LIMIT ***",
        "(raylet) A worker died or was killed while executing a task by an unexpected system error.",
        "Received SIGTERM, shutting down",
        "Killed",
        "train.sh: line 12: 4711 Killed                  python train.py",
    ],
)
def test_what_kills_is_evidence(line: str) -> None:
    told = state(feed(ConsoleDecoder(), f"step 1 loss 0.5\n{line}\n{'bye' * 3}\n".encode() * 1 + b"x\n" * 50))
    assert told is not None
    assert told[0] == "crashed"
    assert told[1] == line


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB", "GPU out of memory"),
        ("[rank3]:[E1121] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1)", "NCCL timeout"),
        ("slurmstepd: error: *** JOB 123 ON node7 CANCELLED AT 01:00:00 DUE TO TIME LIMIT ***", "time limit reached"),
        ("slurmstepd: error: *** JOB 123 ON node7 CANCELLED AT 01:00:00 DUE TO PREEMPTION ***", "preempted"),
        ("slurmstepd: error: *** JOB 123 ON node7 CANCELLED AT 01:00:00 ***", "cancelled"),
        ("(raylet) A worker died or was killed while executing a task", "a Ray worker died"),
        ("ray: worker was killed due to the node running low on memory", "out of the machine's memory"),
        ("Out of memory: Killed process 4711 (python)", "out of the machine's memory"),
        ("Received SIGTERM, shutting down", "terminated from outside"),
        ("train.sh: line 12: 4711 Killed                  python train.py", "killed from outside"),
        ("Segmentation fault (core dumped)", "crashed in native code"),
    ],
)
def test_a_crash_has_a_cause_and_a_step(line: str, cause: str) -> None:
    text = f"step 40 loss 0.5\nstep 41 loss 0.4\n{line}\nbye\n"
    items = feed(ConsoleDecoder(), text.encode())
    assert facts(items, "state")[-1]["cause"] == cause
    told = [item for item in items if isinstance(item, Fact) and item.topic == "state"]
    assert told[-1].step == 41


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("[INFO] pipeline complete!", "pipeline complete!"),
        ("[2026-11-21 15:54:00] [train.py (75)] [INFO] [PID 24904] pipeline complete!", "pipeline complete!"),
        ("2026-11-21 15:54:00,123 - INFO - Training completed. Bye", "Training completed. Bye"),
        ("{'train_runtime': '40', 'train_loss': 0.5, 'epoch': 1}", "the trainer printed its final summary"),
    ],
)
def test_last_words(line: str, said: str) -> None:
    text = (
        f"step 1 loss 0.5\n{line}\n{{'eval_loss': 0.5, 'epoch': 1}}\nTraceback (most recent call last):\nX: teardown\n"
    )
    assert state(feed(ConsoleDecoder(), text.encode())) == ("finished", said)
    assert state(feed(ConsoleDecoder(), f"{text}step 2 loss 0.5\n".encode())) is None


def test_wandb_says_goodbye_after_a_crash_too() -> None:
    text = "Traceback (most recent call last):\n  x\nValueError: bad\nwandb: You can sync this run to the cloud\n"
    assert state(feed(ConsoleDecoder(), text.encode())) == ("crashed", "ValueError: bad")


def test_progress_is_told_once() -> None:
    items = feed(ConsoleDecoder(), (DATA / "hf_resume" / "console_1.log").read_bytes())
    assert facts(items, "progress") == [{"step": 2, "total": 120}]


# ---------------------------------------------------------------- any cutting, any bytes


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
def test_any_cutting_gives_the_same(path: Path) -> None:
    data = path.read_bytes()
    whole = feed(ConsoleDecoder(), data)
    lengths = (1, 7, 4096) if len(data) < 12_000 else (97, 4096)
    for length in lengths:
        cut = feed(ConsoleDecoder(), data, range(0, len(data), length))
        assert rows(cut) == rows(whole)
        assert shown(cut)[-100:] == shown(whole)[-100:]
        assert (state(cut) or ("running", ""))[0] == (state(whole) or ("running", ""))[0]


PIECES = [piece.encode() for piece in (
    "step:1 - a:0.5 - b:nan", "{'loss': '0.5', 'epoch': '0.1'}", "{'loss': 1.0,", " 'epoch': 2}", "\n",
    "\r", "\r\n", "\x1b[A", " 10%|#| 5/10 [00:10<01:30, 10.00it/s]", "Step 3: {'a': 1}", "Epoch 1/2",
    "8/8 - 0s - 4ms/step - loss: 0.5", "│",
    "├─ Metric Table ─┤", "├─ Time ─┤", "│ Global Step:    1/10 │", "│a=1 │", "-" * 20, "| time/ |  |",
    "|    total_timesteps | 5 |", "Traceback (most recent call last):", "ValueError: x", "(A pid=1) ",
    "pipeline step 4 start...", '[PID 7] {"a": 1}', 'metrics_tag: {"step": 1, "metrics": {"b": 2}}',
    "  • Loss: 0.5", "= Step 1/2 =", "step 5 loss 0.5", "\xe9",
)]  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from(PIECES) | st.binary(max_size=6), max_size=40), st.lists(st.integers(0, 800), max_size=12)
)
def test_anything_cut_anywhere(pieces: list[bytes], cuts: list[int]) -> None:
    data = b"".join(pieces)
    whole, cut = feed(ConsoleDecoder(), data), feed(ConsoleDecoder(), data, cuts)
    assert rows(cut) == rows(whole)
    assert shown(cut) == shown(whole)
    assert damage(cut) == damage(whole) == []


@pytest.mark.parametrize("name", ["verl_console_np2.log", "hf_trainer_v5.log", "sb3_table.log", "trinity_console.log"])
def test_truncated_at_every_byte_it_gives_what_came_before(name: str) -> None:
    data = (DATA / "golden" / name).read_bytes()
    whole = rows(feed(ConsoleDecoder(), data))
    for length in range(len(data)):
        found = rows(feed(ConsoleDecoder(), data[:length]))
        assert found == whole[: len(found)]


def test_flush_gives_a_last_line_that_is_whole_by_its_look_and_nothing_twice() -> None:
    decoder = ConsoleDecoder()
    assert series(decoder.feed(b"{'loss': 1.0, 'epoch': 1}")) == {}
    assert series(decoder.flush()) == {"loss": points((1, 1)), "epoch": points((1, 1))}
    assert series([*decoder.feed(b"\nstep:1 - a:0.5"), *decoder.flush()]) == {}
    assert series([*decoder.feed(b"3\n"), *decoder.flush()]) == {"a": points((1, 0.53))}


@pytest.mark.parametrize(
    "piece",
    [
        "step:1 - ",
        "{'",
        "{'a': ",
        "=",
        "|",
        "\r",
        "x\r",
        "step 1 a=",
        "[a]",
        "\x1b[",
        "├─ ",
        "│a=1",
        "{'a': [",
        "'\\'",
        "a: 1 | ",
        "1",
    ],
)
def test_hostile_lines_take_linear_time(piece: str) -> None:
    """Anything worse does not come to its end."""
    hostile = b"step 1: {" + piece.encode() * (1_500_000 // len(piece.encode()))
    found = read(b"step:1 - a:1\n" + hostile[: 1 << 20] + b"\n" + hostile + b"\nstep:2 - a:2\n")
    assert {*points((1, 1), (2, 2))} <= {*found["a"]}


def test_a_line_too_long_is_damage_and_its_neighbours_survive() -> None:
    items = feed(
        ConsoleDecoder(), b"step:1 - a:1\n" + b"x" * (MAX_LINE + 1) + b"\nstep:2 - a:2\n", range(0, MAX_LINE, 1 << 20)
    )
    assert series(items) == {"a": points((1, 1), (2, 2))}
    assert damage(items) == [(13, MAX_LINE + 2, "line longer than 16 MiB")]


# ---------------------------------------------------------------- which files, and whose


@pytest.mark.parametrize(
    ("name", "head", "wanted"),
    [
        ("train.log", b"starting\n", True),
        ("slurm-123.out", b"starting\n", True),
        ("log_rank_DRIVER_0_1.log", b"[INFO] hello\n", True),
        ("stdout", b"hello\n", True),
        ("whatever.log", b"step:1 - a:0.5\n", True),
        ("whatever.log", b"torch 2.8, 8 x cuda\n", True),
        ("whatever.log", b"dpkg: unpacking\n", False),
        ("notes.txt", b"buy milk\n", False),
        ("log_1795224524.txt", b"Step 4 | loss:nan lr:2e-05 \n", True),
        ("train.log", b"", False),
        ("train.log", b"no line yet", False),
        ("training.log", b"epoch,loss,val_loss\n", False),
        ("train.log", b"PK\x03\x04\0\0\n", False),
        ("train.log", b"\xff\xfeh\0i\0\n\0", False),
    ],
)
def test_matches(name: str, head: bytes, wanted: bool) -> None:
    assert matches(name, head) is wanted


@pytest.mark.parametrize(
    "name",
    [
        "README.txt",
        "requirements.txt",
        "debug-internal.log",
        "a.json.log",
        "merges.txt",
        "a.py",
        "a.csv",
        "events.out.tfevents.1",
    ],
)
def test_names_that_are_not_opened(name: str) -> None:
    assert not wants_name(name)


def test_every_sample_is_recognised() -> None:
    for path in LOGS:
        found = recognise(path.name, path.read_bytes()[:4096])
        assert isinstance(found, Format)
        assert found is FORMAT, path.name


def test_text_beside_a_metric_log_joins_its_run(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"step": 1, "loss": 0.5}\n')
    (tmp_path / "train.log").write_text("starting\nstep 1 kl 0.25\n")
    collector = Collector([str(tmp_path)])
    assert [event.run for event in collector.find() if hasattr(event, "source")] == [0, 0]
    found = {source: series([item]) for source, item in collector.in_file_order() if series([item])}
    assert found == {"metrics.jsonl": {"loss": points((1, 0.5))}, "train.log": {"kl": points((1, 0.25))}}


def test_a_family_is_data_and_a_function() -> None:
    assert len(families()) == len({family.id for family in families()}) >= 17
    assert all(family.marks and all(family.marks) for family in families())

    class Mine(LineReader):
        def read(self, line: Line) -> bool:
            return self.sink.row([("x", float(line.message.partition("@@")[2]))], 1, line)

    decoder = ConsoleDecoder((Family("mine", ("@@",), Mine, order=1),))
    assert series(decoder.feed(b"hello @@ 0.5\nstep 2 y 1\n")) == {"x": points((1, 0.5)), "y": points((2, 1))}


@pytest.mark.parametrize("late", [10, 1], ids=["disproved", "confirmed"])
def test_a_step_guessed_between_a_row_and_its_bar_is_put_right(tmp_path: Path, late: int) -> None:
    """Live, with a look between any two writes, it is what reading the whole log gives."""
    bar = "\r 10%|#   | {}/100 [00:10<01:30, 10.00it/s]"
    log = tmp_path / "run" / "train.log"
    log.parent.mkdir()
    monitor = LocalMonitor([tmp_path])
    seen = []
    with log.open("a") as file:
        for text in (
            "training begins\n" + bar.format(0),
            "\n{'loss': 1.0}\n",
            f"{bar.format(late)}\n",
            "{'loss': 2.0}\n",
            bar.format(2 * late),
        ):
            file.write(text)
            file.flush()
            monitor.update()
            [run] = monitor.snapshot().runs
            seen.append(run.curve("loss").steps.tolist() if "loss" in run.metrics else [])
    assert seen == [[], [1], [late], [late, late + 1], [late, 2 * late]]
    [whole] = open_run(tmp_path).runs
    assert whole.curve("loss").steps.tolist() == [late, 2 * late]
    assert not monitor.collector.partly_unreadable


def test_the_padding_of_a_truncated_file_costs_no_row() -> None:
    """What a rotation leaves that copies and truncates, where the writer goes on at its old place."""
    text = b"\0" * 5000 + b"step 1 loss 0.5\nstep 2 lo" + b"\0" * 300 + b"ss 0.25\n"
    assert read(text) == {"loss": points((1, 0.5), (2, 0.25))}
    assert matches("train.log", text[4000:])
