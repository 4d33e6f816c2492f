"""Replay of logs as they once grew: the recorded writes of real runs, in order, into real files.

A case is tests/data/replay/<case>/replay.json.gz:

    files   path below the run -> location of its final content below tests/data ("archive.tar.gz!member" in archives)
    events  [seconds, path, size in bytes] at each change, polled every 25 ms; of a document also [train, val] rows
    truth   "<source>::<metric>" -> [[step, value, wall time or null], …] as logged

Files that only grow had the first `size` bytes of their final content. The others are rebuilt, and their sizes are
verified: a document with that many rows, a table with the columns that it had at the time.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import tarfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent.parent / "data"
CASES = sorted(path.name for path in (DATA / "replay").iterdir())
FAST = 0.02
"""Changes closer than this (s) in compressed time are written together."""


@dataclass(frozen=True)
class Replay:
    """A run and all its states."""

    files: dict[str, bytes]
    events: list[list[Any]]
    truth: dict[str, list[list[Any]]]

    def grow(self, root: Path, seconds: float) -> Iterator[None]:
        """Write the run below `root` in about `seconds`; yields after every few writes, and pauses until resumed."""
        began, last = time.monotonic(), self.events[-1][0] or 1.0
        yielded = 0.0
        for event, following in pairwise([*self.events, None]):
            changed, path, size, *rows = event
            self._write(root / path, self._content(path, size, rows))
            if following is not None:
                due = began + following[0] / last * seconds
                # a machine that is late yields as often as another
                if due - time.monotonic() < FAST and following[0] - yielded < FAST * last / seconds:
                    continue
                time.sleep(max(0.0, due - time.monotonic()))
            yielded, looked = changed, time.monotonic()
            yield
            began += time.monotonic() - looked

    def _content(self, path: str, size: int, rows: list[int]) -> bytes:
        final = self.files[path]
        if rows:
            content = document_of(final, *rows) if size else b""
            assert len(content) == size
            return content
        if path.endswith(".csv"):
            return table_of(final, size)
        return final[:size]

    def _write(self, path: Path, content: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        old = path.read_bytes() if path.exists() else b""
        if content.startswith(old):
            with path.open("ab") as file:
                file.write(content[len(old) :])
        elif path.name == "progress.csv":  # Stable-Baselines3 pads the rows in place when a column comes
            with path.open("r+b") as file:
                file.write(content)
        else:  # truncated and written anew, in two pieces that a reader can see
            with path.open("wb") as file:
                file.write(content[: len(content) // 2])
                file.flush()
                time.sleep(0.002)
                file.write(content[len(content) // 2 :])


def document_of(final: bytes, train: int, val: int) -> bytes:
    """A training_log.json when it had these numbers of rows in its two histories."""
    document = json.loads(final)
    document["train_history"] = document["train_history"][:train]
    seen = document["val_history"] = document["val_history"][:val]
    if seen:
        best = max(seen, key=lambda row: row["val_reward"])
        known = document["best_checkpoint"]
        document["best_checkpoint"] = {**known, **{key: best[key] for key in known if key in best}}
    else:
        del document["best_checkpoint"]
    return json.dumps(document, indent=2).encode()


def table_of(final: bytes, size: int) -> bytes:
    """A table when it was `size` bytes long: its first rows, with the columns that they fill. A size between two
    numbers of rows was observed during a write: the first bytes of the longer table."""
    header, *rows = csv.reader(io.StringIO(final.decode()))
    end = "\r\n" if b"\r\n" in final else "\n"
    if header[0].startswith("#"):
        return final[:size]
    for count in range(1, len(rows)):
        columns = [column for column in range(len(header)) if any(row[column] for row in rows[:count])]
        lines = [header, *rows[:count]]
        content = "".join(",".join(line[column] for column in columns) + end for line in lines).encode()
        if len(content) >= size:
            return content[:size]
    return final[:size]


@cache
def load(case: str) -> Replay:
    with gzip.open(DATA / "replay" / case / "replay.json.gz", "rt", encoding="utf-8") as file:
        document = json.load(file)
    archives = {place.partition("!")[0] for place in document["files"].values() if "!" in place}
    members: dict[str, bytes] = {}
    for name in archives:
        with tarfile.open(DATA / name) as archive:
            for member in archive:
                if (inner := archive.extractfile(member)) is not None:
                    members[f"{name}!{member.name}"] = inner.read()
    files = {
        path: members[place] if "!" in place else (DATA / place).read_bytes()
        for path, place in document["files"].items()
    }
    return Replay(files, document["events"], document["truth"])
