from __future__ import annotations

from typing import Any

import pytest

from tuimon.samples.answers import agrees, answer_of
from tuimon.samples.flags import EMPTY, GARBLED, LOOP, SCRIPTS, flags_of
from tuimon.samples.media import without_data_urls


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (r"first \boxed{1}, then \boxed{\frac{1}{2}}.", r"\frac{1}{2}"),
        ("<answer> 42 </answer> or 43", "42"),
        ("it is 1,234.5 dollars", "1,234.5"),
        (r"\boxed{4", "4"),
        ("none", None),
    ],
)
def test_answer_of_a_text(text: str, answer: str | None) -> None:
    assert answer_of(text) == answer


@pytest.mark.parametrize(
    ("answer", "reference", "same"),
    [
        ("4", "4.0", True),
        ("$1,234$", 1234, True),
        ("7", "work\n#### 7", True),
        ("5", {"ground_truth": "4"}, False),
        ("5", None, None),
        (None, "4", None),
        ("4", "x" * 300, None),
    ],
)
def test_answer_agrees_with_the_reference(answer: str | None, reference: Any, same: bool | None) -> None:
    assert agrees(answer, reference) is same


@pytest.mark.parametrize(
    ("response", "prompt", "flags"),
    [
        ("  \n", "q", EMPTY),
        ("a" * 1_000_000, "q", LOOP),
        ("I think. " + "wait, no. " * 200, "q", LOOP),
        ("a plain text. " * 3, "q", 0),
        ("I am not sure. The answer is 42. " * 6, "q", LOOP),
        ("I am not sure. The answer is 42. " * 5 + "I am not", "q", LOOP),
        ("I am not sure. The answer is 42. " * 4 + "<|im_end|>" + "\n<|endoftext|>" * 50, "q", LOOP),
        ("I am not sure. The answer is 42. " * 3, "q", 0),
        ("Let me think about the question. " * 2 + "I do not know. " * 5, "q", LOOP),
        ("Let me think about the question. " * 3 + "I do not know. " * 5, "q", 0),
        ("4" + "<|endoftext|>" * 500, "q", 0),
        ("That is funny, ha ha ha ha ha", "q", 0),
        ("| a | b |\n| --- | --- |\n" + "".join(f"| {n} | 0 |\n" for n in range(40)), "q", 0),
        ("def f():\n" + "".join(f"    x{n} = 0\n" for n in range(40)) + "    return 0\n" * 4, "q", 0),
        ("cut \ufffd\ufffd", "q", GARBLED),
        ("the answer is now 这是一个很长的答案 really", "what is it then", SCRIPTS),
        ("the answer is now 这是一个很长的答案 really", "translate 这是一个很长的答案 to English", 0),
    ],
)
def test_flags(response: str, prompt: str, flags: int) -> None:
    assert flags_of(response, prompt) == flags


def test_data_urls_become_type_and_size() -> None:
    url = "data:image/png;base64," + "A" * 400
    assert without_data_urls(f"see {url} here") == "see [image/png, 300 bytes] here"
    assert without_data_urls("data:text/plain;base64,QUJD") == "data:text/plain;base64,QUJD"


def test_a_text_that_is_the_reference_is_its_own_answer() -> None:
    assert answer_of("1 5 5 7", "1 5 5 7") == "1 5 5 7"
    assert answer_of("the last is 7", "1 5 5 7") is None
    assert answer_of("so it is 7", "7") == "7"
    assert answer_of("so it is 18", "9 * 2 = 18\n#### 18") == "18"


def test_numbers_of_control_sequences_are_no_answers() -> None:
    assert answer_of("\x1b[31mnine\x1b[0m", "9") is None
    assert answer_of("\x1b[1;32m7\x1b[0m apples\x1b[K", "7") == "7"
