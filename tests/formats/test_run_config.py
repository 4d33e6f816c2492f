"""Configs of runs: values, refused documents and secrets. See also tests/reader/directories/configs.toml."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tuimon.commands import main
from tuimon.errors import FormatError, Unfinished
from tuimon.formats import recognise
from tuimon.formats._shared.safe_yaml import LARGEST, parse_yaml
from tuimon.formats._shared.settings_text import read_settings, scalar
from tuimon.formats.config import JSON, SACRED
from tuimon.model.points import Fact
from tuimon.redact import HIDDEN

DATA = Path(__file__).parent.parent / "data" / "config"
YAMLS = sorted(DATA.rglob("*.yaml"))


def config_of(path: Path) -> Any:
    """Return the config that the format of the file reads."""
    data = path.read_bytes()
    log_format = recognise(str(path), data[:4096])
    assert log_format is not None
    assert log_format.describes_run
    [item] = log_format.decoder().load(data)  # type: ignore[union-attr]
    assert isinstance(item, Fact)
    assert item.topic == "config"
    return item.value


def settings(path: Path) -> Any:
    with path.open() as file:
        return yaml.safe_load(file)


@pytest.mark.parametrize("path", YAMLS, ids=lambda path: path.relative_to(DATA).as_posix())
def test_equals_what_pyyaml_gives(path: Path) -> None:
    wanted = settings(path)
    if isinstance(wanted, list):
        wanted = {"overrides": wanted}
    elif "files" in path.parts:  # a tracker's copy
        wanted = {key: value["value"] for key, value in wanted.items()}
    assert config_of(path) == wanted


def test_json() -> None:
    value = config_of(DATA / "ray" / "params.json")
    assert math.isnan(value.pop("entropy_coeff"))
    assert value["model"] == {"fcnet_hiddens": [256, 256]}
    with pytest.raises(Unfinished):
        JSON.decoder().load(b'{"lr": 1, "mo')  # type: ignore[union-attr]
    with pytest.raises(FormatError):
        JSON.decoder().load(b"[1, 2]")  # type: ignore[union-attr]


# ---------------------------------------------------------------------- hostile YAML


LAUGHS = "a0: &a0 [lol, lol]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30))
MERGES = "a0: &a0 {k: v}\n" + "".join(
    f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}], k{n}: v}}\n" for n in range(1, 30)
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (LAUGHS, "too many values by reference"),
        (MERGES, "too many values by reference"),
        ("a: &a [*a]\n", "recursive or undefined"),
        ("a: *nowhere\n", "or undefined reference"),
        ("a: " + "[" * 500 + "]" * 500 + "\n", "nested too deeply"),
        ("".join(f"{' ' * n}a:\n" for n in range(100)), "nested too deeply"),
        ("a: [1, 2\nb: }\n", "not YAML"),
        ("a: !!int abc\n", "not YAML"),
        ("a: !!bool maybe\n", "not YAML"),
        ("a: !!timestamp never\n", "not YAML"),
        ("? [a, b]\n: {c: 1}\n? {x: y}\n: 1\n", "not YAML"),
        ("a: " + "9" * 5000 + "\n", "not YAML"),
        ("x" * (LARGEST + 1), "too large"),
        ("a: \x00\n", "not YAML"),
    ],
    ids=range(14),
)
def test_yaml_that_is_refused(text: str, reason: str) -> None:
    with pytest.raises(FormatError, match=reason):
        parse_yaml(text.encode())


def test_unknown_tags_run_nothing(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    assert parse_yaml(f"a: !!python/object/apply:os.system ['touch {mark}']\nlr: 0.1\n".encode())["lr"] == 0.1
    assert not mark.exists()
    assert sorted(parse_yaml(b"set: !!set {a, b}\n")["set"]) == ["a", "b"]


def test_incomplete_yaml_is_unfinished() -> None:
    for text in (b"", b"\n \n", b"a: [1, 2", b"a: {b: 'c"):
        with pytest.raises(Unfinished):
            parse_yaml(text)


@given(st.text("ab01.-:,#&*!|>%@`'\"[]{}?<\n\t ~=", max_size=60))
def test_only_documented_errors_are_raised(text: str) -> None:
    try:
        value = parse_yaml(text.encode())
    except FormatError:
        return
    assert json.dumps(value)


def test_yaml_is_imported_only_when_needed() -> None:
    code = "import sys, tuimon.formats; tuimon.formats.all_formats(); print('yaml' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"


# ---------------------------------------------------------------------- secrets

LOSS = '{"step": 1, "loss": 0.5}\n'


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def seeds_run(tmp_path: Path) -> Path:
    """ROLL's settings from its documentation, in every form of a config beside metrics."""
    text = (DATA / "roll" / "config.yaml").read_text()
    put(tmp_path / "metrics.jsonl", LOSS)
    put(tmp_path / "config.yaml", text)
    put(tmp_path / "args.json", json.dumps(yaml.safe_load(text)))
    put(tmp_path / ".hydra" / "overrides.yaml", "- tracker_kwargs.api_key=your_wandb_api_key\n- lr=1\n")
    put(tmp_path / "hparams.yaml", "tracker_kwargs/login_kwargs/api_key: your_swanlab_api_key\n")
    document = {"config": yaml.safe_load(text), "train_history": [{"step": 1, "loss": 0.5}]}
    put(tmp_path / "training_log.json", json.dumps(document))
    return tmp_path


def test_api_keys_are_in_no_output(seeds_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["summary"], ["summary", "--json"], ["doctor"], ["export"], ["--once"]):
        assert main([*words, str(seeds_run)]) == 0
        printed = capsys.readouterr()
        for secret in ("your_wandb_api_key", "your_swanlab_api_key"):
            assert secret not in printed.out + printed.err
        if "summary" in words:
            assert HIDDEN in printed.out
            assert "Qwen2.5-0.5B-Instruct" in printed.out


def test_run_json_of_sacred_says_when_the_run_ended() -> None:
    data = b'{"command": "main", "experiment": {}, "stop_time": "2026-11-22T19:21:19.5", "status": "FAILED"}'
    decoder = SACRED.decoder()
    [fact] = decoder.load(data)  # type: ignore[union-attr]
    assert isinstance(fact, Fact)
    assert (fact.value["state"], fact.wall_time) == ("crashed", 1795375279.5)
    assert recognise("tests/run.json", b'{"name": "x", "loss": [1, 2]}') is not SACRED


TEXTS = tomllib.loads((Path(__file__).parent / "cases" / "settings_texts.toml").read_text("utf-8"))


def test_settings_that_are_logged_as_text() -> None:
    for tag, text, settings in TEXTS["settings"]:
        assert read_settings(tag, text) == settings, text
    for tag, text in TEXTS["no_settings"]:
        assert read_settings(tag, text) is None, text
    assert read_settings("args", "Namespace(x=None)") == {"x": None}
    for text, value in TEXTS["values"]:
        assert (scalar(text), type(scalar(text))) == (value, type(value))
