"""The documents of W&B and SwanLab about the machine and the program of a run, written once.

W&B, files/wandb-metadata.json (0.12 to 0.31):

    {"os": …, "python": "CPython 3.11.7", "host": …, "program": "/srv/train/grpo.py", "args": ["--lr", "3e-3"],
     "executable": …, "git": {"remote": …, "commit": …}, "gpu": "NVIDIA H100 80GB HBM3", "gpu_count": 8, …}

The record in the .wandb file beside files/ has the same. Where that file is missing, it was deleted (`wandb sync
--clean`) or not copied, and the metrics are only on W&B's server.

SwanLab, run-<stamp>-<id>/files/swanlab-metadata.json:

    0.5 to 0.7    {"hostname": …, "os": …, "python": "3.11.7", "command": …, "cwd": …, "git_remote": …,
                   "git_info": [branch, commit], "cpu": {"brand": …}, "swanlab": {"version": …}}
    from 0.8      {"runtime": {"hostname": …, "os": …, "python_version": …, "command": …, "cwd": …},
                   "git": {"remote_url": …, "branch": …, "commit": …}, "swanlab": {"version": …},
                   "hardware": {"cpu": {"brand": …}, "memory": {"total": 23, "total_unit": "GB"},
                                "accelerators": [{"devices": [{"name": …}], "version": …, "cuda_version": …}]}}

Values that are not known are null. The file is also there without a run file and logs, in the cloud mode of SwanLab
0.5.0 to 0.6.1. Source: files of W&B 0.12 to 0.31 and of SwanLab 0.5.9, 0.7.20 and 0.10.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from tuimon import lazy_re as re
from tuimon.formats import Format
from tuimon.formats._shared.settings import FactsDocument
from tuimon.formats.json._document import json_object
from tuimon.model.points import Fact, Topic

_ARGUMENTS = 200
"""Maximum number of arguments that are shown."""
_WANDB = {
    **{name: name for name in ("host", "os", "python", "program", "executable", "gpu", "gpu_count")},
    "arguments": "args",
    "git_remote": "git.remote",
    "git_commit": "git.commit",
}
_SWANLAB = {
    "version": "swanlab.version",
    "host": "runtime.hostname hostname",
    "os": "runtime.os os",
    "python": "runtime.python_version python",
    "command": "runtime.command command",
    "cwd": "runtime.cwd cwd",
    "git_remote": "git.remote_url git_remote",
    "git_branch": "git.branch git_info.0",
    "git_commit": "git.commit git_info.1",
    "cpu": "hardware.cpu.brand cpu.brand",
    "gpu": "hardware.accelerators.devices.name",
    "driver": "hardware.accelerators.version",
    "cuda": "hardware.accelerators.cuda_version",
}
"""Names of facts, the same for both trackers, and where their values are: paths of keys, the first with a value counts.
A path passes through lists; a number in it is the place in one."""


def _read(tracker: str, paths: Mapping[str, str], data: bytes) -> list[Fact]:
    document = json_object(data)
    found = {name: next(filter(None, (_values(document, path) for path in paths[name].split())), []) for name in paths}
    facts = {name: ", ".join(dict.fromkeys(filter(_is_text, values))) for name, values in found.items()}
    facts["arguments"] = " ".join(filter(_is_text, found.get("arguments", [])[:_ARGUMENTS]))
    counts = [count for count in found.get("gpu_count", [len(found["gpu"])]) if type(count) is int]
    known = {name: value for name, value in {**facts, "gpu_count": sum(counts)}.items() if value}
    return [Fact(Topic.WRITER, {"name": tracker, **known})]


def _values(document: Any, path: str) -> list[Any]:
    """Return what is at a path, [] if nothing is: ({"git": {"commit": "a1"}}, "git.commit") -> ["a1"]."""
    values = [document]
    for key in path.split("."):
        if key.isdecimal():
            values = values[int(key) : int(key) + 1]
        else:
            values = [value[key] for value in values if isinstance(value, dict) and value.get(key) is not None]
        values = [inner for value in values for inner in (value if isinstance(value, list) else [value])]
    return values


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _format(tracker: str, title: str, writers: str, ending: str, paths: Mapping[str, str], advice: str) -> Format:
    """ending: expression for the end of the file's path. advice: what the user can do if a run has only this file."""
    path_ending = re.compile(ending + r"\Z")
    return Format(
        id=f"{tracker}-metadata",
        title=title,
        writers=writers,
        rank=1,
        matches=lambda name, head: head.lstrip().startswith(b"{"),
        decoder=lambda: FactsDocument(partial(_read, tracker, paths)),
        wants_path=lambda path: path_ending.search(path) is not None,
        describes_run=True,
        max_size=4 << 20,
        without_metrics=advice,
    )


FORMATS = (
    _format(
        "swanlab",
        "SwanLab metadata",
        "SwanLab 0.5 to 0.10",
        r"/run-\d{8}_\d{6}-[^/]+/files/swanlab-metadata\.json",
        _SWANLAB,
        "SwanLab 0.5.0 to 0.6.1 keeps no metrics on disk in cloud mode: log with mode='local', or update SwanLab",
    ),
    _format(
        "wandb",
        "W&B metadata",
        "W&B 0.12 to 0.31: program, host and commit of a run",
        r"/(?:offline-)?run-\d{8}_\d{6}-[^/]+/files/wandb-metadata\.json",
        _WANDB,
        "its metrics are only on W&B's server, or its writer died before writing any: copy the whole run "
        "directory with its run-<id>.wandb, or keep it (no `wandb sync --clean`)",
    ),
)
