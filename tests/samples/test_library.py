"""Test the index of texts by step: what is listed, what a growing or replaced file changes, and what is decoded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.event_points import event, file_of, text
from support.programs import run
from support.written_texts import ATTEMPTS, HOSTILE, PROMPTS, write_run, write_step

from tuimon.samples import Sample, Shape, flags
from tuimon.samples.discovery import Location, samples_in
from tuimon.samples.library import Entry, Library
from tuimon.samples.shapes import json_lines


def library(path: Path) -> Library:
    found = Library([str(path)])
    found.refresh()
    return found


def test_steps_of_files_and_the_texts_of_entries(tmp_path: Path) -> None:
    """A place outside of the run is read like the run."""
    own, outside = write_run(tmp_path / "run", range(1, 12)), tmp_path / "elsewhere"
    for step in (2, 17):
        write_step(outside, step)
    both = Library([str(own), str(outside)])
    both.refresh()
    assert both.steps == (*range(1, 12), 17)
    assert len(both.entries(2)) == 2 * PROMPTS * ATTEMPTS
    texts = library(own)
    assert texts.steps == tuple(range(1, 12)), "the file of metrics has none"
    parts: list[int] = []
    entries = texts.entries(10, lambda entries: parts.append(len(entries)))
    assert len(entries) == PROMPTS * ATTEMPTS
    assert parts == []
    assert {entry.step for entry in entries} == {10}
    assert len({entry.group for entry in entries}) == PROMPTS
    hostile = entries[ATTEMPTS]
    sample = texts.sample(hostile)
    assert sample.response.endswith(HOSTILE)
    assert entries[3 * ATTEMPTS - 1].flags == flags.LOOP
    assert hostile.flags == flags.GARBLED


def test_new_grown_and_removed_files(tmp_path: Path) -> None:
    path = write_run(tmp_path, range(1, 3))
    texts = library(path)
    before = texts.entries(2)
    assert texts.refresh() == set()
    with (path / "rollouts" / "2.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"input": "one more", "output": "text", "score": 1.0, "step": 2}\n{"input": "torn')
    write_step(path, 3)
    (path / "rollouts" / "1.jsonl").unlink()
    assert texts.refresh() == {1, 2, 3}
    assert texts.steps == (2, 3)
    assert [entry.head for entry in texts.entries(2)] == [*(entry.head for entry in before), "text"]
    gone: Entry = texts.entries(3)[0]
    (path / "rollouts" / "3.jsonl").unlink()
    assert texts.sample(gone) is None


@pytest.mark.parametrize("size", [1, 40])
def test_lines_of_columns_in_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Long lines are read column by column."""
    monkeypatch.setattr(json_lines, "_LONG", 100)
    path = tmp_path / "completions.jsonl"

    def line(step: int) -> str:
        texts = {"prompt": ["a", "b"], "completion": [f"x{step}" * size, f"y{step}" * size]}
        return json.dumps({"step": [str(step)] * 2} | texts | {"Acc": [1.0, 0.0], "advantages": [0.5, -0.5]}) + "\n"

    path.write_text(line(1) + line(2) + line(3) + line(1) + line(4)[:-20])
    texts = library(tmp_path)
    assert texts.steps == (1, 2, 3)
    entries = texts.entries(1)
    assert [entry.head[:2] for entry in entries] == ["x1", "y1"] * 2
    assert [sample.response for entry in reversed(entries) if (sample := texts.sample(entry))] == [
        "y1" * size,
        "x1" * size,
    ] * 2
    with path.open("a") as file:
        file.write(line(4)[-20:] + line(1))
    assert texts.refresh() == {1, 4}
    assert [entry.reward for entry in texts.entries(1)] == [1.0, 0.0] * 3
    path.write_text(line(9))
    texts.refresh()
    assert texts.steps == (9,)


def test_a_text_that_a_board_gets_later_is_added(tmp_path: Path) -> None:
    dump, board = tmp_path / "rollout_dump" / "1.jsonl", tmp_path / "board" / "data.jsonl"
    for path, word in ((dump, "output"), (board, "response")):
        path.parent.mkdir()
        path.write_text(json.dumps({"prompt": "q", word: "4", "reward": 1.0, "step": 1}) + "\n")
    texts = library(tmp_path)
    assert texts.sources(texts.entries(1)) == ["rollout_dump"]
    with board.open("a") as file:
        file.write(json.dumps({"prompt": "q", "response": "8", "reward": 0.0, "step": 1}) + "\n")
    texts.refresh()
    assert texts.sources(texts.entries(1)) == ["rollout_dump", "board"]
    assert len(texts.entries(1)) == 2


def test_texts_of_a_growing_event_file(tmp_path: Path) -> None:
    def said(step: int) -> bytes:
        return file_of(event(step, text("train/generated_samples/text_summary", "Sample:\\nq\\n\\nReward: 0.5000")))

    path = tmp_path / "events.out.tfevents.1.host"
    path.write_bytes(said(4))
    texts = library(tmp_path)
    path.write_bytes(said(4) + said(5))
    assert 5 in texts.refresh()
    assert [sample.response for entry in texts.entries(4) if (sample := texts.sample(entry))] == ["q"]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_step_that_is_written_after_its_samples_is_that_of_all_of_them(tmp_path: Path, count: int) -> None:
    path, texts = tmp_path / "train.log", Library([str(tmp_path)])
    written = ""
    for step in (12, 13):
        for number in range(count):
            written += f"[prompt] q{number}\n[response] a\n[ground_truth] 4\n[score] 0.25\n"
            path.write_text(written)
            texts.refresh()
            assert len(texts.entries(None)) == number + 1
        written += f"step:{step} - a:1\n"
        path.write_text(written)
        assert {None, step} <= texts.refresh()
        assert len(texts.entries(step)) == count
    assert texts.steps == (12, 13)
    assert len(texts.entries(12)) == count


def test_skipped_lines_and_token_ids_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "MAX_DOCUMENT", 3 << 20)
    path = tmp_path / "completions.jsonl"

    def line(step: int, length: int = 1) -> str:
        return json.dumps({"step": step, "prompt": "p", "completion": "x" * length, "reward": 1.0}) + "\n"

    path.write_text(line(1) + line(2, 5 << 20) + line(3))
    texts = library(tmp_path)
    assert texts.steps == (1, 3)
    problem = "completions.jsonl: 1 line larger than 3 MiB"
    assert list(texts.problems.values()) == [problem]
    with path.open("a") as file:
        file.write(line(4))
    texts.refresh()
    assert texts.steps == (1, 3, 4)
    assert list(texts.problems.values()) == [problem]
    assert problem in run("samples", str(tmp_path)).stderr
    row = {"step": 1, "prompt_idx": 0, "prompt_tokens": [1, 2], "response_tokens": [3], "reward": 1.0}
    path.write_text(json.dumps(row) + "\n")
    texts.refresh()
    assert texts.steps == ()
    assert ["token ids without texts" in text for text in texts.problems.values()] == [True]


def test_only_new_rows_of_a_file_of_many_steps_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, starts = tmp_path / "all.jsonl", list[int]()

    def recorded(path: str, shape: Shape, below: str, start: int = 0) -> Iterator[tuple[Location, Sample]]:
        starts.append(start)
        return samples_in(path, shape, below, start)

    monkeypatch.setattr("tuimon.samples.library.samples_in", recorded)
    texts = Library([str(tmp_path)])
    for count in range(5):
        size = path.stat().st_size if count else 0
        with path.open("a") as stream:
            for step in (6, 7, 8):
                stream.write(json.dumps({"input": "q", "output": f"{count}", "score": 0.5, "step": step}) + "\n")
        starts.clear()
        texts.refresh()
        assert starts[-1] >= size - 100
        assert [entry.head for entry in texts.entries(7)] == [str(number) for number in range(count + 1)]
