"""clean() removes every control character, and fit() gives exactly the requested width."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuimon.text import (
    MAX_COMBINING,
    cell_width,
    clean,
    first_names,
    fit,
    fit_apart,
    fit_distinct,
    fit_name,
    fit_side_by_side,
)

ATTACKS = [
    "\x1b]0;owned\x07",
    "\x1b]52;c;ZXZpbA==\x07",
    "\x1b]8;;http://evil\x1b\\click\x1b]8;;\x1b\\",
    "\x1b[2J\x1b[H",
    "\x1bP+q544e\x1b\\",
    "\x9b31m",
    "\x9d0;t\x9c",
    "loss\r\nfake line",
    "a\x08\x08\x7fb",
    "\u202eevil\u202c",
    "\u2066x\u2069",
    "zero\u200bwidth\ufeff",
    "\u2028new line",
    "surrogate \udcff",
    "tag \U000e0041",
]


def test_no_control_or_format_character_survives() -> None:
    categories = ("Cc", "Cf", "Cs", "Zl", "Zp")
    everything = map(chr, range(sys.maxunicode + 1))
    hidden = "".join(character for character in everything if unicodedata.category(character) in categories)
    for text in (*ATTACKS, *(hidden[start : start + 1000] for start in range(0, len(hidden), 1000))):
        cleaned = clean(text)
        assert all(unicodedata.category(character) not in categories for character in cleaned)
        cleaned.encode("utf-8")


@given(st.text())
def test_a_clean_text_stays_as_it_is(text: str) -> None:
    assert clean(clean(text)) == clean(text)


def test_printable_text_of_any_script_stays_but_for_its_length_and_many_marks() -> None:
    for text in ("train/loss", "准确率 x", "Größe", "награда", "العربية", "😀", "a//b///c "):
        assert clean(text) == text
    assert clean("x" * 10_000, limit=10) == "x" * 9 + "…"
    for mark in "\u0301\u0e49\u06e1\u0f39\U0001e8d0\U0001da00\u302a\ua8e0":
        assert clean("a" + mark * 100) == "a" + mark * MAX_COMBINING
    assert [cell_width(text) for text in ("loss", "准确率", "e\u0301")] == [4, 6, 1]


@given(st.text(), st.integers(0, 60), st.sampled_from(["start", "end", "ends"]))
def test_fit_is_exactly_as_wide_as_asked(text: str, width: int, keep: str) -> None:
    assert cell_width(fit(clean(text), width, keep)) == width


@given(st.lists(st.text("ab/", max_size=24), max_size=8, unique=True), st.integers(0, 20))
def test_fit_apart_keeps_the_width_and_makes_no_names_equal(names: list[str], width: int) -> None:
    before, shortened = [fit(name, width, "ends") for name in names], fit_apart(names, width)
    assert all(cell_width(text) == width for text in shortened)
    assert len(set(shortened)) >= len(set(before))
    for name, short, other in zip(names, shortened, before, strict=True):
        assert short == other or before.count(other) > 1, name


def test_fit_keeps_the_important_part() -> None:
    keeps = ("start", "end", "ends")
    assert [fit("critic/score/mean", 11, keep) for keep in keeps] == ["critic/sco…", "…score/mean", "crit…e/mean"]
    assert fit("准确率", 4) == "准… "
    names = [f"completions/{which}_terminated_length" for which in ("max", "mean", "min")]
    assert len({fit(name, 24, "ends") for name in names}) == 1, "they differ in the middle"
    assert fit_apart(names, 24) == ["completions/max_…_length", "completions/mean…_length", "completions/min_…_length"]


@pytest.mark.parametrize("width", [16, 20, 24, 32])
def test_names_of_two_splits_and_several_statistics_stay_distinct(width: int) -> None:
    kinds = [f"{kind}_{more}length" for kind in ("mean", "max", "min") for more in ("", "terminated_")]
    of_split = [f"completions/{kind}" for kind in kinds]
    of_split += [f"rewards/{kind}_reward/{of}" for kind in ("accuracy", "format") for of in ("mean", "std")]
    names = [f"{split}/{name}" for split in ("train", "eval") for name in of_split]
    short = fit_distinct(names, width)
    assert len(set(short)) == len(names), short
    assert max(map(cell_width, short)) <= width


def test_names_keep_their_first_part_and_whole_parts_of_their_end() -> None:
    names = [f"{split}/completions/{kind}_terminated_length" for split in ("train", "eval") for kind in ("mean", "min")]
    assert fit_distinct(names, 30) == [
        "train/…/mean_terminated_length",
        "train/…/min_terminated_length",
        "eval/…/mean_terminated_length",
        "eval/…/min_terminated_length",
    ]
    assert fit_name("eval/rewards/accuracy_reward/mean", 23) == "eval/…uracy_reward/mean"
    assert fit_name("loss", 2) == "l…"
    assert fit_name("Loss / Value loss", 14) == "…Value loss", "whole words, without their separator"
    assert fit_name("a_very_long_metric_name", 12) == "a_very…name"
    assert fit_name("anunbrokenname_x", 12) == "anun…nname_x", "a letter would say too little"
    assert fit_side_by_side([*names[:1], "loss"], 34, 8) == ["train/…/mean_terminated_length", "loss"]
    assert fit_side_by_side(names, 4 * 7, 8) == names


def test_the_words_that_distinguish_names_are_left() -> None:
    names = [
        f"{split}/rewards/{kind}_reward_of_it/mean" for split in ("train", "eval") for kind in ("format", "answer")
    ]
    assert fit_distinct(names, 16) == ["train/…format…", "train/…answer…", "eval/…format…", "eval/…answer…"]
    assert fit_distinct(["a/b_c", "a/b.c"], 3) == ["a…", "a…"]
    assert fit_distinct(["loss", "loss", "kl"], 16) == ["loss", "loss", "kl"]


@pytest.mark.parametrize(
    ("names", "most", "text"),
    [
        ([], 3, ""),
        (["a"], 3, "a"),
        (list("abc"), 3, "a, b, c"),
        (list("abcde"), 2, "a, b and 3 more"),
        (["a", "b"], 1, "a and 1 more"),
    ],
)
def test_of_many_names_the_first_are_given(names: list[str], most: int, text: str) -> None:
    assert first_names(names, most) == text
