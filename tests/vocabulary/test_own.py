"""The user's vocabulary.toml: meanings of names that come before the program's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tuimon.analysis.printed_units import meaning_of, seconds_of
from tuimon.errors import UsageError
from tuimon.monitor.local import open_run
from tuimon.vocabulary import classify, own

FILE = """\
[[metric]]
names = ["team/{ds}_goodness", "goodness_*"]
concept = "reward.val"
label = "goodness {ds}"

[[metric]]
names = ["qps", "loss"]
label = "queries"
unit = "samples/s"
direction = "up"
scale = 0.5
"""


@pytest.fixture
def vocabulary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The path of the file, which is read anew after each change."""
    monkeypatch.setenv("TUIMON_CONFIG", str(tmp_path / "config" / "config.toml"))
    (tmp_path / "config").mkdir()
    own.entries.cache_clear()
    classify.cache_clear()
    yield tmp_path / "config" / "vocabulary.toml"
    own.entries.cache_clear()
    classify.cache_clear()


def test_entries_come_before_what_is_known(vocabulary: Path) -> None:
    vocabulary.write_text(FILE)
    meaning = classify("team/math_goodness")
    assert (meaning.concept, meaning.label, meaning.direction, meaning.split) == (
        "reward.val",
        "goodness math",
        "up",
        "val",
    )
    assert classify("goodness_x").label == "goodness "
    meaning = classify("loss")
    assert (meaning.concept, meaning.label, meaning.unit, meaning.direction, meaning.scale) == (
        "other",
        "queries",
        "samples/s",
        "up",
        0.5,
    )
    assert classify("critic/score/mean").concept == "reward.train"


def test_timers_have_the_unit_of_the_file_else_that_of_the_name(vocabulary: Path, tmp_path: Path) -> None:
    text = '[[metric]]\nnames = ["{unit}_ms", "{minutes}"]\nconcept = "time.phase"\n'
    vocabulary.write_text(text.format(unit="named", minutes="unnamed") + text.format(unit="us", minutes="m"))
    with vocabulary.open("a") as file:
        file.write('unit = "min"\n[[metric]]\nnames = ["scaled_ms"]\nconcept = "time.phase"\nscale = 0.5\n')
    (tmp_path / "log.jsonl").write_text('{"named_ms": 1, "unnamed": 1, "us_ms": 1, "scaled_ms": 1}\n')
    [run] = open_run(tmp_path / "log.jsonl").runs
    known = {name: (meaning_of(run, name).unit, seconds_of(run, name)) for name in run.metrics}
    assert known == {"named_ms": ("ms", 1e-3), "unnamed": ("s", 1.0), "us_ms": ("min", 60.0), "scaled_ms": ("s", 0.5)}


def test_without_a_file_names_mean_what_they_meant(vocabulary: Path) -> None:
    assert own.entries() == ()
    assert classify("loss").concept == "loss.total"


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ('[[metric]]\nnames = ["a"]\nconcept = "rewrd.val"', "number 1: not a concept: 'rewrd.val'", "'reward.val'"),
        ('[[metric]]\nnames = ["a"]\nunit = "parsecs"', "number 1: not a unit: 'parsecs'", "It can be: "),
        ('[[metric]]\nnames = ["a"]\ndirection = "sideways"', "Invalid enum value 'sideways'", ""),
        ('[[metric]]\nnames = ["a{b"]', "unbalanced braces", ""),
        ('[[metric]]\nnames = ["a"]\nlabel = "{ds}"', "no name has the part 'ds'", ""),
        ('[[metric]]\nlabel = "a"', "missing required field `names`", ""),
        ('[[metric]]\nnames = ["a"]\nscale = 0', "scale must be a number", ""),
        ('[[metric]]\nnames = ["a"]\ncolour = "red"', "unknown field `colour`", "names, concept"),
        ('[other]\nnames = ["a"]', "unknown field `other`", "[[metric]]"),
        ("not toml", "cannot read", ""),
    ],
)
def test_faults_are_named(vocabulary: Path, tmp_path: Path, text: str, message: str, hint: str) -> None:
    vocabulary.write_text(text)
    (tmp_path / "log.jsonl").write_text('{"step": 1, "loss": 0.5}\n')
    with pytest.raises(UsageError) as raised:
        open_run(tmp_path / "log.jsonl")
    assert str(vocabulary) in raised.value.message
    assert message in raised.value.message
    assert hint in (raised.value.hint or "")
    assert classify("loss").concept == "loss.total", "an invalid file is not used"
