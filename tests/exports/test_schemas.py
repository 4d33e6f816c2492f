"""Every JSON output fits its schema, and has no field that the schema does not describe, for all samples."""

from __future__ import annotations

import argparse
import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from support.programs import run, write

from tuimon.commands import commands, main, parser_of
from tuimon.errors import NothingFound
from tuimon.exports import alerts
from tuimon.exports.around import AroundDocument, run_around
from tuimon.exports.changes import ChangeLog
from tuimon.exports.compare import comparison_document
from tuimon.exports.documents import plain
from tuimon.exports.schemas import schema_names, schema_text
from tuimon.exports.summary import summary_of
from tuimon.monitor.local import open_run
from tuimon.panels.lists.comparison import compare

DATA = Path(__file__).parent.parent / "data"
WITHOUT_LOGS = {"aim", "cloud", "config", "hydra", "not_read", "progress", "secrets", "trackio", "vocabulary"}
"""Directories with settings, texts, archives or files that are not read."""
SAMPLES = sorted(path for path in DATA.iterdir() if path.is_dir())


def closed(schema: Any) -> Any:
    """Return a schema that refuses fields which it does not describe."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed(value) for key, value in schema.items()}
    if "properties" in inner and isinstance(inner["properties"], dict) and inner.get("type") != "string":
        inner.setdefault("additionalProperties", False)
    return inner


def definition(schema: Any, branch: Any) -> Any:
    """Return the part of a schema that a branch refers to."""
    return schema["$defs"][branch["$ref"].removeprefix("#/$defs/")]


def validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(closed(json.loads(schema_text(name))))


@pytest.mark.parametrize("name", schema_names())
def test_a_schema_is_valid_and_versioned(name: str) -> None:
    schema = json.loads(schema_text(name))
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"urn:tuimon:{name}:1"
    assert schema["title"] == f"tuimon {name} --json"
    for branch in schema.get("oneOf", [schema]):
        assert definition(schema, branch)["properties"]["schema"] == {"enum": [1]}


def test_fields_are_described_and_required_unless_they_may_be_left_out() -> None:
    summary, watch = json.loads(schema_text("summary")), json.loads(schema_text("watch"))
    run = summary["$defs"]["RunEntry"]
    assert set(run["properties"]) - set(run["required"]) == {"ranks"}
    assert "related" in summary["$defs"]["AlertEntry"]["required"]
    assert set(summary["$defs"]["Change"]["properties"]) == set(summary["$defs"]["Change"]["required"])
    assert "default" not in schema_text("summary")
    until = summary["$defs"]["AlertEntry"]["properties"]["until"]
    assert until["description"]
    assert watch["$defs"]["AlertLine"]["properties"]["until"] == until  # described in the class that it derives from


def test_only_logged_values_may_be_names_of_numbers() -> None:
    check = validator("watch")
    line = {"schema": 1, "kind": "points", "run": 0, "metric": "loss", "start": 0, "steps": [1], "wall_times": [None]}
    assert all(check.is_valid(line | {"values": [value]}) for value in (1, 0.5, "NaN", "Infinity", "-Infinity"))
    assert not any(check.is_valid(line | {"values": [value]}) for value in ("nan", "1", None, True))
    assert not check.is_valid(line | {"values": [1.0], "wall_times": ["NaN"]})


def test_every_json_option_has_a_schema() -> None:
    def has_json(parser: argparse.ArgumentParser) -> bool:
        return any("--json" in action.option_strings for action in parser._actions)

    assert {name for name, command in commands().items() if has_json(parser_of(command))} == set(schema_names())


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_the_documents_of_a_sample_fit(path: Path) -> None:
    try:
        snapshot = open_run(path)
    except NothingFound:
        assert path.name in WITHOUT_LOGS
        return
    now = time.time()
    validator("summary").validate(plain(summary_of(snapshot, now)))
    validator("check").validate(plain(alerts.check_document(snapshot, "info", now)))
    step = snapshot.runs[0].last_step or 1
    at_step = AroundDocument(step=step, runs=tuple(run_around(run, step) for run in snapshot.runs))
    validator("summary").validate(plain(at_step))
    if len(snapshot.runs) > 1:
        validator("compare").validate(plain(comparison_document(compare(snapshot.runs, ()), now)))
    check = validator("watch")
    lines = [json.loads(line) for line in ChangeLog().lines(snapshot, now)]
    points = [line for line in lines if line["kind"] == "points"]
    for line in [*(line for line in lines if line["kind"] != "points"), *points[:: len(points) // 20 + 1]]:
        check.validate(line)


def test_a_missing_or_unknown_field_is_noticed() -> None:
    document = plain(alerts.check_document(open_run(DATA / "csv"), "info", time.time()))
    check = validator("check")
    check.validate(document)
    for name in list(document):
        assert not check.is_valid({key: value for key, value in document.items() if key != name})
    assert not check.is_valid(document | {"new": 1})
    assert jsonschema.Draft202012Validator(json.loads(schema_text("check"))).is_valid(document | {"new": 1})


def test_samples_fit(tmp_path: Path) -> None:
    (tmp_path / "rollouts").mkdir()
    rows: list[dict[str, object]] = [
        {"input": "1+1?", "output": "2", "gts": "2", "score": 1.0, "step": 1, "is_truncated": False},
        {"prompt": "a", "completion": "b", "reward": float("nan"), "rewards": {"format": 1.0, "answer": float("inf")}},
        {"prompt": "a", "response": "b", "reward": 0.5, "response_length": 7, "ground_truth": {"x": [1]}},
    ]
    (tmp_path / "rollouts" / "1.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    lines = run("samples", str(tmp_path), "--json").stdout.splitlines()
    assert len(lines) == 3
    for line in lines:
        validator("samples").validate(json.loads(line))


def test_the_command_prints_schemas(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def printed(*words: str) -> Any:
        with suppress(SystemExit):  # as argparse leaves after --schema
            main(words)
        return json.loads(capsys.readouterr().out)

    for name in schema_names():
        assert printed(name, "--schema") == json.loads(schema_text(name))
    paths = [str(write(tmp_path, name, 30, 0.1)) for name in ("a", "b")]
    for words in (["summary", *paths], ["check", *paths], ["summary", "--step", "7", *paths], ["compare", *paths]):
        validator(words[0]).validate(printed(*words, "--json"))
