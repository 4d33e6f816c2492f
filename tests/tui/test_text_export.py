"""Test how an export of generated texts is written and ended."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from support.written_texts import PROMPTS, write_run

from tuimon.samples import Sample
from tuimon.samples.library import Library
from tuimon.samples.overview import has_match, samples_of_all_steps
from tuimon.samples.searching import Search
from tuimon.tui.copying import write_new
from tuimon.tui.screens.text_export import TextExport


def test_matches_of_all_steps_are_saved_whole_or_not_at_all(tmp_path: Path) -> None:
    library = Library([str(write_run(tmp_path / "run", range(1, 4)))])
    library.refresh()
    path = tmp_path / "texts.jsonl"

    def matches(expression: str, **limit: float) -> Iterator[Sample]:
        return samples_of_all_steps(library, "train", has_match(Search(expression, **limit)))

    export = TextExport(path, str(tmp_path / "run"))
    message = export.save(matches("attempt 1 says"), write_new)
    assert message == f"Saved {3 * PROMPTS} texts of 3 steps: {path}"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [row["step"] for row in rows] == [step for step in (1, 2, 3) for _ in range(PROMPTS)]
    assert all("attempt 1 says" in row["response"] for row in rows)
    assert {row["source"] for row in rows} == {f"rollouts/{step}.jsonl" for step in (1, 2, 3)}

    def ended_after_two() -> Iterator[Sample]:
        for number, sample in enumerate(matches("attempt")):
            if number == 2:
                ended.end()
            yield sample

    path.unlink()
    ended = TextExport(path, str(tmp_path))
    assert ended.save(ended_after_two(), write_new) == "The export was ended; no file was saved"
    assert not path.exists()
    assert "2 texts" in ended.progress
    slow = TextExport(path, str(tmp_path)).save(matches(r"re:(?:(?:[a-z]|[, .])+)+!$", limit=0.1), write_new)
    assert slow.startswith("The search was ended: the expression took more than 0.1 s")
    assert not path.exists()
