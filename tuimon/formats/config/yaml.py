"""A run's config as YAML, beside its logs or in one of its subdirectories.

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
"""

from __future__ import annotations

from typing import Any

from tuimon import lazy_re as re
from tuimon.formats import Format
from tuimon.formats._shared.safe_yaml import LARGEST, parse_yaml
from tuimon.formats._shared.settings import config_document

NAMES = frozenset(
    f"{stem}.{ending}"
    for stem in ("config", "hparams", "params", "args", "training_args", "train_config", "overrides")
    for ending in ("yaml", "yml")
)
_TORCHRL = re.compile(r"hparams\d*\.txt")
_FIRST = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:---|!|[\w\"'.$-][^\n:]*:(?:\s|$)|\{|- )")


def parse(data: bytes) -> Any:
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


def matches(name: str, head: bytes) -> bool:
    if b"\0" in head:
        return False
    lines = [line for line in head.split(b"\n") if line.strip() and not line.lstrip().startswith((b"#", b"%"))]
    return bool(lines) and _FIRST.match(lines[0] + b"\n") is not None


FORMAT = Format(
    id="config-yaml",
    title="config (YAML)",
    writers="config.yaml, hparams.yaml, params.yaml, .hydra, W&B and SwanLab files",
    rank=5,
    matches=matches,
    decoder=lambda: config_document(parse),
    wants_name=lambda name: name in NAMES or _TORCHRL.fullmatch(name) is not None,
    describes_run=True,
    max_size=LARGEST,
)
