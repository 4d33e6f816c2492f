"""Console text of own scripts and of tutorials: lines below an epoch header, tables, progress bars as a fallback."""

from __future__ import annotations

import pytest
from support.json_points import facts, feed, series

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


def lightning_fit(first: int, epochs: int, steady: bool = False) -> str:
    """Bars of Lightning's TQDMProgressBar: the postfix keeps the results of the last validation and epoch."""
    text, postfix = "", dict[str, float]()

    def bar(epoch: int, done: int) -> str:
        inside = "".join(f", {name}={value:#.3g}" for name, value in postfix.items())
        return f"\rEpoch {epoch}: " + BAR.format(10 * done, done, 10, inside)

    for epoch in range(first, epochs):
        text += bar(epoch, 0)
        for done in range(5, 11, 5):
            text += bar(epoch, done)
            postfix["loss_step"] = 1 / (1 + epoch * 10 + done)
            text += bar(epoch, done)
        for share in ("  0%|   | 0/5", "100%|###| 5/5", "100%|###| 5/5"):
            text += f"\n\rValidation DataLoader 0: {share} [00:00<00:00, 9.0it/s]\x1b[A"
        postfix["val_loss"] = 0.5 if steady else 1 / (2 + epoch)
        text += bar(epoch, 10)
        postfix["loss_epoch"] = 0.5 if steady else 1 / (3 + epoch)
        text += bar(epoch, 10) + ("" if epoch == epochs - 1 else bar(epoch, 0))
    return f"{text}{bar(epochs - 1, 10)}`Trainer.fit` stopped: `max_epochs={epochs}` reached.\n"


@pytest.mark.parametrize("read_each", [0, 50])
def test_results_that_a_bar_repeats_are_read_when_they_change(read_each: int) -> None:
    text = (lightning_fit(0, 3) + lightning_fit(3, 6)).encode()
    items = feed(ConsoleDecoder(), text, range(0, len(text), read_each or len(text)))
    metrics = {name: [step for step, _ in points] for name, points in series(items).items()}
    ends = [10, 20, 30, 40, 50, 60]
    assert metrics == {"loss_step": list(range(5, 61, 5)), "val_loss": ends, "loss_epoch": ends}
    assert facts(items, "state")[-1]["evidence"] == "`Trainer.fit` stopped: `max_epochs=6` reached."


@pytest.mark.parametrize("read_each", [0, 50])
def test_results_that_are_logged_again_unchanged_are_read_again(read_each: int) -> None:
    """A validation has ended since, or the epoch has; the mean of the last epoch may be that of the one before."""
    text = lightning_fit(0, 4, steady=True).encode()
    items = feed(ConsoleDecoder(), text, range(0, len(text), read_each or len(text)))
    metrics = {name: [step for step, _ in points] for name, points in series(items).items()}
    assert metrics == {"loss_step": list(range(5, 41, 5)), "val_loss": [10, 20, 30, 40], "loss_epoch": [10, 20, 30]}
    text = text.replace(b"Validation DataLoader", b"Sanity Checking DataLoader")
    assert [step for step, _ in series(feed(ConsoleDecoder(), text))["val_loss"]] == [10]
