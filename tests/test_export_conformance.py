"""Every format of `tuimon export`, found by being there: it writes where it is told, whole or not at all."""

from __future__ import annotations

import json
import resource
import subprocess
from pathlib import Path

import pytest
from conftest import DATA
from support.terminal import TUIMON

from tuimon.commands import main
from tuimon.exports.files import Export, all_exports

EXPORTS = sorted(all_exports().values(), key=lambda export: export.name)
RUN = DATA / "tensorboard" / "torch"
"""It has scalars, histograms, texts and tensors."""
each = pytest.mark.parametrize("export", EXPORTS, ids=lambda export: export.name)


def made_below(directory: Path) -> list[Path]:
    return sorted(path for path in directory.rglob("*") if path.is_file())


def words(export: Export, run: Path, where: Path) -> list[str]:
    patterns = ["--metric", "*loss*", "--metric", "*weight*"]
    return ["export", str(run), "--format", export.name, *patterns, "-o", f"{where}/"]


@each
def test_it_writes_below_the_directory_and_nothing_twice(export: Export, tmp_path: Path) -> None:
    where = tmp_path / "a" / "b"
    assert main(words(export, RUN, where)) == 0
    made = made_below(tmp_path)
    assert made
    assert all(path.is_relative_to(where) and path.stat().st_size for path in made)
    assert not any(path.name.startswith(".") for path in made)
    if export.suffix:
        assert [path.suffix for path in made] == [export.suffix]
    before = {path: path.read_bytes() for path in made}
    assert main(words(export, RUN, where)) == 2
    assert main([*words(export, RUN, where), "--force"]) == 0
    assert {path: path.read_bytes() for path in made_below(tmp_path)}.keys() == before.keys()


@each
def test_a_file_that_cannot_be_finished_is_not_there(export: Export, tmp_path: Path) -> None:
    """The disk is full after a few bytes (EFBIG stands for ENOSPC)."""
    run = tmp_path / "run"
    run.mkdir()
    rows = "".join(json.dumps({"step": step, "loss": 1 / (step + 1)}) + "\n" for step in range(500))
    (run / "metrics.jsonl").write_text(rows)
    source = RUN if export.name == "tensors" else run
    done = subprocess.run(
        [*TUIMON, *words(export, source, tmp_path / "out")],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300)),
    )
    assert done.returncode == 1
    assert "cannot be written: File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert made_below(tmp_path / "out") == []


@pytest.mark.parametrize("command", ["summary", "export", "report", "doctor", "compare", "at"])
def test_a_full_disk_behind_standard_output_is_said(command: str) -> None:
    more = {"at": ["--step", "3"], "compare": [str(DATA / "exports" / "qwen3vl_dpo")]}.get(command, [])
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*TUIMON, command, str(DATA / "exports" / "qwen3vl_grpo"), *more],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 1
    assert done.stderr == "tuimon: standard output cannot be written: No space left on device\n"
