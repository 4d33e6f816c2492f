"""Comparison of runs, with every number computed independently of the code under test."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tuimon.analysis import comparing
from tuimon.analysis.comparing import MISSING, differing_words
from tuimon.store import Curve


def curve(values: list[float], steps: list[int] | None = None) -> Curve:
    return Curve.from_arrays("m", np.array(steps or range(len(values)), np.int64), np.array(values, np.float64))


def test_settings_that_differ_include_missing_ones() -> None:
    a = {"optim": {"lr": 1e-3, "beta": 0.9}, "seed": 1, "same": [1, 2], "count": 1, "nan": math.nan, "nothing": None}
    b = {"optim": {"lr": 1e-4, "beta": 0.9}, "same": [1, 2], "count": 1.0, "nan": math.nan, "flag": True}
    differences, same = comparing.compared_settings([a, b])
    absent = comparing.MISSING
    expected = {"optim.lr": (1e-3, 1e-4), "seed": (1, absent), "nothing": (None, absent), "flag": (absent, True)}
    assert dict(differences) == expected
    assert [name for name, _ in same] == ["optim.beta", "same", "count", "nan"]
    assert comparing.compared_settings([a, a])[0] == ()
    assert [name for name, _ in comparing.compared_settings([{"x": 1}, {"x": True}])[0]] == ["x"], "a flag is no number"


def test_metrics_are_aligned_by_name_or_meaning() -> None:
    rows = comparing.aligned([["train/reward", "loss", "own"], ["loss", "critic/rewards/mean", "other"]])
    assert ("loss", "loss") in rows
    assert ("train/reward", "critic/rewards/mean") in rows
    assert ("own", None) in rows
    assert (None, "other") in rows
    assert [comparing.first_name(row) for row in rows] == ["train/reward", "loss", "own", "other"]


def test_seeds_of_different_projects_are_no_group() -> None:
    names = ("sft/run1", "sft/run2", "grpo/run2", "day/2026-11-01/10-11-12", "day/2026-11-02/10-11-12")
    names += ("h/s1/ppo_1/tb", "h/s2/ppo_2/tb", "ppo_1/version_0", "host:/logs/ppo_2/version_0")
    paths = [name if ":" in name else f"/logs/{name}" for name in names]
    keys = [comparing.seedless(f"run{i}", {"lr": 1, "seed": i}, path) for i, path in enumerate(paths)]
    assert comparing.seed_groups(keys) == ((0, 1), (3, 4), (5, 6), (7, 8)), "dates, numbers and hosts are no projects"


@given(st.lists(st.text("ab-_/1e", max_size=8), max_size=6, unique=True))
def test_short_names_are_distinct_if_the_names_are(names: list[str]) -> None:
    short = comparing.distinct_names(names)
    assert len(set(short)) == len(names)
    assert all(part in name for part, name in zip(short, names, strict=True))


def test_telling_settings_come_first() -> None:
    a = {"out": "/a/1", "name": "x", "steps": 10, "optim": {"lr": 1e-3}, "only_a": 1, "same": 2}
    b = {"out": "/a/2", "name": "y", "steps": 20, "optim": {"lr": 1e-4}, "same": 2}
    differences, _ = comparing.compared_settings([a, b])
    assert [name for name, _ in differences] == ["optim.lr", "steps", "name", "out", "only_a"]


def test_long_texts_are_shortened_to_the_words_that_differ() -> None:
    command = "train.py --model qwen --lr {} --seed {} --steps 1000"
    long = [command.format("1e-4", 1), command.format("3e-4", 1)]
    assert differing_words(long, 24) == ("… --lr 1e-4 …", "… --lr 3e-4 …")
    both = [command.format("1e-4", 1), command.format("3e-4", 2)]
    assert differing_words(both, 24) == ("… --lr 1e-4 --seed 1 …", "… --lr 3e-4 --seed 2 …")
    assert differing_words(long, 100) == tuple(long)
    paths = ["/home/user/project/a/train.py", "/home/user/project/b/train.py"]
    assert differing_words(paths, 24) == ("…/a/…", "…/b/…")
    assert differing_words([long[0], MISSING], 24) == (long[0], MISSING)
    assert differing_words(["a " * 20, "a " * 20 + "b"], 24) == ("… ", "… b")


@given(st.lists(st.text("ab /-", max_size=12), min_size=1, max_size=3))
def test_texts_that_differ_do_so_when_they_are_shortened(values: list[str]) -> None:
    assert len(set(differing_words(values, 0))) == len(set(values))
