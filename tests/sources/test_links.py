"""Links out of the given paths, and files with holes: neither costs more than its budget."""

from __future__ import annotations

import os
from pathlib import Path

from tuimon.formats.tensorboard.event_file import FORMAT
from tuimon.model.points import Damage
from tuimon.reader.item_sources import StreamSource
from tuimon.sources.scan import ScanBudget, rescan, scan


def _wants(name: str) -> bool:
    return name.endswith(".json")


def _write(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"{}")


def test_a_link_to_a_directory_above_the_given_path_is_named_and_not_followed(tmp_path: Path) -> None:
    _write(tmp_path / "mine/a.json")
    _write(tmp_path / "others/b.json")
    (tmp_path / "mine/up").symlink_to(tmp_path)
    (tmp_path / "mine/root").symlink_to("/")
    result = scan([str(tmp_path / "mine")], _wants)
    assert [file.path for file in result.files] == [str(tmp_path / "mine/a.json")]
    assert {Path(problem.path).name: problem.reason for problem in result.problems} == {
        "up": f"a link to {tmp_path}, which contains the given path: not followed",
        "root": "a link to /, which contains the given path: not followed",
    }
    assert rescan(result) is result


def test_links_out_of_the_given_paths_have_a_budget_of_their_own(tmp_path: Path) -> None:
    for number in range(8):
        _write(tmp_path / f"mine/own{number}/a.json")
        _write(tmp_path / f"large/x{number}/b.json")
        _write(tmp_path / f"deep/1/2/3/{number}/c.json")
    for name in ("large", "deep"):
        (tmp_path / "mine" / name).symlink_to(tmp_path / name)
    few = scan([str(tmp_path / "mine")], _wants, ScanBudget(linked_entries=12))
    names = [Path(file.path).name for file in few.files]
    assert names.count("a.json") == 8
    assert 0 < len(names) - 8 < 16
    assert any(str(tmp_path / "large") in problem.reason for problem in few.problems)
    shallow = scan([str(tmp_path / "mine")], _wants, ScanBudget(linked_depth=3))
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
