"""LogProblems: error lines and kinds of warnings of a growing log."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tuimon.model.severity import PROBLEM_WORDS, severity
from tuimon.reader import log_problems
from tuimon.reader.log_problems import LogProblems
from tuimon.reader.log_text import LogText

DEPRECATED = "/lib/a.py:12: FutureWarning: `x` at 0x7f is deprecated"


def counts(problems: LogProblems) -> tuple[int, int, int]:
    return problems.errors, problems.warnings, problems.kinds


def warnings_from(problems: LogProblems, offset: int = 0) -> list[str]:
    """Return the texts of the warnings that are reached one after the other."""
    texts = []
    while (line := problems.next_warning(offset).line) is not None:
        texts.append(line.text)
        offset = line.end
    return texts


def test_warnings_that_differ_in_numbers_only_are_one_kind(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    lines = [f"step {step} loss 0.5\n{DEPRECATED.replace('12', str(step))}\n" for step in range(500)]
    path.write_text("".join(lines) + "WARNING: bad\n" + "".join(lines) + "ValueError: x\nERROR: y\nWARNING: wor")
    log = LogText(str(path))
    problems = LogProblems(log)
    while not problems.complete:
        problems.extend(1000)
    assert counts(problems) == (2, 1001, 2)
    assert warnings_from(problems) == [DEPRECATED.replace("12", "0"), "WARNING: bad"]
    last = problems.next_warning(log.size, backwards=True).line
    assert last is not None
    assert last.text == "WARNING: bad"
    first = problems.next_warning(last.offset, backwards=True).line
    assert first is not None
    assert first.text == DEPRECATED.replace("12", "0")
    assert problems.next_warning(first.offset, backwards=True).line is None
    with path.open("a") as file:
        file.write("se\n")
    log.refresh()
    problems.extend()
    assert counts(problems) == (2, 1002, 3)
    path.write_text("anew\nWARN: z\n")
    log.refresh()
    problems.extend()
    assert counts(problems) == (0, 1, 1)


def test_a_search_reads_on_until_the_next_warning(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("step\n" * 1000 + "WARNING: a\n")
    problems = LogProblems(LogText(str(path)))
    result = problems.next_warning(0)
    assert (result.line, result.done) == (None, False)
    assert warnings_from(problems) == ["WARNING: a"]


def test_number_of_kinds_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_problems, "_MOST_KINDS", 3)
    path = tmp_path / "a.log"
    path.write_text("".join(f"WARNING: {'x' * length}\n" for length in range(1, 9)))
    problems = LogProblems(LogText(str(path)))
    problems.extend()
    assert counts(problems) == (0, 8, 4)


@pytest.mark.parametrize(
    "line",
    [
        "ERROR a", "CRITICAL a", "FATAL: a", "Traceback (most recent call last):", "ValueError: a", "MyException(",
        "KeyboardInterrupt", "CUDA out of memory", "Segmentation fault", "(core dumped)", "got SIGKILL", "got SIGTERM",
        "operation timeout", "WARN a", "WARNING a", "UserWarning: a", "Exception: a", "ncclRemoteError: a",
        "terminate called after", "slurmstepd: error: a", "srun: error: a", "worker died", "E1125 10:01:02.123456 7 a",
        "W1125 10:01:02.123456 7 a.py:1] a", "Gradient overflow.  Skipping step", "OVERFLOW! Rank 0 Skipping step.",
        "wandb: Network error (ConnectionError), entering retry loop.", "429 Client Error: Too Many Requests for url",
    ],
)  # fmt: skip
def test_every_problem_has_a_word_by_which_it_is_searched(line: str) -> None:
    assert severity(line)
    assert re.search(PROBLEM_WORDS, line)


@pytest.mark.parametrize("line", ["W9925 10:01:02.123456 7 a.py:1] a", "E2125 10:01:02.123456 7 a.py:1] a"])
def test_a_letter_and_a_number_that_is_no_month_and_day_are_not_a_level(line: str) -> None:
    assert not severity(line)
    assert not re.search(PROBLEM_WORDS, line)
