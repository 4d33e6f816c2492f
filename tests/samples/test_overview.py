"""Test orders, groups, searches, histograms, differences and the advice for runs without texts."""

from __future__ import annotations

import json
import math
import random
import re
import threading
from pathlib import Path

import pytest
from msgspec.structs import replace
from support.written_texts import PROMPTS, write_run

from tuimon.analysis.text_check import parts_sentence, shares_sentence
from tuimon.samples.difference import differences
from tuimon.samples.discovery import Location, advice
from tuimon.samples.fields import sample_of
from tuimon.samples.library import Library, entry_of
from tuimon.samples.searching import Search, TooSlow
from tuimon.samples.selection import (
    SORTS,
    comparison,
    filtered,
    groups_of,
    numbers_of,
    pass_field,
    passed_of,
    sorted_by,
)


@pytest.fixture
def library(tmp_path: Path) -> Library:
    found = Library([str(write_run(tmp_path, range(1, 4)))])
    found.refresh()
    return found


def test_samples_without_a_reward_are_the_last_in_every_order(library: Library) -> None:
    rewards = (0.5, None, math.nan, 1.0, 0.0)
    entries = [replace(entry, reward=reward) for entry, reward in zip(library.entries(2), rewards, strict=False)]
    assert [entry.reward for entry in sorted_by(entries, "worst")][:3] == [0.0, 0.5, 1.0]
    assert [entry.reward for entry in sorted_by(entries, "best")][:4] == [1.0, 0.5, 0.0, None]
    assert {len(sorted_by(entries, sort)) for sort in SORTS} == {len(entries)}


def test_groups_have_mean_deviation_and_the_number_passed(library: Library) -> None:
    groups = groups_of(library.entries(2), pass_field(numbers_of(library.entries(2))))
    assert [(group.mean, group.passed, group.is_flat) for group in groups] == [
        (0.0, 0, True),
        (0.5, 2, False),
        (0.5, 2, False),
        (1.0, 4, True),
    ]
    assert groups[1].std == 0.5
    assert [group.passed for group in sorted_by(groups, "best")] == [4, 2, 2, 0]
    for sort in SORTS:
        assert len(sorted_by(groups, sort)) == PROMPTS
    for name, count in {"zero variance": 8, "mixed groups": 8, "loop": 1, "reward 1": 8, "all": 16}.items():
        assert len(filtered(library.entries(2), name)) == count


def test_passed_is_defined_by_an_accuracy_or_a_binary_reward() -> None:
    binary, continuous = ({"reward": 0.0}, {"reward": 1.0}, {"reward": None}), ({"reward": 0.95}, {"reward": 1.0})
    assert pass_field(binary) == "reward"
    assert passed_of(binary, "reward") == (1, 2)  # of the one without a reward nothing is known
    assert pass_field(continuous) == pass_field(({"reward": 1.015}, {"reward": 0.2})) == ""
    assert passed_of(continuous, "") == (0, 0)
    assert pass_field([{"format": 1.0, "acc": 0.0, "reward": 0.95}, {"acc": 1.0, "reward": 1.0}]) == "acc"
    assert pass_field([{"acc": 0.25, "reward": -1.0}, {"acc": 0.5, "reward": 1.0}]) == "reward"
    assert pass_field([{"acc": 1.0, "reward": 0.5}, {"reward": 0.5}]) == ""
    assert pass_field([]) == pass_field([{"reward": math.nan}]) == ""


def test_identical_responses_of_a_group_are_counted(tmp_path: Path) -> None:
    texts = {"p": ["same", "other", "same", "third", "other", "same"], "q": ["same", "b"], "r": ["x", "x"]}
    rows = [{"input": key, "output": text, "score": 1.0, "step": 1} for key in texts for text in texts[key]]
    (tmp_path / "1.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    library = Library([str(tmp_path)])
    library.refresh()
    entries = library.entries(1)
    assert [group.identical for group in groups_of(entries)] == [3, 0, 2]
    assert "2 of 3 groups with identical texts" in shares_sentence(entries)


def test_comparisons_and_patterns(library: Library) -> None:
    for pattern in ("format<1", "length >= 3e3"):
        test = comparison(pattern)
        assert sum(map(test, library.entries(1))) == 1
    assert comparison("a < b") is None


@pytest.mark.parametrize("lines", [1, 30, 5000])
def test_differences_make_both_texts(lines: int) -> None:
    chance = random.Random(lines)

    def text() -> str:
        return "\n".join(" ".join(chance.choices(["a", "b", "c  d", "é\u2028"], k=5)) for _ in range(lines))

    first, second = text(), text()
    pieces = differences(first, second)
    assert "".join(piece.text for piece in pieces if piece.kind != "added") == first
    assert "".join(piece.text for piece in pieces if piece.kind != "removed") == second
    assert [piece.kind for piece in differences(first, first)][:1] in (["same"], ["removed"])


def test_words_that_differ() -> None:
    pieces = differences("so\nit is 4 now", "so\nit is 5 now")
    assert [(kind, text) for kind, text in pieces if kind != "same"] == [("removed", "4"), ("added", "5")]


def test_advice_names_the_directory_of_the_settings_and_the_options_of_trainers() -> None:
    lines = advice({"trainer": {"rollout_data_dir": "/data/texts"}})
    assert "--samples /data/texts" in lines[0]
    options = {line.split()[0]: line for line in lines[2:]}
    assert "trainer.rollout_data_dir=DIR" in options["verl"]
    assert "log_completions=True" in options["TRL"]


@pytest.mark.parametrize(
    ("parts", "rewards", "expected"),
    [
        ({"right": [0, 1, 0, 1], "format": [1, 1, 1, 1]}, [1, 2, 1, 2], {"right": "r 1.00", "format": "1 ± 0 SD"}),
        ({"right": [0, 1, 0, 1], "length": [3, 3, 2, 2]}, [0, 1, 0, 1], {"right": "r 1.00", "length": "r 0.00"}),
        ({"right": [0, 1, 0, 1]}, [0, 1, 0, 1], {}),
    ],
)
def test_parts_of_the_reward(parts: dict[str, list[float]], rewards: list[float], expected: dict[str, str]) -> None:
    rows = [
        {"input": "q", "output": "a", "score": reward, "reward_extra_info": dict(zip(parts, values, strict=True))}
        for reward, *values in zip(rewards, *parts.values(), strict=True)
    ]
    entries = [entry_of(sample, Location(0, 0)) for row in rows if (sample := sample_of(row, "a", "1.jsonl"))]
    assert len(entries) == len(rewards)
    said = dict(part.strip().split(" ", 1) for part in filter(None, parts_sentence(entries).split(";")))
    assert said.keys() == expected.keys()
    assert all(text in said[name] for name, text in expected.items())


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
