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


def test_newest_state_of_a_bar_is_read_when_it_is_complete() -> None:
    states = [(1, ", loss=0.5"), (2, ", loss=0.4"), (3, ", loss=0.25")]
    for total, wanted in ((9, [1, 2]), (3, [1, 2, 3])):
        decoder = ConsoleDecoder()
        text = bars("steps: ", *((done, total, text) for done, text in states))
        items = [*decoder.feed(text.encode()), *decoder.flush()]
        assert [step for step, _ in series(items)["loss"]] == wanted
        assert [step for step, _ in series([*items, *decoder.end()])["loss"]] == [1, 2, 3]
    decoder.feed(bars("steps: ", (3, 3, ", loss=0.125"), (0, 3, "")).encode())
    decoder.flush()
    assert decoder.must_reread, "drawn again with another value"


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


def lightning_fit(first: int, epochs: int) -> str:
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
        postfix["val_loss"] = 1 / (2 + epoch)
        text += bar(epoch, 10)
        postfix["loss_epoch"] = 1 / (3 + epoch)
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
