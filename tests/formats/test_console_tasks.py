"""Several tasks in one console log: the task of each line, the outcome of a task, and texts that look like labels."""

from __future__ import annotations

from support.json_points import feed, series

from tuimon.formats.console._decoder import ConsoleDecoder
from tuimon.formats.console.text import LineSteps, matches, with_patterns


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
