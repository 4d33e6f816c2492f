"""Proposals of patterns for lines that are not understood."""

from __future__ import annotations

import re

import pytest
from support.json_points import feed, series

from tuimon.formats.console._decoder import ConsoleDecoder
from tuimon.formats.console._unread import pattern_of
from tuimon.formats.console.text import with_patterns

LINES = [
    "zzz {} qwx {} / {}",
    "2026-03-01 10:00:01 | INFO | zzz {}: qwx={} yyy={}",
    "[{}] {{qwx}} = {}; yyy: {}",
    "<<{}>> qwx~{} (yyy {}ms) ok",
]


@pytest.mark.parametrize("line", LINES)
def test_the_proposed_pattern_reads_the_lines(line: str) -> None:
    text = "".join(line.format(step, f"0.{step}5", f"1.{step}5") + "\n" for step in range(11, 19)).encode()
    decoder = ConsoleDecoder()
    assert series([item for item in decoder.feed(text) if not isinstance(item, str)]) == {}
    found = re.search(r'console_patterns = \["(.*)"\]', decoder.remark)
    assert found is not None
    read = series(feed(with_patterns([found[1]]).decoder(), text))
    assert read
    assert {step for points in read.values() for step, _ in points} == set(range(11, 19))


@pytest.mark.parametrize("line", ["no number", "qwx 0.5", "0.5 0.25 0.125"])
def test_a_line_without_a_step_has_no_pattern(line: str) -> None:
    assert pattern_of(line) == ""


def test_lines_whose_numbers_do_not_change_have_no_proposal() -> None:
    decoder = ConsoleDecoder()
    decoder.feed(b"zzz 3 qwx 0.5\n" * 20)
    assert decoder.remark == ""
