"""Test that the rows of a long line of columns are those of the parsed line, wherever the line is cut into blocks."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tuimon.formats._shared.json import parse
from tuimon.samples.shapes import _large_line
from tuimon.samples.shapes._json_rows import rows_of
from tuimon.sources.files import signature

HARD_TEXTS = st.text(st.sampled_from('\\"[]{},: \n\x00é\u2028x'), max_size=12)
VALUES = st.one_of(
    HARD_TEXTS, st.none(), st.floats(), st.lists(st.integers(), max_size=3), st.dictionaries(HARD_TEXTS, HARD_TEXTS)
)


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """Columns with a text column, and members that belong to all rows."""
    size = draw(st.integers(2, 5))
    columns = st.lists(VALUES, min_size=size, max_size=size)
    document = draw(st.dictionaries(HARD_TEXTS.map("c{}".format), columns, min_size=1, max_size=4))
    document["completion"] = draw(st.lists(HARD_TEXTS, min_size=size, max_size=size))
    document |= draw(
        st.dictionaries(HARD_TEXTS.map("s{}".format), VALUES.filter(lambda value: not isinstance(value, list)))
    )
    names = draw(st.permutations(list(document)))
    return {name: document[name] for name in names}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(documents(), st.integers(1, 40), st.booleans(), st.sampled_from([b"", b'{"a": 1}\n']))
def test_rows_are_those_of_the_parsed_line(
    tmp_path: Path, document: dict[str, Any], block: int, ascii_only: bool, before: bytes
) -> None:
    path = tmp_path / "completions.jsonl"
    line = json.dumps(document, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    path.write_bytes(before + line + b'\n{"next": "line"}\n')
    _large_line.large_line.cache_clear()
    with pytest.MonkeyPatch.context() as patch, path.open("rb") as file:
        patch.setattr(_large_line, "_BLOCK", block)
        large = _large_line.large_line(str(path), len(before), signature(os.fstat(file.fileno())))
        assert large.end == len(before) + len(line) + 1
        rows = list(large.rows(file.fileno(), 0))
        expected = list(rows_of(parse(line)))
        assert repr([dict(sorted(row.items())) for _, row in rows]) == repr(
            [dict(sorted(row.items())) for row in expected]
        )
        middle = rows[len(rows) // 2][0]
        assert [place for place, _ in large.rows(file.fileno(), middle)] == [
            place for place, _ in rows[len(rows) // 2 :]
        ]
        assert _large_line.find_line_start(file.fileno(), middle) == len(before)


@pytest.mark.parametrize(
    "line",
    [
        b'{"prompt": ["a", "b"], "completion": ["c", "d"',
        b'{"prompt": ["a", "b"], "completion": ["c", "d"]',
        b'{"prompt": ["a", "b"], "completion": "c',
        b'[{"prompt": ["a", "b"], "completion": ["c", "d"]}]',
        b'{"prompt": ["a", "b"], "completion": ["c", "d"]}}',
        b'{"prompt": ["a", "b"], "completion": ["c", "d"]} {}',
        b'{"prompt": ["a", "b"]}',
        b'{"columns": ["a", "b"], "data": [["c", "d"], ["e", "f"]]}',
        b'{"prompt": "a", "completion": "b"}',
        b'"text"',
        b"{}",
        b"{[}",
        b"",
    ],
)
def test_other_lines_have_no_columns(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "completions.jsonl"
    path.write_bytes(line)
    large = _large_line.large_line(str(path), 0, signature(path.stat()))
    assert (large.columns, large.end) == ((), len(line))
