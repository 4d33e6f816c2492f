"""Optuna's journal and database: a trial is a run."""

from __future__ import annotations

import gzip
import math
import shutil
import sqlite3
from pathlib import Path

import pytest

from tuimon.formats.optuna import OptunaJournalDecoder
from tuimon.model.points import Points
from tuimon.monitor.local import LocalMonitor, open_run

STUDY = Path(__file__).parent.parent / "data" / "optuna" / "study.db.gz"
"""Optuna 5.0.0 wrote it: trial 2 was pruned, trial 3 failed, trial 4 has no intermediate values."""
JOURNAL = Path(__file__).parent.parent / "data" / "optuna" / "journal.log"


def test_a_trial_is_a_run(tmp_path: Path) -> None:
    shutil.copy(JOURNAL, tmp_path)
    runs = {run.name: run for run in open_run(tmp_path).runs}
    assert sorted(runs) == [f"trial {number}" for number in range(4)]
    assert runs["trial 1"].config == {"alpha": 0.25, "penalty": "l1"}
    assert runs["trial 0"].curve("value").steps.tolist() == [0, 1, 2, 3, 4]
    assert runs["trial 3"].curve("value").values.tolist() == [0.8]  # it has no intermediate values
    states = [run.latest_fact("state") for run in runs.values()]
    assert [fact.value["state"] for fact in states if fact] == ["finished", "pruned", "crashed", "finished"]


def test_a_journal_that_grows(tmp_path: Path) -> None:
    data = JOURNAL.read_bytes()
    path = tmp_path / "journal.log"
    path.write_bytes(data[:900])
    monitor = LocalMonitor([tmp_path])
    monitor.update()
    with path.open("ab") as file:
        file.write(data[900:])
    monitor.update()
    monitor.update()
    assert [len(run.curve("value")) for run in monitor.snapshot().runs] == [5, 5, 5, 1]


@pytest.mark.parametrize("size", [1, 50, 1000])
def test_any_split_gives_the_same(size: int) -> None:
    data = JOURNAL.read_bytes()
    decoder, counts = OptunaJournalDecoder(), {f"trial {number}": 0 for number in range(4)}
    for start in range(0, len(data), size):
        for name, items in decoder.feed_runs(data[start : start + size]):
            counts[name] += sum(len(item) for item in items if isinstance(item, Points))
    assert list(counts.values()) == [5, 5, 5, 1]


def test_hostile_lines() -> None:
    lines = [
        b'{"op_code": 4}',
        b'{"op_code": 7, "trial_id": 9}',
        b'{"op_code": 7, "trial_id": 0, "step": 1e9}',
        b"[]",
        b"x",
        b'{"op_code": 5, "trial_id": 0, "distribution": 5}',
        b'{"op_code": 6, "trial_id": 0, "state": [], "values": 3}',
    ]
    for name, items in OptunaJournalDecoder().feed_runs(b"\n".join([*lines, b""])):
        assert name == "trial 0"
        assert not any(isinstance(item, Points) for item in items)


def test_a_trial_of_a_database_is_a_run(tmp_path: Path) -> None:
    database = tmp_path / "study.db"
    database.write_bytes(gzip.decompress(STUDY.read_bytes()))
    monitor = LocalMonitor([tmp_path])
    monitor.update()
    runs = {run.name: run for run in monitor.snapshot().runs}
    assert sorted(runs) == [f"trial {number}" for number in range(6)]
    assert runs["trial 1"].config == {"alpha": 0.510827605197663, "penalty": "l1"}
    assert runs["trial 1"].curve("value").values.tolist()[2] == math.inf
    assert [len(runs[f"trial {number}"].curve("value")) for number in (0, 1, 2, 4, 5)] == [20, 20, 1, 1, 20]
    states = {name: fact.value["state"] for name, run in runs.items() if (fact := run.latest_fact("state"))}
    assert states == dict.fromkeys(runs, "finished") | {"trial 2": "pruned", "trial 3": "crashed"}
    with sqlite3.connect(database) as connection:
        connection.execute("insert into trials values (7, 6, 1, 'RUNNING', '2026-11-22 19:20:55.4', null)")
        connection.execute("insert into trial_intermediate_values values (99, 7, 0, 0.25, 'FINITE')")
        connection.execute("update trial_intermediate_values set intermediate_value = 0.5 where trial_id = 3")
    connection.close()
    again = {run.name: run for run in open_run(tmp_path).runs}
    assert again["trial 6"].curve("value").values.tolist() == [0.25]
    assert again["trial 2"].curve("value").values.tolist() == [0.5]
