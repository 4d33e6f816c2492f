"""`tuimon.follow`: snapshots of growing logs, in threads and in asyncio, and a clean end."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import tuimon
from tuimon.sources.watch import Hints


def append(path: Path, first: int, last: int) -> None:
    path.mkdir(exist_ok=True)
    with (path / "metrics.jsonl").open("a") as stream:
        stream.writelines(json.dumps({"step": s, "loss": 1 / s}) + "\n" for s in range(first, last + 1))


def points(runs: tuimon.Snapshot) -> int:
    return sum(len(metric) for run in runs for metric in run.values())


def ours() -> set[str]:
    return {thread.name for thread in threading.enumerate() if thread is not threading.main_thread()}


def inotify_descriptors() -> set[str]:
    """Return the numbers of this process's descriptors that are inotify instances.

    Other descriptors are not counted: a garbage collection closes those that an earlier test has left.
    """
    numbers = set()
    for link in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            if "inotify" in str(link.readlink()):
                numbers.add(link.name)
    return numbers


@pytest.mark.parametrize("poll", [False, True])
def test_a_snapshot_after_each_change(tmp_path: Path, poll: bool) -> None:
    with tuimon.follow(tmp_path / "run", interval=0.05, poll=poll) as follower:
        assert len(next(follower)) == 0, "a target may not exist yet"
        append(tmp_path / "run", 1, 10)
        first = next(runs for runs in follower if points(runs) == 10)
        values = first[0]["loss"].values.tolist()
        append(tmp_path / "run", 11, 5000)
        version = first.version
        for runs in follower:
            assert runs.version > version
            version = runs.version
            if points(runs) == 5000:
                break
        assert first[0]["loss"].values.tolist() == values, "older snapshots do not change"


def test_closing_ends_a_wait_in_another_thread(tmp_path: Path) -> None:
    append(tmp_path, 1, 10)
    before = ours()
    follower = tuimon.follow(tmp_path, interval=3600)
    waits = threading.Event()
    seen: list[int] = []

    def work() -> None:
        for runs in follower:
            seen.append(points(runs))
            waits.set()

    thread = threading.Thread(target=work)
    thread.start()
    assert waits.wait(60)
    follower.close()
    thread.join(60)
    assert not thread.is_alive()
    assert seen[0] == 10
    assert ours() <= before
    follower.close()
    assert list(follower) == []


def test_a_follower_that_nobody_holds_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append(tmp_path, 1, 10)
    threads, watches = ours(), inotify_descriptors()
    follower = tuimon.follow(tmp_path)
    assert points(next(follower)) == 10
    really_wait = follower._watcher.wait

    def wait(timeout: float) -> Hints:
        append(tmp_path, 11, 12)  # the watch is there
        return really_wait(timeout)

    monkeypatch.setattr(follower._watcher, "wait", wait)
    assert any(points(runs) == 12 for runs in follower)
    assert inotify_descriptors() > watches
    monkeypatch.undo()
    del follower
    gc.collect()
    assert ours() <= threads
    assert inotify_descriptors() <= watches


async def test_asynchronous_iteration(tmp_path: Path) -> None:
    append(tmp_path, 1, 10)
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0)
            ticks += 1

    async with tuimon.follow(tmp_path, interval=0.05) as follower:
        first = await anext(follower)
        assert points(first) == 10
        ticker = asyncio.create_task(tick())
        append(tmp_path, 11, 15)
        async for runs in follower:
            if points(runs) == 15:
                break
        ticker.cancel()
    assert ticks > 0  # the loop was free meanwhile
    with pytest.raises(StopAsyncIteration):
        await anext(follower)


async def test_a_cancelled_wait_loses_nothing(tmp_path: Path) -> None:
    append(tmp_path, 1, 10)
    async with tuimon.follow(tmp_path, interval=3600) as follower:
        version = (await anext(follower)).version
        for last in range(11, 16):
            task = asyncio.create_task(anext(follower))
            await asyncio.sleep(0)
            append(tmp_path, last, last)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                version = (await task).version
        while True:
            runs = await anext(follower)
            assert runs.version > version
            version = runs.version
            if points(runs) == 15:
                break


async def test_closing_ends_an_asynchronous_wait(tmp_path: Path) -> None:
    append(tmp_path, 1, 10)
    follower = tuimon.follow(tmp_path, interval=3600)
    await anext(follower)

    async def rest() -> int:
        return len([runs async for runs in follower])

    task = asyncio.create_task(rest())
    await asyncio.sleep(0)
    await follower.aclose()
    assert await task <= 1


WITH_INTERRUPT = """
import asyncio, signal, sys, tuimon
signal.signal(signal.SIGINT, signal.default_int_handler)
async def main():
    async for runs in tuimon.follow(sys.argv[1], interval=3600):
        print("ready", flush=True)
asyncio.run(main())
"""
WITH_HANDLER = """
import signal, sys, tuimon
follower = tuimon.follow(sys.argv[1], interval=3600)
signal.signal(signal.SIGTERM, lambda *_: follower.close())
for runs in follower:
    print("ready", flush=True)
print("closed")
"""


@pytest.mark.parametrize(
    ("code", "number", "said"),
    [(WITH_INTERRUPT, signal.SIGINT, "KeyboardInterrupt\n"), (WITH_HANDLER, signal.SIGTERM, "closed\n")],
    ids=["interrupt", "handler"],
)
def test_a_signal_ends_a_program_that_waits(tmp_path: Path, code: str, number: signal.Signals, said: str) -> None:
    append(tmp_path, 1, 10)
    program = subprocess.Popen(
        [sys.executable, "-c", code, tmp_path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert program.stdout.readline() == "ready\n"
    program.send_signal(number)
    output, _ = program.communicate(timeout=120)
    assert output.endswith(said)
    assert "Exception ignored" not in output
    assert (program.returncode == 0) == (number == signal.SIGTERM)
