"""Requirements on every format of `tuimon export`: it writes to the given place, completely or not at all."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
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
    # A pattern without a match is an error; the histograms have other names than the scalars.
    pattern = "*weight*" if export.name == "media" else "*loss*"
    return ["export", str(run), "--format", export.name, "--metric", pattern, "-o", f"{where}/"]


@each
def test_it_writes_below_the_directory_and_nothing_twice(export: Export, tmp_path: Path) -> None:
    where = tmp_path / "a" / "b"
    assert main(words(export, RUN, where)) == 0
    written = made_below(tmp_path)
    assert written
    assert all(path.is_relative_to(where) and path.stat().st_size for path in written)
    assert not any(path.name.startswith(".") for path in written)
    if export.suffix:
        assert [path.suffix for path in written] == [export.suffix]
    before = {path: path.read_bytes() for path in written}
    assert main(words(export, RUN, where)) == 2
    assert main([*words(export, RUN, where), "--force"]) == 0
    assert {path: path.read_bytes() for path in made_below(tmp_path)}.keys() == before.keys()


_LIMITED = """
import contextlib, io, json, sys
from tuimon.commands import main
for words in json.loads(sys.argv[1]):
    with contextlib.redirect_stderr(io.StringIO()) as errors:
        code = main(words)
    print(json.dumps([code, errors.getvalue()]))
"""


def test_a_file_that_cannot_be_finished_is_not_there(tmp_path: Path) -> None:
    """The disk is full after a few bytes (simulated by EFBIG instead of ENOSPC)."""
    run = tmp_path / "run"
    run.mkdir()
    rows = "".join(json.dumps({"step": step, "loss": 1 / (step + 1)}) + "\n" for step in range(500))
    (run / "metrics.jsonl").write_text(rows)
    commands = [
        words(export, RUN if export.name == "media" else run, tmp_path / "out" / export.name) for export in EXPORTS
    ]
    done = subprocess.run(
        [sys.executable, "-c", _LIMITED, json.dumps(commands)],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300)),
    )
    for export, line in zip(EXPORTS, done.stdout.splitlines(), strict=True):
        code, errors = json.loads(line)
        assert code == 1, export.name
        assert re.search("cannot write .*: File too large", errors), export.name
    assert "Traceback" not in done.stderr
    assert made_below(tmp_path / "out") == []


@pytest.mark.parametrize("command", ["summary", "export", "report", "doctor", "compare", "summary --step 30"])
def test_a_full_disk_at_standard_output_is_reported(command: str) -> None:
    options = [str(DATA / "exports" / "qwen3vl_dpo")] if command == "compare" else []
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*TUIMON, *command.split(), str(DATA / "exports" / "qwen3vl_grpo"), *options],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 1
    assert done.stderr == "tuimon: cannot write to standard output: No space left on device\n"
