"""Whether a text is claimed as console output must not depend on the shortcuts taken for texts without metrics."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from tuimon.formats.console._decoder import ConsoleDecoder
from tuimon.formats.console._marks import may_have_row, without_repetition
from tuimon.formats.console._patterns import pattern_family
from tuimon.model.points import Points

LINES = st.sampled_from(
    [
        "step 3 loss 0.5",
        "step:7 - actor/loss:np.float64(0.25) - perf/mfu:0.31",
        "{'loss': 0.5, 'epoch': 1.0}",
        "loaded shard 3 of 12",
        "0: step 7 loss 0.5",
        "1: step 7 loss 0.5",
        "epoch     train_loss  valid_loss",
        "0         1.234567    0.987654",
        "[rank0]: Traceback (most recent call last):",
        "GET /page/3 200",
        "gauge 7 of 12",
        "",
    ]
)
OWN = pattern_family(["gauge {step} of {level}"])


@given(st.lists(LINES, max_size=30), st.sampled_from(["\n", "\r", "\r\n"]), st.integers(0, 30), st.booleans())
@example(["GET /page/3 200", "gauge 7 of 12", ""], "\n", 0, True)
@example(["GET /page/3 200", "gauge 7 of 12", ""], "\n", 0, False)
@example(["step 3 loss 0.5", ""], "\n", 0, False)
@example(["[rank0]: Traceback (most recent call last):", "0: step 7 loss 0.5", "step 3 loss 0.5"], "\r", 0, False)
@example(["{'loss': 0.5, 'epoch': 1.0}"], "\n", 0, False)
def test_a_text_has_a_row_if_its_decoder_gives_points(lines: list[str], end: str, torn: int, with_own: bool) -> None:
    text = end.join(lines).encode()
    head = text[: len(text) - torn] if torn < len(text) else text
    own = [OWN] if with_own else []
    decoder = ConsoleDecoder(own)
    expected = any(isinstance(item, Points) for item in (*decoder.feed(head), *decoder.flush()))
    assert (may_have_row(head, own) and ConsoleDecoder(own).has_row(without_repetition(head))) is expected
