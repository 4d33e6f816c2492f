"""Console text of own scripts and of tutorials: lines below an epoch header, tables, progress bars as a fallback."""

from __future__ import annotations

from support.json_points import feed, series

from tuimon.formats.console._decoder import ConsoleDecoder
from tuimon.formats.console.text import matches

BAR = "{}%|###   | {}/{} [00:01<00:01, 5.0it/s{}]"


def read(text: str) -> dict[str, list[tuple[int, float]]]:
    metrics = series(feed(ConsoleDecoder(), text.encode()))
    return {name: [(step, float(value)) for step, value in points] for name, points in metrics.items()}


def bars(name: str, *states: tuple[int, int, str]) -> str:
    return (
        "".join(f"\r{name}{BAR.format(done * 100 // total, done, total, text)}" for done, total, text in states) + "\n"
    )


def last_steps(text: str) -> tuple[list[int], bool]:
    """Return the steps of `loss` after a flush, and whether two more states of the bar make the log be read again."""
    decoder = ConsoleDecoder()
    items = [*decoder.feed(text.encode()), *decoder.flush()]
    steps = [step for step, _ in series(items).get("loss", [])]
    decoder.feed(bars("steps: ", (3, 9, ", loss=0.25"), (4, 9, ", loss=0.125")).encode())
    return steps, decoder.must_reread


def test_newest_state_of_a_bar_is_read_on_a_flush() -> None:
    once = bars("steps: ", (1, 9, ", loss=0.5"), (2, 9, ", loss=0.4"), (3, 9, ", loss=0.25")).rstrip()
    assert last_steps(once) == ([1, 2, 3], False)
    assert last_steps(once[:-1]) == ([1, 2], False), "the end of the bar is missing"
    assert last_steps(once.replace("0.25", "0.3")) == ([1, 2, 3], True), "drawn again with another value"
    twice = bars("steps: ", *((done, 9, f", loss={loss}") for done in (1, 2, 3) for loss in (0.5, 0.25)))
    assert last_steps(twice) == ([1, 2, 3], False)
    assert last_steps(twice[: twice.rindex("\r")]) == ([1, 2], False), "the counts before were drawn twice"
    assert last_steps(bars("steps: ", (1, 9, ", loss=0.5"))) == ([], False)
    assert last_steps(bars("steps: ", (1, 9, ", loss=0.5")) + bars("val: ", (1, 9, ", x_loss=1"))) == ([1], False)


def test_bars_of_a_growing_log_are_read_without_a_flush() -> None:
    decoder = ConsoleDecoder()
    decoder.feed(bars("steps: ", (1, 9, ", loss=0.5"), (2, 9, ", loss=0.4")).encode())
    assert decoder.held_back
    assert series(list(decoder.feed(b"")))["loss"] == [(1, "0.5")]
    assert not decoder.held_back


def test_lines_of_a_log_are_preferred_to_its_bars() -> None:
    bar, line = (
        bars("Epoch 1: ", (9, 10, ", loss=0.5, acc=0.1"), (10, 10, ", loss=0.4, acc=0.2")),
        "Epoch 1: loss=0.45\n",
    )
    assert read(bar + line) == {"loss": [(10, 0.45)], "acc": [(9, 0.1), (10, 0.2)], "epoch": [(10, 1)]}
    decoder = ConsoleDecoder()
    items = [*decoder.feed(bar.encode()), *decoder.flush()]
    assert series(items)["loss"] == [(9, "0.5"), (10, "0.4")]
    assert not decoder.must_reread
    decoder.feed(line.encode())
    assert decoder.must_reread


def test_json_lines_count_as_console_text_only_as_records_of_a_logging_module() -> None:
    assert matches("train.jsonl", b'{"level": "INFO", "message": "step 3: loss=0.5"}\n')
    assert not matches("train.jsonl", b'{"step": 3, "loss": 0.5}\n')
