"""Test the private copy of a database where it cannot be made."""

from __future__ import annotations

import os
import resource
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path


def test_a_database_that_cannot_be_copied_names_the_place(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "big.db")) as database:
        database.execute("create table filler (text)")
        database.execute("insert into filler values (?)", ("x" * 300_000,))
        database.commit()
    (tmp_path / "tmp").mkdir()

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    done = subprocess.run(
        [sys.executable, "-m", "tuimon", "doctor", str(tmp_path)],
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
        capture_output=True,
        text=True,
        preexec_fn=limit,
        timeout=200,
    )
    assert f"big.db: cannot be copied to {tmp_path / 'tmp'}: file too large (set TMPDIR)" in done.stdout
