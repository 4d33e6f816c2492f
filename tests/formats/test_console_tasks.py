"""Several tasks in one console log: the task of each line, the outcome of a task, and texts that look like labels."""

from __future__ import annotations

import pytest
from support.json_points import facts, feed, series

from tuimon.formats.console._decoder import ConsoleDecoder
from tuimon.formats.console.text import LineSteps, matches, with_patterns

BAR = " 10%|#         | {}/100 [00:10<01:30, 10.00it/s]"
LABELS = ["{}: ", "[rank{}]:", "[1,{}]<stderr>:", "worker-{}  | ", "[pod/job-{}/main] "]


def read(text: str) -> dict[str, list[tuple[int, str]]]:
    return series(feed(ConsoleDecoder(), text.encode()))


@pytest.mark.parametrize("label", LABELS)
def test_rows_have_the_steps_of_their_own_tasks_bars(label: str) -> None:
    """Only the first state of a redrawn bar has the label."""
    text = ""
    for step in (10, 20, 30):
        for task in (0, 1):
            mine = label.format(task)
            text += f"{mine}\r{BAR.format(step - 1)}\r{BAR.format(step + task)}\n"
            text += f"{mine}{{'loss': {task}.{step}}}\n{mine}\r{BAR.format(step + task)}\n"
    metrics = {name.rpartition("/")[0]: points for name, points in read(text).items()}
    (other,) = metrics.keys() - {""}
    assert metrics[""] == [(10, "0.1"), (20, "0.2"), (30, "0.3")]
    assert metrics[other] == [(11, "1.1"), (21, "1.2"), (31, "1.3")]
    for piece in (1, 2, 3, 7, 50):
        assert series(feed(ConsoleDecoder(), text.encode(), range(piece, len(text), piece))) == read(text)


@pytest.mark.parametrize("label", LABELS)
def test_table_of_a_task_survives_lines_of_another(label: str) -> None:
    table = [
        "-" * 40,
        "| time/             |    |",
        "|   total_timesteps | 64 |",
        "| loss              | {}.5 |",
        "-" * 40,
    ]
    lines = [label.format(task) + line.format(task) for line in table for task in (3, 4)] * 2
    values = sorted(points for name, points in read("\n".join([*lines, ""])).items() if name.endswith("loss"))
    assert values == [[(64, "3.5")] * 2, [(64, "4.5")] * 2]


@pytest.mark.parametrize("label", LABELS)
def test_error_of_a_task_excludes_lines_of_other_tasks(label: str) -> None:
    traceback = ["Traceback (most recent call last):", '  File "x.py", line 1', "    f()", "ValueError: bad {}"]
    lines = [label.format(task) + line.format(task) for line in traceback for task in (0, 1)]
    (state,) = facts(feed(ConsoleDecoder(), "\n".join(["step 3 loss 0.5", *lines, ""]).encode()), "state")
    assert state == {"state": "crashed", "evidence": "ValueError: bad 1"}


def test_fatal_line_is_reported_with_its_label() -> None:
    text = "12: step 5 loss 0.5\n12: step 6 loss 0.5\n12: Bus error\n"
    (fact,) = [fact for fact in feed(ConsoleDecoder(), text.encode()) if getattr(fact, "topic", "") == "state"]
    assert (fact.value["evidence"], fact.step) == ("12: Bus error", 6)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "".join(f"{line}: step {line} loss 0.5\n" for line in range(1, 9)),
            {"loss": [(n, "0.5") for n in range(1, 9)]},
        ),
        (
            "".join(f"12:30:{second} step {second} loss 0.5\n" for second in (10, 11)),
            {"loss": [(10, "0.5"), (11, "0.5")]},
        ),
        ("[Epoch1]: loss=0.5\nstep_1 | loss 0.5\nstep 2 | loss 0.5\n", {"loss": [(1, "0.5"), (1, "0.5"), (2, "0.5")]}),
    ],
)
def test_numbers_that_are_not_labels(text: str, wanted: dict[str, list[tuple[int, str]]]) -> None:
    """Numbered lines, clocks and steps."""
    assert read(text) == wanted


def test_lines_without_a_label_belong_to_no_task() -> None:
    text = "step 1 loss 0.5\n[rank1]: step 1 loss 0.25 kl 1\nstep 2 loss 0.5\n"
    assert read(text) == {"loss": [(1, "0.5"), (2, "0.5")], "rank1/loss": [(1, "0.25")], "kl": [(1, "1.0")]}


def test_user_pattern_may_begin_with_a_number() -> None:
    decoder = with_patterns(["{step}: loss {loss}"]).decoder()
    text = b"1: loss 0.5\n1: loss 0.25\n2: loss 0.125\n"
    assert series(feed(decoder, text)) == {"loss": [(1, "0.5"), (1, "0.25"), (2, "0.125")]}


def test_steps_of_a_part_of_a_labelled_log() -> None:
    steps = LineSteps()
    text = b"0: step 7 loss 0.5\n1: step 7 loss 0.5\n0: step 8 loss 0.5\n"
    steps.feed(text)
    assert [(text[offset:].split(b":")[0], step) for offset, step in steps.rows] == [(b"0", 7), (b"1", 7), (b"0", 8)]


def test_labelled_log_is_recognised_by_its_rows() -> None:
    assert matches("job.7.log", b"0: step 7 loss 0.5\n1: step 7 loss 0.5\n0: step 8 loss 0.5\n")
    assert matches("a.txt", b"worker-0  | step 7 loss 0.5\n")


def test_number_of_labels_is_bounded() -> None:
    decoder = ConsoleDecoder()
    text = "".join(f"[task{number}]: step 1 loss 0.5\n" for number in range(6000))
    metrics = series(feed(decoder, text.encode()))
    assert len(metrics) < 4200
    assert sum(map(len, metrics.values())) == 6000


@pytest.mark.parametrize("time", ["", "[2026-11-25 06:54:00] ", "2026-11-25 06:54:00,123 - INFO - "])
@pytest.mark.parametrize("rank", ["rank {} ", "rank {}: ", "Rank {}, ", "[rank {}] "])
def test_lines_with_a_rank_before_their_step_are_read(time: str, rank: str) -> None:
    def text(ranks: range) -> str:
        return "".join(f"{time}{rank.format(r)}step {s} loss {s}.{r}\n" for s in (1, 2) for r in ranks)

    assert read(text(range(5, 6))) == {"loss": [(1, "1.5"), (2, "2.5")]}
    several = read(text(range(3)))
    assert several["loss"] == [(1, "1.0"), (2, "2.0")]
    assert several["rank 2/loss"] == [(1, "1.2"), (2, "2.2")]


def test_ranks_of_a_retrieval_are_no_labels() -> None:
    assert "rank 1" not in str(read("epoch 3 loss 0.5\nRank 1: 94.5%\nRank 5: 98.0%\nepoch 4 loss 0.4\n"))
