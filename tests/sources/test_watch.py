"""Watcher, with real watchdog on a real file system. Waits end by events; long timeouts occur only in failures."""

from __future__ import annotations

import errno
import gc
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from watchdog.observers.api import BaseObserver

from tuimon.sources import watch as watch_module
from tuimon.sources.filesystem import FileSystem
from tuimon.sources.watch import Hints, Watcher

LONG = 60.0
DRAINED = "drained"
"""How the names of the files begin that `drain` writes. More hints of one may come after the first."""


@pytest.fixture
def watcher(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watcher]:
    monkeypatch.setattr(watch_module, "REVIVAL", 0.05)
    with Watcher() as watcher:
        yield watcher


def until(watcher: Watcher, path: Path | None = None, structure: bool = False) -> Hints:
    """Wait for a hint for a path, or for the structure; return all hints until then, but for those of `drain`."""
    deadline = time.monotonic() + LONG
    paths: set[str] = set()
    changed = False
    while time.monotonic() < deadline:
        hints = watcher.wait(deadline - time.monotonic())
        paths |= hints.paths
        changed |= hints.structure_changed
        if (path is None or str(path) in paths) and (changed or not structure):
            return Hints(frozenset(name for name in paths if not Path(name).name.startswith(DRAINED)), changed)
    raise AssertionError(f"no hint: {sorted(paths)}")


def drain(watcher: Watcher, directory: Path) -> frozenset[str]:
    """Return the paths of the hints that come before those of a file that is written now."""
    last = directory / f"{DRAINED}{time.monotonic_ns()}"
    append(last)
    return until(watcher, last).paths


def append(path: Path, data: bytes = b"x") -> None:
    with path.open("ab") as file:
        file.write(data)


def test_hints_of_files_and_directories(watcher: Watcher, tmp_path: Path) -> None:
    log, temporary = tmp_path / "log", tmp_path / "log.tmp"
    log.touch()
    watcher.set_directories([str(tmp_path)])
    assert (watcher.mode, watcher.detail) == ("events", "events")
    with log.open("ab", buffering=0) as file:
        file.write(b"x")
        assert until(watcher, log) == Hints(frozenset({str(log)}), False)
    temporary.write_bytes(b"x")
    assert until(watcher, temporary).structure_changed
    drain(watcher, tmp_path)
    temporary.replace(log)
    assert until(watcher, log).structure_changed
    drain(watcher, tmp_path)
    for _ in range(50):
        log.read_bytes()
        list(tmp_path.iterdir())
        log.stat()
    assert drain(watcher, tmp_path) == set(), "reading causes no event"
    (tmp_path / "new").mkdir()
    assert until(watcher, structure=True).paths == frozenset()
    log.unlink()
    assert until(watcher, structure=True).structure_changed


def test_only_the_given_directories_are_watched(watcher: Watcher, tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
    watcher.set_directories([str(tmp_path / "a"), str(tmp_path / "b")])
    watcher.set_directories([str(tmp_path / "b")])
    append(tmp_path / "a" / "log")
    append(tmp_path / "b" / "log")
    assert until(watcher, tmp_path / "b" / "log").paths == {str(tmp_path / "b" / "log")}


def test_a_burst_of_writes_returns_few_times(watcher: Watcher, tmp_path: Path) -> None:
    log = tmp_path / "log"
    watcher.set_directories([str(tmp_path)])
    drain(watcher, tmp_path)
    begin = time.monotonic()
    for _ in range(300):
        append(log)
    append(last := tmp_path / "last")
    returns = 1
    while str(last) not in watcher.wait(LONG).paths:
        assert time.monotonic() - begin < LONG
        returns += 1
    took = time.monotonic() - begin
    assert 1 <= returns <= took / watch_module.QUIET + 2


def test_a_directory_that_comes_goes_and_is_replaced(watcher: Watcher, tmp_path: Path) -> None:
    run, deadline = tmp_path / "run", time.monotonic() + LONG
    watcher.set_directories([str(run)])
    assert (watcher.mode, watcher.detail) == ("poll", "poll every 1 s")
    run.mkdir()
    while watcher.mode == "poll":
        watcher.wait(0.06)
        assert time.monotonic() < deadline
    append(run / "log")
    until(watcher, run / "log")
    (run / "log").unlink()
    run.rmdir()
    until(watcher, structure=True)
    run.mkdir()
    while str(run / "new") not in watcher.wait(0.2).paths:  # written again and again until the new watch is there
        assert time.monotonic() < deadline
        append(run / "new")
    drain(watcher, run)
    run.rename(tmp_path / "old")
    run.mkdir()
    assert until(watcher, structure=True).structure_changed  # watched anew: look for what was missed
    append(run / "log")
    assert str(run / "log") in until(watcher, run / "log").paths


def test_removed_directory_is_a_change_of_structure_without_an_event(tmp_path: Path) -> None:
    class Deaf(Watcher):
        def dispatch(self, event: object) -> None:
            """Lose the event, as when the watch of a removed directory is dropped before its last event is read."""

    run = tmp_path / "run"
    run.mkdir()
    with Deaf() as watcher:
        watcher.set_directories([str(run)])
        run.rmdir()
        watcher.set_directories([str(run), str(tmp_path)])
        assert watcher.wait(0).structure_changed


def test_paths_of_a_linked_directory_are_as_given(watcher: Watcher, tmp_path: Path) -> None:
    for name in ("run1", "run2"):
        (tmp_path / name).mkdir()
    latest = tmp_path / "latest"
    latest.symlink_to("run1")
    watcher.set_directories([str(latest)])
    append(tmp_path / "run1" / "log")
    assert until(watcher, latest / "log").paths == {str(latest / "log")}
    drain(watcher, latest)
    latest.unlink()
    latest.symlink_to("run2")
    until(watcher, structure=True)
    append(tmp_path / "run2" / "log")
    until(watcher, latest / "log")


def test_wake_from_another_thread(watcher: Watcher) -> None:
    begin = time.monotonic()
    timer = threading.Timer(0.05, watcher.wake)
    timer.start()
    assert watcher.wait(LONG) == Hints(frozenset(), False)
    assert time.monotonic() - begin < LONG
    timer.join()
    watcher.wake()
    watcher.wake()
    watcher.wait(LONG)  # a wake that came before counts as well


def test_close_releases_threads_and_descriptors(tmp_path: Path) -> None:
    def held() -> set[int | Path | None]:
        """Return the threads and descriptors; those of an earlier test may end at any time."""
        return {thread.ident for thread in threading.enumerate()} | set(Path("/proc/self/fd").iterdir())

    gc.collect()
    before = held()
    watcher = Watcher()
    watcher.set_directories([str(tmp_path)])
    assert held() - before
    watcher.close()
    assert held() <= before


def test_the_number_of_watched_directories_is_limited(
    watcher: Watcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch_module, "MAX_DIRECTORIES", 3)
    directories = [tmp_path / str(index) for index in range(5)]
    for directory in directories:
        directory.mkdir()
    watcher.set_directories(map(str, directories))
    assert watcher.mode == "events"
    assert watcher.detail == "events; the rest every 1 s (3 of 5 directories watched)"
    append(directories[4] / "log")
    append(directories[2] / "log")
    assert until(watcher, directories[2] / "log").paths == {str(directories[2] / "log")}


def test_network_mounts_are_not_watched_nor_anything_if_polling_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nfs").mkdir()
    with Watcher(poll=True, interval=2.0) as watcher:
        watcher.set_directories([str(tmp_path)])
        assert (watcher.mode, watcher.detail) == ("poll", "poll every 2 s (asked for)")
        append(tmp_path / "log")
        assert watcher.wait(0.1) == Hints(frozenset(), False)
    monkeypatch.setattr(watch_module, "kind", lambda path: FileSystem("nfs4", path.endswith("nfs")))
    with Watcher(interval=2.0) as watcher:
        watcher.set_directories([str(tmp_path / "nfs")])
        assert (watcher.mode, watcher.detail) == ("poll", "poll every 2 s (nfs4)")
        watcher.set_directories([str(tmp_path), str(tmp_path / "nfs")])
        assert (watcher.mode, watcher.detail) == ("events", "events; the rest every 2 s (nfs4)")


@pytest.mark.parametrize(
    ("code", "text"),
    [(errno.ENOSPC, "inotify watch limit reached"), (errno.EMFILE, "inotify instance limit reached")],
)
def test_simulated_inotify_limits(tmp_path: Path, code: int, text: str) -> None:
    tries = []

    def refuse() -> BaseObserver:
        tries.append(1)
        raise OSError(code, text)

    with Watcher(make_observer=refuse) as watcher:
        watcher.set_directories([str(tmp_path)])
        assert (watcher.mode, watcher.detail) == ("poll", f"poll every 1 s ({text})")
        for _ in range(3):
            watcher.set_directories([str(tmp_path)])
        assert watcher.wait(0.01) == Hints(frozenset(), False)
        assert len(tries) == 1  # not tried again at every turn


LIMITED = """
import os, sys
open("/proc/sys/user/max_inotify_watches", "w").write("5")
from tuimon.sources.watch import Watcher
root = sys.argv[1]
directories = [os.path.join(root, str(i)) for i in range(10)]
for directory in directories:
    os.mkdir(directory)
with Watcher() as watcher:
    watcher.set_directories(directories)
    print(watcher.mode, "|", watcher.detail)
    with open(os.path.join(directories[0], "log"), "w") as file:
        file.write("x")
    print(sorted(os.path.relpath(path, root) for path in watcher.wait(60).paths))
"""


def _can_lower_limits() -> bool:
    # a user namespace of its own has its own limits; not every container allows one
    command = ["unshare", "--user", "--map-root-user", "sh", "-c", "echo 5 > /proc/sys/user/max_inotify_watches"]
    try:
        return sys.platform == "linux" and subprocess.run(command, capture_output=True, timeout=120).returncode == 0
    except OSError:
        return False


@pytest.mark.skipif(not _can_lower_limits(), reason="no user namespace here")
def test_a_real_inotify_limit(tmp_path: Path) -> None:
    command = ["unshare", "--user", "--map-root-user", sys.executable, "-c", LIMITED, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=Path(__file__).parent.parent.parent)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "events | events; the rest every 1 s (inotify watch limit reached)",
        "['0/log']",
    ]
