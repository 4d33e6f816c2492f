"""Notes about runs: the file, the command, and what commands print of them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import tuimon
from tuimon.commands import main
from tuimon.errors import TuimonError
from tuimon.run_notes import RunNote, StepNote, note_of, notes, notes_file, save_note


def test_words_and_tags_of_a_line() -> None:
    note = RunNote("own", "old", ("a",)).with_words("too  high #todo a#b #x #todo")
    assert note == RunNote("own", "too high a#b", ("todo", "x"))
    assert note.with_words(note.editable) == note
    assert note.line == "own: too high a#b #todo #x"
    assert note.with_words("") == RunNote("own")
    assert RunNote(text="a").with_changes(name="n" * 99, tags=["t" * 99, ""]) == RunNote("n" * 40, "a", ("t" * 40,))
    assert "\x1b" not in RunNote("\x1b[31m", "\x1b]8;;", ("\u202e",)).line
    assert RunNote().line == ""


def test_notes_at_steps_are_sorted_and_signed() -> None:
    note = RunNote("own").with_step(20, " b  c ").with_step(10, "a").with_step(20, "d")
    assert note == RunNote("own", steps=(StepNote(10, "a"), StepNote(20, "d")))
    assert note.with_words("text #t").steps == note.steps, "the note about the run leaves them"
    assert (note.at_step(20), note.at_step(5)) == ("d", "")
    assert note.with_step(10, "").with_step(20, " ") == RunNote("own")
    many = RunNote(steps=tuple(StepNote(step, "\x1b[31m") for step in range(500)))
    assert [many.signed_steps[place][0] for place in (0, 8, 9, 34, 35, 499)] == ["1", "9", "a", "z", "+", "+"]
    assert "\x1b" not in many.signed_steps[0][2]
    with pytest.raises(TuimonError, match="at most 500"):
        many.with_step(500, "x")


def test_the_file_keeps_what_it_does_not_know() -> None:
    assert notes() == {}
    save_note("/a", RunNote(text="x", tags=("t",)))
    assert notes_file().stat().st_mode & 0o777 == 0o600
    document = json.loads(notes_file().read_text())
    document["runs"] |= {"/b": {"text": 5}, "/c": {"text": "y", "new": 1}}
    notes_file().write_text(json.dumps(document))
    assert notes() == {"/a": RunNote(text="x", tags=("t",)), "/c": RunNote(text="y")}
    save_note("/bad\udcff", RunNote().with_changes(text="z\udcff"))
    assert note_of("/bad\udcff") == RunNote(text="z\\udcff")
    save_note("/bad\udcff", RunNote())
    save_note("/a", RunNote())
    assert json.loads(notes_file().read_text())["runs"] == {"/b": {"text": 5}, "/c": {"text": "y", "new": 1}}
    notes_file().write_text("{")
    assert notes() == {}
    with pytest.raises(TuimonError, match="not valid JSON"):
        save_note("/a", RunNote(text="x"))
    assert notes_file().read_text() == "{"


def test_the_command_and_the_outputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b"):
        (tmp_path / "runs" / name).mkdir(parents=True)
        rows = [json.dumps({"step": step, "loss": 1 / (step + 1)}) + "\n" for step in range(9)]
        (tmp_path / "runs" / name / "metrics.jsonl").write_text("".join(rows))
    runs, a = str(tmp_path / "runs"), str(tmp_path / "runs" / "a")
    before = sorted(tmp_path.rglob("*"))

    def printed(*words: str, expect: int = 0) -> str:
        assert main(words) == expect
        output = capsys.readouterr()
        return output.out + output.err

    assert printed("note", a, "too high", "--tag", "todo", "--tag", "base", "--name", "mine").endswith(
        "runs/a  mine: too high #todo #base\n"
    )
    assert "mine: too high #base" in printed("note", a, "--untag", "todo")
    assert [line.split("  ")[1] for line in printed("note", runs).splitlines()] == ["mine: too high #base", "(no note)"]
    assert "has 2" in printed("note", runs, "x", expect=2)
    assert "one word" in printed("note", a, "--tag", "x y", expect=2)
    assert printed("note", a, "lr lowered", "--step", "5").endswith("#base\n  1 step 5: lr lowered\n")
    assert "  1 step 2: x\n  2 step 5: lr lowered" in printed("note", a, "x", "--step", "2")
    assert "step 2" not in printed("note", a, "", "--step", "2")
    assert "needs the text" in printed("note", a, "--step", "2", expect=2)
    assert "needs the text" in printed("note", a, "x", "--step", "2", "--tag", "t", expect=2)
    steps = [{"step": 5, "text": "lr lowered"}]
    note = {"name": "mine", "text": "too high", "tags": ["base"], "steps": steps}
    assert [run["note"] for run in json.loads(printed("summary", runs, "--json"))["runs"]] == [note, None]
    assert [run["note"] for run in json.loads(printed("compare", runs, "--json"))["runs"]] == [note, None]
    assert "mine: too high #base" in printed("summary", a)
    assert re.search(r"note 1 +step 5: lr lowered", printed("summary", a))
    assert "\na: note: mine: too high #base\na: note 1: step 5: lr lowered\n" in printed("summary", runs)
    once = printed(a, "--once", "--width", "60", "--height", "12").splitlines()
    assert once[2:4] == ["note: mine: too high #base", "note 1: step 5: lr lowered"]
    assert any("1" in line[12:] for line in once[5:-1]), "the sign of the note in the chart:\n" + "\n".join(once)
    notebook = tuimon.read(a)[0]._repr_html_()
    assert "step 5: lr lowered" in notebook
    assert 'class="mark mark-note"' in notebook
    assert "mine: too high #base" in tuimon.read(runs)._repr_html_()
    printed("report", a, "-o", str(tmp_path / "page.html"))
    report = (tmp_path / "page.html").read_text()
    assert "step 5: lr lowered" in report
    assert 'class="mark mark-note"' in report
    (tmp_path / "page.html").unlink()
    assert "mine: too high #base" in printed("compare", runs)
    for command in (["report", runs, "-o"], ["compare", runs, "-o"]):
        page = tmp_path / "page.html"
        printed(*command, str(page))
        assert "mine: too high #base" in page.read_text()
        page.unlink()
    assert sorted(tmp_path.rglob("*")) == before, "nothing is written beside the logs"
    assert "notes at steps:" in printed("note", a, "", "--untag", "base", "--name", "")
    assert "(no note)" in printed("note", a, "", "--step", "5")
    assert note_of(a) == RunNote()
