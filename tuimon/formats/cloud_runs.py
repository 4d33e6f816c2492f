"""Runs whose metrics were sent to a tracker's server and not kept: recognised by the files that are left, and not read.

    wandb/run-<stamp>-<id>/files/wandb-metadata.json       without the run-<id>.wandb beside files/ that every mode but
                                                           "disabled" writes: it was deleted or not copied
    swanlog/run-<stamp>-<id>/files/swanlab-metadata.json   without a run file and logs: the cloud mode of 0.5.0 to 0.6.1

Both files also exist in runs with metrics, which are then read as usual. Source: `wandb sync --clean`,
swanlab/data/run/main.py of SwanLab 0.5.9, and files of both.
"""

from __future__ import annotations

import re

from tuimon.formats import Format, no_decoder


def _cloud(id: str, title: str, path: str, advice: str) -> Format:
    pattern = re.compile(path)
    return Format(
        id=id,
        title=title,
        writers="",
        rank=1,
        matches=lambda name, head: head.lstrip().startswith(b"{"),
        decoder=no_decoder,
        wants_path=lambda path: pattern.search(path) is not None,
        describes_run=True,
        unsupported=advice,
    )


FORMATS = (
    _cloud(
        "wandb-cloud",
        "W&B run without its metrics",
        r"/(?:offline-)?run-\d{8}_\d{6}-[^/]+/files/wandb-metadata\.json\Z",
        "its metrics are only on W&B's server, or its writer died before writing any: copy the whole run directory "
        "with its run-<id>.wandb, or keep it (no `wandb sync --clean`)",
    ),
    _cloud(
        "swanlab-cloud",
        "SwanLab run without its metrics",
        r"/run-\d{8}_\d{6}-[^/]+/files/swanlab-metadata\.json\Z",
        "SwanLab 0.5.0 to 0.6.1 keeps no metrics on disk in cloud mode: log with mode='local', or update SwanLab",
    ),
)
