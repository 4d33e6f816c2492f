"""The grammar of targets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuimon.errors import UsageError
from tuimon.remote.targets import MAX_HOSTS, Target, expand, parse, parts_of


def _nothing(path: str) -> bool:
    return False


def _one(word: str) -> Target:
    (target,) = parse(word, _nothing)
    return target


@pytest.mark.parametrize(
    ("word", "scheme", "destination", "path", "shown"),
    [
        ("gpu01:logs/grpo", "ssh", "gpu01", "logs/grpo", ""),
        ("anna@gpu01:/data/logs", "ssh", "anna@gpu01", "/data/logs", ""),
        ("gpu01:~/logs/*", "ssh", "gpu01", "~/logs/*", ""),
        ("gpu01:20:15:03/x", "ssh", "gpu01", "20:15:03/x", ""),
        ("gpu01:C:/x y", "ssh", "gpu01", "C:/x y", ""),
        ("[fe80::1%eth0]:logs", "ssh", "fe80::1%eth0", "logs", ""),
        ("anna@[::1]:logs", "ssh", "anna@::1", "logs", ""),
        ("ssh://gpu01/data/logs", "ssh", "gpu01", "/data/logs", "gpu01:/data/logs"),
        ("ssh://anna@gpu01:2222/~/logs", "ssh", "anna@gpu01", "~/logs", ""),
        ("ssh://[::1]:22/a%20b", "ssh", "::1", "/a b", "ssh://[::1]:22/a b"),
        ("SSH://gpu01/", "ssh", "gpu01", "/", "gpu01:/"),
        ("docker://trainer:/workspace/logs", "docker", "trainer", "/workspace/logs", ""),
        ("k8s://ml/job-0:/logs", "k8s", "ml/job-0", "/logs", ""),
        ("k8s://ml/job-0/main:/logs", "k8s", "ml/job-0/main", "/logs", ""),
        ("s3://bucket/logs", "objects", "", "s3://bucket/logs", ""),
        ("memory://logs", "objects", "", "memory://logs", ""),
        ("slurm:4711", "slurm", "", "4711", ""),
        ("slurm:4711_2", "slurm", "", "4711_2", ""),
        ("slurm:logs", "ssh", "slurm", "logs", ""),
    ],
)
def test_remote_words(word: str, scheme: str, destination: str, path: str, shown: str) -> None:
    target = _one(word)
    assert (target.scheme, target.destination, target.path, target.shown) == (scheme, destination, path, shown or word)


@pytest.mark.parametrize(
    "word", ["logs", "./a:b", "/data/a:b", "logs/20:15:03", "C:\\logs", "d:/logs", ":x", "a b:c", ""]
)
def test_local_words(word: str) -> None:
    assert parse(word, _nothing) == ()


@pytest.mark.parametrize(
    "word",
    [
        *[
            "gpu01:",
            "anna@gpu01:",
            "ssh://gpu01",
            "ssh:///logs",
            "-oProxyCommand=x:logs",
            "a@-x:logs",
            "-a@x:logs",
            "s3://",
            "a,,b:x",
        ],
        *["ssh://-oProxyCommand=touch%20x/logs", "docker://:/x", "docker://a", "docker://-v:/x", "k8s://pod:/x"],
        *[
            "gpu[]:x",
            "gpu[1-9999]:x",
            "gpu[9-1]:x",
            "gpu[1-2,]:x",
            "gpu[1-40][1-40]:x",
            "gpu01:a\x00b",
            "ssh://h:99999/x",
        ],
        *["s3://", "a,,b:x", "gpu[00000000000000000000000000000000000001-2]:x", "ssh://a%20b/x"],
    ],
)
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


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("gpu01", ["gpu01"]),
        ("gpu[1-3]", ["gpu1", "gpu2", "gpu3"]),
        ("gpu[08-11]", ["gpu08", "gpu09", "gpu10", "gpu11"]),
        ("r[1-2]n[01,03]", ["r1n01", "r1n03", "r2n01", "r2n03"]),
        ("a[1-2]x,b", ["a1x", "a2x", "b"]),
        ("a,a,b", ["a", "b"]),
        ("n[a,b]", ["na", "nb"]),
    ],
)
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
