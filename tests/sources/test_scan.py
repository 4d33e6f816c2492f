"""scan and rescan on a real file system: files found, directories not entered, costs, links and budgets."""

from __future__ import annotations

import os
import shutil
import socket
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tuimon.formats.tensorboard.event_file import FORMAT
from tuimon.model.points import Damage
from tuimon.reader.item_sources import StreamSource
from tuimon.sources import listing
from tuimon.sources import scan as scan_module
from tuimon.sources.scan import Scan, ScanBudget, rescan, scan

TABLE: dict[str, list[Any]] = tomllib.loads(Path(__file__).with_name("paths.toml").read_text("utf-8"))


def wants(name: str) -> bool:
    return name.endswith((".json", ".jsonl", ".csv")) or "tfevents" in name


def make(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"{}")


def paths_of(result: Scan, root: Path) -> list[str]:
    return [os.path.relpath(file.path, root) for file in result.files]


def settle(root: Path, seconds: float = 3600) -> None:
    """Make the last change of every directory old."""
    for directory, _, _ in os.walk(root, topdown=False):
        stamp = Path(directory).stat().st_mtime - seconds
        os.utime(directory, (stamp, stamp))


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """Count the calls that reach the file system, by name."""
    calls: Counter[str] = Counter()
    with monkeypatch.context() as patch:
        for name in ("scandir", "stat"):
            real = getattr(os, name)

            def count(*args: object, _real=real, _name=name, **keywords: object):  # type: ignore[no-untyped-def]
                calls[_name] += 1
                return _real(*args, **keywords)

            patch.setattr(os, name, count)
        yield calls


NOT_UTF8 = os.fsdecode(b"caf\xe9/\xff.json")
TREES: dict[str, tuple[list[str], list[str]]] = {
    "names": (
        ["run/a.jsonl", "run/tensorboard/events.out.tfevents.1.h.2.0", "run/model.py", "b.csv", NOT_UTF8],
        ["b.csv", NOT_UTF8, "run/a.jsonl", "run/tensorboard/events.out.tfevents.1.h.2.0"],
    ),
    "closed directories": (
        [".git/a.json", "node_modules/a.json", "__pycache__/a.json", ".venv/lib/a.json", "x/site-packages/a.json",
         "wandb/run-1/files/media/table/a.json", "rollouts/a.json", "b.json"],
        ["b.json"],
    ),
    "a checkpoint that its weights show": (
        ["checkpoints/good/sub/a.json", "checkpoints/good/model.safetensors", "checkpoints/good/b.json"],
        ["checkpoints/good/b.json"],
    ),
}  # fmt: skip
"""Files, and those that are found."""


@pytest.mark.parametrize(("names", "found"), TREES.values(), ids=TREES)
def test_files_that_are_found(tmp_path: Path, names: list[str], found: list[str]) -> None:
    make(tmp_path, *names)
    result = scan([str(tmp_path)], wants)
    assert paths_of(result, tmp_path) == found
    assert (result.problems, result.complete) == ((), True)
    file, status = result.files[0], (tmp_path / found[0]).stat()
    assert (file.root, file.size, file.modified) == (str(tmp_path), 2, status.st_mtime)
    assert file.inode == (status.st_dev, status.st_ino)
    assert {os.path.dirname(file.path) for file in result.files} <= {*result.directories}


@pytest.mark.parametrize(("name", "is_found"), TABLE["checkpoints"])
def test_checkpoints_are_not_searched(tmp_path: Path, name: str, is_found: bool) -> None:
    make(tmp_path, name)
    assert paths_of(scan([str(tmp_path)], wants), tmp_path) == ([name] if is_found else [])


def test_roots_of_every_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "dir/a.json", "odd.name", "other/b.json", "nested/c.json")
    os.mkfifo(tmp_path / "fifo.json")
    monkeypatch.chdir(tmp_path)
    result = scan(["dir", "odd.name", "nothing/here", "fifo.json", "dir", "other/../dir"], wants)
    assert paths_of(result, tmp_path) == ["dir/a.json", "odd.name"]
    assert {file.root for file in result.files} == {str(tmp_path / "dir"), str(tmp_path / "odd.name")}
    assert [(os.path.relpath(p.path, tmp_path), p.reason) for p in result.problems] == [
        ("nothing/here", "missing"),
        ("fifo.json", "a FIFO, not a file"),
    ]
    assert str(tmp_path) in result.directories  # where the file lies
    for roots in ([".", "nested"], ["nested", "."]):
        nearest = {os.path.basename(file.path): file.root for file in scan(roots, wants).files}
        assert nearest["c.json"] == str(tmp_path / "nested")
        assert nearest["a.json"] == str(tmp_path)


def test_a_thousand_checkpoint_files_cost_one_listing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = [tmp_path / "checkpoints" / f"model-step-{step}.safetensors" for step in range(1000)]
    make(tmp_path, "metrics.jsonl", "checkpoints/notes.txt")
    for path in saved:
        path.touch()
    with counted(monkeypatch) as calls:
        result = scan([str(tmp_path)], wants)
    assert [Path(path) for path in result.checkpoints] == sorted(saved)
    assert calls["scandir"] == 2
    assert calls["stat"] <= 6  # of the weights none


def test_only_the_newest_checkpoints_are_entered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of times that are nearly equal, as in a copied directory, the numbers decide; else the times."""
    most = listing.MOST_CHECKPOINTS
    make(tmp_path, "log.jsonl", "other/checkpoint-5/a.json")
    make(tmp_path, *(f"run/checkpoint-{step}/trainer_state.json" for step in range(1, 10 * most + 1)))
    settle(tmp_path)
    later = (tmp_path / "run/checkpoint-3").stat().st_mtime + 600
    os.utime(tmp_path / "run/checkpoint-3", (later, later))
    with counted(monkeypatch) as calls:
        result = scan([str(tmp_path)], wants)
    assert calls["scandir"] == 4 + most
    newest = {f"run/checkpoint-{step}/trainer_state.json" for step in (3, *range(9 * most + 2, 10 * most + 1))}
    assert set(paths_of(result, tmp_path)) == {"log.jsonl", "other/checkpoint-5/a.json", *newest}
    assert len(result.checkpoints) == 10 * most + 1
    with counted(monkeypatch) as calls:
        assert rescan(result) is result
    assert calls["scandir"] == 0
    assert calls["stat"] <= 6 + most  # old checkpoints are not asked again


def test_links_and_special_files(tmp_path: Path) -> None:
    """Links out of the tree are followed under their own name, each directory is entered once, nothing is opened."""
    make(tmp_path, "runs/run1/a.json", "store/linked.json", "other/b.json")
    runs = tmp_path / "runs"
    links = {
        "run1/self": "../run1", "run1/up": "..", "latest": "run1", "a_link.json": "run1/a.json", "stored": "../store",
        "b.json": "../other/b.json", "circle.json": "circle.json", "zero.jsonl": "/dev/zero",
        "nowhere.json": "missing/target", "above": tmp_path, "root": "/",
    }  # fmt: skip
    for name, target in links.items():
        (runs / name).symlink_to(target)
    os.mkfifo(runs / "training_log.json")
    os.mkfifo(runs / "unrelated")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(runs / "socket.json"))
        result = scan([str(runs)], wants)
    assert paths_of(result, runs) == ["b.json", "run1/a.json", "stored/linked.json"]
    assert len(result.directories) == 3
    above = "a link to {}, which contains the given path: not followed"
    reasons = {os.path.basename(problem.path): problem.reason for problem in result.problems}
    assert reasons.pop("circle.json")
    assert reasons == {
        "training_log.json": "a FIFO, not a file",
        "zero.jsonl": "a device, not a file",
        "nowhere.json": "a link to nothing",
        "socket.json": "a socket, not a file",
        "above": above.format(tmp_path),
        "root": above.format("/"),
    }


def test_a_directory_that_cannot_be_listed_does_not_stop_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, "a/1.json", "b/2.json", "c/3.json")
    real = os.scandir

    def refuse(path: str):  # type: ignore[no-untyped-def]
        if path.endswith("/b"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", refuse)
        result = scan([str(tmp_path)], wants)
    assert paths_of(result, tmp_path) == ["a/1.json", "c/3.json"]
    assert [(problem.path, problem.reason) for problem in result.problems] == [
        (str(tmp_path / "b"), "permission denied")
    ]
    assert paths_of(rescan(result), tmp_path) == ["a/1.json", "b/2.json", "c/3.json"]


@pytest.mark.parametrize(
    ("budget", "found", "reason"),
    [
        (ScanBudget(entries=60), (1, 60), "more than 60 entries: the search ended early"),
        (ScanBudget(depth=1), (1, 2), "deeper than 1 directories"),
        (ScanBudget(seconds=0), (0, 60), "not searched in 0 s: the search ended early"),
    ],
)
def test_a_search_ends_with_its_budget(tmp_path: Path, budget: ScanBudget, found: tuple[int, int], reason: str) -> None:
    make(tmp_path, "near.json", *(f"d{i}/e/{j}.json" for i in range(20) for j in range(10)))
    result = scan([str(tmp_path)], wants, budget)
    names = paths_of(result, tmp_path)
    assert found[0] <= len(names) < found[1]
    assert names[-1:] in (["near.json"], []), "the nearest first"
    assert not result.complete
    assert result.problems[0].reason == reason
    assert result.problems[0].hint or budget.depth == 1


def test_one_huge_directory(tmp_path: Path) -> None:
    make(tmp_path, *(f"{i}.json" for i in range(200)))
    result = scan([str(tmp_path)], wants, ScanBudget(entries=50))
    assert (len(result.files), result.complete) == (50, False)


def test_links_out_of_the_given_paths_have_a_budget_of_their_own(tmp_path: Path) -> None:
    for number in range(8):
        make(tmp_path, f"mine/own{number}/a.json")
        make(tmp_path, f"large/x{number}/b.json")
        make(tmp_path, f"deep/1/2/3/{number}/c.json")
    for name in ("large", "deep"):
        (tmp_path / "mine" / name).symlink_to(tmp_path / name)
    few = scan([str(tmp_path / "mine")], wants, ScanBudget(linked_entries=12))
    names = [Path(file.path).name for file in few.files]
    assert names.count("a.json") == 8
    assert 0 < len(names) - 8 < 16
    assert any(str(tmp_path / "large") in problem.reason for problem in few.problems)
    shallow = scan([str(tmp_path / "mine")], wants, ScanBudget(linked_depth=3))
    assert [Path(file.path).name for file in shallow.files].count("b.json") == 8
    assert [problem.path for problem in shallow.problems] == [str(tmp_path / "mine/deep")]


def test_a_sparse_event_file_costs_what_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1.host"
    path.touch()
    os.truncate(path, 1 << 40)
    source = StreamSource(str(path), FORMAT, remote=False)
    assert list(source.read_new(16 << 20)) == []
    assert (source.read, source.state) == (1 << 40, "current")
    assert list(source.flush()) == [Damage(0, 1 << 40, "no record header")]


# ---------------------------------------------------------------------- again


def test_only_changed_directories_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, *(f"run{i}/a.json" for i in range(50)))
    settle(tmp_path)
    result = scan([str(tmp_path)], wants)
    with counted(monkeypatch) as calls:
        assert rescan(result) is result
    assert calls == {"stat": 52}  # the root is asked as a root and as a directory
    make(tmp_path, "run7/b.json", "run9/tensorboard/deep/c.json")
    with counted(monkeypatch) as calls:
        later = rescan(result)
    new = {"run7/b.json", "run9/tensorboard/deep/c.json"}
    assert set(paths_of(later, tmp_path)) - set(paths_of(result, tmp_path)) == new
    assert calls["scandir"] == 4  # run7, run9 and the two new ones


def test_a_tree_that_changes_in_every_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "REVISIT_UNRESOLVED", 0.0)
    runs, store = tmp_path / "runs", tmp_path / "store"
    make(runs, "run/a.json", "run/sub/b.json", "gone/c.json", "checkpoint-1/trainer_state.json")
    make(store, "1/old.json", "2/new.json")
    (runs / "latest").symlink_to(store / "1")
    (runs / "run/dangling.json").symlink_to(store / "dangling.json")
    settle(tmp_path)
    result = scan([str(runs)], wants)
    names = {"run/a.json", "run/sub/b.json", "gone/c.json", "checkpoint-1/trainer_state.json", "latest/old.json"}
    assert {*paths_of(result, runs)} == names

    def look(gone: str, new: str) -> None:
        nonlocal result, names
        result, names = rescan(result), (names - {*gone.split()}) | {*new.split()}
        assert {*paths_of(result, runs)} == names

    shutil.rmtree(runs / "gone")
    (runs / "run").rename(runs / "moved")
    look("gone/c.json run/a.json run/sub/b.json", "moved/a.json moved/sub/b.json")
    make(runs, "gone/d.json")
    look("", "gone/d.json")
    (runs / "latest").unlink()
    (runs / "latest").symlink_to(store / "2")
    look("latest/old.json", "latest/new.json")
    (runs / "checkpoint-2").mkdir()
    look("", "")
    make(runs, "checkpoint-2/trainer_state.json")
    look("", "checkpoint-2/trainer_state.json")
    stamp = (runs / "gone").stat().st_mtime_ns
    make(runs, "gone/within_a_tick.json")
    os.utime(runs / "gone", ns=(stamp, stamp))
    look("", "gone/within_a_tick.json")
    settle(tmp_path)
    look("", "")
    (runs / "checkpoint-1").rename(runs / "old")
    (runs / "checkpoint-1").mkdir()
    look("checkpoint-1/trainer_state.json", "old/trainer_state.json")
    assert [problem.reason for problem in result.problems] == ["a link to nothing"]
    make(store, "dangling.json")
    look("", "moved/dangling.json")
    assert result.problems == ()


def test_a_missing_root_appears(tmp_path: Path) -> None:
    for root, name in (("run", "run/a.json"), ("log.jsonl", "log.jsonl")):
        result = scan([str(tmp_path / root)], wants)
        assert [problem.reason for problem in result.problems] == ["missing"]
        assert rescan(result) is result
        make(tmp_path, name)
        result = rescan(result)
        assert (paths_of(result, tmp_path), result.problems) == ([name], ())


def test_many_directories_are_checked_in_turn_except_for_new_runs(tmp_path: Path) -> None:
    names = [f"run{i}" for i in range(150)]
    make(tmp_path, *(f"{name}/a.json" for name in names))
    settle(tmp_path)
    result = scan([str(tmp_path)], wants)
    for name in names:
        (tmp_path / name / "a.json").rename(tmp_path / name / "b.json")
        os.utime(tmp_path / name, (1.0, 1.0))
    for _ in range(3):
        result = rescan(result)
    assert paths_of(result, tmp_path) == sorted(f"{name}/b.json" for name in names)
    make(tmp_path, "another/a.json")
    assert "another/a.json" in paths_of(rescan(result), tmp_path)


def test_directories_without_time_stamps_are_listed_periodically(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan_module, "stamp_of", lambda status: (status.st_dev, status.st_ino))
    monkeypatch.setattr(listing, "stamp_of", lambda status: (status.st_dev, status.st_ino))
    monkeypatch.setattr(listing, "REVISIT", 0.0)
    monkeypatch.setattr(scan_module, "REVISITS", 3)
    make(tmp_path, *(f"run{i}/a.json" for i in range(8)))
    settle(tmp_path)
    result = scan([str(tmp_path)], wants)
    make(tmp_path, *(f"run{i}/b.json" for i in range(8)))
    for _ in range(20):
        result = rescan(result)
    assert len(result.files) == 16


def test_a_rescan_out_of_time_continues_in_the_next(tmp_path: Path) -> None:
    make(tmp_path, *(f"run{i:03}/a.json" for i in range(300)))
    settle(tmp_path)
    result = scan([str(tmp_path)], wants)
    make(tmp_path, "run299/b.json")
    for _ in range(10):  # each with time for 64 directories
        result = rescan(result, seconds=0)
    assert len(rescan(result).files) == 301
