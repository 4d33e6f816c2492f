"""W&B's files/wandb-metadata.json: the machine and the program of a run, written once.

    {"os": …, "python": "CPython 3.11.7", "host": …, "program": "/srv/train/grpo.py", "args": ["--lr", "3e-3"],
     "executable": …, "git": {"remote": …, "commit": …}, "gpu": "NVIDIA H100 80GB HBM3", "gpu_count": 8, …}

The record in the .wandb file beside files/ has the same. Where that file is missing, it was deleted (`wandb sync
--clean`) or not copied, and the metrics are only on W&B's server. Source: files of W&B 0.12 to 0.31.
"""

from __future__ import annotations

from typing import Any

from tuimon.formats.json._metadata import metadata_format

_TEXTS = ("host", "os", "python", "program", "executable", "gpu")
_ARGUMENTS = 200
"""Maximum number of arguments that are shown."""


def _facts(document: dict[str, Any]) -> dict[str, Any]:
    """Return the facts under the names that the decoder of the .wandb file gives them."""
    facts: dict[str, Any] = {key: document[key] for key in _TEXTS if isinstance(document.get(key), str)}
    if isinstance(arguments := document.get("args"), list):
        facts["arguments"] = " ".join(text for text in arguments[:_ARGUMENTS] if isinstance(text, str))
    if isinstance(count := document.get("gpu_count"), int):
        facts["gpu_count"] = count
    git = document.get("git")
    if isinstance(git, dict):
        facts |= {f"git_{key}": git[key] for key in ("remote", "commit") if isinstance(git.get(key), str)}
    return facts


FORMAT = metadata_format(
    "wandb",
    "W&B metadata",
    "W&B 0.12 to 0.31: program, host and commit of a run",
    r"/(?:offline-)?run-\d{8}_\d{6}-[^/]+/files/wandb-metadata\.json",
    _facts,
    "its metrics are only on W&B's server, or its writer died before writing any: copy the whole run "
    "directory with its run-<id>.wandb, or keep it (no `wandb sync --clean`)",
)
