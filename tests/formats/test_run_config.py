"""Configs of runs: values, refused documents, the run that a config belongs to, and secrets."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from support.event_reading import read_all

from tuimon.errors import FormatError, NothingFound, Unfinished
from tuimon.formats import recognise
from tuimon.formats._shared.safe_yaml import LARGEST, parse_yaml
from tuimon.formats.config import JSON, SACRED, YAML
from tuimon.model.points import Fact, Item, Replaced
from tuimon.monitor.local import LocalMonitor, open_run
from tuimon.reader import Collector
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


@pytest.mark.parametrize(
    ("changes", "job"),
    [
        ({}, "grpo_math"),
        ({"name: grpo_math": "name: train"}, "train 11-21 01:41"),
        ({"mode: RUN": "mode: MULTIRUN"}, "grpo_math lr=0.1"),
    ],
)
def test_the_job_of_hydra(changes: dict[str, str], job: str) -> None:
    path = next((DATA.parent / "hydra").rglob("hydra.yaml"))
    text = path.read_text()
    for old, new in changes.items():
        text = text.replace(old, new)
    log_format = recognise(str(path), text.encode())
    assert log_format is not None
    assert log_format.decoder().load(text.encode()) == [Fact("writer", {"job": job})]  # type: ignore[union-attr]


def test_wandb_copy_is_unwrapped(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("wandb_version: 1\n_wandb:\n  value: {cli_version: 0.17.5}\nlr:\n  desc: null\n  value: 0.1\n")
    assert config_of(path) == {"lr": 0.1}
    path.write_text("optim:\n  value: 3\nlr: 0.1\n")
    assert config_of(path) == {"optim": {"value": 3}, "lr": 0.1}


def test_json(tmp_path: Path) -> None:
    value = config_of(DATA / "ray" / "params.json")
    assert math.isnan(value.pop("entropy_coeff"))
    assert value["model"] == {"fcnet_hiddens": [256, 256]}
    model = b'{"architectures": ["Qwen2ForCausalLM"], "hidden_size": 896}'
    assert recognise("/run/config.json", model) is None
    assert recognise("/run/other.json", b'{"lr": 1}') is None
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


def test_unknown_tags_run_nothing_and_lose_no_other_value(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    text = (
        f"a: !!python/object/apply:os.system ['touch {mark}']\n"
        "b: !!python/tuple [1, 2]\n"
        "c: !!python/object:some.Class {x: 1}\n"
        "d: !mine text\n"
        "lr: 0.1\n"
    )
    value = parse_yaml(text.encode())
    assert value == {"a": [f"touch {mark}"], "b": [1, 2], "c": {"x": 1}, "d": "text", "lr": 0.1}
    assert not mark.exists()


def test_values_are_plain_json() -> None:
    text = "day: 2026-11-21\n1: one\nset: !!set {a, b}\nbytes: !!binary aGFsbG8=\nbig: 99999999999999999999999\n"
    value = parse_yaml(f"{text}nan: .nan\n".encode())
    assert math.isnan(value.pop("nan"))
    value["set"] = sorted(value["set"])
    assert value == {"day": "2026-11-21", "1": "one", "set": ["a", "b"], "bytes": "5 bytes", "big": 1e23}


def test_a_few_references_are_read() -> None:
    value = parse_yaml(b"a: &a {x: 1}\nb: *a\nc: {<<: *a, y: 2}\n")
    assert value == {"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 1, "y": 2}}


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


# ---------------------------------------------------------------------- the run of a config


def metrics(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('{"step": 1, "loss": 0.5}\n')


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def configs(root: Path) -> dict[str, Any]:
    return {Path(run.path).name: run.config for run in open_run(root).runs}


def test_config_beside_the_metrics_or_in_a_subdirectory(tmp_path: Path) -> None:
    for name, place in {
        "plain": "config.yaml",
        "rlinf": "tensorboard/config.yaml",
        "hydra": ".hydra/config.yaml",
        "hf": "training_args.json",
    }.items():
        metrics(tmp_path / name / "logs" / "metrics.jsonl")
        put(tmp_path / name / place, json.dumps({"who": name}) + "\n")  # JSON is YAML too
    assert configs(tmp_path) == {name: {"who": name} for name in ("plain", "rlinf", "hydra", "hf")}


def test_config_alone_is_not_a_run(tmp_path: Path) -> None:
    put(tmp_path / "project" / "config.yaml", "a: 1\n")
    with pytest.raises(NothingFound, match=r"config.yaml: no metrics beside it"):
        open_run(tmp_path)
    metrics(tmp_path / "project" / "out" / "metrics.jsonl")
    put(tmp_path / "project" / "out" / "source" / "config.json", '{"b": 1}')
    assert configs(tmp_path) == {"out": {}}


def test_config_is_read_when_metrics_appear_beside_it_and_when_it_changes(tmp_path: Path) -> None:
    put(tmp_path / "run" / "config.yaml", "lr: 0.1\nold: 1\n")
    monitor = LocalMonitor([tmp_path])
    monitor.update()
    assert not monitor.snapshot().runs
    metrics(tmp_path / "run" / "metrics.jsonl")
    monitor.update()
    [run] = monitor.snapshot().runs
    assert run.config == {"lr": 0.1, "old": 1}
    put(tmp_path / "run" / "config.yaml", "lr: 0.2\n")
    for _ in range(3):
        monitor.update()
    [run] = monitor.snapshot().runs
    assert run.config == {"lr": 0.2}


def test_broken_config_is_counted_and_loses_no_metric(tmp_path: Path) -> None:
    metrics(tmp_path / "metrics.jsonl")
    put(tmp_path / "config.yaml", "lr: [0.1\nb: }\n")
    put(tmp_path / "config.json", "[]")
    put(tmp_path / "args.yaml", "a: 1\n" + "#" * (5 << 20))
    monitor = LocalMonitor([tmp_path])
    monitor.update()
    [run] = monitor.snapshot().runs
    assert run.metrics == ("loss",)
    states = {Path(s.info.path).name: s.status for s in run.streams if s.status}
    assert states["config.yaml"].damaged == 1
    assert (states["args.yaml"].state, states["args.yaml"].message) == ("unreadable", "larger than 4 MiB")
    assert monitor.collector.partly_unreadable
    assert [path for path, _ in monitor.collector.skipped] == [str(tmp_path / "config.json")]


def test_model_config_of_a_checkpoint_is_ignored(tmp_path: Path) -> None:
    metrics(tmp_path / "metrics.jsonl")
    put(tmp_path / "checkpoint-40" / "config.json", '{"model_type": "qwen2", "hidden_size": 896}')
    assert configs(tmp_path) == {tmp_path.name: {}}


def test_mlflow_parameters_are_settings_of_their_run(tmp_path: Path) -> None:
    run = tmp_path / "mlruns" / "0" / ("a" * 32)
    put(run / "metrics" / "loss", "1795226147449 0.5 30\n")
    put(run / "params" / "optim" / "lr", "0.003")
    put(run / "params" / "batch", "256\n")
    assert configs(tmp_path) == {"a" * 32: {"optim/lr": "0.003", "batch": "256"}}


def test_twin_logs_with_a_config_each_are_one_run(tmp_path: Path) -> None:
    points = [(step, 1 / step) for step in range(1, 31)]
    lines = [json.dumps({"step": step, "loss": loss}) for step, loss in points]
    rows = ["step,loss", *(f"{step},{loss}" for step, loss in points)]
    put(tmp_path / "csv" / "version_0" / "metrics.csv", "\n".join([*rows, ""]))
    put(tmp_path / "tb" / "version_0" / "metrics.jsonl", "\n".join([*lines, ""]))
    for logger in ("csv", "tb"):
        put(tmp_path / logger / "version_0" / "hparams.yaml", f"{logger}: 1\n")
    [run] = open_run(tmp_path).runs
    assert set(run.metrics) == {"loss"}
    assert run.config == {"csv": 1, "tb": 1}


def test_same_content_is_emitted_once_and_other_content_replaces_it() -> None:
    decoder = YAML.decoder()
    first: list[Item] = list(decoder.load(b"a: 1\n"))  # type: ignore[union-attr]
    assert first == [Fact("config", {"a": 1})]
    assert not decoder.load(b"a: 1 # the same\n")  # type: ignore[union-attr]
    assert decoder.load(b"b: 1\n") == [Replaced(), Fact("config", {"b": 1})]  # type: ignore[union-attr]


def test_config_events_are_not_repeated(tmp_path: Path) -> None:
    metrics(tmp_path / "metrics.jsonl")
    put(tmp_path / "config.yaml", "a: 1\n")
    collector = Collector([str(tmp_path)])
    assert read_all(collector)
    assert not list(collector.read())


# ---------------------------------------------------------------------- secrets


@pytest.fixture
def seeds_run(tmp_path: Path) -> Path:
    """ROLL's settings from its documentation, in every form of a config beside metrics."""
    text = (DATA / "roll" / "config.yaml").read_text()
    metrics(tmp_path / "metrics.jsonl")
    put(tmp_path / "config.yaml", text)
    put(tmp_path / "args.json", json.dumps(yaml.safe_load(text)))
    put(tmp_path / ".hydra" / "overrides.yaml", "- tracker_kwargs.api_key=your_wandb_api_key\n- lr=1\n")
    put(tmp_path / "hparams.yaml", "tracker_kwargs/login_kwargs/api_key: your_swanlab_api_key\n")
    document = {"config": yaml.safe_load(text), "train_history": [{"step": 1, "loss": 0.5}]}
    put(tmp_path / "training_log.json", json.dumps(document))
    return tmp_path


@pytest.mark.parametrize("command", [["summary"], ["summary", "--json"], ["doctor"], ["export"], []], ids=" ".join)
def test_api_keys_are_in_no_output(seeds_run: Path, command: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tuimon", *command, str(seeds_run)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0
    for secret in ("your_wandb_api_key", "your_swanlab_api_key"):
        assert secret not in done.stdout + done.stderr
    if "summary" in command:
        assert HIDDEN in done.stdout
        assert "Qwen2.5-0.5B-Instruct" in done.stdout


def test_tracker_run_given_as_target(tmp_path: Path, data: Path) -> None:
    run = tmp_path / "wandb" / "run-20261121_014500-a1b2c3d4"
    put(run / "files" / "config.yaml", "wandb_version: 1\nlr:\n  desc: null\n  value: 0.5\n")
    (run / "run-a1b2c3d4.wandb").write_bytes((data / "wandb" / "core_0_17.wandb").read_bytes())
    [result] = open_run(run).runs
    assert result.config == {"lr": 0.1, "m": {"h": 1}}  # the run file itself has the last word
    assert [stream.info.format for stream in result.streams] == ["config-yaml", "wandb"]


def test_ordered_dict_of_rl_baselines3_zoo(tmp_path: Path) -> None:
    """It lies below the run, in a directory with the name of the environment."""
    run = tmp_path / "ppo" / "CartPole-v1_1"
    put(run / "0.monitor.csv", '#{"t_start": 1795224133.5, "env_id": "CartPole-v1"}\nr,l,t\n1.0,10,0.5\n2.0,12,0.9\n')
    put(tmp_path / "ppo" / "CartPole-v1_2" / "0.monitor.csv", '#{"t_start": 1795224133.5}\nr,l,t\n1.0,10,0.5\n')
    head = "!!python/object/apply:collections.OrderedDict\n- "
    nested = "- - env_kwargs\n    - !!python/object/apply:collections.OrderedDict\n      - - - goal\n          - 1\n"
    put(run / "CartPole-v1" / "args.yml", f"{head}- - algo\n    - ppo\n  {nested}")
    put(run / "CartPole-v1" / "config.yml", f"{head}- - n_steps\n    - 32\n")
    config = {item.name: item.config for item in open_run(tmp_path).runs}
    assert config == {"CartPole-v1_1": {"algo": "ppo", "env_kwargs": {"goal": 1}, "n_steps": 32}, "CartPole-v1_2": {}}


@pytest.mark.parametrize(
    ("status", "state"), [("COMPLETED", "finished"), ("FAILED", "crashed"), ("INTERRUPTED", "crashed")]
)
def test_run_json_of_sacred_says_how_the_run_ended(status: str, state: str) -> None:
    written = {"command": "main", "experiment": {"name": "mlp"}, "stop_time": "2026-11-22T19:21:19.5", "status": status}
    data = json.dumps(written).encode()
    assert recognise("runs/1/run.json", data) is SACRED
    decoder = SACRED.decoder()
    assert decoder.load(data.replace(status.encode(), b"RUNNING")) == []  # type: ignore[union-attr]
    [fact] = decoder.load(data)  # type: ignore[union-attr]
    assert isinstance(fact, Fact)
    assert (fact.topic, fact.value["state"], fact.wall_time) == ("state", state, 1795375279.5)
    assert decoder.load(data) == []  # type: ignore[union-attr]
    assert recognise("tests/run.json", b'{"name": "x", "loss": [1, 2]}') is not SACRED
