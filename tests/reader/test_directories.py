"""Directories of logs that appear, grow and change, and the runs that are read of them: directories/*.toml."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from support.directories import Directory

CASES: dict[str, dict[str, Any]] = {
    f"{path.stem}: {name}": case
    for path in sorted(Path(__file__).with_name("directories").glob("*.toml"))
    for name, case in tomllib.loads(path.read_text("utf-8")).items()
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_runs_of_a_directory(tmp_path: Path, case: dict[str, Any]) -> None:
    for found, wanted in Directory(tmp_path / "root").compare(case):
        assert found == wanted
