"""The grammar of targets."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuimon.errors import UsageError
from tuimon.remote.targets import MAX_HOSTS, Target, expand, parse, parts_of

TABLE: dict[str, list[Any]] = tomllib.loads(Path(__file__).with_name("targets.toml").read_text("utf-8"))


def _nothing(path: str) -> bool:
    return False


def _one(word: str) -> Target:
    (target,) = parse(word, _nothing)
    return target


@pytest.mark.parametrize(("word", "scheme", "destination", "path", "shown"), TABLE["remote"])
def test_remote_words(word: str, scheme: str, destination: str, path: str, shown: str) -> None:
    target = _one(word)
    assert (target.scheme, target.destination, target.path, target.shown) == (scheme, destination, path, shown or word)


@pytest.mark.parametrize(
    "word", ["logs", "./a:b", "/data/a:b", "logs/20:15:03", "C:\\logs", "d:/logs", ":x", "a b:c", ""]
)
def test_local_words(word: str) -> None:
    assert parse(word, _nothing) == ()


@pytest.mark.parametrize("word", TABLE["invalid"])
def test_words_that_cannot_be_meant(word: str) -> None:
    with pytest.raises(UsageError):
        parse(word, _nothing)


def test_existing_path_is_local() -> None:
    assert parse("gpu01:logs", lambda path: path == "gpu01:logs") == ()


def test_host_list_is_one_job() -> None:
    targets = parse("anna@gpu[01-03,07],login1:logs", _nothing)
    assert [target.destination for target in targets] == [f"anna@{host}" for host in expand("gpu[01-03,07],login1")]
    assert {target.job for target in targets} == {"gpu[01-03,07],login1"}
    assert _one("gpu[01]:logs").job == ""


@pytest.mark.parametrize(("text", "hosts"), TABLE["hosts"])
def test_host_lists(text: str, hosts: list[str]) -> None:
    assert list(expand(text)) == hosts


@given(st.integers(0, 900), st.integers(0, 100), st.integers(0, 6))
def test_ranges_have_all_their_numbers(first: int, more: int, width: int) -> None:
    low = str(first).zfill(width)
    hosts = expand(f"n[{low}-{first + more}]")
    assert len(hosts) == more + 1 <= MAX_HOSTS
    assert [int(host[1:]) for host in hosts] == list(range(first, first + more + 1))
    assert all(len(host) >= 1 + len(low) for host in hosts)


@given(st.text(st.sampled_from("ab:/[]-,~@0%. \\\x00\x1b3s"), max_size=24))
def test_any_word_is_local_remote_or_refused(word: str) -> None:
    try:
        targets = parse(word, _nothing)
    except UsageError:
        return
    assert (":" in word) or not targets
    for target in targets:
        assert target.path
        assert not target.destination.startswith("-")
        assert "\0" not in target.path
    assert parse(word, lambda path: True) == (targets if "://" in word else ())


@given(st.text(max_size=30))
def test_mirrored_path_stays_below_its_root(path: str) -> None:
    assert not {"", ".", "..", "/"} & set(parts_of(path))
    assert not any("/" in part for part in parts_of(path))


def test_patterns_end_the_mirrored_path() -> None:
    assert parts_of("~/logs/*/tb") == ("logs",)
    assert parts_of("/data/../x/./y/") == ("x", "y")
    assert parts_of("../../up") == ("up",)
