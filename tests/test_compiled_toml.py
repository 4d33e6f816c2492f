"""The tables of tuimon: compiled files that are current, stale, damaged or cannot be written."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from shutil import copy

import pytest

import tuimon
from tuimon.compiled_toml import compiled_file, load_toml, source_key
from tuimon.vocabulary._compile import compile_document

SOURCES = sorted(Path(tuimon.__file__).parent.rglob("*.toml"))
VOCABULARY = next(source for source in SOURCES if source.name == "vocabulary.toml")


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_a_table_is_the_same_before_and_after_it_is_compiled(source: Path, tmp_path: Path) -> None:
    expected = tomllib.loads(source.read_text("utf-8"))
    if source == VOCABULARY:
        expected = json.loads(json.dumps(compile_document(expected)))
        copy(source.with_name("_compile.py"), tmp_path)
    table = Path(copy(source, tmp_path))
    for _ in range(2):
        assert json.loads(json.dumps(load_toml(table))) == expected
    assert json.loads(compiled_file(table).read_text("utf-8")) == {"key": source_key(table), "content": expected}


@pytest.mark.parametrize("stored", ["{", '{"key": 1, "content": {"old": true}}', "{}"])
def test_a_compiled_file_that_is_damaged_or_older_is_written_again(stored: str, tmp_path: Path) -> None:
    table = tmp_path / "table.toml"
    table.write_text("new = 1")
    compiled_file(table).write_text(stored)
    assert load_toml(table) == {"new": 1}
    assert json.loads(compiled_file(table).read_text()) == {"key": source_key(table), "content": {"new": 1}}
    assert {path.name for path in tmp_path.iterdir()} == {"table.toml", "table.toml.json"}


def test_a_change_of_the_table_or_of_its_compiler_is_seen(tmp_path: Path) -> None:
    table = tmp_path / "table.toml"
    table.write_text("a = 1")
    assert load_toml(table) == load_toml(table) == {"a": 1}
    table.write_text("a = 2")
    assert load_toml(table) == load_toml(table) == {"a": 2}
    (tmp_path / "_compile.py").write_text("def compile_document(document):\n    return {'b': document['a'] + 1}\n")
    assert load_toml(table) == load_toml(table) == {"b": 3}


def test_a_table_loads_where_nothing_can_be_written(tmp_path: Path) -> None:
    table = tmp_path / "table.toml"
    table.write_text("a = 1")
    compiled_file(table).mkdir()
    assert load_toml(table) == {"a": 1}
    assert {path.name for path in tmp_path.iterdir()} == {"table.toml", "table.toml.json"}
