from __future__ import annotations

import re
import threading

import pytest

from tuimon.samples.searching import Search, TooSlow


@pytest.mark.parametrize(
    ("query", "text", "spans"),
    [
        ("a.b", "xA.B a.b", [(1, 4), (5, 8)]),
        ("A.b", "a.b", []),
        ("a.b", "axb", []),
        ("re:a.b", "axb\u2028a\ud83db", [(0, 3), (4, 7)]),
        ("re:A.b", "axb", []),
        ("re:x*", "ax", [(0, 0), (1, 2), (2, 2)]),
    ],
)
def test_matches_of_texts_and_expressions(query: str, text: str, spans: list[tuple[int, int]]) -> None:
    search = Search(query)
    assert search.spans([text, ""])[0] == spans
    assert search.spans([text], 1) == [spans[:1]]
    assert search.is_in(text) == bool(spans)


def test_an_invalid_expression_is_an_error_at_once() -> None:
    with pytest.raises(re.error):
        Search("re:(")


def test_an_expression_of_exponential_time_is_ended() -> None:
    search = Search("re:(a+)+$", limit=0.1)
    assert search.is_in("aaa")
    for _ in range(2):
        with pytest.raises(TooSlow, match=r"took more than 0.1 s for 1,000,001 characters"):
            search.is_in("a" * 1_000_000 + "b")


def test_a_search_can_be_cancelled_by_another_thread() -> None:
    search = Search("re:(a+)+$", limit=3600)
    ended: list[TooSlow] = []

    def run() -> None:
        try:
            search.is_in("a" * 100 + "b")
        except TooSlow as error:
            ended.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    while thread.is_alive():
        search.cancel()
        thread.join(0.05)
    assert len(ended) == 1
