"""Test orders, groups, histograms, differences and the advice for runs without texts."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest
from support.written_texts import ATTEMPTS, PROMPTS, write_run

from tuimon.analysis.text_check import parts_sentence, shares_sentence
from tuimon.samples.difference import differences
from tuimon.samples.discovery import Location, advice, read_samples
from tuimon.samples.fields import sample_of
from tuimon.samples.library import Entry, Library, entry_of
from tuimon.samples.overview import (
    first_numbers,
    has_match,
    has_prompt,
    histogram,
    in_bin,
    numbers_by_step,
)
from tuimon.samples.prompt_changes import prompt_changes
from tuimon.samples.searching import Search
from tuimon.samples.selection import (
    SINCE_FIRST,
    SORTS,
    changes_since,
    comparison,
    counts,
    filtered,
    groups_of,
    numbers_of,
    pass_field,
    passed_of,
    prompt_numbers,
    sorted_by,
    sorted_groups,
)


@pytest.fixture
def library(tmp_path: Path) -> Library:
    found = Library([str(write_run(tmp_path, range(1, 4)))])
    found.refresh()
    return found


def with_rewards(library: Library, rewards: list[float | None]) -> list[Entry]:
    from msgspec.structs import replace

    pairs = zip(library.entries(2), rewards, strict=False)
    return [replace(entry, reward=reward) for entry, reward in pairs]


def test_samples_without_a_reward_are_the_last_in_every_order(library: Library) -> None:
    entries = with_rewards(library, [0.5, None, math.nan, 1.0, 0.0])
    assert [entry.reward for entry in sorted_by(entries, "worst")][:3] == [0.0, 0.5, 1.0]
    assert [entry.reward for entry in sorted_by(entries, "best")][:3] == [1.0, 0.5, 0.0]
    assert [entry.reward for entry in sorted_by(entries, "best")][3] is None
    for sort in SORTS:
        assert len(sorted_by(entries, sort)) == len(entries)


def test_groups_have_mean_deviation_and_the_number_passed(library: Library) -> None:
    groups = groups_of(library.entries(2), pass_field(numbers_of(library.entries(2))))
    assert [(group.mean, group.passed, group.is_flat) for group in groups] == [
        (0.0, 0, True),
        (0.5, 2, False),
        (0.5, 2, False),
        (1.0, 4, True),
    ]
    assert groups[1].std == 0.5
    assert [group.passed for group in sorted_groups(groups, "best")] == [4, 2, 2, 0]
    for sort in SORTS:
        assert len(sorted_groups(groups, sort)) == PROMPTS
    found = counts(library.entries(2))
    assert (found["zero variance"], found["mixed groups"], found["loop"]) == (8, 8, 1)
    assert len(filtered(library.entries(2), "reward 1")) == 8


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


def test_identical_responses_of_a_group_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tuimon.commands import main

    texts = {"p": ["same", "other", "same", "third", "other", "same"], "q": ["same", "b"], "r": ["x", "x"]}
    rows = [{"input": key, "output": text, "score": 1.0, "step": 1} for key in texts for text in texts[key]]
    (tmp_path / "1.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    library = Library([str(tmp_path)])
    library.refresh()
    entries = library.entries(1)
    assert [group.identical for group in groups_of(entries)] == [3, 0, 2]
    assert "2 of 3 groups with identical texts" in shares_sentence(entries)
    assert main(["samples", str(tmp_path)]) == 0
    head = "step 1, train: 10 texts, mean reward 1, 3 of 6 identical in group 1, and in 1 more"
    assert capsys.readouterr().out.splitlines()[0] == head
    assert main(["samples", str(tmp_path), "--best", "9"]) == 0
    assert "identical" not in capsys.readouterr().out, "not those of the nine"


def test_comparisons_and_patterns(library: Library) -> None:
    test = comparison("format<1")
    assert test is not None
    assert sum(map(test, library.entries(1))) == 1
    test = comparison("length >= 3e3")
    assert test is not None
    assert sum(map(test, library.entries(1))) == 1
    assert comparison("a < b") is None


def test_histogram_counts_every_finite_reward_once(library: Library) -> None:
    assert [(part.low, part.high, part.count) for part in histogram(library.entries(2))] == [(0, 0, 8), (1, 1, 8)]
    chance = random.Random(3)
    entries = with_rewards(library, [chance.uniform(-2, 3) for _ in range(15)] + [math.nan])
    bins = histogram(entries)
    assert sum(part.count for part in bins) == 15
    for part in bins:
        assert part.count == sum(in_bin(entry, part) for entry in entries)


def test_numbers_of_a_prompt_and_of_a_search_by_step(library: Library) -> None:
    prompt = library.entries(1)[ATTEMPTS].prompt
    numbers = list(numbers_by_step(library, "train", has_prompt(prompt)))
    assert [(part.step, part.count, part.passed) for part in numbers] == [(3, 4, 3), (2, 4, 2), (1, 4, 1)]
    matches = list(numbers_by_step(library, "train", has_match(Search("step 2:"))))
    assert [(part.step, part.count, part.total) for part in matches] == [(3, 0, 16), (2, 15, 16), (1, 0, 16)]


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


def test_change_of_prompts_since_the_first_step_with_them(tmp_path: Path) -> None:
    for step, rewards in {
        1: {"a": 1.0},
        2: {"a": 0.5, "b": 0.5},
        3: {"b": 0.0},
        4: {"a": 0.0, "b": 1.0, "c": 1.0},
    }.items():
        rows = [{"input": name, "output": f"{step}", "score": reward, "step": step} for name, reward in rewards.items()]
        (tmp_path / f"{step}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    library = Library([str(tmp_path)])
    library.refresh()
    entries = library.entries(4)
    names = {entry.prompt: entry.prompt_head for entry in entries}
    firsts = first_numbers(library, 4, "train", {*names}, lambda: True)
    assert firsts is not None
    assert [numbers.step for numbers in firsts] == [1, 2]  # step 3 has no further prompt
    assert first_numbers(library, 4, "train", {*names}, lambda: False) is None
    assert [n.step for n in first_numbers(library, 4, "train", {*names}, lambda: True, 2) or ()] == [2]
    for step, split, prompts in ((4, "validation", {*names}), (4, "train", {"other"}), (1, "train", {*names})):
        assert first_numbers(library, step, split, prompts, lambda: True) == []
    now = prompt_numbers(4, zip((entry.prompt for entry in entries), numbers_of(entries), strict=True))
    is_share, change = changes_since(firsts, now)
    assert not is_share  # 0.5 in step 2 says that a reward of 1 is not a pass
    assert {names[prompt]: value for prompt, value in change.items()} == {"a": -1.0, "b": 0.5}
    assert [names[entry.prompt] for entry in sorted_by(entries, SINCE_FIRST, change)] == ["a", "b", "c"]
    groups = sorted_groups(groups_of(entries[::-1]), SINCE_FIRST, change)
    assert [names[group.entries[0].prompt] for group in groups] == ["a", "b", "c"]

    found = prompt_changes(read_samples(str(tmp_path), []))
    assert [(p.head, p.first_step, p.last_step, p.steps, p.first, p.last) for p in found] == [
        ("a", 1, 4, 3, 1.0, 0.0),
        ("b", 2, 4, 3, 0.5, 1.0),
    ]
    until = prompt_changes(read_samples(str(tmp_path), []), 2)
    assert [(p.head, p.last_step, p.change) for p in until] == [("a", 2, -0.5)]
    assert prompt_changes(read_samples(str(tmp_path), []), 1) == []


def test_mean_rewards_are_compared_where_none_says_which_samples_passed() -> None:
    before = prompt_numbers(1, [("a", {"reward": 0.5}), ("a", {"reward": 0.7}), ("b", {"reward": None})])
    after = prompt_numbers(2, [("a", {"reward": 1.0}), ("b", {"reward": 1.0})])
    assert (before.pass_field, after.pass_field) == ("", "reward")
    is_share, change = changes_since([before], after)
    assert not is_share
    assert change == {"a": pytest.approx(0.4)}


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
