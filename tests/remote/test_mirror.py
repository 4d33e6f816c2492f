"""Mirrors: names, growth, replacement, locks, limits and expiry."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.mirrored import Mirrored, until

from tuimon.remote import mirror as mirrors
from tuimon.remote.expiry import expire
from tuimon.remote.mirror import Mirror, MirrorError, component
from tuimon.remote.targets import parse


def _mirror(where: Path, word: str = "gpu01:logs/grpo") -> Mirror:
    (target,) = parse(word, lambda path: False)
    return Mirror(target, str(where))


@pytest.fixture
def mirror(tmp_path: Path) -> Mirror:
    return _mirror(tmp_path)


_names = st.text(st.characters(exclude_characters="\0/"), min_size=1, max_size=40) | st.text("%0125F2", min_size=1)


@given(_names)
def test_names_are_kept_or_refused(name: str) -> None:
    try:
        assert component(name) == name
    except (MirrorError, UnicodeEncodeError):  # lone surrogates that stand for no byte
        return
    assert "\n" not in name


@pytest.mark.parametrize("name", ["20:15:03", "a%20b", "loss%2Ftrain", "träger", "a b", "100%", "a\tb", "x\udcff"])
def test_usual_names_are_kept(name: str) -> None:
    assert component(name) == name


@pytest.mark.parametrize("name", ["", ".", "..", "../../evil", "a/b", "/", "a\0", "x" * 241, "é" * 121, "a\nb"])
def test_unusable_names_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(MirrorError):
        component(name)
    with pytest.raises(MirrorError):
        _mirror(tmp_path).path(["a", name, "b"])


def test_everything_is_private(tmp_path: Path) -> None:
    mirror = _mirror(tmp_path / "cache")
    old = os.umask(0)
    try:
        mirror.append(mirror.path(["a", "events.log"]), 0, b"x", 1e9)
        with mirror.draft(mirror.path(["a", "document.json"])) as draft:
            draft.write(b"{}")
            draft.commit(1e9)
        mirror.placeholder(mirror.path(["checkpoint-5"]), directory=True)
        mirror.save()
    finally:
        os.umask(old)
    for folder, _, names in os.walk(tmp_path / "cache"):
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
        for name in names:
            assert stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode) == 0o600


def test_growth_and_gaps(mirror: Mirror) -> None:
    path = mirror.path(["train.log"])
    mirror.append(path, 0, b"abc", 1000.5)
    mirror.append(path, 3, b"def", 2000.5)
    assert Path(path).read_bytes() == b"abcdef"
    assert os.stat(path).st_mtime == 2000.5
    with pytest.raises(MirrorError):
        mirror.append(path, 10**15, b"x", 1.0)
    with pytest.raises(MirrorError):
        mirror.append(path, 0, b"x", 1.0)
    assert Path(path).read_bytes() == b"abcdef"


def test_documents_are_swapped_whole_or_not(mirror: Mirror) -> None:
    path = mirror.path(["log.json"])
    with mirror.draft(path) as draft:
        draft.write(b"[1, 2,")
        draft.write(b" 3]")
        assert (draft.read(), draft.size) == (b"[1, 2, 3]", 9)
        draft.truncate(6)
        assert not os.path.exists(path)
        draft.commit(5.0)
    assert (Path(path).read_bytes(), os.stat(path).st_mtime) == (b"[1, 2,", 5.0)
    with mirror.draft(path) as draft:
        draft.write(b"]")
    assert Path(path).read_bytes() == b"[1, 2,"
    assert os.listdir(os.path.join(mirror.base, "tmp")) == []


def test_files_and_directories_replace_each_other_whatever_their_times(mirror: Mirror) -> None:
    mirror.append(mirror.path(["a"]), 0, b"file", 1.0)
    mirror.append(mirror.path(["a", "b", "c"]), 0, b"below", 1.0)
    assert mirror.size(mirror.path(["a", "b", "c"])) == 5
    mirror.append(mirror.path(["a"]), 0, b"again", 1.0)
    assert mirror.read(mirror.path(["a"]), 99) == b"again"
    mirror.remove(mirror.path(["a"]))
    mirror.remove(mirror.path(["a"]))
    assert mirror.size(mirror.path(["a"])) is None
    for absurd in (-1.0, 1e30, float("nan"), float("inf")):
        mirror.append(mirror.path(["b"]), 0, b"x", absurd, truncate=True)
        assert os.stat(mirror.path(["b"])).st_mtime == pytest.approx(os.stat(mirror.base).st_mtime, abs=3600)


def test_links_are_not_followed(tmp_path: Path, mirror: Mirror) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"keep")
    path = mirror.path(["a.log"])
    os.makedirs(os.path.dirname(path))
    os.symlink(outside, path)
    with pytest.raises(OSError, match="symbolic"):
        mirror.append(path, 0, b"evil", 1.0, truncate=True)
    assert mirror.read(path, 9) == b""
    assert outside.read_bytes() == b"keep"


def test_one_program_fills_a_mirror(tmp_path: Path) -> None:
    first, second = _mirror(tmp_path), _mirror(tmp_path)
    assert first.lock()
    assert first.lock()
    assert not second.lock()
    first.stored.heard = 1.7e9
    first.save()
    assert second.reload().heard == 1.7e9
    first.close()
    assert second.lock()
    second.close()


def test_targets_have_mirrors_of_their_own(tmp_path: Path) -> None:
    words = (
        "gpu01:logs",
        "gpu01:/logs",
        "anna@gpu01:logs",
        "ssh://gpu01:22/~/logs",
        "gpu02:logs",
        "docker://gpu01:/logs",
    )
    assert len({_mirror(tmp_path, word).base for word in words}) == len(words)
    assert _mirror(tmp_path, "gpu01:logs").root.endswith("/tree/gpu01/logs")


def test_disk_full_stops_the_mirror(tmp_path: Path, mirror: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    path = mirror.path(["a"])
    mirror.append(path, 0, b"x", 1.0)
    free = os.statvfs(tmp_path).f_bavail * os.statvfs(tmp_path).f_frsize
    monkeypatch.setattr(mirrors, "KEEP_FREE", 10 * free)
    monkeypatch.setattr(mirrors, "_FREE_CHECK", 1)
    status = os.statvfs(tmp_path)
    if status.f_bavail < status.f_blocks // 10:
        pytest.skip("this disk is nearly full")
    mirror.append(path, 1, b"y", 1.0)  # a tenth of a small disk is enough
    monkeypatch.setattr(os, "statvfs", lambda where: os.statvfs_result((1, 1, 100, 5, 5, 0, 0, 0, 0, 255)))
    with pytest.raises(OSError, match="GiB is free"):
        mirror.append(path, 2, b"z", 1.0)
    assert mirror.read(path, 9) == b"xy"


def test_damaged_memory_is_forgotten(tmp_path: Path, mirror: Mirror) -> None:
    mirror.stored.files = {"a": ("1", "grow")}
    mirror.save()
    assert _mirror(tmp_path).stored.files == {"a": ("1", "grow")}
    Path(mirror.base, "link.json").write_bytes(b'{"heard": "\xff"')
    assert _mirror(tmp_path).stored.files == {}


def test_old_mirrors_expire(tmp_path: Path) -> None:
    old, used, locked = (_mirror(tmp_path, f"{host}:logs") for host in ("old", "used", "locked"))
    assert locked.lock()
    now = os.stat(used.base).st_mtime
    for mirror in (old, locked):
        os.utime(mirror.base, (now - 15 * 86400,) * 2)
    assert expire(str(tmp_path), now) == [old.base]
    assert not os.path.exists(old.base)
    locked.close()


def test_oldest_mirrors_give_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    older, newer = (_mirror(tmp_path, f"{host}:logs") for host in ("older", "newer"))
    for mirror in (older, newer):
        mirror.append(mirror.path(["a"]), 0, b"x" * 100_000, 1.0)
    now = os.stat(newer.base).st_mtime
    os.utime(older.base, (now - 60, now - 60))
    for most, expired in (("1M", []), ("150k", [older.base]), ("10k", [newer.base])):
        (tmp_path / "not-a-mirror").mkdir(exist_ok=True)
        monkeypatch.setenv("TUIMON_MIRROR_MAX", most)
        assert expire(str(tmp_path), now) == expired
    assert os.listdir(tmp_path) == ["not-a-mirror"]


def test_mirror_is_never_older_than_what_is_in_it(tmp_path: Path) -> None:
    """Its time is stored with each change, so that a tuimon that is killed leaves no older one."""
    log = tmp_path / "logs" / "metrics.jsonl"
    log.parent.mkdir()
    log.write_text('{"step": 1, "loss": 0.5}\n')
    stored: list[float] = []
    mirrored = Mirrored(log.parent, tmp_path / "mirrors")
    file = Path(mirrored.keeper.mirror.base) / "link.json"
    with mirrored:
        mirrored.until_complete()
        mirrored.keeper.on_hint = lambda paths, structure: stored.append(json.loads(file.read_text())["heard"])
        with log.open("a") as growing:
            growing.write('{"step": 2, "loss": 0.4}\n')
        changed = log.stat().st_mtime
        until(lambda: stored)
    assert stored[-1] >= changed - 0.01, "file times are up to one tick of the kernel late"
