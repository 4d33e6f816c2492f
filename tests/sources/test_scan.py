"""scan and rescan on a real file system: files found, directories not entered, costs, and budgets."""

from __future__ import annotations

import os
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tuimon.sources import listing
from tuimon.sources import scan as scan_module
from tuimon.sources.scan import Scan, ScanBudget, rescan, scan


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


def test_a_tree(tmp_path: Path) -> None:
    make(tmp_path, "run/a.jsonl", "run/tensorboard/events.out.tfevents.1.h.2.0", "run/model.py", "b.csv")
    result = scan([str(tmp_path)], wants)
    assert paths_of(result, tmp_path) == ["b.csv", "run/a.jsonl", "run/tensorboard/events.out.tfevents.1.h.2.0"]
    assert set(result.directories) == {str(tmp_path / part) for part in ("", "run", "run/tensorboard")}
    assert (result.problems, result.complete) == ((), True)
    file, status = result.files[0], (tmp_path / "b.csv").stat()
    assert (file.root, file.size, file.modified) == (str(tmp_path), 2, status.st_mtime)
    assert file.inode == (status.st_dev, status.st_ino)


def test_roots_of_every_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "dir/a.json", "odd.name", "other/b.json")
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


def test_files_have_the_nearest_of_nested_roots(tmp_path: Path) -> None:
    make(tmp_path, "a.json", "run/b.json")
    for roots in (["", "run"], ["run", ""]):
        result = scan([str(tmp_path / root) for root in roots], wants)
        assert [file.root for file in result.files] == [str(tmp_path), str(tmp_path / "run")]


@pytest.mark.parametrize(
    "directory",
    [
        ".git",
        "node_modules",
        "__pycache__",
        ".venv/lib",
        "x/site-packages",
        "wandb/run-1/files/media/table",
        "rollouts",
    ],
)
def test_closed_directories(tmp_path: Path, directory: str) -> None:
    make(tmp_path, f"{directory}/a.json", "b.json")
    assert paths_of(scan([str(tmp_path)], wants), tmp_path) == ["b.json"]


@pytest.mark.parametrize(
    ("name", "is_found"),
    [
        ("checkpoint-10/trainer_state.json", True),
        ("checkpoint-10/events.out.tfevents.1", False),
        ("checkpoint-10/deep/trainer_state.json", False),
        ("checkpoint-10/pipeline/worker_state_pipeline.json", True),
        ("checkpoint_best/training_log.json", True),
        ("global_step_40/actor/a.json", False),
        ("checkpoints/epoch=3-step=100/a/b.json", False),
        ("checkpoints/iter_0000100/mp_rank_00/a.json", False),
        ("checkpoints/a.json", True),
        ("my_ckpts/200/sub/a.json", False),
        ("checkpoints/project/name/monitor/tensorboard/explorer/events.out.tfevents.1", True),  # Trinity-RFT
        ("checkpoints/project/name/global_step_3/actor/a.json", False),
    ],
)
def test_checkpoints_are_not_searched(tmp_path: Path, name: str, is_found: bool) -> None:
    make(tmp_path, name)
    assert paths_of(scan([str(tmp_path)], wants), tmp_path) == ([name] if is_found else [])


def test_a_named_checkpoint_in_a_store_is_recognised_by_its_weights(tmp_path: Path) -> None:
    make(tmp_path, "checkpoints/good/sub/a.json", "checkpoints/good/model.safetensors", "checkpoints/good/b.json")
    assert paths_of(scan([str(tmp_path)], wants), tmp_path) == ["checkpoints/good/b.json"]


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


def test_loops_end_and_each_directory_is_entered_once(tmp_path: Path) -> None:
    make(tmp_path, "run1/a.json")
    (tmp_path / "run1/self").symlink_to(tmp_path / "run1")
    (tmp_path / "run1/up").symlink_to("..")
    (tmp_path / "latest").symlink_to("run1")
    (tmp_path / "a_link.json").symlink_to("run1/a.json")
    (tmp_path / "circle.json").symlink_to("circle.json")
    result = scan([str(tmp_path)], wants)
    assert paths_of(result, tmp_path) == ["run1/a.json"]
    assert len(result.directories) == 2
    assert [problem.path for problem in result.problems] == [str(tmp_path / "circle.json")]


def test_links_out_of_the_tree_are_followed_under_their_own_name(tmp_path: Path) -> None:
    make(tmp_path, "store/a.json", "other/b.json")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/linked").symlink_to(tmp_path / "store")
    (tmp_path / "runs/b.json").symlink_to(tmp_path / "other/b.json")
    assert paths_of(scan([str(tmp_path / "runs")], wants), tmp_path) == ["runs/b.json", "runs/linked/a.json"]


def test_special_files_are_reported_and_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "training_log.json")
    (tmp_path / "zero.jsonl").symlink_to("/dev/zero")
    (tmp_path / "nowhere.json").symlink_to("missing/target")
    os.mkfifo(tmp_path / "unrelated")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(tmp_path / "socket.json"))
        result = scan([str(tmp_path)], wants)
    assert result.files == ()
    assert {os.path.basename(problem.path): problem.reason for problem in result.problems} == {
        "training_log.json": "a FIFO, not a file",
        "zero.jsonl": "a device, not a file",
        "nowhere.json": "a link to nothing",
        "socket.json": "a socket, not a file",
    }


@pytest.mark.skipif(os.geteuid() == 0, reason="no directory is closed to root")
def test_a_directory_without_permission(tmp_path: Path) -> None:
    make(tmp_path, "closed/a.json", "open/b.json")
    (tmp_path / "closed").chmod(0)
    try:
        result = scan([str(tmp_path)], wants)
        assert paths_of(result, tmp_path) == ["open/b.json"]
        assert [(problem.path, problem.reason) for problem in result.problems] == [
            (str(tmp_path / "closed"), "permission denied")
        ]
    finally:
        (tmp_path / "closed").chmod(0o700)
    assert paths_of(rescan(result), tmp_path) == ["closed/a.json", "open/b.json"]


def test_a_directory_that_cannot_be_listed_does_not_stop_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, "a/1.json", "b/2.json", "c/3.json")
    real = os.scandir

    def refuse(path: str):  # type: ignore[no-untyped-def]
        if path.endswith("/b"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", refuse)
    result = scan([str(tmp_path)], wants)
    assert paths_of(result, tmp_path) == ["a/1.json", "c/3.json"]
    assert [(problem.path, problem.reason) for problem in result.problems] == [
        (str(tmp_path / "b"), "permission denied")
    ]


def test_names_that_are_not_utf8_survive(tmp_path: Path) -> None:
    directory = os.path.join(os.fsencode(tmp_path), b"caf\xe9")
    make(Path(os.fsdecode(directory)), os.fsdecode(b"\xff.json"))
    (result,) = scan([str(tmp_path)], wants).files
    assert os.fsencode(result.path) == os.path.join(directory, b"\xff.json")


class TestBudget:
    def test_entries(self, tmp_path: Path) -> None:
        make(tmp_path, "near.json", *(f"d{i}/e/{j}.json" for i in range(20) for j in range(10)))
        result = scan([str(tmp_path)], wants, ScanBudget(entries=60))
        assert not result.complete
        assert "near.json" in paths_of(result, tmp_path)  # the nearest first
        assert len(result.files) < 60
        assert [problem.reason for problem in result.problems] == ["more than 60 entries: the search ended early"]
        assert result.problems[0].hint

    def test_one_huge_directory(self, tmp_path: Path) -> None:
        make(tmp_path, *(f"{i}.json" for i in range(200)))
        result = scan([str(tmp_path)], wants, ScanBudget(entries=50))
        assert (len(result.files), result.complete) == (50, False)

    def test_depth(self, tmp_path: Path) -> None:
        make(tmp_path, "1/a.json", "1/2/3/4/b.json")
        result = scan([str(tmp_path)], wants, ScanBudget(depth=3))
        assert paths_of(result, tmp_path) == ["1/a.json"]
        assert (result.complete, result.problems[0].reason) == (False, "deeper than 3 directories")

    def test_time(self, tmp_path: Path) -> None:
        make(tmp_path, "a.json")
        result = scan([str(tmp_path)], wants, ScanBudget(seconds=0))
        assert not result.complete
        assert result.problems[0].reason == "not searched in 0 s: the search ended early"


class TestRescan:
    def test_an_unchanged_tree_returns_the_same_scan_without_listing(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make(tmp_path, *(f"run{i}/a.json" for i in range(50)))
        settle(tmp_path)
        result = scan([str(tmp_path)], wants)
        with counted(monkeypatch) as calls:
            assert rescan(result) is result
        assert calls == {"stat": 52}  # the root is asked as a root and as a directory

    def test_only_changed_directories_are_listed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        make(tmp_path, *(f"run{i}/a.json" for i in range(50)))
        settle(tmp_path)
        result = scan([str(tmp_path)], wants)
        make(tmp_path, "run7/b.json", "run9/tensorboard/deep/c.json")
        with counted(monkeypatch) as calls:
            later = rescan(result)
        assert set(paths_of(later, tmp_path)) - set(paths_of(result, tmp_path)) == {
            "run7/b.json",
            "run9/tensorboard/deep/c.json",
        }
        assert calls["scandir"] == 4  # run7, run9 and the two new ones

    def test_many_directories_are_checked_in_turn_except_for_new_runs(self, tmp_path: Path) -> None:
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

    def test_a_second_change_within_a_clock_tick(self, tmp_path: Path) -> None:
        make(tmp_path, "run/a.json")
        stamp = (tmp_path / "run").stat().st_mtime_ns
        result = scan([str(tmp_path)], wants)
        make(tmp_path, "run/b.json")
        os.utime(tmp_path / "run", ns=(stamp, stamp))
        assert paths_of(rescan(result), tmp_path) == ["run/a.json", "run/b.json"]

    def test_deleted_renamed_and_created_again(self, tmp_path: Path) -> None:
        make(tmp_path, "run/a.json", "run/sub/b.json", "gone/c.json")
        settle(tmp_path)
        result = scan([str(tmp_path)], wants)
        (tmp_path / "gone/c.json").unlink()
        (tmp_path / "gone").rmdir()
        (tmp_path / "run").rename(tmp_path / "moved")
        result = rescan(result)
        assert paths_of(result, tmp_path) == ["moved/a.json", "moved/sub/b.json"]
        make(tmp_path, "gone/d.json")
        assert paths_of(rescan(result), tmp_path) == ["gone/d.json", "moved/a.json", "moved/sub/b.json"]

    def test_a_link_with_a_new_target(self, tmp_path: Path) -> None:
        make(tmp_path, "store/1/a.json", "store/2/b.json", "runs/x.json")
        link = tmp_path / "runs/latest"
        link.symlink_to(tmp_path / "store/1")
        settle(tmp_path)
        result = scan([str(tmp_path / "runs")], wants)
        assert paths_of(result, tmp_path) == ["runs/latest/a.json", "runs/x.json"]
        link.unlink()
        link.symlink_to(tmp_path / "store/2")
        assert paths_of(rescan(result), tmp_path) == ["runs/latest/b.json", "runs/x.json"]

    def test_a_missing_root_appears(self, tmp_path: Path) -> None:
        for name in ("run", "log.jsonl"):
            root = tmp_path / name
            result = scan([str(root)], wants)
            assert [problem.reason for problem in result.problems] == ["missing"]
            assert rescan(result) is result
            make(tmp_path, "run/a.json") if name == "run" else root.write_bytes(b"{}")
            result = rescan(result)
            assert len(result.files) == 1
            assert result.problems == ()

    def test_a_new_checkpoint_is_found_while_it_is_written(self, tmp_path: Path) -> None:
        make(tmp_path, "checkpoint-1/trainer_state.json")
        settle(tmp_path)
        result = scan([str(tmp_path)], wants)
        (tmp_path / "checkpoint-2").mkdir()
        result = rescan(result)
        make(tmp_path, "checkpoint-2/trainer_state.json")
        assert len(rescan(result).files) == 2

    def test_a_settled_checkpoint_created_again(self, tmp_path: Path) -> None:
        make(tmp_path, "checkpoint-1/trainer_state.json")
        settle(tmp_path)
        result = scan([str(tmp_path)], wants)
        (tmp_path / "checkpoint-1").rename(tmp_path / "old")
        (tmp_path / "checkpoint-1").mkdir()
        assert paths_of(rescan(result), tmp_path) == ["old/trainer_state.json"]

    def test_a_dangling_link_gets_its_target(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(listing, "REVISIT_UNRESOLVED", 0.0)
        make(tmp_path, "run/a.json")
        (tmp_path / "run/b.json").symlink_to(tmp_path / "elsewhere.json")
        settle(tmp_path)
        result = scan([str(tmp_path / "run")], wants)
        assert [problem.reason for problem in result.problems] == ["a link to nothing"]
        make(tmp_path, "elsewhere.json")
        result = rescan(result)
        assert (paths_of(result, tmp_path), result.problems) == (["run/a.json", "run/b.json"], ())

    def test_directories_without_time_stamps_are_listed_periodically(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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

    def test_a_rescan_out_of_time_continues_in_the_next(self, tmp_path: Path) -> None:
        make(tmp_path, *(f"run{i:03}/a.json" for i in range(300)))
        settle(tmp_path)
        result = scan([str(tmp_path)], wants)
        make(tmp_path, "run299/b.json")
        for _ in range(10):  # each with time for 64 directories
            result = rescan(result, seconds=0)
        assert len(rescan(result).files) == 301
