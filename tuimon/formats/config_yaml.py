"""A run's config as YAML: what the trainer was started with, beside its logs or in one of its facets.

    algorithm:                                  config.yaml (RLinf: in tensorboard/), hparams.yaml (Lightning),
      group_size: 8                             params.yaml (DVC), args.yaml (Ultralytics), .hydra/config.yaml
    lr: {desc: null, value: 0.1}                a tracker's copy: wandb and SwanLab below files/
    - algorithm.group_size=16                   .hydra/overrides.yaml: told as the setting "overrides"

Rewritten whole. How it is read, and what is refused, is said in _yaml.
Source: rlinf/utils/metric_logger.py, hydra/core/utils.py, lightning's CSVLogger, files of wandb 0.17 and SwanLab 0.10.
"""

from __future__ import annotations

import re
from typing import Any

from tuimon.formats import Format
from tuimon.formats._config import ConfigDocument
from tuimon.formats._yaml import LARGEST, parse_yaml

NAMES = frozenset(
    f"{stem}.{ending}"
    for stem in ("config", "hparams", "params", "args", "training_args", "train_config", "overrides")
    for ending in ("yaml", "yml")
)
_FIRST = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:---|[\w\"'.$-][^\n:]*:(?:\s|$)|\{|- )")


def parse(data: bytes) -> Any:
    config = parse_yaml(data)
    return {"overrides": config} if isinstance(config, list) else config


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
    decoder=lambda: ConfigDocument(parse),
    wants_name=lambda name: name in NAMES,
    describes_run=True,
    largest=LARGEST,
)
