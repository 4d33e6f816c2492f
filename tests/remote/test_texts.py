"""Generated texts on a host: which files are copied for which steps."""

from __future__ import annotations

import json
from pathlib import Path

from support.mirrored import Mirrored, until
from support.written_texts import write_run, write_step

from tuimon.remote.texts import WantedTexts
from tuimon.samples.library import Library


def _copied(mirrored: Mirrored) -> set[str]:
    """Return the names of the files that are not empty. A file that is being replaced by its copy may be missing."""
    return {name for name in mirrored.files() if _size(mirrored.here / name)}


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _steps(*steps: int) -> set[str]:
    return {f"rollouts/{step}.jsonl" for step in steps}


def test_texts_of_the_wanted_steps_are_copied(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", range(1, 31))
    (run / "media" / "images").mkdir(parents=True)
    (run / "media" / "images" / "1.png").write_bytes(b"\x89PNG")
    with Mirrored(run, tmp_path / "cache") as mirrored:
        mirrored.until_complete()
        assert _copied(mirrored) == {"metrics.jsonl"}
        assert len(mirrored.files()) == 31, "the names of the steps are here, those of pictures are not"
        mirrored.keeper.want_texts(newest=3)
        until(lambda: _copied(mirrored) == {"metrics.jsonl"} | _steps(28, 29, 30))
        library = Library([str(mirrored.here)])
        library.refresh()
        assert library.steps == tuple(range(1, 31))
        assert library.entries(7) == []
        mirrored.keeper.want_texts(7)
        mirrored.until_same("rollouts/7.jsonl", "rollouts/30.jsonl")
        assert 7 in library.refresh()
        local = Library([str(run)])
        local.refresh()
        assert [entry.head for entry in library.entries(7)] == [entry.head for entry in local.entries(7)]
        write_step(run, 31)
        mirrored.until_same("rollouts/31.jsonl")
        with (run / "rollouts" / "31.jsonl").open("a") as file:
            file.write('{"input": "one more", "output": "text", "score": 1.0, "step": 31}\n')
        mirrored.until_same("rollouts/31.jsonl")
    with Mirrored(run, tmp_path / "cache") as mirrored:  # what was copied stays
        mirrored.until_complete()
        assert mirrored.is_same("rollouts/31.jsonl")
        assert not mirrored.is_same("rollouts/2.jsonl")
        (run / "rollouts" / "31.jsonl").unlink()
        mirrored.until_same("rollouts/31.jsonl")


def test_texts_beside_logs_are_copied_when_they_are_wanted(tmp_path: Path) -> None:
    run = tmp_path / "run"
    names = ("completions.jsonl", "exp_001/train_data_step1.jsonl", "val/results.json")
    row = {"prompt": "What is 2 times 3?", "completion": "6 " * 5000, "reward": 1.0}
    for name in names:
        (run / name).parent.mkdir(parents=True, exist_ok=True)
        (run / name).write_text(json.dumps([row] if name.endswith(".json") else row) + "\n")
    (run / "log.jsonl").write_text('{"step": 1, "loss": 1.0}\n' * 3)
    (run / "data.jsonl").write_text('{"other": "rows"}\n' * 5000)
    with Mirrored(run, tmp_path / "cache") as mirrored:
        mirrored.until_complete()
        assert _copied(mirrored) == {"log.jsonl"}
        mirrored.keeper.want_texts()
        mirrored.until_same(*names)
        assert _copied(mirrored) == {"log.jsonl", *names}


def test_step_before_the_wanted_one_is_chosen() -> None:
    wanted = WantedTexts()
    assert wanted.chosen([1, 5]) == set()
    wanted.add(12, newest=0)
    assert wanted.chosen([1, 5, 10, 15, 20]) == {10}
    wanted.add(0, newest=2)
    assert wanted.chosen([1, 5, 10, 15, 20]) == {10, 15, 20}
    assert wanted.chosen([]) == set()
