"""Settings and descriptions of a run that lie beside its logs.

A run's config as YAML, beside its logs or in one of its subdirectories.

    algorithm:                                  config.yaml (RLinf: in tensorboard/), hparams.yaml (Lightning),
      group_size: 8                             params.yaml (DVC), args.yaml (Ultralytics), .hydra/config.yaml
    lr: {desc: null, value: 0.1}                a tracker's copy: W&B and SwanLab, below files/
    - algorithm.group_size=16                   .hydra/overrides.yaml: becomes the setting "overrides"
    clip: 0.2                                   texts/hparams0.txt of torchrl's CSVLogger
    !!python/object/apply:collections.OrderedDict     args.yml and config.yml of RL Baselines3 Zoo: a list of pairs
    - - - algo
        - ppo

Rewritten whole. See _shared.safe_yaml for how it is parsed and what is refused.
Source: rlinf/utils/metric_logger.py, hydra/core/utils.py, lightning's CSVLogger, files of wandb 0.17 and SwanLab 0.10.

A run's config as JSON, beside its logs: config.json, args.json, training_args.json, Ray Tune's params.json …

    {"learning_rate": 1e-05, "model": {"name": "Qwen/Qwen3-VL-2B"}}

Rewritten whole. A model's own config.json (of transformers or diffusers, with "architectures", "model_type",
"transformers_version" or "_class_name") lies in each checkpoint. It describes the model, not the training, and is
left out. Source: files of Ray 2.60, LLaMA-Factory, ms-swift, and PreTrainedConfig.to_json_file of transformers.

The name of a job of Hydra: .hydra/hydra.yaml beside its settings.

    hydra:
      mode: RUN                       MULTIRUN: a job of a sweep
      job:
        name: train                   name of the script, unless the user sets it
        override_dirname: lr=0.1      what distinguishes the jobs of a sweep
      runtime:
        output_dir: /srv/outputs/2026-11-21/01-41-19

A name that does not describe a run, such as train, is followed by the date and the time of the output directory.
Source: hydra/core/utils.py and hydra/conf/__init__.py of Hydra 1.3, and files written by it.

run.json of Sacred's FileStorageObserver, beside metrics.json and config.json: how the run ended.

    {"experiment": {"name": "mlp", …}, "status": "COMPLETED", "heartbeat": "…", "stop_time": "2026-11-22T19:21:19.59"}

Rewritten whole at every heartbeat. Times are UTC without a zone. The settings are in config.json.
Source: sacred/observers/file_storage.py and sacred/run.py of Sacred 0.8.7.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from tuimon import lazy_re as re
from tuimon.errors import FormatError
from tuimon.formats import Format
from tuimon.formats._shared.rows import seconds
from tuimon.formats._shared.safe_yaml import LARGEST, parse_yaml
from tuimon.formats._shared.settings import FactsDocument, config_document, mapping
from tuimon.formats.json._document import json_object, parse_document
from tuimon.model.points import Fact, Topic

_YAML_NAMES = frozenset(
    f"{stem}.{ending}"
    for stem in ("config", "hparams", "params", "args", "training_args", "train_config", "overrides")
    for ending in ("yaml", "yml")
)
_TORCHRL = re.compile(r"hparams\d*\.txt")
_YAML = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:---|!|[\w\"'.$-][^\n:]*:(?:\s|$)|\{|- )")


def parse_config(data: bytes) -> Any:
    config = parse_yaml(data)
    if isinstance(config, list) and len(config) == 1 and _are_pairs(config[0]):
        return {str(key): _without_pairs(value) for key, value in config[0]}
    return {"overrides": config} if isinstance(config, list) else config


def _are_pairs(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str) for pair in value
    )


def _without_pairs(value: Any) -> Any:
    """Return an OrderedDict within the settings as a dict."""
    if isinstance(value, list) and len(value) == 1 and value[0] and _are_pairs(value[0]):
        return dict(value[0])
    return value


def _is_yaml(name: str, head: bytes) -> bool:
    if b"\0" in head:
        return False
    lines = [line for line in head.split(b"\n") if line.strip() and not line.lstrip().startswith((b"#", b"%"))]
    return bool(lines) and _YAML.match(lines[0] + b"\n") is not None


YAML = Format(
    id="config-yaml",
    title="config (YAML)",
    writers="config.yaml, hparams.yaml, params.yaml, .hydra, W&B and SwanLab files",
    rank=5,
    matches=_is_yaml,
    decoder=lambda: config_document(parse_config),
    wants_name=lambda name: name in _YAML_NAMES or _TORCHRL.fullmatch(name) is not None,
    describes_run=True,
    max_size=LARGEST,
)


_JSON_NAMES = frozenset(
    f"{stem}.json" for stem in ("config", "args", "training_args", "hparams", "params", "train_config", "run_config")
)
_MODEL_KEYS = re.compile(rb'"(?:architectures|model_type|transformers_version|_class_name)"\s*:')


def _is_config(name: str, head: bytes) -> bool:
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") and not _MODEL_KEYS.search(head)


JSON = Format(
    id="config-json",
    title="config (JSON)",
    writers="config.json, args.json, training_args.json of a run",
    rank=4,
    matches=_is_config,
    decoder=lambda: config_document(lambda data: parse_document(data.rstrip(b" \t\r\n\0"))),
    wants_name=lambda name: name in _JSON_NAMES,
    describes_run=True,
    max_size=LARGEST,
)


_SCRIPTS = frozenset({"main", "app", "my_app", "run", "train", "trainer", "training", "learn", "eval", "test"})
"""Usual names of scripts, which do not describe a run."""
_TIME = re.compile(r"\d{4}-(\d\d-\d\d)[/_](\d\d)-(\d\d)-\d\d(?:/\d+)?/?")


def read_job(data: bytes) -> list[Fact]:
    """Return the name of the job as a fact about the writer."""
    document = parse_yaml(data)
    hydra = mapping(document if isinstance(document, dict) else {}, "hydra")
    job = mapping(hydra, "job")
    name = job.get("name")
    if not isinstance(name, str):
        raise FormatError("no job of Hydra in this document")
    name = _full_name(name, hydra, job)
    return [Fact(Topic.WRITER, {"job": name})] if name else []


def _full_name(name: str, hydra: Mapping[str, Any], job: Mapping[str, Any]) -> str:
    """Return the name of the job with what distinguishes it; "" if it does not describe a run."""
    overrides = job.get("override_dirname")
    if "MULTIRUN" in str(hydra.get("mode")) and isinstance(overrides, str) and overrides:
        return f"{name} {overrides}"
    if name not in _SCRIPTS:
        return name
    when = _TIME.search(str(mapping(hydra, "runtime").get("output_dir")))
    return f"{name} {when[1]} {when[2]}:{when[3]}" if when else ""


HYDRA = Format(
    id="hydra-job",
    title="Hydra job",
    writers=".hydra/hydra.yaml of Hydra 1.1 to 1.3: the name of a job",
    rank=4,
    matches=lambda name, head: head.lstrip().startswith(b"hydra:"),
    decoder=partial(FactsDocument, read_job),
    wants_name=lambda name: name == "hydra.yaml",
    describes_run=True,
    max_size=LARGEST,
)


_STATES = {
    "COMPLETED": "finished",
    "FAILED": "crashed",
    "INTERRUPTED": "crashed",
    "TIMEOUT": "crashed",
    "DIED": "crashed",
}


def read_run(data: bytes) -> list[Fact]:
    """Return the fact about how the run ended."""
    document = json_object(data)
    status = document.get("status")
    if not isinstance(status, str):
        raise FormatError("no status in this document")
    if status not in _STATES:
        return []
    state = {"state": _STATES[status], "evidence": f"Sacred wrote the status {status}"}
    return [Fact(Topic.STATE, state, wall_time=seconds(f"{document.get('stop_time')}+00:00"))]


def _is_sacred(name: str, head: bytes) -> bool:
    return head.lstrip().startswith(b"{") and b'"experiment"' in head and b'"command"' in head


SACRED = Format(
    id="sacred-run",
    title="Sacred run",
    writers="run.json of Sacred 0.8",
    rank=6,
    matches=_is_sacred,
    decoder=partial(FactsDocument, read_run),
    wants_name=lambda name: name == "run.json",
    describes_run=True,
    max_size=4 << 20,
)

FORMATS = (HYDRA, JSON, SACRED, YAML)
