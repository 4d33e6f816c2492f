"""SwanLab's run-<stamp>-<id>/files/swanlab-metadata.json: the machine and the program of a run, written once.

    0.5 to 0.7    {"hostname": …, "os": …, "python": "3.11.7", "command": …, "cwd": …, "git_remote": …,
                   "git_info": [branch, commit], "cpu": {"brand": …}, "swanlab": {"version": …}}
    from 0.8      {"runtime": {"hostname": …, "os": …, "python_version": …, "command": …, "cwd": …},
                   "git": {"remote_url": …, "branch": …, "commit": …}, "swanlab": {"version": …},
                   "hardware": {"cpu": {"brand": …}, "memory": {"total": 23, "total_unit": "GB"},
                                "accelerators": [{"devices": [{"name": …}], "version": …, "cuda_version": …}]}}

Values that SwanLab does not know are null. The file is also there without a run file and logs, in the cloud mode of
0.5.0 to 0.6.1. Source: files of 0.5.9, 0.7.20 and 0.10.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tuimon.formats._shared.settings import mapping
from tuimon.formats.json._metadata import metadata_format


def _facts(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts under the names of the W&B decoder where that has the same one."""
    runtime, hardware = mapping(document, "runtime") or document, mapping(document, "hardware")
    git = mapping(document, "git")
    if isinstance(info := document.get("git_info"), list) and len(info) == 2:
        git = {"remote_url": document.get("git_remote"), "branch": info[0], "commit": info[1]}
    accelerators = [entry for entry in _list(hardware, "accelerators") if isinstance(entry, dict)]
    devices = [device for entry in accelerators for device in _list(entry, "devices") if isinstance(device, dict)]
    gpus = dict.fromkeys(text for device in devices if (text := _text(device, "name")))
    return {
        "version": _text(mapping(document, "swanlab"), "version"),
        "host": _text(runtime, "hostname"),
        "os": _text(runtime, "os"),
        "python": _text(runtime, "python_version") or _text(runtime, "python"),
        "command": _text(runtime, "command"),
        "cwd": _text(runtime, "cwd"),
        "git_remote": _text(git, "remote_url"),
        "git_branch": _text(git, "branch"),
        "git_commit": _text(git, "commit"),
        "cpu": _text(mapping(hardware or document, "cpu"), "brand"),
        "gpu": ", ".join(gpus),
        "gpu_count": len(devices),
        "driver": ", ".join(dict.fromkeys(text for entry in accelerators if (text := _text(entry, "version")))),
        "cuda": ", ".join(dict.fromkeys(text for entry in accelerators if (text := _text(entry, "cuda_version")))),
    }


def _list(document: Mapping[str, Any], key: str) -> list[Any]:
    value = document.get(key)
    return value if isinstance(value, list) else []


def _text(document: Mapping[str, Any], key: str) -> str:
    value = document.get(key)
    return value if isinstance(value, str) else ""


FORMAT = metadata_format(
    "swanlab",
    "SwanLab metadata",
    "SwanLab 0.5 to 0.10",
    r"/run-\d{8}_\d{6}-[^/]+/files/swanlab-metadata\.json",
    _facts,
    "SwanLab 0.5.0 to 0.6.1 keeps no metrics on disk in cloud mode: log with mode='local', or update SwanLab",
)
